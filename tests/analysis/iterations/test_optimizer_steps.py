"""The optimizer's steps: which of its kernels are one, which count, and which of several take turns."""

from itertools import pairwise

import numpy as np
import pytest

from tests.analysis.iterations.jobs import BACKWARD, FORWARD, Loop
from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import EMPTY, Intervals
from viewer.analysis.iterations.launch_times import LaunchTimes, launch_times
from viewer.analysis.iterations.optimizer_steps import (
    OptimizerFinder,
    OptimizerSteps,
    alternation,
    folded,
    runs_of,
    updates,
)
from viewer.analysis.study import Study


def runs_by_loops(positions, close):
    """Return the runs as lists of indices."""
    runs = [[0]]
    for index in range(1, len(positions)):
        if positions[index] - positions[index - 1] - 1 <= close:
            runs[-1].append(index)
        else:
            runs.append([index])
    gaps = [positions[b[0]] - positions[a[-1]] for a, b in pairwise(runs)]
    large = sorted(gaps)[int(0.9 * (len(gaps) - 1))] if gaps else 0
    joined = [runs[0]]
    for gap, run in zip(gaps, runs[1:], strict=True):
        if gap < 0.05 * large:
            joined[-1] = joined[-1] + run
        else:
            joined.append(run)
    return joined


@pytest.mark.parametrize("seed", range(40))
def test_runs_equal_those_of_loops(seed):
    """In steps of few kinds, so that gaps as long as a limit occur."""
    random = np.random.default_rng(seed)
    close = int(random.integers(0, 12))
    gaps = random.choice([1, 2, close + 1, close + 2, 20, 399, 400, 401], int(random.integers(0, 30)))
    positions = np.concatenate(([int(random.integers(0, 9))], gaps)).cumsum()
    first, last = runs_of(positions, close)
    expected = runs_by_loops(positions.tolist(), close)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [(run[0], run[-1]) for run in expected]


@pytest.mark.parametrize(
    ("distances", "period"),
    [
        ([], 1),
        ([5], 1),
        ([100] * 6, 1),
        ([100, 110, 100, 110], 1),
        # By over a tenth of the longer one.
        ([100, 112] * 3, 2),
        ([100, 111] * 3, 1),
        ([100, 200, 300] * 3, 3),
        ([100, 200, 300, 400] * 3, 4),
        # Too long a turn, and too few distances to see one come back.
        ([100, 200, 300, 400, 500] * 3, 1),
        ([100, 200, 100], 1),
        ([100, 200, 100, 200], 2),
        # Half of the neighbours are alike, and one less.
        ([100, 100, 200, 200, 300], 1),
        ([100, 100, 200, 300, 400], 1),
        # Four of five come back after two.
        ([100, 200, 100, 200, 100, 200, 900], 2),
        ([100, 200, 100, 900, 100, 200, 100, 900], 4),
    ],
)
def test_after_how_many_distances_they_come_back(distances, period):
    assert alternation(np.array(distances, np.int64)) == period


def steps_at(ends):
    ends = np.array(ends, np.int64)
    return OptimizerSteps("step", False, 3, "own", ends - 5, ends, 7)


def test_of_optimizers_that_take_turns_the_last_of_each_turn_counts():
    """A generator's step follows its discriminator's after 10 operations, and the next turn after 50."""
    times = LaunchTimes(np.arange(1000), np.arange(1001))
    ends = [100, 110, 160, 170, 220, 230, 280, 290]
    found = folded(steps_at(ends), times, EMPTY)
    assert found.end_ns.tolist() == [110, 170, 230, 290]
    assert (found.start_ns.tolist(), found.thread, found.domain) == ([105, 165, 225, 285], 3, "own")
    # A recording that begins with the second one of a turn keeps whole turns alone.
    assert folded(steps_at(ends[1:]), times, EMPTY).end_ns.tolist() == [110, 170, 230, 290]
    assert folded(steps_at(range(100, 500, 60)), times, EMPTY).end_ns.tolist() == list(range(100, 500, 60))


def test_an_evaluation_after_every_second_step_makes_no_turns():
    times = LaunchTimes(np.arange(1000), np.arange(1001))
    ends = [100, 200, 350, 450, 600, 700]
    assert len(folded(steps_at(ends), times, EMPTY)) == 3
    between = Intervals(np.array([210, 460], np.int64), np.array([260, 510], np.int64))
    assert len(folded(steps_at(ends), times, between)) == 6


def update_mask(names, positions, close=2):
    maker = TraceMaker()
    ids = np.array([maker.name(name) for name in names], np.uint32)
    maker.kernel(0, 1)
    return updates(maker.trace(), ids, np.array(positions), close).tolist()


def test_kernels_that_name_an_algorithm_count_alone():
    names = ["copy_list", "FusedAdam", "scale_list", "fused_sgd", "copy_list"]
    assert update_mask(names, [0, 10, 20, 30, 40]) == [False, True, False, True, False]
    # "lambda" names none.
    assert update_mask(["apply<lambda>", "lamb_stage1"], [0, 10]) == [False, True]


def test_without_an_algorithm_those_that_come_in_as_many_runs_as_most_names():
    """Two names come in two runs each, a third one in four."""
    names = ["norm", "clip", "copy", "copy", "norm", "clip", "copy", "copy"]
    mask = update_mask(names, [0, 1, 10, 20, 30, 31, 40, 50])
    assert mask == [True, True, False, False, True, True, False, False]
    # One name each of two numbers of runs: the fewer.
    assert update_mask(["norm", "copy", "norm", "copy", "copy"], [0, 10, 30, 40, 60]) == [
        True, False, True, False, False,
    ]  # fmt: skip


def test_two_optimizers_with_next_to_nothing_between_them_are_one_step():
    loop = Loop()
    for _ in range(6):
        loop.launch(*FORWARD * 3, *BACKWARD * 3)
        for text in ("optimizer.step", "optimizer.step"):
            loop.inside(text, lambda: loop.launch(*["clear"] * 5))
            loop.launch("copy")
    assert Study(loop.maker.trace()).iterations().count == 6


@pytest.mark.parametrize(("few", "count"), [(5, 12), (4, 6)])
def test_a_step_with_under_a_quarter_of_the_work_of_the_largest_updates_nothing(few, count):
    """Every second call launches `few` kernels, the others 20: with accumulation most calls only count."""
    loop = Loop()
    for number in range(12):
        loop.launch(*FORWARD * 12, *BACKWARD * 12)
        loop.inside("optimizer", lambda n=number: loop.launch(*["clear"] * (20 if n % 2 else few)))
    assert Study(loop.maker.trace()).iterations().count == count


def test_inner_ranges_of_a_step_are_parts_of_it():
    loop = Loop()

    def inner():
        for _ in range(2):
            loop.inside("optimizer", lambda: loop.launch(*["clear"] * 4))

    for _ in range(6):
        loop.launch(*FORWARD * 2, *BACKWARD * 2)
        loop.inside("optimizer", inner)
    assert Study(loop.maker.trace()).iterations().count == 6


@pytest.mark.parametrize(("between", "count"), [(20, 6), (21, 36)])
def test_with_two_gpus_twice_as_many_operations_lie_between_two_kernels_of_one_step(between, count):
    """The optimizer updates each of the two GPUs of a process; ten operations a GPU are close."""
    maker, number = TraceMaker(), 0

    def launch(name, device):
        nonlocal number
        number += 1
        maker.call(number * 20, number * 20 + 8, correlation=number)
        maker.kernel(number * 20 + 1000, number * 20 + 1010, name, device=device, correlation=number)

    for _ in range(6):
        for k in range(400):
            launch("gemm", k % 2)
        # Six of them: fewer would pass for optimizers that take turns.
        for which in range(6):
            for k in range(between if which else 0):
                launch("copy", k % 2)
            launch("FusedAdam", which % 2)
    study = Study(maker.trace())
    finder = OptimizerFinder(study.launches, study.classes, study.projection("process"))
    assert len(finder.steps(0, launch_times(study.launches, 0))) == count


def times_of(maker, process=0):
    study = Study(maker.trace())
    return launch_times(study.launches, process), study


def test_launch_times_are_those_of_the_calls_and_of_operations_without_one_their_own():
    maker = TraceMaker()
    maker.call(10, 12, correlation=1).kernel(100, 130, correlation=1)
    maker.call(50, 52, tid=2, correlation=2).copy(60, 65, correlation=2, stream=9)
    maker.call(30, 32, tid=2, correlation=3).memset(200, 207, correlation=3)
    maker.kernel(40, 41, stream=8)
    # The driver's own migration, and another process.
    maker.copy(45, 48, copy_kind=11, stream=10)
    maker.call(20, 22, process=1, correlation=1).kernel(25, 29, process=1, correlation=1)
    times, study = times_of(maker)
    assert times.time_ns.tolist() == [10, 30, 40, 50]
    assert times.busy_before_ns.tolist() == [0, 30, 37, 38, 43]
    thread = {thread.tid: thread.index for thread in study.trace.threads if thread.process == 0}
    assert {t: of.tolist() for t, of in times.of_thread.items()} == {thread[1]: [10], thread[2]: [30, 50]}
    assert times_of(maker, 1)[0].time_ns.tolist() == [20]


@pytest.mark.parametrize("seed", range(10))
def test_counts_and_shares_of_ranges_equal_loops(seed):
    random = np.random.default_rng(seed)
    launched = np.sort(random.integers(0, 60, 30))
    lengths = random.integers(1, 9, 30)
    thread = launched[random.random(30) < 0.5]
    times = LaunchTimes(launched, np.append(0, np.cumsum(lengths)), {4: thread})
    edges = np.sort(random.choice(60, 8, replace=False))
    start, end = edges[::2], edges[1::2]
    inside = [[low <= t < high for t in launched] for low, high in zip(start, end, strict=True)]
    busy = [int(lengths[of].sum()) for of in np.array(inside)]
    assert times.count(start, end).tolist() == [sum(of) for of in inside]
    assert times.busy_ns(start, end).tolist() == busy
    assert times.by_thread(4, start, end) == sum(
        low <= t < high for t in thread for low, high in zip(start, end, strict=True)
    )
    assert times.by_thread(5, start, end) == 0
    assert times.whole_share(start, end) == pytest.approx(sum(busy) / lengths.sum())
    between = lengths[(launched >= start[0]) & (launched < end[-1])].sum()
    assert times.share(start, end) == pytest.approx(sum(busy) / between if between else 0)
    nothing = LaunchTimes(np.empty(0, np.int64), np.zeros(1, np.int64))
    assert (nothing.whole_share(start, end), nothing.share(start, end)) == (0, 0)
