"""What changes to operations do to their durations, against plain loops over what was recorded."""

import random
import statistics
from collections import defaultdict
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from tests.analysis.replay.test_by_hand import launches
from tests.analysis.replay.test_changes import US, effects
from tests.analysis.replay.test_host_changes import refusal
from viewer.analysis.replay import gpu_changes
from viewer.analysis.replay.changes import FlattenRanks, Hide, NoWait, RemoveCopies, Scale
from viewer.analysis.replay.gpu_changes import _medians, _nth
from viewer.analysis.replay.what_if import effects_of
from viewer.analysis.study import Study
from viewer.trace import GPU_KINDS, Kind

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)"
GATHER = "ncclDevKernel_AllGather_RING_LL(x)"


@pytest.mark.parametrize("seed", range(6))
def test_medians_and_places_are_those_of_plain_lists(seed):
    rng = random.Random(seed)
    keys = [(rng.randrange(3), rng.randrange(3)) for _ in range(rng.randrange(60))]
    values = [rng.randrange(1_000) for _ in keys]
    by_key = defaultdict(list)
    for key, value in zip(keys, values, strict=True):
        by_key[key].append(value)
    columns = np.array(keys, np.int64).reshape(-1, 2).T
    expected = [int(statistics.median(by_key[key])) for key in keys]
    assert _medians(columns, np.array(values, np.int64)).tolist() == expected
    seen, places = defaultdict(int), []
    for key in sorted(keys):
        places.append(seen[key])
        seen[key] += 1
    in_order = np.array(sorted(keys), np.int64).reshape(-1, 2).T
    assert _nth(*in_order).tolist() == places


def compute_kernels(study):
    """Yield the number, the GPU, the start of the launch and the name of each kernel that computes."""
    trace = study.trace
    kernels, api = trace.kernels, trace.api
    owner = api.owners()
    launched = {
        (trace.threads[int(owner[row])].process, int(api.columns["correlation"][row])): int(api.start_ns[row])
        for row in range(len(api))
    }
    for stream in trace.streams:
        process = trace.gpus[stream.gpu].process
        rows = kernels.of(stream.index)
        for number in range(rows.start, rows.stop):
            name = trace.names[int(kernels.name_id[number])]
            if "nccl" not in name:
                called = launched[process, int(kernels.columns["correlation"][number])]
                yield number, stream.gpu, called, name


def test_each_kernel_takes_the_median_of_its_twins(demo_of):
    study = demo_of(iterations=3)
    iterations, kernels = study.iterations(), study.trace.kernels
    of_rank, twins = defaultdict(list), defaultdict(list)
    for number, gpu, called, name in compute_kernels(study):
        edges = iterations.starts[gpu].tolist()
        iteration = sum(edge <= int(kernels.start_ns[number]) for edge in edges) - 1
        if 0 <= iteration < iterations.count:
            of_rank[gpu, iteration, name].append((called, number))
    for (_, iteration, name), own in of_rank.items():
        for place, (_, number) in enumerate(sorted(own)):
            twins[iteration, name, place].append(number)
    assert {len(numbers) for numbers in twins.values()} == {8}
    expected = study.replay.network.work_ns.copy()
    for numbers in twins.values():
        lasts = [int(kernels.end_ns[number] - kernels.start_ns[number]) for number in numbers]
        expected[numbers] = int(statistics.median(lasts))
    found = effects_of(study.replay, [FlattenRanks()], iterations)
    np.testing.assert_array_equal(found.work_ns, expected)
    assert not found.cuts
    # What is flattened can be scaled, in whatever order it is asked for.
    both = effects_of(study.replay, [Scale("flash", 2), FlattenRanks()], iterations)
    is_flash = np.array(["flash" in study.trace.names[i] for i in range(len(study.trace.names))])
    expected[np.flatnonzero(is_flash[kernels.name_id])] *= 2
    np.testing.assert_array_equal(both.work_ns, expected)


def test_twins_are_counted_by_their_launches_within_each_iteration(monkeypatch):
    maker = TraceMaker(session_ns=1_000)
    lasts = {}
    # Rank 0 launches on stream 13 first, rank 1 on stream 7; either way the first one starts later.
    for process, streams, lengths in ((0, (13, 7), (10, 30)), (1, (7, 13), (20, 50))):
        for k, (stream, length) in enumerate(zip(streams, lengths, strict=True)):
            number = 10 * process + k + 1
            maker.call(5 * k, 5 * k + 1, correlation=number, process=process)
            start = 140 - 40 * k
            maker.kernel(start, start + length, stream=stream, process=process, correlation=number)
            lasts[process, start] = length
    # One at the beginning of the second iteration, one before the first, and one as the last one ends.
    for process, length in ((0, 6), (1, 8)):
        for start in (200, 50, 300):
            maker.kernel(start, start + length, stream=7, process=process)
            lasts[process, start] = length
    twins = {140: 15, 100: 40, 200: 7}
    trace = maker.trace()
    iterations = SimpleNamespace(starts=np.array([[100, 200, 300]] * 2), count=2)
    replay = Study(trace).replay
    for groups in ([(0, 1)], [(0,), (1,)]):
        monkeypatch.setattr(gpu_changes, "same_work_of", lambda *_, found=groups: found)
        if len(groups) == 2:
            with pytest.raises(ValueError, match="nothing to flatten"):
                effects_of(replay, [FlattenRanks()], iterations)
            continue
        found = effects_of(replay, [FlattenRanks()], iterations)
        for row, stream in enumerate(trace.kernels.owners().tolist()):
            process, start = trace.gpus[trace.streams[stream].gpu].process, int(trace.kernels.start_ns[row])
            assert found.work_ns[row] == twins.get(start, lasts[process, start])


def test_ranks_are_flattened_only_where_they_can_be(demo_of):
    text = "ranks can only be flattened iteration by iteration, and none were found"
    assert refusal(launches(count=2, gap=20), FlattenRanks()) == text
    study = demo_of(iterations=3, ranks=1)
    with pytest.raises(ValueError, match="no two ranks do the same work: there is nothing to flatten"):
        effects_of(study.replay, [FlattenRanks()], study.iterations())


def test_copies_before_the_first_kernel_are_those_of_a_plain_search(demo_of):
    study = demo_of(iterations=3)
    trace, iterations = study.trace, study.iterations()
    copies, kernels = trace.events[Kind.MEMCPY], trace.kernels
    first = int(study.replay.network.operations.first[GPU_KINDS.index(Kind.MEMCPY)])
    by_gpu = defaultdict(list)
    for number, gpu, _, _ in compute_kernels(study):
        by_gpu[gpu].append(int(kernels.start_ns[number]))
    chosen = []
    for row, stream in enumerate(copies.owners().tolist()):
        gpu, start = trace.streams[stream].gpu, int(copies.start_ns[row])
        if "HtoD" not in trace.names[int(copies.name_id[row])]:
            continue
        for begin, end in pairwise(iterations.starts[gpu].tolist()):
            low = max([k for k in by_gpu[gpu] if k < begin], default=begin)
            high = min([k for k in by_gpu[gpu] if k >= begin] + [end])
            if low <= start < high:
                chosen.append(first + row)
                break
    found = effects_of(study.replay, [RemoveCopies("htod")], iterations)
    assert chosen
    expected = study.replay.network.work_ns.copy()
    expected[chosen] = 0
    np.testing.assert_array_equal(found.work_ns, expected)
    calls = study.replay.network.operations.call[chosen]
    outer = study.replay.network.hosts.outer_of[calls]
    assert np.flatnonzero(found.freed).tolist() == sorted(set(outer.tolist()))
    cut_ns = sum(int((cut.end_ns - cut.start_ns).sum()) for cut in found.cuts.values())
    assert cut_ns == int((trace.api.end_ns[calls] - trace.api.start_ns[calls]).sum())


def test_copies_that_are_not_there_are_refused(demo_of):
    with pytest.raises(ValueError, match="not known without iterations"):
        effects_of(demo_of(iterations=3).replay, [RemoveCopies("HtoD")], None)
    study = demo_of(iterations=3)
    kinds = sorted({name.split()[-1] for name in study.trace.names if name.startswith("Memcpy ")})
    with pytest.raises(ValueError, match=f"^there are no copies 'x'; there are {', '.join(kinds)}$"):
        effects_of(study.replay, [RemoveCopies("x")], study.iterations())


def test_durations_are_rounded_and_unmatched_collectives_stay():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.kernel(0, 7, "reduce_kernel").kernel(10, 20, ALL_REDUCE, stream=9).kernel(30, 36, "gemm")
    expected = {"reduce": [4, 10, 6], "gemm": [7, 10, 3]}
    for pattern, lasts in expected.items():
        kernels = maker.trace().kernels
        order = np.argsort(kernels.start_ns)
        assert effects(maker, Scale(pattern, 0.5)).work_ns[order].tolist() == lasts
    text = "the collectives 'nccl' are not matched over the ranks: their transfer is not known"
    assert refusal(maker, Scale("nccl", 0.5)) == text
    assert refusal(maker, Hide("allreduce")) == text.replace("nccl", "allreduce")
    maker.kernel(50, 60, GATHER, stream=9)
    assert refusal(maker, Hide("x")) == (
        "there is no collective of the kind 'x'; there are AllGather, AllReduce"
    )


def test_a_trace_without_kernels_has_nothing_to_scale():
    maker = TraceMaker(session_ns=1_000 * US).copy(0, 10)
    text = "no kernel's name holds 'x', and no class is called so; the trace has no kernels"
    assert refusal(maker, Scale("x", 0.5)) == text


def waiting(*ranges):
    """A stream that waits for an all-reduce twice before its kernel, and once for a gather, on another."""
    maker = TraceMaker(session_ns=1_000 * US)
    for number, (name, stream) in enumerate(((ALL_REDUCE, 9), (GATHER, 10)), 1):
        begin = 10 * number
        maker.call(begin * US, (begin + 1) * US, correlation=begin)
        maker.kernel((begin + 2) * US, (begin + 60) * US, name, stream=stream, correlation=begin)
        maker.call((begin + 3) * US, (begin + 4) * US, "cudaEventRecord", correlation=begin + 1)
        maker.record(begin + 1, stream, number, number)
    for begin, event in ((40, 1), (44, 1), (48, 2)):
        maker.call(begin * US, (begin + 1) * US, "cudaStreamWaitEvent", correlation=begin)
        maker.sync(
            begin * US, (begin + 1) * US, "Stream wait event", correlation=begin, event=event, sync_id=event
        )
    maker.call(55 * US, 56 * US, correlation=55).kernel(90 * US, 99 * US, correlation=55)
    for begin, end, name, tid in ranges:
        maker.range(begin * US, end * US, name, tid)
    return maker


def dropped(maker, change):
    """Return the names of the kernels that are no longer waited for."""
    trace, found = maker.trace(), effects(maker, change)
    network = Study(trace).replay.network
    return [trace.names[int(trace.kernels.name_id[s])] for s in network.extra_source[found.dropped].tolist()]


def test_a_wait_goes_with_the_last_of_those_that_wait_for_the_same():
    assert dropped(waiting(), NoWait("allreduce")) == [ALL_REDUCE]
    assert dropped(waiting(), NoWait("AllGather")) == [GATHER]
    for one in ((39, 42), (43, 46), (44, 45)):
        assert dropped(waiting((*one, "a", 1)), NoWait("AllReduce", "a")) == []
    assert dropped(waiting((39, 45, "a", 1)), NoWait("AllReduce", "a")) == [ALL_REDUCE]
    assert dropped(waiting((40, 41, "a", 1), (44, 47, "a", 1)), NoWait("AllReduce", "a")) == [ALL_REDUCE]


def test_waits_outside_a_range_or_of_another_thread_are_not_dropped():
    text = "no stream wait for AllReduce is called in 'a'"
    for one in ((41, 43, "a", 1), (39, 60, "a", 2)):
        assert refusal(waiting(one), NoWait("AllReduce", "a")) == text
    other = waiting().kernel(200 * US, 201 * US, "ncclDevKernel_ReduceScatter_x", stream=11)
    assert refusal(other, NoWait("ReduceScatter")) == "no stream wait for ReduceScatter is known"
