"""The row headers: where rows are, what hides, folds and pins them, what is painted."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtTest import QTest

from tests.timeline.make import pixels, state_of, study_of, training
from viewer.analysis.collectives.stream_uses import StreamUse
from viewer.drawing.layout import PlacedRow, row_height, shown_rows
from viewer.drawing.theme import LIGHT
from viewer.rows import Row, RowKind, build_rows
from viewer.state import navigation
from viewer.state.places import rows_of_stream, stream_ids
from viewer.timeline.headers.header_values import stream_names, stream_tip
from viewer.timeline.headers.paint_header import (
    DETAIL_PX,
    INDENT,
    RIGHT,
    HeaderStyle,
    label_line,
    paint_header,
    pin_rect,
)
from viewer.timeline.headers.pinned import PinnedHeaders
from viewer.timeline.headers.row_headers import RowHeaders
from viewer.timeline.headers.row_menu import row_menu
from viewer.timeline.paint.fonts import metrics

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def headers(on_screen):
    """Headers of two ranks, 340 x 300."""
    return on_screen(RowHeaders(state_of(training())), 340, 300)


def state(headers):
    return headers._state


def keys_shown(headers):
    return [p.row.key for p in headers.visible_rows()]


def everything(headers):
    return [r.key for root in state(headers).rows.roots for r in root.walk()]


def unfold_all(headers):
    """Unfold all rows and let the view lay them out."""
    state(headers).rows.set_expanded(everything(headers), True)
    assert headers.visible_rows()


def row_of(headers, kind, rank=0):
    root = state(headers).rows.roots[rank]
    return next(r for r in root.walk() if r.kind is kind)


def placed_of(headers, key):
    return next(p for p in headers.visible_rows() if p.row.key == key)


def pin_point(placed, width):
    rect = QRect(0, placed.y, width, placed.height)
    return pin_rect(placed, label_line(placed, rect)).center()


def test_visible_rows_are_where_the_view_paints_them(headers):
    unfold_all(headers)
    bar = headers.verticalScrollBar()
    assert bar.maximum() > 0
    for value in range(0, bar.maximum() + 1, 7):
        bar.setValue(value)
        placed = headers.visible_rows()
        assert placed[0].y <= 0 < placed[0].y + placed[0].height
        for p in placed:
            rect = headers.visualRect(headers.model().index_of(p.row.key))
            assert (p.y, p.height) == (rect.top(), rect.height())
            assert p.height == row_height(p.row, p.expanded, p.sizes)


def test_the_view_shows_the_rows_that_the_layout_shows(headers):
    headers.resize(340, 3000)
    rows = state(headers).rows
    rows.set_expanded(everything(headers), True)
    assert keys_shown(headers) == [r.key for r, _ in shown_rows(rows)]
    rows.set_hidden(rows_of_stream(state(headers), 20), True)
    assert keys_shown(headers) == [r.key for r, _ in shown_rows(rows)]
    rows.set_filter("stream")
    assert keys_shown(headers) == [r.key for r, _ in shown_rows(rows)]


def test_a_click_on_the_arrow_unfolds_and_changes_the_height(headers, qtbot):
    root = state(headers).rows.roots[0]
    before = placed_of(headers, root.key)
    with qtbot.waitSignal(headers.moved):
        QTest.mouseClick(headers.viewport(), LEFT, pos=QPoint(INDENT // 2, before.y + 8))
    after = placed_of(headers, root.key)
    assert root.key in state(headers).rows.expanded
    assert after.expanded
    assert after.height == row_height(root, True, after.sizes) < before.height
    assert keys_shown(headers)[1] == root.children[0].children[0].key


def test_arrow_keys_walk_and_fold(headers):
    first = state(headers).rows.roots[0]
    headers.setFocus()
    QTest.keyClick(headers, Qt.Key.Key_Down)
    QTest.keyClick(headers, Qt.Key.Key_Up)
    assert headers.current_row() is first
    QTest.keyClick(headers, Qt.Key.Key_Right)
    assert first.key in state(headers).rows.expanded
    QTest.keyClick(headers, Qt.Key.Key_Down)
    assert headers.current_row() is first.children[0].children[0]
    QTest.keyClick(headers, Qt.Key.Key_Up)
    QTest.keyClick(headers, Qt.Key.Key_Left)
    assert first.key not in state(headers).rows.expanded


def test_folding_from_elsewhere_reaches_the_view(headers):
    root = state(headers).rows.roots[0]
    state(headers).rows.set_expanded([root.key], True)
    assert headers.isExpanded(headers.model().index_of(root.key))
    state(headers).rows.set_expanded(everything(headers), True)
    state(headers).rows.set_expanded(everything(headers), False)
    assert keys_shown(headers) == [r.key for r in state(headers).rows.roots]
    placed = placed_of(headers, root.key)
    assert placed.height == row_height(root, False, placed.sizes)


def test_a_filter_unfolds_what_hides_its_matches_and_folds_again(headers):
    rows = state(headers).rows
    rows.set_filter("stream 20")
    shown = [p.row for p in headers.visible_rows()]
    assert [r.kind for r in shown] == [RowKind.PROCESS, RowKind.STREAM] * 2
    assert all("Stream 20" in r.label for r in shown if r.kind is RowKind.STREAM)
    rows.set_filter("stream 2")
    assert keys_shown(headers) == []
    rows.set_filter("")
    assert keys_shown(headers) == [r.key for r in rows.roots]


def test_the_end_of_a_filter_brings_the_rows_back_that_were_in_view(headers):
    rows = state(headers).rows
    unfold_all(headers)
    headers.verticalScrollBar().setValue(headers.verticalScrollBar().maximum() // 2)
    before = headers.visible_rows()
    for text in ("stream", "stream 20", ""):
        rows.set_filter(text)
    assert headers.visible_rows() == before


def test_hiding_keeps_the_rows_in_view_where_they_are(headers):
    rows = state(headers).rows
    unfold_all(headers)
    headers.verticalScrollBar().setValue(headers.verticalScrollBar().maximum() // 2)
    before = headers.visible_rows()
    hidden = before[0].row
    stays = next(p for p in before if hidden not in p.row.path())
    rows.set_hidden([hidden.key], True)
    assert placed_of(headers, stays.row.key).y == stays.y


def test_a_stream_number_is_hidden_on_all_gpus(headers):
    assert stream_ids(state(headers)) == [7, 20]
    row = next(r for r in state(headers).rows.roots[0].walk() if r.label == "Stream 20")
    menu = row_menu(state(headers), row, headers)
    entries = {a.text(): a for a in menu.actions() if a.text()}
    assert {"Pin row", "Hide row", "Hide stream 20 on all GPUs"} <= entries.keys()
    entries["Hide stream 20 on all GPUs"].trigger()
    hidden = [state(headers).rows.row(k) for k in state(headers).rows.hidden]
    assert [r.label for r in hidden] == ["Stream 20"] * 2


def test_expand_all_below_is_for_rows_that_hold_others(headers):
    gpu = row_of(headers, RowKind.GPU)
    menu = row_menu(state(headers), gpu, headers)
    next(a for a in menu.actions() if a.text() == "Expand all below").trigger()
    unfolded = state(headers).rows.expanded
    assert {r.key for r in gpu.walk() if r.children} == unfolded


def test_the_pin_pins_and_unpins(headers):
    root = state(headers).rows.roots[1]
    at = pin_point(placed_of(headers, root.key), headers.viewport().width())
    QTest.mouseMove(headers.viewport(), at)
    QTest.mouseClick(headers.viewport(), LEFT, pos=at)
    assert state(headers).rows.pinned == [root.key]
    QTest.mouseClick(headers.viewport(), LEFT, pos=at)
    assert state(headers).rows.pinned == []


def test_pinned_rows_are_reordered_by_dragging(on_screen, headers):
    rows = state(headers).rows
    streams = [r.key for root in rows.roots for r in root.walk() if r.kind is RowKind.STREAM]
    for key in streams[:3]:
        rows.set_pinned(key, True)
    pinned = on_screen(PinnedHeaders(state(headers)), 340, 10)
    placed = pinned.visible_rows()
    assert pinned.height() == sum(p.height for p in placed)
    begin = QPoint(60, placed[0].y + placed[0].height // 2)
    end = QPoint(60, placed[2].y + placed[2].height - 2)
    QTest.mousePress(pinned, LEFT, pos=begin)
    for step in range(1, 9):
        QTest.mouseMove(pinned, begin + (end - begin) * step / 8)
    QTest.mouseRelease(pinned, LEFT, pos=end)
    assert rows.pinned == [streams[1], streams[2], streams[0]]
    QTest.mouseClick(pinned, LEFT, pos=pin_point(pinned.visible_rows()[0], pinned.width()))
    assert rows.pinned == [streams[2], streams[0]]


def test_rows_speak_for_screen_readers(headers):
    index = headers.model().index_of(state(headers).rows.roots[1].key)
    text = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert text.startswith(state(headers).rows.roots[1].text_path)
    assert text.endswith(" % exposed")
    assert headers.accessibleName()


def painted(row, look, width=240):
    image = QImage(width, 20, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_header(painter, PlacedRow(row, 0, 20, False), QRect(0, 0, width, 20), LIGHT, look)
    painter.end()
    return pixels(image)


def test_a_long_name_never_runs_into_the_figure(qapp):
    long = Row("a", RowKind.STREAM, "Stream 20", "NCCL " + "tensor parallel " * 9)
    short = Row("b", RowKind.STREAM, "", "")
    look = HeaderStyle(figures=("100.0 %",))
    figure = slice(240 - RIGHT - round(metrics(DETAIL_PX).horizontalAdvance(look.figures[0])), 240)
    assert np.array_equal(painted(long, look)[:, figure], painted(short, look)[:, figure])
    assert not np.array_equal(painted(long, look), painted(short, look))


def test_a_pinned_row_is_named_with_its_rank(qapp):
    rank = Row("r", RowKind.PROCESS, "Rank 3")
    row = Row("a", RowKind.STREAM, "Stream 20", "NCCL", parent=rank)
    alone = Row("b", RowKind.STREAM, "Rank 3 ›")
    path = painted(row, HeaderStyle(as_path=True))
    name = slice(0, INDENT + 50)
    assert np.array_equal(path[:, name], painted(alone, HeaderStyle(as_path=True))[:, name])


def walked_rows(headers, step):
    """Step as long as there is a next one; yield after each the rows that are wholly in view."""
    while step():
        height = headers.viewport().height() + 1  # Qt leaves a pixel out
        yield {p.row for p in headers.visible_rows() if p.y >= 0 and p.y + p.height <= height}


@pytest.mark.parametrize("unfolded", [False, True])
@pytest.mark.parametrize("part", ["idle", "exposed_comm"])
def test_the_next_stall_is_shown_on_the_row_of_its_gpu(on_screen, part, unfolded):
    headers = on_screen(RowHeaders(state_of(training(ranks=8))), 340, 200)
    rows = state(headers).rows
    rows.set_expanded([r.key for r in rows.roots[0].walk()], True)
    if unfolded:
        unfold_all(headers)
    before, seen = set(rows.expanded), set()
    for in_view in walked_rows(headers, lambda: navigation.step_stall(state(headers), part, 1)):
        start, end = state(headers).selection
        gpus = [
            g
            for g, parts in enumerate(state(headers).study.parts)
            if (parts.intervals(part).start_ns == start).any() and (parts.intervals(part).end_ns == end).any()
        ]
        lanes = {rows.nearest_shown(rows.gpu_row(g)) for g in gpus}
        assert lanes & in_view
        seen |= lanes
    assert seen
    assert rows.expanded == before


def test_the_next_event_is_shown_on_its_row(headers):
    unfold_all(headers)
    row = row_of(headers, RowKind.STREAM, rank=1)
    for in_view in walked_rows(headers, lambda: navigation.step_event(state(headers), row, 1)):
        assert row in in_view
        headers.verticalScrollBar().setValue(0)


def test_streams_are_named_by_what_they_do_and_guesses_are_called_so():
    streams = [row for row in build_rows(study_of(training()))[0].walk() if row.kind is RowKind.STREAM]
    compute, nccl = streams
    assert stream_names(compute, {}) == ("Compute", "stream 7 · default")
    assert stream_names(nccl, {}) == ("NCCL", "stream 20")
    uses = {nccl.stream: StreamUse("TP", "ranks 0, 1")}
    assert stream_names(nccl, uses) == ("TP?", "stream 20 · ranks 0, 1")
    assert "guess" in stream_tip(nccl, uses)
    assert not stream_tip(compute, uses)
    assert stream_names(nccl, {nccl.stream: StreamUse("", "all ranks")}) == ("NCCL", "stream 20 · all ranks")
    assert stream_names(nccl.parent, uses) == ("", "")
