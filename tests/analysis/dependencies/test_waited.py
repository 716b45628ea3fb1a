"""What an operation waited for: the parts against the recording, read nanosecond by nanosecond."""

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.dependencies.graph import NO_EDGE, EdgeKind, Grade
from viewer.analysis.dependencies.waited import waited_of_call, waited_of_operation
from viewer.analysis.study import Study
from viewer.trace import Kind


def two_ranks(late_ns=400, sets=20):
    """Two ranks: a kernel, an AllReduce on its stream, a kernel behind it; rank 1 begins its second late."""
    maker = TraceMaker()
    for number in range(sets):
        at = number * 10_000
        for rank in (0, 1):
            late = late_ns * rank
            first = 3 * number + 1
            names = ("gemm", "ncclDevKernel_AllReduce_Sum", "gemm")
            spans = ((100, 900 + late), (1000 + late, 3000), (3020, 4000))
            for place, (name, (start, end)) in enumerate(zip(names, spans, strict=True)):
                maker.call(at + 10 * place, at + 10 * place + 5, process=rank, correlation=first + place)
                maker.kernel(at + start, at + end, name, process=rank, correlation=first + place)
    return Study(maker.trace())


def kernels_of(study, rank, name):
    trace = study.trace
    named = np.flatnonzero([trace.names[int(i)] == name for i in trace.kernels.name_id])
    return [int(k) for k in named if trace.streams[trace.kernels.owner_of(int(k))].gpu == rank]


def test_a_kernel_behind_a_collective_waits_for_the_late_rank_the_transfer_and_its_own_start():
    study = two_ranks()
    graph, api = study.dependencies, study.trace.api
    after = kernels_of(study, 0, "gemm")[1]
    waited = waited_of_operation(graph, api, graph.operations.number_of(Kind.KERNEL, after))
    assert (waited.kind, waited.grade) == (EdgeKind.STREAM, Grade.PROVEN)
    # Launched at 25; the collective began at 1000, rank 1 came at 1400, all ended at 3000.
    assert (waited.since_ns, waited.until_ns) == (1000, 3020)
    assert (waited.to_begin_ns, waited.arrival_ns, waited.work_ns, waited.lag_ns) == (0, 400, 1600, 20)
    last = graph.operations.event_of(waited.last)
    assert last == (Kind.KERNEL, kernels_of(study, 1, "ncclDevKernel_AllReduce_Sum")[0])


def test_the_last_to_arrive_waited_for_nobody():
    study = two_ranks()
    graph = study.dependencies
    after = graph.operations.number_of(Kind.KERNEL, kernels_of(study, 1, "gemm")[1])
    waited = waited_of_operation(graph, study.trace.api, after)
    assert (waited.last, waited.arrival_ns, waited.work_ns) == (-1, 0, 1600)


def test_a_launch_that_comes_late_is_what_was_waited_for():
    maker = TraceMaker()
    maker.call(0, 5, correlation=1).kernel(10, 100, correlation=1)
    maker.call(300, 340, correlation=2).kernel(365, 400, correlation=2)
    study = Study(maker.trace())
    waited = waited_of_operation(study.dependencies, study.trace.api, 1)
    assert (waited.kind, waited.binder) == (EdgeKind.LAUNCH, 1)
    assert (waited.since_ns, waited.to_begin_ns, waited.work_ns, waited.lag_ns) == (100, 200, 40, 25)


def test_a_call_and_an_operation_of_one_number_are_not_mistaken_for_one_another():
    maker = TraceMaker().call(0, 5, correlation=1).kernel(10, 100, correlation=1)
    # Call 1 launches operation 2; operation 1 is the one before it on its stream.
    maker.call(300, 340, correlation=2)
    maker.kernel(110, 200).kernel(365, 400, correlation=2)
    study = Study(maker.trace())
    waited = waited_of_operation(study.dependencies, study.trace.api, 2)
    assert waited.since_ns == 200


def test_what_runs_beside_it_held_nothing_up():
    maker = TraceMaker().call(0, 5, correlation=1).kernel(10, 50_000, correlation=1)
    maker.call(20, 25, correlation=2).kernel(60, 40_000, correlation=2)
    study = Study(maker.trace())
    waited = waited_of_operation(study.dependencies, study.trace.api, 1)
    assert (waited.kind, waited.since_ns, waited.length_ns) == (EdgeKind.LAUNCH, 20, 40)


def test_a_call_that_blocks_waits_for_the_last_operation():
    maker = TraceMaker().call(0, 5, correlation=1).kernel(10, 100, correlation=1)
    maker.call(20, 120, "cudaDeviceSynchronize", correlation=2)
    maker.sync(20, 120, "cudaDeviceSynchronize", correlation=2, stream=0xFFFFFFFF)
    study = Study(maker.trace())
    waited = waited_of_call(study.dependencies, study.trace.api, 1)
    assert (waited.kind, waited.binder) == (EdgeKind.RETURN, 0)
    assert (waited.since_ns, waited.until_ns, waited.work_ns, waited.lag_ns) == (20, 120, 80, 20)
    assert waited_of_call(study.dependencies, study.trace.api, 0) is None


def assert_nothing_else_held_it_up(graph, api, number, waited):
    """Every other edge was over by the time from which the wait counts."""
    ops, edges = graph.operations, graph.op_edges
    is_launch = waited.kind == EdgeKind.LAUNCH
    allowed = waited.until_ns - waited.lag_ns
    times = [] if is_launch else [int(api.end_ns[ops.call[number]])]
    sources = [int(ops.previous[number]), *edges.source[edges.of(number)].tolist()]
    times += [int(ops.end_ns[s]) for s in sources if s >= 0 and (is_launch or s != waited.binder)]
    assert all(t <= waited.since_ns or t > allowed for t in times)


def test_the_parts_of_every_wait_of_the_demo_sum_to_it(demo_study):
    graph, api = demo_study.dependencies, demo_study.trace.api
    ops = graph.operations
    rng = np.random.default_rng(5)
    bound = np.flatnonzero(graph.binding != NO_EDGE)
    for number in rng.choice(bound, 2000, replace=False).tolist():
        waited = waited_of_operation(graph, api, number)
        parts = (waited.to_begin_ns, waited.arrival_ns, waited.work_ns, waited.lag_ns)
        assert min(parts) >= 0
        assert sum(parts) == waited.until_ns - waited.since_ns
        assert waited.until_ns == ops.start_ns[number]
        assert waited.lag_ns == graph.lag_ns[number]
        assert_nothing_else_held_it_up(graph, api, number, waited)
        if waited.last >= 0:
            members = graph.sets.of(int(graph.set_of[waited.binder]))
            assert ops.start_ns[waited.last] == ops.start_ns[members].max()


def test_without_an_edge_nothing_is_known():
    study = Study(TraceMaker().kernel(0, 10).trace())
    assert waited_of_operation(study.dependencies, study.trace.api, 0) is None
