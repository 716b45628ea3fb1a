"""Mouse gestures on the labels of notes: select, drag, edit, and the menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from viewer.state import ViewState
from viewer.timeline.gestures import CLICK_PX
from viewer.timeline.notes.note_places import NoteSpot
from viewer.timeline.strip import DeviceGrid, guard


class NotedStrip(Protocol):
    """The interface that these gestures need of a widget with notes."""

    def note_at(self, pos: QPointF) -> NoteSpot | None: ...
    def grid(self) -> DeviceGrid: ...
    def setCursor(self, cursor: Qt.CursorShape, /) -> None: ...
    def mapToGlobal(self, pos: QPointF, /) -> QPointF: ...


class NoteGestures(QObject):
    """Filters events before `Gestures`: it handles those on a label, and passes the others on.

    Attributes
    ----------
    key_place : callable
        Returns the place on the canvas of a menu that a key asks for; None for the pointer's.

    Signals
    -------
    entered()
        The pointer is on a label, or a menu opens: tooltips and cards at the pointer must close.
    edit_requested(int)
        A note is to be edited.
    menu_requested(QWidget, QPointF, QPoint)
        A menu is asked for: the strip, the place on it, and that place on the screen.
    """

    entered = Signal()
    edit_requested = Signal(int)
    menu_requested = Signal(object, object, object)

    def __init__(self, state: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.key_place: Callable[[], QPointF | None] = lambda: None
        self._dragged: tuple[int, QPointF, tuple[int, int]] | None = None
        self._has_moved = False
        self._drags = 0
        state.leaving.connect(self.cancel_drag)
        self._handlers = {
            QEvent.Type.MouseButtonPress: self._press,
            QEvent.Type.MouseMove: self._move,
            QEvent.Type.MouseButtonRelease: self._release,
            QEvent.Type.MouseButtonDblClick: self._double_click,
            QEvent.Type.ContextMenu: self._menu,
        }

    def watch(self, strip: QWidget) -> None:
        """Handle a strip's events (a `NotedStrip`); call it after installing the strip's other filters."""
        strip.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hand an event to its handler."""
        handler = self._handlers.get(event.type())
        if handler is None or self.state.study is None:
            return False
        with guard("a gesture on a note"):
            return bool(handler(watched, event))  # type: ignore[operator]
        return False

    def _press(self, strip: NotedStrip, event: QMouseEvent) -> bool:
        spot = strip.note_at(event.position())
        self.state.notes.choose(spot.number if spot else None)
        if spot is None or event.button() != Qt.MouseButton.LeftButton:
            return spot is not None
        self._drags += 1
        self._dragged = (spot.number, event.position(), spot.offset_px(strip.grid().dpr))
        self._has_moved = False
        strip.setCursor(Qt.CursorShape.ClosedHandCursor)
        return True

    def _move(self, strip: NotedStrip, event: QMouseEvent) -> bool:
        if self._dragged is None:
            if event.buttons() or strip.note_at(event.position()) is None:
                return False
            self.state.set_hover(None)
            self.entered.emit()
            strip.setCursor(Qt.CursorShape.OpenHandCursor)
            return True
        number, start, offset = self._dragged
        away = event.position() - start
        if not self._has_moved and away.manhattanLength() < CLICK_PX:
            return True
        self._has_moved = True
        if number < len(self.state.notes.items):
            moved = (offset[0] + round(away.x()), offset[1] + round(away.y()))
            self.state.notes.change(number, f"drag {self._drags}", offset=moved)
        return True

    def _release(self, strip: NotedStrip, event: QMouseEvent) -> bool:
        dragged, self._dragged = self._dragged, None
        if dragged is None:
            return False
        strip.setCursor(Qt.CursorShape.OpenHandCursor)
        return True

    def cancel_drag(self) -> None:
        """End the drag of a note: the list of notes changes."""
        self._dragged = None

    def _double_click(self, strip: NotedStrip, event: QMouseEvent) -> bool:
        spot = strip.note_at(event.position())
        if spot is None or event.button() != Qt.MouseButton.LeftButton:
            return False
        self.edit_requested.emit(spot.number)
        return True

    def _menu(self, strip: NotedStrip, event: QContextMenuEvent) -> bool:
        at, on_screen = QPointF(event.pos()), event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard and (place := self.key_place()) is not None:
            at, on_screen = place, strip.mapToGlobal(place).toPoint()
        self.entered.emit()
        self.menu_requested.emit(strip, at, on_screen)
        return True
