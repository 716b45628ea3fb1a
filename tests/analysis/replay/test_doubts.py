"""What speaks against an answer to a what-if, in words."""

import re

import numpy as np
import pytest

from tests.analysis.replay.test_what_if import ITERATIONS, truth
from viewer.analysis.replay.changes import CloseIdle, Scale
from viewer.demo.injected_faults import LATE_HOST_RANK

UNITS = {"ms": 1_000_000, "µs": 1_000, "ns": 1}


@pytest.mark.parametrize("options", [{}, {"slow_rank": None}], ids=["a slow rank too", "no slow rank"])
def test_where_one_rank_runs_ahead_the_saving_by_the_last_one_is_the_true_one(demo_of, options):
    """Without its pauses at checkpoints too, the late rank begins the iterations after these early."""
    study = demo_of(iterations=ITERATIONS, fault="late-host", **options)
    answer = study.what_if([CloseIdle(LATE_HOST_RANK)])
    text = next(doubt for doubt in answer.doubts if doubt.startswith(f"Rank {LATE_HOST_RANK} begins"))
    number, unit = re.search(r"saving is ([\d.]+) (\w+) \(median\)", text).groups()
    basis = list(study.iterations().basis)
    saved = study.iterations().duration_ns - truth(options)
    assert float(number) * UNITS[unit] == pytest.approx(float(np.median(saved[basis])), rel=0.05)
    # What all iterations save is right in either way of counting.
    in_all = sum(one.recorded_ns - one.predicted_ns for one in answer.iterations)
    assert in_all == pytest.approx(int(saved.sum()), rel=0.03)


def test_an_iteration_that_only_seems_far_longer_is_doubted_where_the_median_is_right(demo_of):
    answer = demo_of(iterations=8, fault="late-host").what_if([CloseIdle(LATE_HOST_RANK)])
    assert answer.saving_range_ns[0] < -30_000_000
    (doubt,) = answer.doubts
    first, last = re.search(r"\(median\), ([\d.]+) ms to ([\d.]+) ms\.$", doubt).groups()
    assert 10 < float(first) < float(last) < 12


def test_a_saving_that_the_whole_recording_does_not_show_is_uncertain(shared_case):
    """Nothing there ties the hosts to one another, and what streams wait for was not recorded."""
    doubts = shared_case("y_hostlate").what_if([CloseIdle()]).doubts
    assert doubts[0] == ("The saving is a ceiling: operations wait long for something that was not recorded.")
    assert doubts[1].startswith("Rank 3 begins iterations before the other GPUs can follow")
    assert doubts[2] == (
        "The saving is uncertain: the whole recording would be only 14.01 ms shorter, and 7 times this "
        "saving is 98.01 ms."
    )


def test_what_findings_call_a_ceiling_is_one_here(shared_case):
    for name in ("y_hostlate", "s2", "x_nccl_ar", "unified-memory"):
        study = shared_case(name)
        is_ceiling = "Wins are ceilings" in study.findings().why_ceilings
        if study.iterations() is not None:
            doubts = study.what_if([CloseIdle()]).doubts
            assert is_ceiling == any("is a ceiling" in doubt for doubt in doubts), name


def test_nothing_is_doubted_where_nothing_changes(demo_of):
    study = demo_of(iterations=ITERATIONS, fault="late-host")
    assert study.what_if([Scale("flash", 1.0)]).doubts == ()
