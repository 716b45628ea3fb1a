import numpy as np
import pytest

from tests.analysis import sql
from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.launches.launches import UNKNOWN
from viewer.analysis.study import Study
from viewer.trace import Kind

BUILTIN = Rules.builtin()
TRACES = ("torchrun-2xh100-nccl", "inference-2xh100", "pytorch-a100-nvtx", "jacobi-1process-2gpus")


def launches_of(maker):
    return Study(maker.trace(), BUILTIN).launches


def test_a_launch_is_found_by_process_and_correlation():
    maker = TraceMaker()
    maker.kernel(100, 110, process=0, correlation=5).kernel(200, 210, process=1, correlation=5)
    maker.copy(300, 310, process=1, correlation=6).kernel(400, 410, process=1, correlation=9)
    maker.call(10, 20, process=0, correlation=5).call(30, 40, process=1, correlation=5)
    maker.call(50, 320, process=1, correlation=6)
    launches = launches_of(maker)
    assert launches.api_of(Kind.KERNEL).tolist() == [0, 1, -1]
    assert launches.latency_ns(Kind.KERNEL).tolist() == [90, 170, UNKNOWN]
    assert launches.queued_ns(Kind.KERNEL).tolist() == [80, 160, UNKNOWN]
    assert launches.latency_ns(Kind.MEMCPY).tolist() == [250]
    assert launches.queued_ns(Kind.MEMCPY).tolist() == [0], "it began before the call returned"


def test_of_calls_that_share_a_correlation_the_innermost_counts():
    maker = TraceMaker().kernel(100, 110, correlation=5)
    maker.call(10, 50, "cudaMemcpyAsync", correlation=5).call(12, 40, "inner", correlation=5)
    maker.call(12, 30, "innermost", correlation=5).call(5, 200, "elsewhere", tid=2, correlation=5)
    trace = maker.trace()
    call = Study(trace, BUILTIN).launches.api_of(Kind.KERNEL)[0]
    assert trace.names[trace.api.name_id[call]] == "innermost"


def test_correlation_zero_belongs_to_nobody():
    launches = launches_of(TraceMaker().kernel(100, 110).call(10, 20))
    assert launches.api_of(Kind.KERNEL).tolist() == [-1]
    assert launches.ops_of(0) == []


def test_without_calls_nothing_has_a_record():
    launches = launches_of(TraceMaker().kernel(100, 110, correlation=3))
    assert launches.api_of(Kind.KERNEL).tolist() == [-1]
    assert launches.api_of(Kind.GRAPH).tolist() == []
    assert launches.count(0, 0, 1000) == 0


def test_operations_of_a_call_and_back():
    maker = TraceMaker().call(0, 9, correlation=1).call(10, 12, correlation=2)
    maker.kernel(20, 30, correlation=1).kernel(40, 50, correlation=1, stream=8).copy(35, 36, correlation=1)
    maker.graph(60, 70, correlation=2)
    launches = launches_of(maker)
    assert launches.ops_of(0) == [(Kind.KERNEL, 0), (Kind.KERNEL, 1), (Kind.MEMCPY, 0)]
    assert launches.ops_of(1) == [(Kind.GRAPH, 0)]
    assert launches.ops_of(2) == []


@pytest.fixture
def launches():
    maker = TraceMaker()
    maker.call(0, 10, "cudaGraphLaunch", correlation=1).call(20, 25, correlation=2).call(30, 31, "cudaMalloc")
    maker.kernel(50, 60, correlation=1).kernel(40, 45, correlation=1, stream=8).copy(12, 15, correlation=2)
    maker.kernel(90, 95).range(0, 100, "step")
    return launches_of(maker)


def test_both_ends_of_a_launch(launches):
    assert launches.other_ends(Kind.KERNEL, 2) == launches.other_ends(Kind.KERNEL, 0) == [(Kind.API, 0)]
    assert launches.other_ends(Kind.API, 0) == [(Kind.KERNEL, 2), (Kind.KERNEL, 0)], "by their start"
    assert [launches.latency_of(Kind.KERNEL, k) for k in (0, 2)] == [50, 40]
    assert launches.latency_of(Kind.API, 0) == 40, "that of the first operation"


def test_negative_latency_is_kept(launches):
    assert launches.latency_of(Kind.MEMCPY, 0) == launches.latency_of(Kind.API, 1) == -8


def test_what_has_no_other_end(launches):
    for kind, index in ((Kind.KERNEL, 1), (Kind.API, 2), (Kind.NVTX, 0)):
        assert launches.other_ends(kind, index) == []
        assert launches.latency_of(kind, index) is None


def test_equal_correlations_of_two_processes_make_no_false_link():
    maker = TraceMaker().call(0, 5, correlation=7, process=0).kernel(10, 20, correlation=7, process=1)
    launches = launches_of(maker)
    assert launches.other_ends(Kind.KERNEL, 0) == launches.other_ends(Kind.API, 0) == []


@pytest.mark.parametrize(
    ("window", "expected"),
    [((0, 100), 2), ((0, 20), 0), ((20, 21), 1), ((30, 40), 1), ((50, 60), 0), ((69, 70), 1), ((70, 99), 0)],
)
def test_a_launch_reaches_from_its_first_operation_to_its_last(window, expected):
    maker = TraceMaker().call(0, 9, correlation=1).call(10, 12, correlation=2)
    maker.kernel(20, 30, correlation=1).kernel(40, 50, correlation=1, stream=8).graph(60, 70, correlation=2)
    assert launches_of(maker).count(0, *window) == expected


@pytest.fixture(scope="module", params=TRACES)
def read_trace(request, shared_trace, real_study):
    return shared_trace(request.param), real_study(request.param)


def test_pairs_of_real_traces_are_those_of_sql(read_trace):
    path, study = read_trace
    trace, launches = study.trace, study.launches
    innermost = {}
    with sql.connect(path) as db:
        for pid, correlation, start, end, row in db.execute(
            f"SELECT globalTid >> 24, correlationId, start, end, rowid FROM {sql.API}"
        ):
            key = pid, correlation
            innermost[key] = max(innermost.get(key, (start, -end, row)), (start, -end, row))
        for kind, table in ((Kind.KERNEL, sql.TABLES["kernel"]), (Kind.MEMCPY, sql.TABLES["memcpy"])):
            events, calls = trace.events[kind], launches.api_of(kind)
            rows = {
                row: (innermost.get((pid, correlation)), start)
                for pid, correlation, start, row in db.execute(
                    f"SELECT globalPid >> 24, correlationId, start, rowid FROM {table}"
                )
            }
            queued, latency = launches.queued_ns(kind), launches.latency_ns(kind)
            for i, row in enumerate(events.columns["file_row"].tolist()):
                call, start = rows[row]
                if call is None:
                    assert (calls[i], queued[i], latency[i]) == (-1, UNKNOWN, UNKNOWN)
                else:
                    assert trace.api.columns["file_row"][calls[i]] == call[2]
                    assert latency[i] == start - call[0]
                    assert queued[i] == max(0, start + call[1])


def test_launches_of_a_real_gpu_are_calls_with_an_operation_there(read_trace):
    path, study = read_trace
    operations = sql.operations(path)
    with sql.connect(path) as db:
        calls = set(db.execute(f"SELECT (globalTid >> 24) & 0xFFFFFF, correlationId FROM {sql.API}"))
    for gpu in study.trace.gpus:
        pid = study.trace.processes[gpu.process].pid
        launched = {op.correlation for op in operations[pid, gpu.device] if (pid, op.correlation) in calls}
        assert study.launches.count(gpu.index, *study.trace.window_ns) == len(launched)


def test_half_of_the_kernels_of_a_real_trace_have_no_record(real_study):
    calls = real_study("inference-2xh100").launches.api_of(Kind.KERNEL)
    assert int(np.count_nonzero(calls >= 0)) == 1632
