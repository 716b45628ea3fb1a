import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.time.iteration_bounds import Marker, make_iterations
from viewer.analysis.time.steadiness import known_lengths, steady_iterations, warm_up
from viewer.analysis.time.time_breakdown import CATEGORIES

ns = np.int64


def iterations_of(durations, special=None):
    starts = np.append(0, np.cumsum(durations))[None, :].astype(ns)
    names = [f"step {i}" for i in range(len(durations))]
    return make_iterations(Marker("step #"), names, starts, np.array([True]), special)


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


def test_steady_iterations_are_within_five_per_cent_of_the_median():
    found = steady_iterations(np.array([500, 100, 105, 95, 106, 94, 100], ns), 1)
    assert found.indices == (1, 2, 3, 6)
    assert found.median_ns == 100


def test_fewer_than_half_or_than_three_are_no_steady_state():
    assert steady_iterations(np.array([100, 50, 150, 200, 101], ns), 0) is None
    assert steady_iterations(np.array([100, 100], ns), 0) is None
    assert steady_iterations(np.array([100, 100, 100], ns), 0).indices == (0, 1, 2)


def test_flags_say_why():
    iterations = iterations_of([200, 100, 100, 140, 150, 100, 100, 60], {4: ("checkpoint", "contains save")})
    assert iterations.flags == ("warm-up", None, None, "outlier", "checkpoint", None, None, "last")
    assert "2.00 times" in iterations.why[0]
    assert "40.0% longer" in iterations.why[3]
    assert iterations.why[4] == "contains save"
    assert "nothing says when the next one would begin" in iterations.why[7]
    assert iterations.steady.indices == (1, 2, 5, 6)
    assert iterations.basis == iterations.steady.indices


def test_of_two_that_differ_neither_is_an_outlier():
    assert iterations_of([100, 180]).flags == (None, None)
    assert iterations_of([180, 100]).flags == (None, "last")
    assert iterations_of([100, 180, 100, 100]).flags == (None, "outlier", None, None)


def test_without_a_steady_state_the_basis_is_all_after_the_warm_up():
    iterations = iterations_of([900, 100, 200, 300, 150, 250, 120])
    assert iterations.steady is None
    assert iterations.after_warm_up == (1, 2, 3, 4, 5, 6)
    assert iterations.basis == (1, 2, 3, 4, 5)
    assert iterations.not_steady == "no steady state: 100 ns to 300 ns, median 200 ns"


@pytest.mark.parametrize(
    ("durations", "known"),
    [
        ([100, 100, 99], 2),
        ([100, 100, 100], 3),
        ([100, 60], 1),
        ([100], 1),
        ([300, 100, 100, 100, 100, 99], 5),
    ],
)
def test_the_last_one_has_a_length_where_its_own_work_lasts_as_long_as_the_others(durations, known):
    assert known_lengths(np.array(durations, ns)) == known
    iterations = iterations_of(durations)
    assert iterations.with_length(range(len(durations))) == list(range(known))
    assert iterations.median_ns == 100


def test_three_perfectly_steady_ones_are_steady():
    assert iterations_of([100, 100, 100]).steady.indices == (0, 1, 2)
    # The last one lacks what follows its work; within 5 % it is steady, and counts for no length.
    steady = iterations_of([100, 102, 96]).steady
    assert (steady.indices, steady.median_ns) == ((0, 1, 2), 101)
    assert iterations_of([100, 100, 90]).steady is None


def test_a_steady_last_one_counts_among_those_of_which_half_must_be():
    assert iterations_of([50, 60, 100, 100, 150, 160, 97]).steady is None
    assert iterations_of([50, 60, 100, 100, 150, 97]).steady.indices == (2, 3, 5)


@pytest.mark.parametrize(
    ("durations", "said"),
    [
        ([100], "1 iteration is too few for a steady state: 100 ns"),
        ([100, 90], "2 iterations are too few for a steady state: 100 ns"),
        ([100, 120], "2 iterations are too few for a steady state: 100 ns and 120 ns"),
    ],
)
def test_one_or_two_are_said_to_be_too_few(durations, said):
    iterations = iterations_of(durations)
    assert iterations.steady is None
    assert iterations.not_steady == said


def test_an_iteration_flagged_for_a_reason_is_not_steady_even_when_its_length_is():
    iterations = iterations_of([100] * 6, {2: ("evaluation", "contains eval")})
    assert iterations.steady.indices == (0, 1, 3, 4, 5)


def test_iteration_at_and_the_share_of_an_iteration():
    iterations = iterations_of([100, 100, 200])
    assert [iterations.iteration_at(t) for t in (-1, 0, 99, 100, 399, 400)] == [None, 0, 0, 1, 2, None]
    inside = iterations.share(110, 160)
    assert (inside.iteration, inside.share, inside.iterations) == (1, 0.5, (1,))
    across = iterations.share(190, 250)
    assert (across.iteration, across.iterations) == (2, (1, 2))
    assert across.share == pytest.approx(0.3)
    assert iterations.share(500, 600) is None


def test_boundaries_are_the_earliest_over_the_gpus_that_have_their_own():
    starts = np.array([[10, 110, 205], [0, 0, 0], [14, 108, 220]], ns)
    iterations = make_iterations(Marker("m"), ["a", "b"], starts, np.array([True, False, True]))
    assert iterations.edges_ns.tolist() == [10, 108, 220]
    assert iterations.skew_ns.tolist() == [4, 2]
    assert (iterations.start_ns(1), iterations.end_ns(1)) == (108, 220)
    assert iterations.iteration_at(109) == 1


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_steady_and_flagged_iterations_exclude_each_other(durations):
    iterations = iterations_of(durations)
    flagged = {iteration for iteration, flag in enumerate(iterations.flags) if flag}
    assert iterations.warm_up <= len(durations) // 4
    if iterations.steady:
        assert set(iterations.steady.indices) == set(range(iterations.count)) - flagged
    assert all(bool(iterations.flags[i]) == bool(iterations.why[i]) for i in range(iterations.count))


@pytest.mark.parametrize("name", ["pytorch-a100-nvtx", "torchrun-2xh100-nccl", "power-iteration-t4"])
def test_numbers_over_real_iterations_sum_exactly(real_study, name):
    check_tiling(real_study(name))


def test_numbers_over_the_demos_iterations_sum_exactly(demo_of):
    check_tiling(demo_of())


def check_tiling(study):
    iterations = study.iterations()
    table = iterations.table(study.parts)
    parts = [f"{part}_ns" for part in CATEGORIES]
    assert (table[parts].sum(axis=1) == table["duration_ns"]).all()
    for gpu, rows in table.groupby("gpu"):
        assert (rows["start_ns"].to_numpy()[1:] == rows["end_ns"].to_numpy()[:-1]).all()
        whole = study.parts[gpu].totals(iterations.starts[gpu, 0], iterations.starts[gpu, -1])
        assert rows[parts].sum().tolist() == whole.tolist()


def test_exactly_half_within_five_per_cent_are_a_steady_state():
    half = np.array([100, 100, 100, 50, 200, 400], ns)
    assert steady_iterations(half, 0).indices == (0, 1, 2)
    assert steady_iterations(np.append(half, 800), 0) is None
