"""Panel: the base of all docks, a widget that reads the ViewState and keeps no copy of it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedLayout, QWidget

from viewer.drawing.theme import LIGHT, Theme
from viewer.state import ViewState
from viewer.timeline.plain_text import PlainLabel

PARTIAL = "Only what the GPUs did has been read so far."
"""Stands in place of numbers that would be wrong while only the GPUs' rows are loaded."""
COUNTING = "All rows are there; what this shows is being computed."
CANCELLED = "This was not computed: opening the trace was cancelled. Open it again to read the rest."
MEASURING = "Measuring…"


class Panel(QWidget):
    """Base of the docks.

    Subclasses set `title`, build their widgets into `self.body` and implement `refresh`.
    `refresh` runs only while the panel is visible; a hidden panel refreshes when it is shown. A `lazy` panel
    also counts as hidden while its dock lies behind others. A panel that `needs_all` waits until the numbers
    of a trace are computed.

    Signals
    -------
    badge_changed(str)
        The short text beside the dock's title ("3", "1 !"), "" for none.
    save_requested(DataFrame)
        The user wants a table as a file.
    """

    title = ""
    lazy = False
    needs_all = True
    badge_changed = Signal(str)
    save_requested = Signal(object)

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.theme: Theme = LIGHT
        self.body = QWidget()
        self._empty = PlainLabel()
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._empty.setObjectName("emptyState")
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.body)
        self._stack.addWidget(self._empty)
        self._stale = True
        self._is_behind = False
        state.study_changed.connect(self._look_anew)
        state.loading_changed.connect(self.invalidate)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.invalidate()

    def invalidate(self) -> None:
        """Mark the content as out of date."""
        self._stale = True
        self._catch_up()

    def set_behind(self, behind: bool) -> None:
        """Record whether the dock lies behind others."""
        self._is_behind = behind
        self._catch_up()

    def forget(self) -> None:
        """Drop the results of the previous trace; panels that compute results override this."""

    def _look_anew(self) -> None:
        self.forget()
        self.invalidate()

    def refresh(self) -> None:
        """Show the current state."""
        raise NotImplementedError

    def show_empty(self, text: str) -> None:
        """Show a hint in place of the body; "" shows the body."""
        self._empty.setText(text)
        self._stack.setCurrentWidget(self._empty if text else self.body)

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        self._catch_up()

    def _catch_up(self) -> None:
        if self._stale and self.isVisible() and not (self.lazy and self._is_behind):
            self._stale = False
            study = self.state.study
            if self.needs_all and study is not None and not study.loading.is_complete:
                waiting = COUNTING if study.loading.has_all_rows else PARTIAL
                self.show_empty(CANCELLED if study.loading.is_cancelled else waiting)
            else:
                self.refresh()
