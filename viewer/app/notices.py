"""Strips above the timeline: the progress of reading, and messages; neither covers the timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QToolButton, QWidget

from viewer.printable import visible
from viewer.timeline.plain_text import PlainLabel

STEPS = 1000
Severity = Literal["info", "warning", "error"]


class NoticeBar(QFrame):
    """Shows one message with at most one action, until the user closes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.label = PlainLabel()
        self.label.setWordWrap(True)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton()
        self.button.clicked.connect(self._act)
        close = QToolButton()
        close.setText("✕")
        close.setAccessibleName("Close the message")
        close.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 6, 8, 6)
        row.addWidget(self.label, 1)
        row.addWidget(self.button)
        row.addWidget(close)
        self._action: Callable[[], None] | None = None
        self.hide()

    def tell(
        self,
        text: str,
        title: str = "",
        action: Callable[[], None] | None = None,
        severity: Severity = "info",
    ) -> None:
        """Show a message in place of the previous one; with a `title`, also a button that calls `action`."""
        self.setProperty("severity", severity)
        for widget in (self, self.label):
            widget.style().unpolish(widget)
            widget.style().polish(widget)
        self.label.setText(text)
        self.setAccessibleName(text)
        self.button.setText(title)
        self.button.setVisible(action is not None)
        self._action = action
        self.show()

    def _act(self) -> None:
        if self._action is not None:
            self._action()


class ProgressStrip(QFrame):
    """Shows the file that is being read, the progress, and a button to cancel.

    Signals
    -------
    cancelled()
        The user cancelled the reading.
    """

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.label = PlainLabel()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setMaximumWidth(360)
        self.button = QPushButton("Cancel")
        self.button.clicked.connect(self.cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 6, 8, 6)
        row.setSpacing(12)
        row.addWidget(self.label)
        row.addWidget(self.bar, 1)
        row.addStretch()
        row.addWidget(self.button)
        self.hide()

    def start(self, name: str) -> None:
        """Begin with a file."""
        self.name, self._note = visible(name), ""
        self.set_progress("", -1.0)
        self.show()

    def set_note(self, note: str) -> None:
        """Show how far the rows on screen can be trusted."""
        self._note = note
        self.set_progress(self._what, self._share)

    def set_progress(self, what: str, share: float) -> None:
        """Show the present step and the share done, in [0, 1]; below 0: not known."""
        self._what, self._share = what, share
        text = f"Opening {self.name}" + (f": {what}" if what else "…")
        self.label.setText(f"{text} ({self._note})" if self._note else text)
        self.bar.setRange(0, STEPS if share >= 0 else 0)
        self.bar.setValue(round(share * STEPS) if share >= 0 else -1)
