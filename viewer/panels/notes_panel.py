"""The Notes dock: all notes of the trace, to read, to edit and to find in the timeline."""

from __future__ import annotations

import pandas as pd
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout

from viewer.drawing.format import format_count, format_instant, format_ns
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.panel import Panel
from viewer.state import ViewState
from viewer.state.places import go_to_note
from viewer.timeline.notes.canvas_menu import fill_colours
from viewer.timeline.plain_text import PlainLabel

_HINT = (
    "Press M to write a note: on the selected event, on the selected range,\n"
    "or where the pointer is. The context menu of the timeline does the same."
)
_WIDEST_PX = 460
_MOST_CHARS = 300
"""How much of a note the table shows: Qt measures all of a text, however little fits."""
COLUMNS = (
    TableColumn("colour", "", lambda _: "●", colour=lambda colour: QColor(colour).rgba()),
    TableColumn(
        "text",
        "Note",
        lambda text: text[:_MOST_CHARS].replace("\n", " "),
        editable=True,
        tip="Double-click to rewrite",
    ),
    TableColumn(
        "row", "Row", tip="Where it stands; it goes to the nearest row in view where that is folded away"
    ),
    TableColumn("event", "Event", tip="What it is bound to"),
    TableColumn("start_ns", "Begin", format_instant, number=True, tip="From the trace's zero"),
    TableColumn("length_ns", "Length", lambda ns: format_ns(ns) if ns else "–", number=True),
)


def note_frame(state: ViewState) -> pd.DataFrame:
    """Return the notes, a row each, in the order in which they were written; times in ns."""
    rows = []
    for note in state.notes.items:
        start, end = note.span(state.study)
        row = state.rows.row(note.row_key)
        name = ""
        if note.event is not None and state.study is not None:
            trace = state.study.trace
            name = trace.names[int(trace.events[note.event.kind].name_id[note.event.index])]
        rows.append(
            {
                "colour": note.colour,
                "text": note.text,
                "row": row.text_path if row is not None else note.row_key or "all rows",
                "event": name,
                "start_ns": start,
                "length_ns": end - start,
            }
        )
    return pd.DataFrame(rows, columns=[c.key for c in COLUMNS])


class NotesPanel(Panel):
    """Lists the notes; a double click shows one in the timeline."""

    title = "Notes"
    needs_all = False

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.table = FrameTable(COLUMNS, "Notes", editable=True)
        header = self.table.horizontalHeader()
        header.setMaximumSectionSize(_WIDEST_PX)
        header.setResizeContentsPrecision(0)
        self._count = PlainLabel()
        self._count.setObjectName("total")
        self.go_to, self.colour, self.delete = (
            QPushButton("Go to"),
            QPushButton("Colour"),
            QPushButton("Delete"),
        )
        colours = QMenu(self)
        fill_colours(colours, self._paint)
        self.colour.setMenu(colours)
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 0, 8, 0)
        foot.addWidget(self._count, 1)
        for button in (self.go_to, self.colour, self.delete):
            foot.addWidget(button)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.addWidget(self.table, 1)
        layout.addLayout(foot)
        self.go_to.clicked.connect(lambda: self._go(self.table.selected_positions()))
        for asked in (self.delete.clicked, self.table.delete_requested):
            asked.connect(lambda: state.notes.delete(set(self.table.selected_positions())))
        self.table.chosen.connect(lambda position: self._go([position]))
        self.table.frame_model.edited.connect(self._rewrite)
        self.table.save_requested.connect(self.save_requested)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._follow_selection())
        state.notes.changed.connect(self._changed)

    def refresh(self) -> None:
        """Show the current notes."""
        count = len(self.state.notes.items)
        self.show_empty("" if count else _HINT)
        self.table.set_frame(note_frame(self.state))
        self.table.resizeColumnsToContents()
        self._count.setText(f"{format_count(count)} {'note' if count == 1 else 'notes'}" if count else "")
        self._follow_selection()

    def _follow_selection(self) -> None:
        chosen = self.table.selected_positions()
        for button in (self.go_to, self.colour, self.delete):
            button.setEnabled(bool(chosen))
        if len(chosen) == 1:
            self.state.notes.choose(chosen[0])

    def _go(self, positions: list[int]) -> None:
        if positions:
            go_to_note(self.state, positions[0])

    def _rewrite(self, position: int, _key: str, text: str) -> None:
        if text.strip():
            self.state.notes.change(position, text=text.strip())
        else:
            self.state.notes.delete({position})

    def _paint(self, colour: str) -> None:
        self.state.notes.paint(set(self.table.selected_positions()), colour)

    def _changed(self) -> None:
        count = len(self.state.notes.items)
        self.badge_changed.emit(str(count) if count else "")
        self.invalidate()
