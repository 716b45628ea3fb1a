"""The header and the lane of a rank stay at the top while its rows scroll."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.timeline.make import pixels, state_of, training
from viewer.drawing.theme import LIGHT
from viewer.state.jobs import is_anything_running
from viewer.timeline.headers import row_headers
from viewer.timeline.timeline import Timeline

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def unfolded(on_screen):
    """Two ranks, all rows unfolded, in a view too low for them."""
    timeline = on_screen(Timeline(state_of(training()), "raster"), 1000, 420)
    rows = timeline.state.rows
    rows.set_expanded([row.key for root in rows.roots for row in root.walk()], True)
    assert timeline.scroll_bar.maximum() > 100
    return timeline


def top_of(timeline, row):
    """Where a row begins, by the tree."""
    return timeline.headers.visualRect(timeline.headers.model().index_of(row.key)).top()


def test_the_rank_of_the_rows_in_view_is_at_the_top_of_them(unfolded):
    timeline, first = unfolded, unfolded.state.rows.roots[0]
    assert timeline.sticky.row is None
    for value in range(0, timeline.scroll_bar.maximum() + 1, 5):
        timeline.scroll_bar.setValue(value)
        stuck = timeline.sticky.row
        roots = {placed.row.shown_path()[0] for placed in timeline.canvas.placed}
        if stuck is None:
            continue
        header, strip = timeline.sticky.widgets
        assert stuck in roots
        assert top_of(timeline, stuck) < 0
        assert (header.y(), strip.y()) == (timeline.headers.y(), timeline.canvas.y())
        assert (strip.x(), strip.width()) == (timeline.canvas.x(), timeline.canvas.width())
        # It gives way to the next rank before it would cover that.
        below = [top_of(timeline, root) for root in roots - {stuck} if top_of(timeline, root) > 0]
        assert all(top >= header.height() for top in below)
    timeline.scroll_bar.setValue(60)
    assert timeline.sticky.row is first


def test_its_lane_shows_the_states_of_its_gpu_on_the_pixels_of_the_rows(unfolded):
    timeline = unfolded
    whole = pixels(timeline.canvas.grab().toImage())[: timeline.canvas.placed[0].height - 1]
    timeline.scroll_bar.setValue(60)
    stuck = pixels(timeline.sticky.strip.grab().toImage())[: len(whole)]
    assert np.array_equal(stuck[1:], whole[1:])
    assert (stuck == LIGHT.parts[0]).any()


def test_a_click_on_it_goes_to_the_rank_and_one_on_its_arrow_folds_it(unfolded):
    timeline = unfolded
    first = timeline.state.rows.roots[0]
    timeline.scroll_bar.setValue(60)
    QTest.mouseClick(timeline.sticky.header, LEFT, pos=QPoint(100, 8))
    assert timeline.scroll_bar.value() == 0
    assert timeline.sticky.row is None
    timeline.scroll_bar.setValue(60)
    QTest.mouseClick(timeline.sticky.header, LEFT, pos=QPoint(8, 8))
    assert first.key not in timeline.state.rows.expanded
    assert timeline.sticky.row is None


def test_folded_ranks_need_no_header_at_the_top(on_screen):
    timeline = on_screen(Timeline(state_of(training(ranks=40)), "raster"), 1000, 420)
    timeline.scroll_bar.setValue(timeline.scroll_bar.maximum() // 2 + 3)
    assert timeline.scroll_bar.maximum() > 0
    assert timeline.sticky.row is None


def headers_on_screen(timeline):
    """What stands on the screen where the headers are, the header of the rank over them with it."""
    QTest.qWait(30)
    at, size = timeline.headers.mapTo(timeline, QPoint()), timeline.headers.viewport().size()
    shown = timeline.screen().grabWindow(timeline.winId(), at.x(), at.y(), size.width(), size.height())
    return pixels(shown.toImage())


def test_scrolled_headers_paint_only_the_rows_that_come_and_look_as_painted_anew(
    unfolded, monkeypatch, qtbot
):
    timeline, drawn, last = unfolded, [], 0
    # What is counted beside the window changes headers when it comes.
    qtbot.waitUntil(lambda: not is_anything_running(), timeout=20_000)
    paint = row_headers.paint_header
    monkeypatch.setattr(row_headers, "paint_header", lambda *args: (drawn.append(1), paint(*args)))
    high = timeline.scroll_bar.maximum()
    there = [high // 8, high // 4, high // 4 + 9, high // 2, high // 2 - 11, high // 6, 9, 0]
    for value in there:
        QTest.qWait(30)
        drawn.clear()
        before = timeline.sticky.row
        timeline.scroll_bar.setValue(value)
        scrolled = headers_on_screen(timeline)
        if before is not None and before is timeline.sticky.row and abs(value - last) < 20:
            assert 0 < len(drawn) < len(timeline.canvas.placed) // 2
        last = value
        timeline.headers.viewport().update()
        assert np.array_equal(scrolled, headers_on_screen(timeline))
