"""Notes and kept measurements on the picture, and what mouse and keys do with them."""

import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from tests.timeline.make import MS, pixels, rows_of, state_of, study_of, training
from tests.timeline.test_gestures import CTRL, LEFT, NONE, drag, move
from viewer.drawing.scale import AxisPixels, Scale
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind, build_rows
from viewer.state import Measurement, Note
from viewer.timeline.notes.measurement_lines import dimensions, dimensions_height, paint_dimensions
from viewer.timeline.notes.note_layer import DRAFT
from viewer.timeline.notes.note_marks import paint_notes
from viewer.timeline.notes.note_places import nearest_placed, place_notes
from viewer.timeline.notes.note_text import broken
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.timeline import Timeline

BLUE = 0xFF2563EB


@pytest.fixture
def timeline(on_screen):
    """Two ranks, unfolded, over their first two iterations."""
    made = on_screen(Timeline(state_of(training()), "raster"), 1200, 700)
    state = made.state
    state.rows.set_expanded([r.key for r in state.rows.roots[0].walk()], True)
    state.axis.go(0, 40 * MS)
    made.activateWindow()
    assert QTest.qWaitForWindowActive(made)
    return made


def row_of(timeline, kind=RowKind.STREAM):
    return next(p for p in timeline.canvas.placed if p.row.kind is kind)


def event_note(timeline, text="slow"):
    row = row_of(timeline).row
    event = row.events.ref(4, row.key)
    return Note(0, 1, text, row_key=row.key, event=event)


def spots(timeline):
    return timeline.canvas.note_spots(timeline.canvas.grid())


def middle(timeline, number=0):
    return timeline.canvas.label_of(number).center().toPoint()


def write(timeline, text):
    QTest.keyClicks(timeline.notes.editor, text)
    QTest.keyClick(timeline.notes.editor, Qt.Key.Key_Return)


# Where notes are


def test_a_note_on_an_event_stands_on_its_bar(timeline):
    timeline.state.notes.add(event_note(timeline))
    (spot,) = spots(timeline)
    placed = row_of(timeline)
    start, end = spot.note.span(timeline.state.study)
    scale = timeline.canvas.scale()
    assert spot.place.left() == round(scale.x(start))
    assert spot.place.left() + spot.place.width() == round(scale.x(end))
    assert placed.y <= spot.place.top() < spot.place.bottom() < placed.y + placed.height
    assert spot.is_own_row


def test_a_note_goes_with_its_row_and_to_what_stands_for_it(timeline):
    state = timeline.state
    note = event_note(timeline)
    state.notes.add(note)
    stream, *above = reversed(state.rows.row(note.row_key).path())
    gpu, root = above
    before = spots(timeline)[0].place
    timeline.state.rows.set_hidden([row_of(timeline, RowKind.KERNELS).row.key], True)
    assert spots(timeline)[0].place.top() < before.top()
    assert gpu.is_merged
    state.rows.set_expanded([root.key], False)
    (spot,) = spots(timeline)
    placed = next(p for p in timeline.canvas.placed if p.row is root)
    assert placed.y <= spot.place.center().y() < placed.y + placed.height
    assert not spot.is_own_row
    assert spot.place.left() == before.left()
    state.rows.set_hidden([root.key], True)
    assert spots(timeline) == []
    assert stream.key == note.row_key


def test_a_note_out_of_view_is_not_placed(timeline):
    timeline.state.notes.add(Note(50 * MS, 50 * MS, "later"))
    assert spots(timeline) == []
    assert timeline.canvas.note_at(QPointF(20, 20)) is None


def test_keys_of_rows_lead_from_ancestor_to_descendant(demo_study):
    for root in build_rows(demo_study):
        for row in root.walk():
            assert row.parent is None or row.key.startswith(row.parent.key + "/")


def test_a_picture_lets_the_nearest_row_stand_for_a_folded_one():
    study = study_of(training())
    roots = build_rows(study)
    stream = next(r for r in roots[1].walk() if r.kind is RowKind.STREAM)
    placed = rows_of(study, RowKind.PROCESS, RowKind.GPU)
    assert nearest_placed(placed)(stream.key) == stream.parent.key
    assert nearest_placed(rows_of(study, RowKind.PROCESS)[:1])(stream.key) is None


def test_labels_make_way_for_each_other_and_stay_inside(timeline):
    for _ in range(6):
        timeline.state.notes.add(
            Note(39_900_000, 39_900_000, "at the very end of the window, one of several")
        )
    found = spots(timeline)
    grid = timeline.canvas.grid()
    area = QRectF(0, 0, grid.columns, grid.rows)
    assert all(area.contains(s.label) for s in found)
    for n, one in enumerate(found):
        assert not any(one.label.intersects(other.label) for other in found[:n])


def test_a_label_covers_no_row_where_there_is_room_below(timeline):
    timeline.state.rows.set_expanded([timeline.state.rows.roots[0].key], False)
    timeline.state.notes.add(Note(10 * MS, 20 * MS, "a range"))
    last = timeline.canvas.placed[-1]
    assert spots(timeline)[0].label.top() > last.y + last.height


def test_long_words_and_chinese_are_broken(qapp):
    lines = broken("看" * 40 + "\n\n" + "x" * 90 + " two words", 150, 11)
    assert "".join(lines).replace(" ", "") == "看" * 40 + "x" * 90 + "twowords"
    assert "" in lines
    from viewer.timeline.paint.fonts import metrics

    assert all(metrics(11).horizontalAdvance(line) <= 150 for line in lines)


@pytest.mark.parametrize("dpr", [1.0, 1.25, 2.0])
def test_the_same_notes_are_painted_at_every_scale(qapp, dpr):
    study = study_of(training())
    placed = rows_of(study, RowKind.PROCESS, RowKind.GPU, RowKind.STREAM)
    axis = AxisPixels(0, 900, dpr)
    columns, rows = axis.columns, round(500 * dpr)
    row = next(p for p in placed if p.row.kind is RowKind.STREAM).row
    notes = [
        (0, Note(5 * MS, 5 * MS, "line", "#2563eb")),
        (1, Note(0, 0, "bar", "#2563eb", row.key, row.events.ref(3, row.key), (60, 80))),
    ]
    placed_notes = place_notes(notes, study, placed, axis.scale((0, 40 * MS)), DeviceGrid(axis, 0, rows))
    image = QImage(columns, rows, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    paint_notes(painter, placed_notes, LIGHT, DeviceGrid(axis, 0, rows), chosen=1)
    painter.end()
    picture = pixels(image)
    assert (picture[:, int(columns / 8 + 0.5)] != 0xFFFFFFFF).mean() > 0.95
    found = placed_notes.spots
    label = found[1].label
    assert found[1].offset_px(dpr) == (60, 80)
    assert (picture[int(label.top()) + 6, int(label.left()) + 2]) == BLUE
    assert len({s.number for s in found}) == 2


# Kept measurements


def test_measurements_stand_as_dimension_lines_that_do_not_cover_each_other(qapp):
    kept = [
        Measurement(0, 20 * MS, "hole"),
        Measurement(5 * MS, 10 * MS, "inside"),
        Measurement(30 * MS, 35 * MS, "apart"),
        Measurement(90 * MS, 95 * MS, "out of view"),
    ]
    found = dimensions(Scale(0, 40 * MS, 1000), kept, 1.0)
    assert [(d.measurement.name, d.lane) for d in found] == [("hole", 0), ("inside", 1), ("apart", 0)]
    assert [d.text for d in found] == ["hole  20.00 ms", "inside  5.000 ms", "apart  5.000 ms"]
    assert dimensions_height(found) > dimensions_height(found[:1]) > dimensions_height([]) == 0
    image = QImage(1000, 60, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    paint_dimensions(painter, found[:1], 60, LIGHT, 1.0)
    painter.end()
    blue = (pixels(image) == BLUE).any(axis=0)
    assert blue[10:490].all()
    assert not blue[502:].any()


def test_a_kept_measurement_is_seen_on_the_canvas(timeline):
    timeline.state.measurements.keep(10 * MS, 30 * MS, "hole")
    picture = pixels(timeline.canvas.grab().toImage())
    assert (picture[-30:] == BLUE).sum() > 300


# What mouse and keys do


def test_a_note_is_written_on_the_selection(timeline):
    state = timeline.state
    state.select((10 * MS, 20 * MS))
    timeline.notes.write()
    assert state.notes.items == ()
    assert timeline.notes.editor.isVisible()
    write(timeline, "waits")
    assert [(n.span(None), n.text, n.row_key) for n in state.notes.items] == [
        ((10 * MS, 20 * MS), "waits", "")
    ]
    assert timeline.focusWidget() is timeline.canvas
    state.history.undo()
    assert state.notes.items == ()


def test_escape_and_an_empty_text_keep_nothing(timeline):
    state = timeline.state
    for leave in (
        lambda: QTest.keyClick(timeline.notes.editor, Qt.Key.Key_Escape),
        lambda: QTest.keyClick(timeline.notes.editor, Qt.Key.Key_Return),
        timeline.canvas.setFocus,
    ):
        timeline.notes.write()
        leave()
        assert not timeline.notes.editor.isVisible()
        assert (state.notes.items, state.notes.draft) == ((), None)
    assert not state.history.can_undo


def test_shift_enter_breaks_the_line_and_leaving_keeps(timeline):
    timeline.notes.write()
    editor = timeline.notes.editor
    QTest.keyClicks(editor, "one")
    QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(editor, "two")
    timeline.headers.setFocus()
    assert [n.text for n in timeline.state.notes.items] == ["one\ntwo"]


def test_what_a_note_is_on(timeline):
    state, canvas = timeline.state, timeline.canvas
    placed = row_of(timeline)
    event = placed.row.events.ref(4, placed.row.key)
    start = int(placed.row.events.start_ns[4])
    at = QPoint(round(canvas.x_of(start)) + 3, placed.y + placed.height // 2)
    move(canvas, at)
    timeline.notes.write()
    assert (state.notes.draft.row_key, state.notes.draft.event) == (placed.row.key, None)
    assert abs(state.notes.draft.start_ns - canvas.time_at(at.x())) <= 1
    write(timeline, "here")
    QTest.mouseClick(canvas, LEFT, NONE, at)
    timeline.notes.write()
    assert state.notes.draft.event == event
    write(timeline, "this one")
    state.select((1, 5))
    move(canvas, QPoint(5, 5))
    timeline.notes.write()
    assert state.notes.draft.span(None) == (1, 5)
    write(timeline, "all this")
    assert len(state.notes.items) == 3


def test_a_label_is_dragged_in_one_step_and_selects_nothing(timeline):
    state = timeline.state
    state.notes.add(event_note(timeline))
    before = timeline.canvas.label_of(0)
    drag(timeline.canvas, middle(timeline), middle(timeline) + QPoint(80, -40))
    after = timeline.canvas.label_of(0)
    assert after.topLeft() - before.topLeft() == QPointF(80, -40)
    assert (state.selection, state.chosen, state.notes.chosen) == (None, None, 0)
    state.axis.go(5 * MS, 15 * MS)
    (spot,) = spots(timeline)
    assert spot.offset_px(1.0) == state.notes.items[0].offset
    state.axis.back()
    state.history.undo()
    assert timeline.canvas.label_of(0) == before
    assert state.notes.items[0].offset is None


def test_a_click_takes_a_label_in_hand_and_one_elsewhere_lets_it_go(timeline):
    state = timeline.state
    state.notes.add(event_note(timeline))
    QTest.mouseClick(timeline.canvas, LEFT, NONE, middle(timeline))
    assert state.notes.chosen == 0
    assert state.notes.items[0].offset is None
    QTest.mouseClick(timeline.canvas, LEFT, NONE, QPoint(3, 3))
    assert state.notes.chosen is None


def test_a_double_click_edits_and_an_empty_text_deletes(timeline):
    state = timeline.state
    state.notes.add(event_note(timeline, "old"))
    QTest.mouseDClick(timeline.canvas, LEFT, NONE, middle(timeline))
    editor = timeline.notes.editor
    assert editor.toPlainText() == "old"
    QTest.keyClick(editor, Qt.Key.Key_A, CTRL)
    write(timeline, "new")
    assert [n.text for n in state.notes.items] == ["new"]
    QTest.mouseClick(timeline.canvas, LEFT, NONE, middle(timeline))
    timeline.notes.write()
    QTest.keyClick(editor, Qt.Key.Key_A, CTRL)
    QTest.keyClick(editor, Qt.Key.Key_Delete)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert state.notes.items == ()
    state.history.undo()
    assert [n.text for n in state.notes.items] == ["new"]


def test_the_pointer_on_a_label_is_not_on_the_row_below(timeline):
    timeline.state.notes.add(event_note(timeline))
    move(timeline.canvas, QPoint(3, 3))
    assert timeline.state.hover is not None
    move(timeline.canvas, middle(timeline))
    assert timeline.state.hover is None


def entries(menu):
    return [a.text() for a in menu.actions() if a.text()]


def trigger(menu, text):
    next(a for a in menu.actions() if a.text().startswith(text)).trigger()


def test_the_menu_of_a_place_and_of_a_note(timeline):
    state, canvas = timeline.state, timeline.canvas
    placed = row_of(timeline)
    start = int(placed.row.events.start_ns[4])
    at = QPointF(canvas.x_of(start) + 4, placed.y + placed.height / 2)
    assert entries(timeline.notes.menu(canvas, QPointF(400, 5)))[:1] == ["Add note here"]
    state.select((1, 9))
    menu = timeline.notes.menu(canvas, at)
    notes = ["Add note here", "Add note on the selection", "Add note on gemm_0"]
    assert [entry for entry in entries(menu) if "note" in entry] == notes
    assert "Zoom to it" in entries(menu)
    trigger(menu, "Add note on gemm")
    write(timeline, "by menu")
    assert state.notes.items[0].event == placed.row.events.ref(4, placed.row.key)
    menu = timeline.notes.menu(canvas, QPointF(middle(timeline)))
    assert entries(menu) == ["Edit", "Colour", "Arrow", "Put the label back", "Delete"]
    trigger(menu, "Arrow")
    assert not state.notes.items[0].arrow
    colours = next(m for m in menu.findChildren(QMenu) if m.title() == "Colour")
    trigger(colours, "Teal")
    assert state.notes.items[0].colour == "#12857a"
    trigger(menu, "Delete")
    assert state.notes.items == ()


def test_a_right_click_opens_the_menu(timeline, qtbot):
    canvas = timeline.canvas
    at = QPoint(300, 40)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, canvas.mapToGlobal(at))
    QApplication.sendEvent(canvas, event)
    menu = QApplication.activePopupWidget()
    assert entries(menu) == ["Add note here", "Show Rank 0 in Events", "What if"]
    menu.close()


def test_the_editor_follows_the_picture(timeline):
    timeline.state.select((10 * MS, 20 * MS))
    timeline.notes.write()
    before = timeline.notes.editor.pos()
    timeline.state.axis.go(5 * MS, 45 * MS)
    assert timeline.notes.editor.x() < before.x()
    label = timeline.canvas.label_of(DRAFT)
    assert abs(timeline.notes.editor.x() - timeline.canvas.x() - label.left()) <= 1


def test_pinned_rows_mark_their_notes_without_labels(timeline):
    state = timeline.state
    note = event_note(timeline)
    state.rows.set_pinned(note.row_key, True)
    state.notes.add(note)
    assert len(timeline.pinned.note_spots(timeline.pinned.grid())) == 1
    assert timeline.pinned.note_at(QPointF(20, 5)) is None
    before = pixels(timeline.pinned.grab().toImage())
    state.notes.delete({0})
    assert (pixels(timeline.pinned.grab().toImage()) != before).any()
