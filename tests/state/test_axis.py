"""The time axis: zoom, pan, limits and history, without a window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.state import TimeAxis
from viewer.state import time_axis as window_module

SECOND = 1_000_000_000


@pytest.fixture
def axis() -> TimeAxis:
    axis = TimeAxis()
    axis.reset((0, 200 * SECOND), (10 * SECOND, 20 * SECOND))
    return axis


def test_zoom_keeps_the_instant_under_the_pointer(axis: TimeAxis) -> None:
    at = 12 * SECOND
    before = (at - axis.window[0]) / (axis.window[1] - axis.window[0])
    axis.zoom(1 / 1.25, at)
    assert axis.window[1] - axis.window[0] == 8 * SECOND
    assert (at - axis.window[0]) / (axis.window[1] - axis.window[0]) == pytest.approx(before)


def test_a_run_of_notches_is_one_step(axis: TimeAxis, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(window_module.time, "monotonic", lambda: clock[0])
    start = axis.window
    for _ in range(20):
        clock[0] += 0.1
        axis.zoom(1 / 1.25, 12 * SECOND)
    clock[0] += 5
    axis.zoom(1 / 1.25, 12 * SECOND)
    after_pause = axis.window
    axis.back()
    axis.back()
    assert axis.window == start
    assert not axis.can_back
    axis.forward()
    axis.forward()
    assert axis.window == after_pause


def test_a_new_step_forgets_what_was_undone(axis: TimeAxis) -> None:
    axis.go(0, SECOND)
    axis.back()
    axis.go(SECOND, 2 * SECOND)
    assert not axis.can_forward


def test_centre_fills_a_tenth(axis: TimeAxis) -> None:
    axis.center(100 * SECOND, 101 * SECOND)
    assert axis.window == (95_500_000_000, 105_500_000_000)


@given(start=st.integers(-(10**12), 10**12), length=st.integers(-(10**6), 10**13))
def test_the_window_stays_inside_the_limits(start: int, length: int) -> None:
    axis = TimeAxis()
    axis.reset((-5 * SECOND, 200 * SECOND), (0, SECOND))
    axis.go(start, start + length)
    low, high = axis.window
    assert -5 * SECOND <= low < high <= 200 * SECOND
    assert high - low >= window_module.MIN_WIDTH_NS
