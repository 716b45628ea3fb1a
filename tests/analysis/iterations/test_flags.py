"""Which iterations contain a checkpoint or an evaluation, and which ranges say so."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study

STEPS = 6


def job(processes=1, steps=STEPS):
    """Make steps of 100 ns on the CPU, each with a kernel; they begin at 0, 100, 200 ..."""
    maker = TraceMaker()
    for process in range(processes):
        for step in range(steps):
            at = 100 * step
            maker.range(at, at + 90, f"step {step}", process=process)
            maker.call(at + 10, at + 15, process=process, correlation=1 + step)
            maker.kernel(at + 20, at + 118, process=process, correlation=1 + step)
    return maker


def flags(maker):
    iterations = Study(maker.trace()).iterations()
    return {
        number: (flag, why)
        for number, (flag, why) in enumerate(zip(iterations.flags, iterations.why, strict=True))
        if flag
    }


def test_a_job_without_such_ranges_has_no_flags():
    assert flags(job()) == {}


@pytest.mark.parametrize(
    ("start", "iteration"), [(0, 0), (1, 0), (299, 2), (300, 3), (301, 3), (500, 5), (589, 5)]
)
def test_a_range_belongs_to_the_iteration_in_which_it_begins(start, iteration):
    maker = job().range(start, start + 500, "save_checkpoint", tid=2)
    assert flags(maker) == {iteration: ("checkpoint", "contains save_checkpoint on Rank 0")}


@pytest.mark.parametrize("start", [-1, 590, 700])
def test_a_range_outside_all_iterations_is_in_none(start):
    assert flags(job().range(start, start + 5, "save_checkpoint", tid=2)) == {}


def test_an_evaluation_is_no_checkpoint_and_gives_way_to_one():
    maker = job().range(110, 120, "validation", tid=2).range(410, 420, "evaluate", tid=2)
    maker.range(415, 430, "checkpoint saving", tid=2)
    assert flags(maker) == {
        1: ("evaluation", "contains validation on Rank 0"),
        4: ("checkpoint", "contains checkpoint saving on Rank 0"),
    }


def test_the_reason_is_the_text_without_its_arguments_of_the_first_rank():
    text = "save_checkpoint, sizes = [7]"
    assert flags(job(2).range(210, 220, text, tid=2, process=1)) == {
        2: ("checkpoint", "contains save_checkpoint on Rank 1")
    }
    maker = job(2).range(215, 220, "write ckpt", tid=2).range(210, 220, text, tid=2, process=1)
    assert flags(maker) == {2: ("checkpoint", "contains write ckpt on Rank 0")}


@pytest.mark.parametrize(("hits", "flagged"), [(1, True), (3, True), (4, False), (6, False)])
def test_what_most_iterations_contain_is_no_reason(hits, flagged):
    maker = job()
    for step in range(hits):
        maker.range(100 * step + 20, 100 * step + 30, "save_checkpoint", tid=2)
    assert set(flags(maker)) == (set(range(hits)) if flagged else set())


def test_marks_and_ranges_of_libraries_flag_nothing():
    maker = job().range(110, 110, "save_checkpoint", tid=2, event_type=34)
    maker.range(210, 220, "save_checkpoint", tid=2, domain="NCCL")
    assert flags(maker) == {}
    assert set(flags(maker.range(310, 320, "save_checkpoint", tid=2, domain="megatron"))) == {3}


def test_a_process_without_the_marker_flags_nothing():
    maker = job().range(110, 120, "save_checkpoint", process=1).kernel(0, 10, process=1)
    assert flags(maker) == {}
