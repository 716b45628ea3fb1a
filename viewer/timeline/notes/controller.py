"""The controller of notes on the timeline: it edits them in place, moves them and opens their menus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSize, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from viewer.state import Note, ViewState
from viewer.timeline.notes.canvas_menu import note_in_mind, note_menu, place_menu
from viewer.timeline.notes.note_editor import NoteEditor
from viewer.timeline.notes.note_gestures import NotedStrip, NoteGestures
from viewer.timeline.notes.note_layer import DRAFT
from viewer.timeline.strip import TimeStrip


class NoteCanvas(NotedStrip, TimeStrip, Protocol):
    """The interface that the controller needs of a strip with notes."""

    def label_of(self, number: int) -> QRectF | None: ...
    def geometry(self) -> QRect: ...
    def setFocus(self) -> None: ...


class NoteController(QObject):
    """Lets the user write on a timeline.

    Parameters
    ----------
    canvas : callable
        Returns the canvas of the rows, which another one replaces after an error of OpenGL.
    parent : QWidget
        The timeline: the editor lies over it.

    Attributes
    ----------
    actions : sequence of QAction
        The commands that the window adds to the menu of a place.

    Signals
    -------
    opened()
        The editor is open.
    """

    opened = Signal()

    def __init__(self, state: ViewState, canvas: Callable[[], NoteCanvas], parent: QWidget) -> None:
        super().__init__(parent)
        self._parent, self._canvas = parent, canvas
        self._state = state
        self.actions: Sequence[QAction] = ()
        self.gestures = NoteGestures(self._state, self)
        self.editor = NoteEditor(parent)
        self._number = DRAFT
        self.gestures.edit_requested.connect(self.edit)
        self.gestures.menu_requested.connect(self._open_menu)
        self.editor.written.connect(self._keep)
        self.editor.was_cancelled.connect(self._cancel)
        self._state.axis.changed.connect(self._follow)
        self._state.leaving.connect(self.editor.finish)

    def write(self, note: Note | None = None) -> None:
        """Write a note: the given one, else the selected one, else a new one at the likely place."""
        state = self._state
        if state.study is None:
            return
        self.editor.finish()
        if note is None and state.notes.chosen is not None:
            self.edit(state.notes.chosen)
            return
        self._number, draft = DRAFT, note or note_in_mind(state)
        state.notes.set_draft(draft)
        self._begin(draft)

    def edit(self, number: int) -> None:
        """Edit the text of a note."""
        self.editor.finish()
        self._number = number
        self._state.notes.choose(number)
        self._begin(self._state.notes.items[number])

    def _begin(self, note: Note) -> None:
        self.editor.begin(note.text, note.colour, self._place(), self._bounds())
        self.opened.emit()

    def _keep(self, text: str) -> None:
        notes = self._state.notes
        draft = notes.draft
        notes.set_draft(None)
        if self._number == DRAFT:
            if draft is not None and text:
                notes.choose(None)
                notes.add(replace(draft, text=text))
        elif self._number < len(notes.items):
            if text:
                notes.change(self._number, text=text)
            else:
                notes.delete({self._number})
        self._canvas().setFocus()

    def _cancel(self) -> None:
        self._state.notes.set_draft(None)
        self._canvas().setFocus()

    def _bounds(self) -> QRect:
        return self._canvas().geometry()

    def _place(self) -> QRect:
        """Return the place of the label on the timeline; the middle of the canvas where it is out of view."""
        area = self._bounds()
        label = self._canvas().label_of(self._number)
        if label is None:
            return QRect(area.center() - QPoint(100, 30), QSize(1, 1))
        return label.toAlignedRect().translated(area.topLeft())

    def _follow(self) -> None:
        if self.editor.is_open:
            self.editor.put(self._place(), self._bounds())

    def menu(self, strip: NoteCanvas, pos: QPointF) -> QMenu:
        """Return the menu for a place of a strip, or for the note there."""
        spot = strip.note_at(pos)
        if spot is not None:
            return note_menu(self._state, spot.number, self.edit, self._parent)
        row = strip.row_at(pos.y())
        write: Callable[[Note], None] = self.write
        return place_menu(
            self._state,
            strip.time_at(pos.x()),
            row.key if row else "",
            strip.hit(pos),
            write,
            self.actions,
            self._parent,
        )

    def _open_menu(self, strip: NoteCanvas, pos: QPointF, at: QPoint) -> None:
        menu = self.menu(strip, pos)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)
