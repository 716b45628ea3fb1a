"""Every number of the summary and of Reconcile on a job that is small enough to count by hand."""

import pytest

from tests.analysis.small_job import US, small_job
from viewer.analysis.core.classify import Rules
from viewer.analysis.core.location import Location
from viewer.analysis.study import Study
from viewer.analysis.summary.reconcile import reconcile
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.scope import iteration_scope


@pytest.fixture(scope="module")
def study():
    return Study(small_job().trace(), Rules.builtin())


@pytest.fixture(scope="module")
def measured(study):
    return summary(study, study.iterations())


def test_the_scope_is_the_three_steady_iterations(study, measured):
    assert study.iterations().starts.tolist() == [
        [100_000, 1_100_000, 2_100_000, 3_100_000, 3_640_000],
        [105_000, 1_105_000, 2_105_000, 3_105_000, 3_640_000],
    ]
    assert measured.scope.iterations == (0, 1, 2)
    assert measured.scope.total_ns == 6000 * US


# Key: value over all GPUs, on each of them, share of the time of both; times in µs.
TIMES = {
    "compute_only": (1770, (870, 900), 1770 / 6000),
    "hidden_comm": (300, (150, 150), 300 / 6000),
    "exposed_comm": (570, (300, 270), 570 / 6000),
    "copy_only": (285, (150, 135), 285 / 6000),
    "idle": (3075, (1530, 1545), 3075 / 6000),
    "no_kernel": (3360, (1680, 1680), 3360 / 6000),
    "compute_absent": (3930, (1980, 1950), 3930 / 6000),
    # From the optimizer's end, at 640, until the call of the next forward has returned, at 1027.
    "launch_starved": (2322, (1161, 1161), 2322 / 6000),
    "launch_starved_by.unknown_ns": (2178, (1089, 1089), 2178 / 6000),
    "launch_starved_by.blocking_ns": (120, (60, 60), 120 / 6000),
    # The copy's call, and the launch itself.
    "launch_starved_by.other_call_ns": (24, (12, 12), 24 / 6000),
    "blocked": (0, (0, 0), 0.0),
    "unresolved": (1608, (819, 789), 1608 / 6000),
    "exposed_free": (570, (300, 270), 570 / 6000),
    "iteration": (1000, (1000, 1000), None),
    "skew": (5, (), None),
    "idle_between": (2775, (1380, 1395), 2775 / 6000),
    "idle_inside": (300, (150, 150), 300 / 6000),
    "copies_in_front": (285, (150, 135), 285 / 6000),
    "forward": (100, (100, 100), None),
    "backward": (205, (200, 210), None),
    "optimizer": (40, (40, 40), None),
    "copy_memcpy_htod": (285, (150, 135), None),
    "copy_memcpy_dtoh": (0, (0, 0), None),
    "sync_time": (120, (60, 60), 120 / 6000),
    "sync_idle": (120, (60, 60), 120 / 6000),
    "rank_compute": (345, (340, 350), None),
    "rank_wait": (5, (10, 0), None),
    "caused_wait": (0, (0, 0), 0.0),
    "exposed_wait": (0, (0, 0), 0.0),
    "sea_time": (0, (0, 0), 0.0),
}


@pytest.mark.parametrize("key", TIMES)
def test_times(measured, key):
    value, per_gpu, share = TIMES[key]
    number = measured[key]
    assert number.unit == "ns"
    assert number.value == value * US
    assert number.per_gpu == tuple(ns * US for ns in per_gpu)
    assert number.share == (share if share is None else pytest.approx(share))


OTHERS = {
    "iterations": ("3 of 4", ()),
    "lap_spread": (0.0, ()),
    "backward_to_forward": (2.05, (2.0, 2.1)),
    "small_kernels": (0, (0, 0)),
    "small_share": (0.0, (0.0, 0.0)),
    "launch_seas": (0, (0, 0)),
    "sea_kernels": (0, (0, 0)),
    "seas_outside_optimizer": (0, (0, 0)),
    "slowest_rank": ("Rank 1 GPU 1", ()),
    "slowest_says": (
        "Rank 1 GPU 1: 2.94 % above the lower half, ± 0 ns",
        (),
    ),
    "late_ranks": (
        "rank 1: computes longer, 0 %",
        (),
    ),
    "rank_spread": (10 / 345, ()),
    # Of six operations a step the backward kernel alone follows the one before it, and nothing joins streams.
    "starts_explained": (1 / 6, (1 / 6, 1 / 6)),
}


@pytest.mark.parametrize("key", OTHERS)
def test_other_numbers(measured, key):
    value, per_gpu = OTHERS[key]
    assert measured[key].value == (pytest.approx(value) if isinstance(value, float) else value)
    assert measured[key].per_gpu == pytest.approx(per_gpu)


def test_no_number_is_missing_above(measured):
    assert {number.key for number in measured.numbers} == {*TIMES, *OTHERS}


def test_what_is_outside_the_usual_range(measured):
    assert {number.key for number in measured.unusual} == {
        "idle", "copies_in_front", "late_ranks", "slowest_rank", "rank_spread"
    }  # fmt: skip
    # Usual on one GPU is what its own share of its own time is.
    idle, exposed, total = measured["idle"], measured["exposed_comm"], 3000 * US
    assert [idle.is_usual_on(gpu, total) for gpu in (0, 1)] == [False, False]
    assert [exposed.is_usual_on(gpu, total) for gpu in (0, 1)] == [False, True]
    assert measured["backward_to_forward"].is_usual_on(1, total) is True
    assert measured["compute_only"].is_usual_on(0, total) is None
    assert measured["slowest_rank"].is_usual_on(0, total) is None


LOCATIONS = {
    "idle": (0, 1, (640, 1105)),
    "copy_only": (0, 0, (100, 150)),
    "idle_inside": (0, 1, (550, 600)),
    "copies_in_front": (0, 0, (100, 150)),
    "forward": (0, 0, (150, 250)),
    "sync_time": (0, 1, (700, 720)),
    "copy_memcpy_htod": (0, 0, (100, 150)),
    "iteration": (0, None, (100, 1100)),
    "slowest_rank": (0, 1, (100, 1100)),
    "rank_wait": (0, 0, (400, 410)),
}


@pytest.mark.parametrize("key", LOCATIONS)
def test_where_numbers_can_be_seen(measured, key):
    step, gpu, (start, end) = LOCATIONS[key]
    found = measured[key].where()
    assert found.gpu == gpu
    assert found.end_ns - found.start_ns == (end - start) * US
    assert (found.start_ns // US) % 1000 == start + 1000 * step


def test_where_a_number_can_be_seen_on_each_gpu(measured):
    assert measured["copies_in_front"].where(1) == Location(105_000, 150_000, 1)
    assert measured["idle"].where(0).gpu == 0
    # One place for all: the same time, on the GPU that was asked for.
    length = measured["iteration"].where()
    assert measured["iteration"].where(1) == Location(length.start_ns, length.end_ns, 1)
    assert measured["exposed_wait"].where(0) is None


SHARES = {
    "idle": {
        "idle": 3075 / 6000,
        "no kernel": 3360 / 6000,
        "no compute kernel": 3930 / 6000,
        "gaps of the busiest stream": 3930 / 6000,
        "sum of the gaps of all streams": 20595 / 6000,
        "window less the sum of durations": 2595 / 6000,
        "idle inside the CPU's ranges": 2275 / 5400,
    },
    "communication": {
        "exposed communication": 570 / 6000,
        "all communication": 870 / 6000,
        "sum of durations": 870 / 6000,
        "share of the kernels' time": 870 / 2940,
    },
    "compute": {
        "compute": 2070 / 6000,
        "compute alone": 1770 / 6000,
        "busy": 2925 / 6000,
        "sum of durations": 3405 / 6000,
    },
    "copies": {"copy only": 285 / 6000, "all copies": 465 / 6000, "sum of durations": 465 / 6000},
}


@pytest.mark.parametrize("what", SHARES)
def test_what_looser_definitions_come_to(study, measured, what):
    found = reconcile(study, measured.scope, what, 0.5, study.iterations())
    assert {r.name: r.share for r in found.interpretations} == pytest.approx(SHARES[what])
    assert [r.name for r in found.interpretations if r.is_ours] == [next(iter(SHARES[what]))]
    distances = [abs(r.share - 0.5) for r in found.interpretations]
    assert distances == sorted(distances)


@pytest.mark.parametrize(
    ("claimed", "agrees", "explained_by"),
    [
        (0.5125, True, None),
        (0.5224, True, None),
        (0.5026, True, None),
        (0.5226, False, None),
        (0.5501, False, "no kernel"),
        (0.5699, False, "no kernel"),
        (0.5702, False, None),
        (0.99, False, None),
    ],
)
def test_a_claim_within_one_per_cent_is_the_same_number(study, measured, claimed, agrees, explained_by):
    found = reconcile(study, measured.scope, "idle", claimed, study.iterations())
    assert found.agrees == agrees
    assert (found.explained_by.name if found.explained_by else None) == explained_by


def test_a_range_has_no_cpu_ranges_of_iterations(study):
    scope = study.range_scope(100 * US, 1100 * US)
    found = reconcile(study, scope, "idle", 0.5, study.iterations())
    assert "idle inside the CPU's ranges" not in {r.name for r in found.interpretations}
    assert found.ours.share == pytest.approx((510 + 515) / 2000)


def test_one_iteration(study):
    one = summary(study, study.iterations(), iteration_scope(study.iterations(), [3]))
    assert one["iteration"].value == 540 * US
    assert one["iterations"].value == "1 of 4"
    # Nothing follows the last iteration: it ends with its last operation, and no idle time lies behind it.
    assert one["idle"].value == 2 * 50 * US
    assert one["idle_between"].value == 0
    assert one["lap_spread"].value == 0.0
    assert one.notes == ()
