import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis import sql
from tests.analysis.make import TraceMaker
from viewer.analysis.core import prefix_sums
from viewer.analysis.core.classify import CLASSES, Rules
from viewer.analysis.study import Study
from viewer.analysis.time.measure import class_numbers
from viewer.analysis.time.stream_gaps import StreamGapNumbers

BUILTIN = Rules.builtin()
NCCL = "ncclDevKernel_AllReduce"

times = st.integers(-10, 60)
kernels = st.lists(st.tuples(times, st.integers(0, 20), st.sampled_from([3, 7, 40])), max_size=30).map(sorted)


@given(kernels, times, times, st.integers(1, 8))
def test_prefix_sums_are_the_sum_of_the_clipped_events(rows, low, high, block):
    low, high = min(low, high), max(low, high)
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_sums, "_BLOCK", block)
        made = prefix_sums.PrefixSums(columns[0], columns[0] + columns[1], columns[2].astype(np.uint32))
        sums = dict(zip(made.keys.tolist(), made.sums(low, high).tolist(), strict=True))
        if low < high:
            assert made.count(low, high) == sum(s < high and s + max(n, 1) > low for s, n, _ in rows)
    expected = {}
    for start, length, key in rows:
        expected[key] = expected.get(key, 0) + max(0, min(start + length, high) - max(start, low))
    assert sums == expected


@given(kernels, times, times, st.integers(1, 8))
def test_prefix_sums_leave_out_what_does_not_count(rows, low, high, block):
    low, high = min(low, high), max(low, high) + 1
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    counted = columns[2] != 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_sums, "_BLOCK", block)
        made = prefix_sums.PrefixSums(
            columns[0], columns[0] + columns[1], columns[2].astype(np.uint32), counted
        )
        held = columns[:, counted]
        alone = prefix_sums.PrefixSums(held[0], held[0] + held[1], held[2].astype(np.uint32))
        assert made.keys.tolist() == alone.keys.tolist()
        assert made.sums(low, high).tolist() == alone.sums(low, high).tolist()
        assert made.count(low, high) == alone.count(low, high)


def two_streams():
    """Stream 7 computes in [0, 10) and [30, 40); meanwhile the others do one thing after the other."""
    maker = TraceMaker(session_ns=50)
    maker.kernel(0, 10, "gemm(int)", short="gemm").kernel(30, 40, "gemm(int)", short="gemm")
    maker.kernel(8, 14, NCCL, stream=20).kernel(14, 16, "small", stream=8).copy(15, 20, stream=9)
    return Study(maker.trace(), BUILTIN)


def test_stream_gaps_say_what_fills_the_compute_streams_gaps():
    study = two_streams()
    card = study.measure(5, 35)
    gpu = card.gpus[0]
    assert gpu.gap_stream == 7
    assert gpu.stream_gaps == StreamGapNumbers(
        empty_ns=20, compute_ns=2, communication_ns=4, copy_ns=4, idle_ns=10
    )
    assert card.parts_ns.tolist() == [[10, 2, 4, 4, 10]]
    assert card.no_kernel_ns.tolist() == [14]


def test_a_card_counts_what_touches_the_range():
    card = two_streams().measure(5, 31)
    assert (card.start_ns, card.end_ns, card.length_ns, card.clipped) == (5, 31, 26, False)
    assert card.gpus[0].kernels == card.kernels == 4
    assert two_streams().measure(10, 30).kernels == 2
    assert [(f.name, f.sum_ns) for f in card.gpus[0].families] == [("gemm", 6), (NCCL, 6), ("small", 2)]
    assert sum(f.share for f in card.families) == pytest.approx(1)


def test_launches_of_one_operation_and_of_several_count_once_each():
    maker = TraceMaker(session_ns=50).call(0, 2, correlation=1).call(2, 4, correlation=2)
    maker.kernel(10, 12, correlation=1).kernel(20, 22, correlation=1, stream=8).kernel(30, 40, correlation=2)
    study = Study(maker.trace(), BUILTIN)
    assert [study.measure(*window).launches for window in ((0, 50), (14, 18), (22, 30), (35, 36))] == [
        2,
        1,
        0,
        1,
    ]


def test_a_range_is_clipped_to_the_recording_and_says_so():
    card = two_streams().measure(-1000, 1000)
    assert (card.start_ns, card.end_ns, card.clipped) == (0, 50, True)
    with pytest.raises(ValueError, match="recording runs from 0 to 50"):
        two_streams().measure(60, 70)


def test_all_gpus_are_added_up():
    maker = TraceMaker().kernel(0, 10, "a").kernel(0, 4, "b", process=1).kernel(5, 9, "a", process=1)
    card = Study(maker.trace(), BUILTIN).measure(0, 10)
    assert card.all_ns.tolist() == [18, 0, 0, 0, 2]
    assert [(f.name, f.sum_ns) for f in card.families] == [("a", 14), ("b", 4)]
    assert [g.kernels for g in card.gpus] == [1, 2]


def test_a_gpu_without_kernels_has_one_gap():
    maker = TraceMaker().copy(2, 4).kernel(0, 10, process=1)
    gpu = Study(maker.trace(), BUILTIN).measure(0, 10).gpus[0]
    assert (gpu.gap_stream, gpu.kernels, gpu.families) == (None, 0, ())
    assert gpu.stream_gaps == StreamGapNumbers(
        empty_ns=10, compute_ns=0, communication_ns=0, copy_ns=2, idle_ns=8
    )


def test_a_range_stands_beside_the_iteration_of_its_middle():
    from viewer.analysis.time.iteration_bounds import Marker, make_iterations

    study = two_streams()
    starts = np.array([[0, 10, 30, 40]], np.int64)
    iterations = make_iterations(Marker("step"), ("0", "1", "2"), starts, np.array([True]))
    share = study.measure(12, 17, iterations).iteration
    assert (share.iteration, share.share, share.iterations) == (1, 0.25, (1,))
    assert study.measure(8, 28, iterations).iteration.iterations == (0, 1)
    assert study.measure(44, 48, iterations).iteration is None


def test_several_ranges_add_up_and_an_event_across_two_counts_once():
    maker = TraceMaker(session_ns=100).kernel(0, 60, "long").kernel(5, 8, "short", stream=8)
    maker.kernel(20, 24, "gap", stream=8).kernel(30, 90, "late", stream=9).kernel(70, 70, "empty", stream=8)
    study = Study(maker.trace(), BUILTIN)
    ranges = [(30, 40), (2, 10), (62, 72)]
    card = study.measure_all(ranges)
    assert card.windows == ((2, 10), (30, 40), (62, 72))
    assert (card.length_ns, card.start_ns, card.end_ns) == (28, 2, 72)
    assert card.kernels == 4
    single = [study.measure(*window) for window in ranges]
    assert card.parts_ns.tolist() == sum(one.parts_ns for one in single).tolist()
    assert {f.name: f.sum_ns for f in card.families} == {"long": 18, "late": 20, "short": 3}
    assert card.gpus[0].stream_gaps.empty_ns == sum(one.gpus[0].stream_gaps.empty_ns for one in single)


def test_several_ranges_are_clipped_and_those_outside_left_out():
    study = two_streams()
    card = study.measure_all([(40, 70), (60, 90), (1, 3)])
    assert (card.windows, card.clipped) == (((1, 3), (40, 50)), True)
    with pytest.raises(ValueError, match="recording runs from 0 to 50"):
        study.measure_all([(60, 70), (80, 90)])


@pytest.mark.parametrize("count", [2, 5])
def test_counts_of_several_ranges_equal_a_plain_count(count):
    chance = random.Random(count)
    maker = TraceMaker(session_ns=6000)
    kernels = []
    for number in range(3000):
        start = chance.randrange(5000)
        end = start + chance.choice([0, 1, 7, 60, 900])
        kernels.append((start, end))
        maker.kernel(start, end, f"k{number % 3}", stream=number % 5)
    study = Study(maker.trace(), BUILTIN)
    for _ in range(20):
        edges = sorted(chance.sample(range(6000), 2 * count))
        ranges = list(zip(edges[::2], edges[1::2], strict=True))
        wanted = sum(
            any(start < high and max(end, start + 1) > low for low, high in ranges) for start, end in kernels
        )
        assert study.measure_all(ranges).kernels == wanted


def test_several_ranges_are_a_share_of_the_iterations_around_them():
    from viewer.analysis.time.iteration_bounds import make_iterations

    study = two_streams()
    starts = np.array([[0, 10, 30, 40]], np.int64)
    iterations = make_iterations("step", ("0", "1", "2"), starts, np.array([True]))
    same = study.measure_all([(12, 14), (20, 23)], iterations).iteration
    assert (same.counted, same.share, same.iterations) == ((1,), 0.25, (1,))
    apart = study.measure_all([(12, 14), (32, 37)], iterations).iteration
    assert (apart.counted, apart.iterations) == ((1, 2), (1, 2))
    assert apart.share == pytest.approx(7 / 30)
    assert study.measure_all([(12, 14), (44, 48)], iterations).iteration is None


@pytest.mark.parametrize(
    ("category", "at", "wanted"),
    [
        ("compute_only", 3, (0, 8)),
        ("hidden_comm", 9, (8, 10)),
        ("copy_only", 18, (16, 20)),
        ("idle", 25, (20, 30)),
        ("idle", 45, (40, 50)),
        ("idle", 3, None),
    ],
)
def test_the_bar_of_a_category_is_whole(category, at, wanted):
    study = two_streams()
    assert study.parts[0].interval_in(category, at, at + 1, study.trace.span_ns) == wanted


def test_of_the_bars_in_a_pixel_the_one_with_most_time_is_taken():
    maker = TraceMaker(session_ns=100).kernel(10, 20).kernel(23, 30).kernel(36, 80)
    study = Study(maker.trace(), BUILTIN)
    assert study.parts[0].interval_in("idle", 19, 37, study.trace.span_ns) == (30, 36)
    assert study.parts[0].interval_in("compute_only", 18, 30, study.trace.span_ns) == (23, 30)
    assert study.parts[0].interval_in("idle", 2, 12, study.trace.span_ns) == (0, 10)
    assert study.parts[0].interval_in("idle", 85, 90, study.trace.span_ns) == (80, 100)
    # Idle time at the edges of what was recorded ends where the window of the operations does.
    later = Study(TraceMaker(session_ns=100).kernel(10, 20).kernel(30, 40, device=1).trace(), BUILTIN)
    assert later.trace.window_ns == (10, 40)
    ends = [later.parts[0].interval_in("idle", at, at + 1, later.trace.span_ns) for at in (5, 20, 39, 40, 60)]
    assert ends == [(0, 10), (20, 40), (20, 40), (40, 100), (40, 100)]
    starts = [later.parts[1].interval_in("idle", at, at + 1, later.trace.span_ns) for at in (9, 10, 29)]
    assert starts == [(0, 10), (10, 30), (10, 30)]


def test_classes_are_sums_and_unions_of_what_is_inside():
    maker = (
        TraceMaker().kernel(0, 10, "gemm").kernel(5, 20, "gemm", stream=8).kernel(12, 12, "flash_fwd_kernel")
    )
    study = Study(maker.trace(), BUILTIN)
    numbers = class_numbers(study.trace, study.classes, 0, 2, 18)
    assert [c.name for c in numbers] == list(CLASSES)
    found = {c.name: (c.sum_ns, c.union_ns, c.kernels) for c in numbers if c.kernels}
    assert found == {"matrix multiply": (21, 16, 2), "attention": (0, 0, 1)}


@pytest.mark.parametrize(
    "name", ["torchrun-2xh100-nccl", "inference-2xh100", "jacobi-1process-2gpus", "power-iteration-t4"]
)
def test_random_windows_of_real_traces_equal_an_independent_sweep(shared_trace, real_study, name):
    operations = sql.operations(shared_trace(name))
    study = real_study(name)
    trace = study.trace
    chance = random.Random(name)
    edges = [edge for ops in operations.values() for op in ops for edge in (op.start, op.end)]
    windows = [sorted(chance.sample(range(*trace.window_ns), 2)) for _ in range(3)]
    windows += [sorted(chance.sample(edges, 2)) for _ in range(3)]
    for low, high in [trace.window_ns, *windows]:
        if low == high:
            continue
        card = study.measure(low, high)
        for gpu in trace.gpus:
            ops = operations[trace.processes[gpu.process].pid, gpu.device]
            inside = [op for op in sql.touching(ops, low, high) if op.what == "kernel"]
            assert card.parts_ns[gpu.index].tolist() == sql.five_parts(ops, low, high)
            assert card.gpus[gpu.index].kernels == len(inside)
            stream = trace.streams[study.stream_gaps(gpu.index).stream]
            own = [(o.start, o.end) for o in ops if o.stream == (stream.context, stream.stream_id)]
            stream_gaps = card.gpus[gpu.index].stream_gaps
            assert stream_gaps.empty_ns == high - low - sql.union_ns(own, low, high)
            assert stream_gaps.idle_ns == card.parts_ns[gpu.index][4]
            assert (
                stream_gaps.compute_ns
                + stream_gaps.communication_ns
                + stream_gaps.copy_ns
                + stream_gaps.idle_ns
                == stream_gaps.empty_ns
            )
            for found in class_numbers(study.trace, study.classes, gpu.index, low, high):
                rows = [o for o in inside if _class(o.name) == found.name]
                assert found.kernels == len(rows)
                assert found.sum_ns == sum(min(o.end, high) - max(o.start, low) for o in rows)
                assert found.union_ns == sql.union_ns([(o.start, o.end) for o in rows], low, high)


@cache
def _class(name):
    position = BUILTIN.match(name)
    return CLASSES[BUILTIN.rules[position].kernel_class] if position >= 0 else "other"
