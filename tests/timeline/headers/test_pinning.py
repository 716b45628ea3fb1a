"""Pinning does not move the row under the pointer."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.timeline.make import state_of, training
from tests.timeline.test_gestures import move, wheel
from viewer.timeline.timeline import Timeline

SIZES = [(1000, 700), (1000, 420), (1000, 300)]


def place_of(timeline, row):
    """Where the label of a row is in the timeline."""
    assert row in [p.row for p in timeline.canvas.placed]
    return timeline.headers.y() + timeline.headers.label_y(row)


@pytest.fixture(params=SIZES)
def timeline(request, on_screen):
    return on_screen(Timeline(state_of(training(ranks=8)), "raster"), *request.param)


@pytest.mark.parametrize("unfolded", [False, True])
def test_the_row_under_the_pointer_stays_where_it_is(timeline, unfolded):
    state = timeline.state
    if unfolded:
        state.rows.set_expanded([r.key for r in state.rows.roots[0].walk()], True)
    high = timeline.canvas.height()
    placed = next(p for p in timeline.canvas.placed if p.y + p.height // 2 > high * 0.6)
    move(timeline.canvas, QPoint(300, placed.y + placed.height // 2))
    assert timeline.headers.pointed_row is placed.row
    before = place_of(timeline, placed.row)
    state.rows.set_pinned(placed.row.key, True)
    assert place_of(timeline, placed.row) == before
    if timeline.height() < 400:
        return  # two pinned rows leave no room for the pointer to stay on
    state.rows.set_pinned(state.rows.roots[0].key, True)
    assert place_of(timeline, placed.row) == before
    assert timeline.canvas.placed == timeline.headers.visible_rows()
    state.rows.set_pinned(state.rows.roots[0].key, False)
    state.rows.set_pinned(placed.row.key, False)
    assert place_of(timeline, placed.row) == before


def test_the_pin_itself_stays_under_the_pointer(timeline):
    headers = timeline.headers
    row = headers.visible_rows()[-2].row
    pin = headers._pin_of(row).center()
    QTest.mouseMove(headers.viewport(), pin)
    timeline.headers._set_hovered(row)
    for is_pinned in (True, False):
        at = headers._pin_of(row).center()
        y = headers.mapTo(timeline, at).y()
        QTest.mouseClick(headers.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        assert (row.key in timeline.state.rows.pinned) is is_pinned
        assert headers.mapTo(timeline, headers._pin_of(row).center()).y() == y


def test_the_room_below_the_rows_goes_when_they_are_scrolled_back(timeline):
    state, bar = timeline.state, timeline.headers.verticalScrollBar()
    row = timeline.canvas.placed[-1]
    move(timeline.canvas, QPoint(300, row.y + 2))
    natural = bar.maximum()
    state.rows.set_pinned(row.row.key, True)
    timeline.headers.viewport().update()
    wheel(timeline.canvas, QPoint(300, 20), 40)
    assert bar.value() == 0
    wheel(timeline.canvas, QPoint(300, 20), -40)
    last = timeline.headers.visible_rows()[-1]
    room = timeline.headers.viewport().height()
    assert last.row is row.row
    assert bar.maximum() <= max(natural, bar.value() + last.y + last.height - room + 1)
