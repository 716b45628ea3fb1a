"""The curve of a counter row: its extremes, its columns, the rectangles it is filled with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.drawing.curve import BLOCK, Curve, Extremes, curve_layer
from viewer.drawing.scale import Scale
from viewer.rows.counter import Samples

VALUES = st.one_of(st.integers(0, 10**9), st.just(float("nan")))


@given(
    st.lists(VALUES, max_size=5 * BLOCK),
    st.lists(st.tuples(st.integers(0, 5 * BLOCK), st.integers(0, 5 * BLOCK)), min_size=1, max_size=8),
)
def test_extremes_of_any_run(values, runs):
    count = len(values)
    runs = [sorted((min(a, count), min(b, count))) for a, b in runs]
    first, last = np.array(runs, np.int64).T
    low, high = Extremes(np.array(values, np.float64)).of(first, last)
    for (a, b), least, most in zip(runs, low, high, strict=True):
        known = [value for value in values[a:b] if value == value]
        if known:
            assert (least, most) == (min(known), max(known))
        else:
            assert np.isnan([least, most]).all()


def test_whole_numbers_stay_whole():
    low, high = Extremes(np.arange(100, dtype=np.int32)).of(np.array([3, 5]), np.array([90, 5]))
    assert (low[0], high[0]) == (3, 89)
    assert np.isnan([low[1], high[1]]).all()


def test_columns_hold_every_sample_and_nothing_where_none_is_known():
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, 1_000_000, 20_000))
    values = rng.integers(0, 10**7, len(times))
    curve = Curve.of(Samples(times, values))
    for window in ((0, 1_000_000), (300_000, 310_000), (500_000, 500_400)):
        scale = Scale(*window, 400)
        low, high = curve.columns(scale, np.zeros(400, bool))
        edges = scale.edges()
        for column in range(0, 400, 7):
            here = values[(times >= edges[column]) & (times < edges[column + 1])]
            if len(here):
                assert (low[column], high[column]) == (here.min(), here.max())
            else:
                assert np.isnan([low[column], high[column]]).all()


def test_a_value_holds_while_it_is_known_and_into_the_column_of_the_next():
    curve = Curve.of(Samples(np.array([10, 55]), np.array([5_000, 0])))
    is_known = np.array([0, 1, 1, 0, 0, 1, 1, 0, 0, 0], bool)
    low, high = curve.columns(Scale(0, 100, 10), is_known)
    np.testing.assert_equal(low, [np.nan, 5_000, 5_000, np.nan, np.nan, 0, 0, *[np.nan] * 3])
    np.testing.assert_equal(high, [np.nan, 5_000, 5_000, np.nan, np.nan, 5_000, 0, *[np.nan] * 3])
    _, alone = curve.columns(Scale(0, 100, 10), is_known, holds=False)
    assert alone[5] == 0, "what was queued before says nothing about what starts here"


def test_a_sample_on_the_edge_of_a_column_replaces_the_value_before():
    low, high = Curve.of(Samples(np.array([0, 50]), np.array([7.0, 9.0]))).columns(
        Scale(0, 100, 10), np.ones(10, bool)
    )
    assert low.tolist() == high.tolist() == [7.0] * 5 + [9.0] * 5


def test_no_value_ends_a_curve():
    samples = Samples(np.array([0, 50, 70]), np.array([7.0, np.nan, 3.0]))
    low, _ = Curve.of(samples).columns(Scale(0, 100, 10), np.ones(10, bool))
    np.testing.assert_equal(low, [7.0] * 5 + [np.nan] * 2 + [3.0] * 3)


def test_without_samples_there_is_no_curve():
    low, high = Curve.of(Samples(np.empty(0, np.int64), np.empty(0))).columns(
        Scale(0, 100, 10), np.ones(10, bool)
    )
    assert np.isnan(low).all()
    assert np.isnan(high).all()


@pytest.mark.parametrize("lowest", [0.0, 0.01])
def test_layer_fills_to_the_least_and_fainter_to_the_greatest(lowest):
    low, high = np.array([np.nan, 0.5, lowest]), np.array([np.nan, 1.0, lowest])
    rect, colour = curve_layer([(low, high)], np.array([10]), np.array([40]), 7, 9)
    drawn = sorted(zip(colour.tolist(), rect.tolist(), strict=True))
    assert drawn == [(7, [1, 25, 1, 15]), (7, [2, 39, 1, 1]), (9, [1, 10, 1, 15])]
