"""Measuring by hand: clicks on bars and tags, snapping over the whole height, nudging, several ranges."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.timeline.make import MS, state_of, training
from tests.timeline.test_gestures import CTRL, LEFT, NONE, SHIFT, drag, move
from viewer.drawing.bands import StateBand
from viewer.drawing.layout import bands_in
from viewer.rows import RowKind
from viewer.timeline.timeline import Timeline


@pytest.fixture
def timeline(on_screen):
    """Two ranks, three iterations of 20 ms from 2 ms on, 1200 pixels wide, the ranks folded."""
    shown = on_screen(Timeline(state_of(training()), "raster"), 1200, 500)
    shown.state.axis.go(0, 65 * MS)
    return shown


def on_state_lane(timeline, time_ns, gpu=0):
    placed, band = next((p, b) for p, b in bands_in(timeline.canvas.placed, StateBand) if b.gpu == gpu)
    return QPoint(round(timeline.canvas.x_of(time_ns)), placed.y + band.y + band.height // 2)


def on_ruler(timeline, time_ns):
    return QPoint(round(timeline.ruler.x_of(time_ns)), 8)


def test_a_click_on_a_bar_of_the_state_lane_selects_it(timeline):
    state = timeline.state
    QTest.mouseClick(timeline.canvas, LEFT, NONE, on_state_lane(timeline, 3 * MS))
    assert state.selection == (2 * MS, 4 * MS), "the copy"
    QTest.mouseClick(timeline.canvas, LEFT, NONE, on_state_lane(timeline, 18 * MS, gpu=1))
    assert state.selection == (15 * MS, 22 * MS), "the hole to the next iteration"
    parts = timeline.cards.selection.numbers.parts_ns
    assert parts[:, 4].tolist() == [7 * MS, 7 * MS]


def test_a_click_on_the_tag_of_an_iteration_selects_it(timeline):
    state = timeline.state
    QTest.mouseClick(timeline.ruler, LEFT, NONE, on_ruler(timeline, 23 * MS))
    assert (state.iteration, state.selection) == (1, (22 * MS, 42 * MS))
    assert timeline.cards.selection.table.where == "100.0 % of iteration 1"
    QTest.mouseDClick(timeline.ruler, LEFT, NONE, on_ruler(timeline, 23 * MS))
    low, high = state.axis.window
    assert low < 22 * MS < 42 * MS < high < 44 * MS
    assert state.selection is None


def test_ctrl_adds_what_is_clicked_or_dragged_and_takes_it_away_again(timeline):
    state, canvas = timeline.state, timeline.canvas
    drag(canvas, on_state_lane(timeline, 6 * MS), on_state_lane(timeline, 8 * MS), held=SHIFT)
    first = state.selection
    assert first[1] - first[0] == pytest.approx(2 * MS, abs=200_000)
    QTest.mouseClick(canvas, LEFT, CTRL, on_state_lane(timeline, 18 * MS))
    drag(canvas, on_state_lane(timeline, 24 * MS), on_state_lane(timeline, 26 * MS), held=CTRL | SHIFT)
    assert len(state.selections.items) == 3
    assert state.selections.items[:2] == (first, (15 * MS, 22 * MS))
    table = timeline.cards.selection.table
    total = sum(end - start for start, end in state.selections.items)
    assert table.title.startswith("3 selections, ")
    assert table.numbers.length_ns == total
    assert table.where.endswith("of 2 iterations")
    assert (table.numbers.parts_ns.sum(axis=1) == total).all()
    QTest.mouseClick(canvas, LEFT, CTRL, on_state_lane(timeline, 18 * MS))
    assert first in state.selections.items
    assert (15 * MS, 22 * MS) not in state.selections.items
    drag(canvas, on_state_lane(timeline, 44 * MS), on_state_lane(timeline, 46 * MS), held=SHIFT)
    assert len(state.selections.items) == 1
    state.history.undo()
    assert len(state.selections.items) == 2, "a drag that replaces several ranges can be undone"


def test_an_edge_of_any_range_can_be_dragged(timeline):
    state = timeline.state
    state.selections.set(((5 * MS, 8 * MS), (30 * MS, 33 * MS)))
    at = on_state_lane(timeline, 8 * MS)
    drag(timeline.canvas, at, at + QPoint(20, 0), held=SHIFT)
    low, high = state.selections.current
    assert low == 5 * MS
    assert 8 * MS < high < 11 * MS
    assert (30 * MS, 33 * MS) in state.selections.items
    QTest.mousePress(timeline.canvas, LEFT, NONE, QPoint(round(timeline.canvas.x_of(high)), at.y()))
    move(timeline.canvas, QPoint(round(timeline.canvas.x_of(40 * MS)), at.y()), LEFT)
    assert state.selections.items[-1][0] == low
    assert len(state.selections.items) == 1, "it has taken in the other"
    QTest.keyClick(timeline.canvas, Qt.Key.Key_Escape)
    assert set(state.selections.items) == {(low, high), (30 * MS, 33 * MS)}
    QTest.mouseRelease(timeline.canvas, LEFT, NONE, at)


@pytest.mark.parametrize("where", ["ruler", "nvtx", "below", "pinned"])
def test_dragging_snaps_over_the_whole_height(timeline, where):
    state = timeline.state
    if where == "pinned":
        state.rows.set_pinned(state.rows.roots[1].key, True)
    strip = {"ruler": timeline.ruler, "pinned": timeline.pinned}.get(where, timeline.canvas)
    y = {"ruler": 25, "nvtx": timeline.canvas.placed[0].y + 6, "below": strip.height() - 4, "pinned": 6}[
        where
    ]
    begin, end = (QPoint(round(strip.x_of(t)), y) for t in (22 * MS, 42 * MS))
    drag(strip, begin + QPoint(4, 0), end + QPoint(-4, 0))
    assert state.selection == (22 * MS, 42 * MS), "the boundaries of iteration 1"
    begin, end = (QPoint(round(strip.x_of(t)), y) for t in (15 * MS, 24 * MS))
    drag(strip, begin + QPoint(3, 0), end + QPoint(-3, 0))
    assert state.selection == (15 * MS, 24 * MS), "where the communication ends, and the copy"
    state.select(None)
    drag(strip, begin + QPoint(3, 0), end + QPoint(-3, 0), held=SHIFT)
    assert state.selection == (strip.time_at(begin.x() + 3), strip.time_at(end.x() - 3))


def test_arrow_keys_move_the_edge_by_a_pixel_and_with_shift_by_a_snap(timeline):
    state, canvas = timeline.state, timeline.canvas
    state.select((15 * MS, 22 * MS))
    canvas.setFocus()
    window, pixel = state.axis.window, canvas.span_ns(1)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert state.selection == (15 * MS, 22 * MS + 2 * pixel)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert state.selection == (15 * MS, 22 * MS)
    assert state.axis.window == window
    QTest.keyClick(canvas, Qt.Key.Key_Right, SHIFT)
    assert state.selection == (15 * MS, 24 * MS), "where the copy ends"
    QTest.keyClick(canvas, Qt.Key.Key_Left, SHIFT)
    assert state.selection == (15 * MS, 22 * MS)
    state.selections.take((15 * MS, 22 * MS), 0)
    QTest.keyClick(canvas, Qt.Key.Key_Left, SHIFT)
    assert state.selection[1] == 22 * MS
    assert 13 * MS <= state.selection[0] < 15 * MS
    state.select(None)
    state.axis.go(10 * MS, 20 * MS)
    window = state.axis.window
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert state.axis.window != window, "without a selection they pan"


def test_an_edge_that_is_nudged_past_the_other_goes_on(timeline):
    state, canvas = timeline.state, timeline.canvas
    pixel = canvas.span_ns(1)
    state.select((20 * MS, 20 * MS + pixel))
    canvas.setFocus()
    for _ in range(3):
        QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert state.selection[1] == 20 * MS
    assert state.selection[0] < 20 * MS


def test_an_edge_that_is_nudged_out_of_view_takes_the_view_along(timeline):
    state, canvas = timeline.state, timeline.canvas
    state.axis.go(10 * MS, 20 * MS)
    state.select((15 * MS, 20 * MS))
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    low, high = state.axis.window
    assert high - low == 10 * MS
    assert low < state.selection[1] < high


def test_the_edges_of_the_row_under_the_pointer_come_first(timeline):
    """Two edges within reach: the kernel's in this row, and in another row one that is nearer."""
    state = timeline.state
    state.rows.set_expanded([r.key for r in state.rows.roots[0].walk()], True)
    state.axis.go(0, 65 * MS)
    nccl = next(p for p in timeline.canvas.placed if p.row.kind is RowKind.STREAM and len(p.row.events) == 3)
    edge = 13 * MS
    near = timeline.gestures.snapping.near
    tolerance = 2 * MS
    assert near(nccl, edge + MS - MS // 10, tolerance) == edge
    assert near(None, edge + MS - MS // 10, tolerance) != edge
