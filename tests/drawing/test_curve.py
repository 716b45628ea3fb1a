"""The launch latency: its extremes, its columns, its place on the log scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.launches.latency import LaunchLatency
from viewer.drawing.curve import BLOCK, Curve, Extremes, curve_layer, height_of
from viewer.drawing.scale import Scale


@given(
    st.lists(st.integers(0, 10**9), max_size=5 * BLOCK),
    st.lists(st.tuples(st.integers(0, 5 * BLOCK), st.integers(0, 5 * BLOCK)), min_size=1, max_size=8),
)
def test_extremes_of_any_run(values, runs):
    count = len(values)
    runs = [sorted((min(a, count), min(b, count))) for a, b in runs]
    first, last = np.array(runs, np.int64).T
    low, high = Extremes(np.array(values, np.int64)).of(first, last)
    for (a, b), least, most in zip(runs, low, high, strict=True):
        held = values[a:b]
        assert (least, most) == ((min(held), max(held)) if held else (-1, -1))


def test_columns_hold_every_start_and_nothing_of_idle_time():
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, 1_000_000, 20_000))
    queued = rng.integers(0, 10**7, len(times))
    distance = LaunchLatency(times, queued, np.empty(0, np.int64))
    for window in ((0, 1_000_000), (300_000, 310_000), (500_000, 500_400)):
        scale = Scale(*window, 400)
        low, high = Curve.of(distance).columns(scale, np.zeros(400, np.float32))
        edges = scale.edges()
        for column in range(0, 400, 7):
            held = queued[(times >= edges[column]) & (times < edges[column + 1])]
            expected = (held.min(), held.max()) if len(held) else (-1, -1)
            assert (low[column], high[column]) == expected


def test_what_runs_on_keeps_its_distance_until_the_gpu_is_idle():
    distance = LaunchLatency(np.array([10, 50]), np.array([5_000, 0]), np.empty(0, np.int64))
    busy = np.repeat([0, 1, 1, 0, 0, 1, 1, 0, 0, 0], 1).astype(np.float32)
    low, high = Curve.of(distance).columns(Scale(0, 100, 10), busy)
    assert low.tolist() == high.tolist() == [-1, 5_000, 5_000, -1, -1, 0, 0, -1, -1, -1]


def test_scale_is_logarithmic_from_a_microsecond_to_a_second():
    assert height_of([0, 1_000, 1_000_000, 10**9, 10**11]).tolist() == pytest.approx([0, 0, 0.5, 1, 1])


def test_layer_fills_to_the_least_and_fainter_to_the_greatest():
    low, high = np.array([-1, 1_000_000, 0]), np.array([-1, 10**9, 0])
    rect, colour = curve_layer([(low, high)], np.array([10]), np.array([40]), 7, 9)
    drawn = sorted(zip(colour.tolist(), rect.tolist(), strict=True))
    assert drawn == [(7, [1, 25, 1, 15]), (7, [2, 39, 1, 1]), (9, [1, 10, 1, 15])]
