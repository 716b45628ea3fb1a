"""Routing of keys: actions get them everywhere, except the keys that text fields, tables and trees need."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTextBrowser,
    QTextEdit,
    QWidget,
)

from viewer.timeline.gestures import Gestures

_KEPT_BY_VIEWS = {
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Return,
    Qt.Key.Key_Enter,
    Qt.Key.Key_Space,
}
_COMMAND = (
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
)


def takes_text(widget: QObject) -> bool:
    """Whether letters typed into a widget are text."""
    if isinstance(widget, QComboBox):
        return widget.isEditable()
    if isinstance(widget, QTextEdit | QPlainTextEdit) and widget.isReadOnly():
        return False
    return isinstance(widget, QLineEdit | QTextEdit | QPlainTextEdit | QAbstractSpinBox)


class KeyRouter(QObject):
    """Routes the keys of one window.

    Keeps the shortcuts from text fields, and from the keys that tables and trees move by: Qt asks the
    widget with the focus whether it wants a key for itself before a shortcut gets it, and this object
    answers for the widgets that would say no. Keys identified by their place on the keyboard are not
    shortcuts; the timeline's gestures get them wherever the focus is.
    """

    def __init__(self, window: QWidget, gestures: Gestures) -> None:
        super().__init__(window)
        self._window = window
        self._gestures = gestures
        app = QApplication.instance()
        assert app is not None
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind not in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress) or not isinstance(
            event, QKeyEvent
        ):
            return False
        if not isinstance(watched, QWidget) or watched.window() is not self._window:
            return False
        if kind == QEvent.Type.KeyPress:
            return not takes_text(watched) and self._gestures.key(event)
        if _is_kept(watched, event):
            event.accept()
            return True
        return False


def _is_kept(widget: QWidget, event: QKeyEvent) -> bool:
    if event.modifiers() & _COMMAND:
        return False
    if takes_text(widget):
        return not Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
    return isinstance(widget, QAbstractItemView | QTextBrowser) and event.key() in _KEPT_BY_VIEWS
