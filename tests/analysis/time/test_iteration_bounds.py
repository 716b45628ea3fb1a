import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.time.iteration_bounds import make_laps, steady_laps, warm_up
from viewer.analysis.time.time_breakdown import PARTS

ns = np.int64


def laps_of(durations, special=None):
    starts = np.append(0, np.cumsum(durations))[None, :].astype(ns)
    names = [f"step {i}" for i in range(len(durations))]
    return make_laps("step #", names, starts, np.array([True]), special)


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([200, 100, 100, 100, 100], 1),
        ([105, 100, 100, 100, 100], 0),
        ([106, 100, 100, 100, 100], 1),
        ([300, 200, 100, 100, 100, 100, 100], 1),
        ([300, 200, 100, 100, 100, 100, 100, 100], 2),
        ([300, 100, 100], 0),
        ([100, 300, 100, 100, 100, 100, 100, 100], 0),
        ([], 0),
    ],
)
def test_warm_up_is_the_head_that_exceeds_the_rest_and_at_most_a_quarter(durations, expected):
    assert warm_up(np.array(durations, ns)) == expected


def test_steady_laps_are_within_five_per_cent_of_the_median():
    found = steady_laps(np.array([500, 100, 105, 95, 106, 94], ns), 1)
    assert found.indices == (1, 2, 3)
    assert found.median_ns == 100


def test_fewer_than_half_or_than_three_are_no_steady_state():
    assert steady_laps(np.array([100, 50, 150, 200, 101], ns), 0) is None
    assert steady_laps(np.array([100, 100], ns), 0) is None
    assert steady_laps(np.array([100, 100, 100], ns), 0).indices == (0, 1, 2)


def test_flags_say_why():
    laps = laps_of([200, 100, 100, 140, 150, 100, 100, 60], {4: ("checkpoint", "contains save")})
    assert laps.flags == ("warm-up", None, None, "outlier", "checkpoint", None, None, "outlier")
    assert "2.00 times" in laps.why[0]
    assert "40.0% longer" in laps.why[3]
    assert laps.why[4] == "contains save"
    assert "last operation" in laps.why[7]
    assert laps.steady.indices == (1, 2, 5, 6)
    assert laps.basis == laps.steady.indices


def test_without_a_steady_state_the_basis_is_all_after_the_warm_up():
    laps = laps_of([900, 100, 200, 300, 150, 250, 120])
    assert laps.steady is None
    assert laps.basis == laps.after_warm_up == (1, 2, 3, 4, 5, 6)


def test_a_lap_flagged_for_a_reason_is_not_steady_even_when_its_length_is():
    laps = laps_of([100] * 6, {2: ("evaluation", "contains eval")})
    assert laps.steady.indices == (0, 1, 3, 4, 5)


def test_lap_at_and_the_share_of_an_iteration():
    laps = laps_of([100, 100, 200])
    assert [laps.lap_at(t) for t in (-1, 0, 99, 100, 399, 400)] == [None, 0, 0, 1, 2, None]
    inside = laps.share(110, 160)
    assert (inside.lap, inside.share, inside.laps) == (1, 0.5, (1,))
    across = laps.share(190, 250)
    assert (across.lap, across.laps) == (2, (1, 2))
    assert across.share == pytest.approx(0.3)
    assert laps.share(500, 600) is None


def test_boundaries_are_the_earliest_over_the_gpus_that_have_their_own():
    starts = np.array([[10, 110, 205], [0, 0, 0], [14, 108, 220]], ns)
    laps = make_laps("m", ["a", "b"], starts, np.array([True, False, True]))
    assert laps.edges_ns.tolist() == [10, 108, 220]
    assert laps.skew_ns.tolist() == [4, 2]
    assert (laps.start_ns(1), laps.end_ns(1)) == (108, 220)
    assert laps.lap_at(109) == 1


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_steady_and_flagged_laps_exclude_each_other(durations):
    laps = laps_of(durations)
    flagged = {lap for lap, flag in enumerate(laps.flags) if flag}
    assert laps.warm_up <= len(durations) // 4
    if laps.steady:
        assert set(laps.steady.indices) == set(range(laps.count)) - flagged
    assert all(bool(laps.flags[i]) == bool(laps.why[i]) for i in range(laps.count))


@pytest.mark.parametrize("name", ["pytorch-a100-nvtx", "torchrun-2xh100-nccl", "power-iteration-t4"])
def test_numbers_over_real_laps_sum_exactly(real_study, name):
    check_tiling(real_study(name))


def test_numbers_over_the_demos_laps_sum_exactly(demo_of):
    check_tiling(demo_of())


def check_tiling(study):
    laps = study.laps()
    table = laps.table(study)
    parts = [f"{part}_ns" for part in PARTS]
    assert (table[parts].sum(axis=1) == table["duration_ns"]).all()
    for gpu, rows in table.groupby("gpu"):
        assert (rows["start_ns"].to_numpy()[1:] == rows["end_ns"].to_numpy()[:-1]).all()
        whole = study.parts[gpu].totals(laps.starts[gpu, 0], laps.starts[gpu, -1])
        assert rows[parts].sum().tolist() == whole.tolist()
