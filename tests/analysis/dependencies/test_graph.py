"""The edges that every trace has: launches, streams, blocking calls, matched collectives."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from tests.analysis.small_job import small_job
from viewer.analysis.collectives.match import CollectiveGroup
from viewer.analysis.dependencies.collective_sets import collective_sets
from viewer.analysis.dependencies.graph import NO_EDGE, EdgeKind, Grade
from viewer.analysis.study import Study
from viewer.trace import Kind

US = 1000


def graph_of(maker):
    return Study(maker.trace()).dependencies


def bound(graph):
    """Return (kind, binder, lag in µs) of every operation."""
    return list(zip(graph.binding.tolist(), graph.binder.tolist(), (graph.lag_ns / US).tolist(), strict=True))


def test_a_start_is_bound_by_the_later_of_launch_and_stream():
    maker = TraceMaker()
    maker.call(0, 5 * US, correlation=1).kernel(8 * US, 100 * US, correlation=1)
    maker.call(10 * US, 15 * US, correlation=2).kernel(102 * US, 200 * US, correlation=2)
    maker.call(250 * US, 255 * US, correlation=3).kernel(275 * US, 300 * US, correlation=3)
    graph = graph_of(maker)
    launch, stream = EdgeKind.LAUNCH, EdgeKind.STREAM
    assert bound(graph) == [(launch, 0, 3.0), (stream, 0, 2.0), (launch, 2, 20.0)]
    assert graph.explained.tolist() == [True, True, False]
    assert graph.counts.explained_share == pytest.approx(2 / 3)


def test_what_begins_inside_its_call_is_bound_by_it_without_a_lag():
    maker = TraceMaker().call(0, 50 * US, correlation=1).kernel(20 * US, 100 * US, correlation=1)
    assert bound(graph_of(maker)) == [(EdgeKind.LAUNCH, 0, 0.0)]


def test_without_a_launch_record_or_a_predecessor_nothing_binds():
    graph = graph_of(TraceMaker().kernel(0, 10).kernel(20, 30, stream=8))
    assert graph.binding.tolist() == [NO_EDGE, NO_EDGE]
    assert graph.lag_ns.tolist() == [-1, -1]
    assert graph.counts.explained_share == 0


def test_operations_of_all_kinds_are_one_order_on_their_stream():
    maker = TraceMaker().kernel(0, 10).copy(12, 20, copy_kind=1).memset(21, 22).kernel(30, 40)
    maker.kernel(5, 9, stream=8)
    operations = graph_of(maker).operations
    ref = [operations.number_of(kind, index) for kind, index in
           ((Kind.KERNEL, 0), (Kind.MEMCPY, 0), (Kind.MEMSET, 0), (Kind.KERNEL, 1))]  # fmt: skip
    assert operations.previous[ref].tolist() == [-1, *ref[:-1]]
    assert operations.previous[operations.number_of(Kind.KERNEL, 2)] == -1


def synchronised(name, tid=1, **columns):
    """Two streams with a kernel each, a call that waits, and what it returns after."""
    maker = TraceMaker()
    maker.call(0, 5, correlation=1).kernel(10, 100, correlation=1)
    maker.call(5, 8, correlation=2).kernel(20, 300, stream=8, correlation=2)
    maker.call(20, 310, name, correlation=3, tid=tid).sync(20, 310, name, correlation=3, **columns)
    maker.call(330, 335, correlation=4, tid=tid).kernel(350, 400, correlation=4)
    return maker


@pytest.mark.parametrize(
    ("name", "columns", "sources"),
    [
        ("cudaStreamSynchronize", {"stream": 8}, [2]),
        ("cudaStreamSynchronize_ptsz", {"stream": 7}, [0]),
        ("cuStreamSynchronize", {"stream": 9}, []),
        ("cudaDeviceSynchronize", {"stream": 0xFFFFFFFF}, [0, 2]),
        ("cudaDeviceSynchronize", {"stream": 0xFFFFFFFF, "context": 2}, []),
        ("cudaEventQuery", {"stream": 8}, []),
    ],
)
def test_a_blocking_call_waits_for_what_was_launched_before_it(name, columns, sources):
    edges = graph_of(synchronised(name, **columns)).return_edges
    assert sorted(edges.source.tolist()) == sources
    assert set(edges.target.tolist()) <= {2}
    assert (edges.grade == Grade.PROVEN).all()


def test_a_copy_that_was_over_when_its_call_returned_was_waited_for():
    maker = TraceMaker()
    maker.call(0, 100, "cudaMemcpy", correlation=1).copy(10, 90, correlation=1, copy_kind=2)
    maker.call(200, 210, "cudaMemcpy", correlation=2).copy(205, 300, correlation=2, copy_kind=1)
    edges = graph_of(maker).return_edges
    assert (edges.target.tolist(), edges.source.tolist()) == ([0], [0])


def test_matched_sets_are_those_of_the_collectives():
    study = Study(small_job().trace())
    graph, groups = study.dependencies, study.collectives.groups
    assert len(graph.sets) == sum(int(group.matched.sum()) for group in groups) > 0
    for number in range(len(graph.sets)):
        members = graph.sets.of(number)
        assert (graph.set_of[members] == number).all()
        assert graph.sets.root[number] == -1
    assert np.count_nonzero(graph.set_of >= 0) == len(graph.sets.operations)


def test_a_device_waits_for_the_last_operation_of_each_stream_alone():
    maker = TraceMaker()
    for number in range(1, 5):
        maker.call(number, number, correlation=number).kernel(
            10 * number, 10 * number + 5, correlation=number
        )
    for number, name in ((10, "cudaDeviceSynchronize"), (11, "cudaDeviceSynchronize")):
        maker.call(number * 10, number * 10 + 5, name, correlation=number)
        maker.sync(number * 10, number * 10 + 5, name, correlation=number, stream=0xFFFFFFFF)
    edges = graph_of(maker).return_edges
    # The second call has nothing left to wait for.
    assert (edges.target.tolist(), edges.source.tolist()) == ([4], [3])


def test_a_row_without_a_correlation_id_has_no_call():
    maker = TraceMaker().call(0, 5, correlation=1).kernel(10, 100, correlation=1)
    maker.call(20, 110, "cudaStreamSynchronize").sync(20, 110, "cudaStreamSynchronize")
    assert len(graph_of(maker).return_edges) == 0


def test_an_operation_that_began_before_the_one_in_front_ended_is_not_bound_by_it():
    maker = TraceMaker().call(0, 5 * US, correlation=1).kernel(8 * US, 100 * US, correlation=1)
    maker.call(10 * US, 15 * US, correlation=2).kernel(50 * US, 200 * US, correlation=2)
    assert bound(graph_of(maker))[1] == (EdgeKind.LAUNCH, 1, 35.0)


def test_time_stamps_that_are_a_little_off_still_bind():
    maker = TraceMaker().call(0, 5 * US, correlation=1).kernel(8 * US, 100 * US, correlation=1)
    maker.call(10 * US, 15 * US, correlation=2).kernel(100 * US - 500, 200 * US, correlation=2)
    assert bound(graph_of(maker))[1] == (EdgeKind.STREAM, 0, 0.0)


@pytest.mark.parametrize(
    ("kind", "root", "root_waits"),
    [("AllReduce", -1, False), ("Broadcast", 3, False), ("Reduce", 3, True)],
)
def test_a_set_with_a_root_says_who_waits_for_whom(kind, root, root_waits):
    maker = TraceMaker().copy(0, 5, copy_kind=1)
    for process in range(2):
        maker.kernel(10, 20, process=process, device=process).kernel(30, 40, process=process, device=process)
    operations = graph_of(maker).operations
    kernels, matched = np.array([[0, 1], [2, 3]]), np.array([False, True])
    group = CollectiveGroup(0, kind, (0, 1), (0, 1), kernels, matched, ~matched, np.array([-1, 1]))
    sets, set_of = collective_sets(SimpleNamespace(groups=(group,)), operations)
    assert (len(sets), sets.of(0).tolist()) == (1, [1, 3])
    assert (sets.root.tolist(), sets.root_waits.tolist(), sets.group.tolist()) == ([root], [root_waits], [0])
    assert set_of.tolist() == [-1, 0, -1, 0, -1]


def test_of_two_sets_of_a_kernel_the_one_that_came_last_counts():
    maker = TraceMaker()
    for process, start in ((0, 10), (1, 30), (2, 20)):
        maker.kernel(start, 90, process=process, device=process)
    operations = graph_of(maker).operations
    true, none = np.array([True]), np.array([-1])
    groups = tuple(
        CollectiveGroup(0, "SendRecv", (0, p), (0, p), np.array([[0], [p]]), true, ~true, none)
        for p in (1, 2)
    )
    sets, set_of = collective_sets(SimpleNamespace(groups=groups), operations)
    assert len(sets) == 2
    assert set_of.tolist() == [0, 0, 1]
