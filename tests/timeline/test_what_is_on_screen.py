"""What is painted in parts, where something moved, looks as if all had been painted anew."""

import time

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.timeline.make import pixels, state_of, training
from viewer.drawing.format import format_ns
from viewer.rows.presets import PRESETS
from viewer.state import Hover
from viewer.timeline.timeline import Timeline

MS = 1_000_000
PATIENCE_S = 10


@pytest.fixture
def timeline(on_screen, qtbot):
    """Two ranks with all their rows, on the screen."""
    if QApplication.platformName() == "offscreen":
        pytest.skip("the offscreen platform has no screen to look at")
    shown = on_screen(Timeline(state_of(training()), "raster"), 900, 360)
    shown.state.rows.set_expanded(PRESETS["everything"](shown.state.rows.roots)[0], True)
    shown.state.set_overlays(frozenset(("idle", "exposed")))
    qtbot.waitUntil(lambda: shown.background_results.stalls is not None)
    return shown


def seen(timeline):
    """Let everything be painted; return what the screen shows and what painting all would show.

    Where measuring takes long, the card shows the rest of its numbers after a pause, and so do the headers:
    neither may come between the two pictures.
    """
    QApplication.processEvents()
    ends_at = time.monotonic() + PATIENCE_S
    while any(timer.isSingleShot() and timer.isActive() for timer in timeline.findChildren(QTimer)):
        assert time.monotonic() < ends_at, "something is always about to change"
        QTest.qWait(10)
    QApplication.processEvents()
    shown = timeline.screen().grabWindow(timeline.winId())
    return pixels(shown.toImage()), pixels(timeline.grab().toImage())


def assert_whole(timeline):
    shown, anew = seen(timeline)
    assert (shown == anew).all()


def test_scrolled_rows(timeline):
    for value in (7, 60, 200, 180, 0):
        timeline.scroll_bar.setValue(value)
        assert_whole(timeline)


def test_a_pointer_that_moves(timeline):
    for time_ms in (3, 9, 9.01, 44, 20):
        timeline.state.set_hover(Hover(int(time_ms * MS)))
        assert_whole(timeline)
    timeline.state.set_hover(None)
    assert_whole(timeline)


def test_a_selection_that_is_dragged(timeline):
    for window in ((5, 9), (5, 14), (5, 6), (2, 6), (11, 15), (11, 90)):
        timeline.state.select((window[0] * MS, window[1] * MS))
        assert_whole(timeline)
    timeline.scroll_bar.setValue(40)
    assert_whole(timeline)
    timeline.state.select(None)
    assert_whole(timeline)


def test_figures_follow_the_window(timeline, qtbot):
    timeline.state.axis.go(3 * MS, 12 * MS)
    qtbot.waitUntil(lambda: not timeline.headers._late.isActive())
    assert_whole(timeline)
    timeline.state.rows.set_pinned(timeline.state.rows.roots[0].key, True)
    timeline.scroll_bar.setValue(30)
    assert_whole(timeline)


def test_the_corner_tells_the_length_of_what_the_overview_shows(timeline):
    state = timeline.state
    low, high = state.axis.limits
    assert (low, high) != state.study.trace.window_ns
    assert timeline.overview_corner._figures(state.study)[0] == format_ns(high - low)
