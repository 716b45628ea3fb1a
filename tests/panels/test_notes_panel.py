"""The Notes dock."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from tests.timeline.make import MS, state_of, training
from viewer.panels.notes_panel import NotesPanel
from viewer.rows import RowKind
from viewer.state import Note


@pytest.fixture
def panel(qtbot):
    """A dock with a note on an event and one on an instant."""
    state = state_of(training())
    stream = next(r for r in state.rows.roots[1].walk() if r.kind is RowKind.STREAM)
    made = NotesPanel(state)
    qtbot.addWidget(made)
    made.resize(800, 240)
    made.show()
    state.notes.add(Note(0, 1, "slow", row_key=stream.key, event=stream.events.ref(12, stream.key)))
    state.notes.add(Note(30 * MS, 30 * MS, "begins\nhere"))
    return made


def text(panel, row, column):
    model = panel.table.frame_model
    return model.data(model.index(row, column))


def test_notes_are_listed_with_where_they_stand(panel):
    assert [text(panel, row, 1) for row in (0, 1)] == ["slow", "begins here"]
    assert "Stream 7" in text(panel, 0, 2)
    assert text(panel, 1, 2) == "all rows"
    assert text(panel, 0, 3).startswith("gemm")
    assert text(panel, 1, 4) == "30.000000 ms"
    assert text(panel, 1, 5) == "–"


def test_without_notes_it_says_what_to_do(panel):
    panel.state.notes.load()
    assert "Press M" in panel._empty.text()
    assert panel._stack.currentWidget() is panel._empty


def test_a_double_click_goes_there_and_shows_the_row(panel):
    state = panel.state
    note = state.notes.items[0]
    row = state.rows.row(note.row_key)
    state.rows.set_hidden([state.rows.roots[1].key, row.key], True)
    state.axis.go(0, MS)
    table = panel.table
    index = table.frame_model.index(0, 4)
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(index).center())
    QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(index).center())
    QTest.mouseRelease(table.viewport(), Qt.MouseButton.LeftButton)
    start, end = note.span(state.study)
    assert state.axis.window[0] < start < end < state.axis.window[1]
    assert state.rows.nearest_shown(row) is row
    assert (state.notes.chosen, state.chosen) == (0, note.event)


def test_a_note_is_rewritten_in_its_cell(panel, qtbot):
    table = panel.table
    index = table.frame_model.index(1, 1)
    table.edit(index)
    field = table.findChild(QLineEdit)
    field.selectAll()
    QTest.keyClicks(field, "begins late")
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.state.notes.items[1].text == "begins late")
    panel.state.history.undo()
    assert panel.state.notes.items[1].text == "begins\nhere"


def test_several_are_painted_in_one_step_and_deleted(panel):
    state = panel.state
    panel.table.selectAll()
    colours = panel.colour.menu()
    next(a for a in colours.actions() if a.text() == "Teal").trigger()
    assert {n.colour for n in state.notes.items} == {"#12857a"}
    state.history.undo()
    assert "#12857a" not in {n.colour for n in state.notes.items}
    panel.table.selectAll()
    panel.delete.click()
    assert state.notes.items == ()


def test_the_badge_counts(panel, qtbot):
    with qtbot.waitSignal(panel.badge_changed) as seen:
        panel.state.notes.delete({0})
    assert seen.args == ["1"]


def test_of_a_long_note_the_list_shows_the_beginning_and_rewrites_all(panel):
    text = "x" * 20_000
    panel.state.notes.load((Note(0, 1, text),))
    panel.refresh()
    cell = panel.table.frame_model.index(0, 1)
    assert len(cell.data(Qt.ItemDataRole.DisplayRole)) <= 300
    assert cell.data(Qt.ItemDataRole.EditRole) == text
