"""NoteEditor: the text field that edits a note in the place of its label."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from viewer.drawing.theme import LIGHT, Theme
from viewer.timeline.notes.note_places import EMPTY_SIZE_PX, LINE_PX, TEXT_PX
from viewer.timeline.paint.fonts import font, metrics

_FRAME_PX = 12


class NoteEditor(QPlainTextEdit):
    """Enter or a loss of the focus keeps the text, Shift+Enter breaks the line, Esc cancels.

    Signals
    -------
    written(str)
        The user finished: the text to keep.
    was_cancelled()
        The user cancelled.
    """

    written = Signal(str)
    was_cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self.setAccessibleName("Text of the note")
        self.setPlaceholderText("Write a note. Enter keeps it, Esc cancels.")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.setFont(font(TEXT_PX))
        self.document().setDocumentMargin(7)
        self.textChanged.connect(self._grow)
        self._bounds = QRect()
        self._is_open = False
        self.hide()

    @property
    def is_open(self) -> bool:
        """Whether the user is writing a note."""
        return self._is_open

    def begin(self, text: str, colour: str, place: QRect, bounds: QRect) -> None:
        """Edit a text at a place, inside `bounds` of the parent."""
        panel, ink = (f"#{argb & 0xFFFFFF:06x}" for argb in (self.theme.panel, self.theme.text))
        self.setStyleSheet(
            f"QPlainTextEdit {{ background: {panel}; color: {ink}; border: 2px solid {colour};"
            " border-radius: 4px; }"
        )
        self._is_open = True
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.put(place, bounds)
        self.show()
        self.raise_()
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def put(self, place: QRect, bounds: QRect) -> None:
        """Move the field with its note."""
        self._bounds = bounds
        wide, high = EMPTY_SIZE_PX
        self.setGeometry(place.x(), place.y(), max(place.width(), wide), max(place.height(), high))
        self._grow()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours, from the next note on."""
        self.theme = theme

    def finish(self) -> None:
        """Keep the text."""
        if self._end():
            self.written.emit(self.toPlainText().strip())

    def cancel(self) -> None:
        """Drop the text."""
        if self._end():
            self.was_cancelled.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_return and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.finish()
        elif event.key() == Qt.Key.Key_Escape:
            self.cancel()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in (
            Qt.FocusReason.PopupFocusReason,
            Qt.FocusReason.ActiveWindowFocusReason,
            Qt.FocusReason.MenuBarFocusReason,
        ):
            self.finish()

    def _end(self) -> bool:
        """Close the field; return whether it was open: hiding it takes the focus, which finishes again."""
        was_open, self._is_open = self._is_open, False
        if was_open:
            self.hide()
        return was_open

    def _grow(self) -> None:
        """Make room for all lines, inside the bounds."""
        if not self._is_open:
            return
        lines = int(self.document().size().height())
        line = max(LINE_PX, round(metrics(TEXT_PX).lineSpacing()))
        high = max(self.height(), min(lines * line + _FRAME_PX, self._bounds.height()))
        x = max(self._bounds.left(), min(self.x(), self._bounds.right() + 1 - self.width()))
        y = max(self._bounds.top(), min(self.y(), self._bounds.bottom() + 1 - high))
        self.setGeometry(x, y, self.width(), high)
