"""Waits for events, one rule at a time."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.study import Study

US = 1000
PROVEN, HANDLE, TIMING, UNKNOWN = Grade.PROVEN, Grade.HANDLE, Grade.TIMING, Grade.UNKNOWN


class Job:
    """Calls one after the other, 10 µs apart, told by their correlation ids: 1, 2, ..."""

    def __init__(self):
        self.maker, self.number = TraceMaker(), 0

    def _call(self, name, tid=1, start=None, end=None):
        self.number += 1
        start = self.number * 10 if start is None else start
        end = start + 5 if end is None else end
        self.maker.call(start * US, end * US, name, tid=tid, correlation=self.number)
        return start * US, end * US

    def launch(self, stream=7, context=1, **call):
        """Launch a kernel that starts a millisecond later, and ends after 5 µs."""
        start, _ = self._call("cudaLaunchKernel", **call)
        self.maker.kernel(
            start + 1000 * US, start + 1005 * US, stream=stream, context=context, correlation=self.number
        )
        return self

    def record(self, stream=7, event=1, sync_id=0, context=1, name="cudaEventRecord", row=True, **call):
        """Record an event; without its row where that was lost."""
        self._call(name, **call)
        if row:
            self.maker.record(self.number, stream, event, sync_id, context=context)
        return self

    def wait(self, stream=8, event=1, sync_id=0, context=1, name="cudaStreamWaitEvent", **call):
        """Make a stream wait for an event."""
        self.maker.sync(
            *self._call(name, **call), name, correlation=self.number, stream=stream, context=context,
            event=event, sync_id=sync_id,
        )  # fmt: skip
        return self

    def graph(self):
        """Return the graph, and the correlation id of each operation."""
        trace = self.maker.trace()
        graph = Study(trace).dependencies
        return graph, trace.api.columns["correlation"][graph.operations.call]

    def waits(self):
        """Return (producers, grade) of the waits in the order of their calls."""
        graph, numbers = self.graph()
        order = np.argsort(self.maker.trace().api.start_ns[graph.waits.call])
        return [
            (sorted(numbers[graph.waits.of(k)].tolist()), Grade(graph.waits.grade[k])) for k in order.tolist()
        ]


@pytest.mark.parametrize("wait", ["cudaStreamWaitEvent", "cudaStreamWaitEvent_ptsz", "cuStreamWaitEvent"])
@pytest.mark.parametrize("record", ["cudaEventRecord_ptsz", "cudaEventRecordWithFlags", "cuEventRecord"])
def test_calls_have_many_spellings(wait, record):
    job = Job().launch().launch().record(sync_id=4, name=record).launch().wait(sync_id=4, name=wait)
    assert job.waits() == [([2], PROVEN)]


def test_a_call_that_asks_is_no_wait():
    job = Job().launch().record(sync_id=4).wait(sync_id=4, name="cudaEventQuery").launch(stream=8)
    graph, _ = job.graph()
    assert (len(graph.waits), len(graph.op_edges), len(graph.return_edges)) == (0, 0, 0)


@pytest.mark.parametrize("sync_id", [0, 0xFFFFFFFF, 2**64 - 1])
def test_a_sync_id_that_is_none_is_none(sync_id):
    job = Job().launch().record(sync_id=sync_id).launch().wait(sync_id=sync_id)
    assert job.waits() == [([1], HANDLE)]


def test_sync_ids_join_within_their_context():
    job = Job().launch(context=1).launch(context=2).record(sync_id=4, context=1).record(sync_id=4, context=2)
    job.wait(sync_id=4, context=2).wait(sync_id=4, context=1).wait(sync_id=4, context=3)
    assert job.waits() == [([2], PROVEN), ([1], PROVEN), ([], UNKNOWN)]


def test_a_sync_id_without_its_record_is_unknown_though_the_handle_has_one():
    assert Job().launch().record(sync_id=4).wait(sync_id=5).waits() == [([], UNKNOWN)]


def test_a_sync_id_of_two_records_is_unknown():
    job = Job().launch().record(sync_id=4).launch().record(sync_id=4).wait(sync_id=4)
    assert job.waits() == [([], UNKNOWN)]


def test_a_record_after_the_wait_is_none_of_it():
    assert Job().launch().wait(sync_id=4).record(sync_id=4).waits() == [([], UNKNOWN)]


def test_the_handle_is_that_of_the_last_record_before_and_of_its_context():
    job = Job().launch().record().launch().record().launch(context=2).record(context=2).wait().record()
    assert job.waits() == [([3], HANDLE)]


def test_handles_tell_nothing_where_a_row_is_lost_or_another_has_an_id():
    assert Job().launch().record().record(event=2, row=False).wait().waits() == [([], UNKNOWN)]
    assert Job().launch().record().record(event=2, sync_id=3).wait().waits() == [([], UNKNOWN)]


def test_an_event_of_the_stream_itself_or_never_recorded_stands_for_nothing():
    job = Job().launch().record(sync_id=4).wait(stream=7, sync_id=4).wait(event=9)
    # That there is no record of it is known by its handle alone.
    assert job.waits() == [([], PROVEN), ([], HANDLE)]
    assert Job().launch().record().wait(stream=7).wait(event=9).waits() == [([], HANDLE), ([], HANDLE)]


def test_a_stream_that_only_relays_hands_on_what_it_waits_for():
    job = Job().launch().record(event=1, sync_id=1).wait(stream=20, event=1, sync_id=1)
    job.record(stream=20, event=2, sync_id=2).wait(stream=21, event=2, sync_id=2)
    job.record(stream=21, event=3, sync_id=3).wait(stream=8, event=3, sync_id=3).launch(stream=8)
    assert job.waits() == [([1], PROVEN)] * 3
    graph, numbers = job.graph()
    assert numbers[graph.op_edges.source].tolist() == [1]
    assert numbers[graph.op_edges.target].tolist() == [8]


def test_an_operation_between_ends_the_relay():
    job = Job().launch().record(sync_id=1).wait(stream=20, sync_id=1).launch(stream=20)
    job.record(stream=20, event=2, sync_id=2).wait(event=2, sync_id=2)
    assert job.waits() == [([1], PROVEN), ([4], PROVEN)]


def test_a_wait_after_the_operation_is_relayed_too():
    job = Job().launch().record(sync_id=1).launch(stream=20).wait(stream=20, sync_id=1)
    job.record(stream=20, event=2, sync_id=2).wait(event=2, sync_id=2)
    assert job.waits() == [([1], PROVEN), ([1, 3], PROVEN)]


def test_a_wait_after_the_record_is_not_relayed():
    job = Job().launch().record(sync_id=1).launch(stream=20).record(stream=20, event=2, sync_id=2)
    job.wait(stream=20, sync_id=1).wait(event=2, sync_id=2)
    assert job.waits() == [([1], PROVEN), ([3], PROVEN)]


def test_a_relay_of_something_unknown_is_unknown():
    job = Job().launch().wait(stream=20, sync_id=9).launch(stream=21).record(stream=21, event=3, sync_id=3)
    job.wait(stream=20, event=3, sync_id=3).record(stream=20, event=2, sync_id=2).wait(event=2, sync_id=2)
    assert job.waits() == [([], UNKNOWN), ([3], PROVEN), ([3], UNKNOWN)]


def test_of_one_stream_the_last_operation_is_named():
    job = Job().launch().record(sync_id=1).wait(stream=20, sync_id=1).launch().record(sync_id=2)
    job.wait(stream=20, sync_id=2).record(stream=20, event=5, sync_id=5).wait(event=5, sync_id=5)
    assert job.waits()[-1] == ([4], PROVEN)


@pytest.mark.parametrize(("tid", "grade"), [(1, PROVEN), (2, TIMING)])
def test_a_launch_of_another_thread_during_the_record_is_by_timing(tid, grade):
    job = (
        Job()
        .launch()
        .record(sync_id=4, start=30, end=60)
        .launch(tid=tid, start=40, end=70)
        .wait(sync_id=4, start=80)
    )
    assert job.waits() == [([1], grade)]
    job = (
        Job().launch(tid=tid, start=20, end=45).record(sync_id=4, start=30, end=60).wait(sync_id=4, start=80)
    )
    assert job.waits() == [([1], grade)]


@pytest.mark.parametrize(("tid", "grade"), [(1, PROVEN), (2, TIMING)])
def test_an_operation_launched_during_the_wait_has_an_edge_by_timing(tid, grade):
    job = (
        Job()
        .launch()
        .record(sync_id=4)
        .wait(sync_id=4, start=40, end=60)
        .launch(stream=8, tid=tid, start=50, end=70)
    )
    graph, _ = job.graph()
    assert job.waits() == [([1], PROVEN)]
    assert graph.op_edges.grade.tolist() == [grade]


@pytest.mark.parametrize(("tid", "grade"), [(1, HANDLE), (2, TIMING)])
def test_a_record_of_another_thread_during_the_wait_makes_the_handle_uncertain(tid, grade):
    job = Job().launch().record(tid=tid, start=20, end=45).wait(start=40, end=60)
    assert job.waits() == [([1], grade)]
    job = Job().launch().record().wait(start=40, end=60).record(tid=tid, start=50, end=70)
    assert job.waits() == [([1], grade)]


def test_a_call_of_the_driver_inside_one_of_the_runtime_is_one_call():
    job = Job().launch()
    job.record(start=20, end=30, row=False).record(name="cuEventRecord", start=22, end=28)
    job.wait(start=40, end=50)
    # The call of the driver inside the wait has no row: it waits for nothing by itself.
    job._call("cuStreamWaitEvent", start=42, end=48)
    assert job.waits() == [([1], HANDLE)]


def test_a_wait_without_a_row_is_unknown():
    job = Job().launch().record(sync_id=4)
    job._call("cudaStreamWaitEvent")
    assert job.waits() == [([], UNKNOWN)]
    graph, _ = job.graph()
    assert graph.counts.unknown == 1


def test_what_waits_for_an_event_starts_after_its_producer():
    maker = TraceMaker()
    maker.call(0, 5 * US, correlation=1).kernel(10 * US, 200 * US, correlation=1)
    maker.call(10 * US, 15 * US, "cudaEventRecord", correlation=2).record(2, sync_id=1)
    maker.call(20 * US, 25 * US, "cudaStreamWaitEvent", correlation=3)
    maker.sync(20 * US, 25 * US, "cudaStreamWaitEvent", correlation=3, stream=8, event=1, sync_id=1)
    maker.call(30 * US, 35 * US, correlation=4).kernel(203 * US, 300 * US, stream=8, correlation=4)
    graph = Study(maker.trace()).dependencies
    assert (graph.binding[1], graph.binder[1], graph.lag_ns[1]) == (EdgeKind.EVENT, 0, 3 * US)
    assert (graph.waits.stream.tolist(), graph.waits.target.tolist()) == ([1], [1])


def test_a_launch_of_another_thread_that_was_over_is_sure():
    job = Job().launch(tid=2).record(sync_id=4).launch(tid=2).wait(sync_id=4).launch(stream=8, tid=2)
    assert job.waits() == [([1], PROVEN)]
    graph, _ = job.graph()
    assert graph.op_edges.grade.tolist() == [PROVEN]


@pytest.mark.parametrize(("tid", "grade"), [(1, PROVEN), (2, TIMING)])
@pytest.mark.parametrize("wait_ns", [(35, 55), (45, 65)])
def test_a_wait_of_another_thread_during_the_record_is_relayed_by_timing(tid, grade, wait_ns):
    start, end = wait_ns
    job = Job().launch().record(sync_id=1).wait(stream=20, sync_id=1, tid=tid, start=start, end=end)
    job.record(stream=20, event=2, sync_id=2, start=40, end=60).wait(event=2, sync_id=2, start=100)
    # Called after the record began it is not in it, as far as can be seen.
    producers = [1] if start < 40 else []
    assert job.waits()[-1] == (producers, grade)


def test_a_record_that_begins_with_the_wait_comes_first():
    job = Job().launch().record(tid=2, start=40, end=50).wait(start=40, end=60)
    assert job.waits() == [([1], TIMING)]


def test_an_event_after_a_graph_stands_for_its_node_that_ends_last():
    job = Job()
    job._call("cudaGraphLaunch")
    for stream, start, end in ((7, 20, 30), (7, 40, 50), (20, 20, 90)):
        job.maker.add(
            "kernel",
            job.maker.stream(0, 0, stream),
            start * US,
            end * US,
            "node",
            correlation=1,
            graph_node=stream,
        )
    job.record(sync_id=4, start=100).wait(sync_id=4, start=110)
    trace = job.maker.trace()
    graph = Study(trace).dependencies
    (producer,) = graph.waits.of(0).tolist()
    assert graph.operations.end_ns[producer] == 90 * US


def test_a_call_with_two_rows_waits_once():
    job = Job().launch().record(sync_id=4).wait(sync_id=4)
    job.maker.sync(30 * US, 35 * US, "cudaStreamWaitEvent", correlation=3, stream=8, event=1, sync_id=4)
    assert job.waits() == [([1], PROVEN)]


def test_what_two_threads_launch_on_a_stream_is_in_the_order_of_the_starts():
    maker = TraceMaker()
    # The later call launched first: the stream began with its kernel.
    maker.call(0, 50 * US, correlation=1).call(20 * US, 30 * US, tid=2, correlation=2)
    maker.kernel(200 * US, 300 * US, correlation=1).kernel(100 * US, 150 * US, correlation=2)
    maker.call(60 * US, 65 * US, "cudaEventRecord", correlation=3).record(3, sync_id=1)
    maker.call(70 * US, 75 * US, "cudaStreamWaitEvent", correlation=4)
    maker.sync(70 * US, 75 * US, "cudaStreamWaitEvent", correlation=4, stream=8, event=1, sync_id=1)
    graph = Study(maker.trace()).dependencies
    numbers = maker.trace().api.columns["correlation"][graph.operations.call]
    assert numbers[graph.waits.of(0)].tolist() == [1]
    assert graph.operations.previous.tolist() == [-1, 0]


def test_of_two_producers_one_that_ended_after_the_start_did_not_bind():
    job = (
        Job()
        .launch(stream=7)
        .launch(stream=9)
        .record(stream=7, sync_id=1)
        .record(stream=9, event=2, sync_id=2)
    )
    job.wait(sync_id=1).wait(event=2, sync_id=2).launch(stream=8)
    trace = job.maker.trace()
    kernels = trace.kernels
    kernels.start_ns[:], kernels.end_ns[:] = [100 * US, 100 * US, 203 * US], [200 * US, 400 * US, 300 * US]
    graph = Study(trace).dependencies
    assert (graph.binding[2], graph.binder[2], graph.lag_ns[2]) == (EdgeKind.EVENT, 0, 3 * US)


def test_a_record_on_a_stream_that_the_file_does_not_name_is_unknown():
    assert Job().launch().record(stream=0xFFFFFFFF, sync_id=4).wait(sync_id=4).waits() == [([], UNKNOWN)]


def test_an_operation_without_a_launch_record_was_launched_no_earlier_than_the_one_before_it():
    job = Job().record(sync_id=4).launch().wait(sync_id=4)
    job.maker.kernel(2000 * US, 2005 * US)
    assert job.waits() == [([], PROVEN)]


def test_each_producer_is_known_as_well_as_its_own_way():
    job = Job().launch().record(sync_id=1).launch(stream=9)
    job.wait(stream=20, sync_id=1, start=35, end=38)
    job.record(stream=9, event=2, sync_id=2, start=40, end=60).launch(stream=9, tid=2, start=50, end=70)
    job.wait(stream=20, event=2, sync_id=2, start=80).record(stream=20, event=3, sync_id=3, start=90)
    job.wait(event=3, sync_id=3, start=100)
    graph, numbers = job.graph()
    last = int(np.argmax(job.maker.trace().api.start_ns[graph.waits.call]))
    pairs = slice(*graph.waits.offsets[last : last + 2])
    known = dict(zip(numbers[graph.waits.producers[pairs]], graph.waits.producer_grade[pairs], strict=True))
    assert known == {1: PROVEN, 3: TIMING}
    assert graph.waits.grade[last] == TIMING


def test_a_relay_by_timing_makes_what_it_relays_known_by_timing():
    job = Job().launch().record(sync_id=1).launch(stream=20, tid=2, start=28, end=45)
    job.wait(stream=20, sync_id=1, start=30, end=40).record(stream=20, event=2, sync_id=2, start=60)
    job.wait(event=2, sync_id=2, start=70)
    graph, _ = job.graph()
    assert sorted(graph.waits.producer_grade.tolist()) == [TIMING, PROVEN, PROVEN]


def test_an_event_of_another_process_is_unknown():
    job = Job().launch().record(sync_id=4)
    job._call("cudaIpcOpenEventHandle")
    assert job.wait(event=9).wait(sync_id=4).waits() == [([], UNKNOWN), ([1], PROVEN)]
