"""The find bar: searches names in all rows, counts the hits and steps through them."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QToolButton, QWidget

from viewer.analysis.find import BadPatternError, FindCancelledError, SearchResult
from viewer.analysis.study import Study
from viewer.drawing.format import format_count
from viewer.panels.one_line import OneLine
from viewer.rows import Row
from viewer.state import ViewState
from viewer.state.jobs import IsCancelled, Worker
from viewer.state.places import go_to_event
from viewer.timeline.plain_text import PlainLabel

TYPING_PAUSE_MS = 150


class FindBar(QFrame):
    """Searches while the user types; Enter goes to the next hit, Esc closes the bar.

    Signals
    -------
    left()
        The user closed the bar.
    """

    left = Signal()

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.setObjectName("notice")
        self._worker = Worker(self)
        self._time_ns: int | None = None
        self._row = -1
        self.text, self.regex = QLineEdit(), _tool(".*", "Regular expression")
        self.counts, self.place = OneLine(), PlainLabel()
        self.previous, self.next = _tool("‹", "Previous hit  (Shift+F3)"), _tool("›", "Next hit  (F3)")
        close = _tool("✕", "Close the search")
        self.text.setPlaceholderText("Find kernels, NVTX ranges, CUDA calls, copies, rows")
        self.text.setAccessibleName("Find")
        self.text.setClearButtonEnabled(True)
        self.text.setFixedWidth(360)
        self.regex.setCheckable(True)
        self.counts.setObjectName("soft")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 4, 8, 4)
        for widget in (self.text, self.regex, self.previous, self.next, self.place):
            row.addWidget(widget)
        row.addWidget(self.counts, 1)
        row.addWidget(close)
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.search)
        self.text.textChanged.connect(self._pause.start)
        self.regex.toggled.connect(self.search)
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next.clicked.connect(lambda: self.step(1))
        close.clicked.connect(self.leave)
        state.study_changed.connect(self._forget)
        self.hide()

    def open(self) -> None:
        """Show the bar and focus its field."""
        self.show()
        self.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.text.selectAll()
        if self.text.text() and self.state.search_result is None:
            self.search()

    def leave(self) -> None:
        """Hide the bar and the marks of the hits."""
        self._worker.cancel()
        self.hide()
        self.state.set_search_result(None)
        self.left.emit()

    def search(self) -> None:
        """Search for the text in the field."""
        self._pause.stop()
        study, text, regex = self.state.study, self.text.text(), self.regex.isChecked()
        self._time_ns, self._row = None, -1
        if study is None or not text:
            self._worker.cancel()
            self._take(None)
            return
        roots = self.state.rows.roots
        self._worker.start(lambda asked: _found(study, text, regex, roots, asked), self._take)

    def step(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) hit, cyclically; without hit events, from row to row."""
        result = self.state.search_result
        if result is None:
            return
        if not result.count:
            if result.rows:
                self._row = (self._row + direction) % len(result.rows)
                self.place.setText(f"{self._row + 1} of {len(result.rows)}")
                self.state.reveal(result.rows[self._row])
            return
        if self._time_ns is None:
            start, end = self.state.axis.window
            self._time_ns = start - 1 if direction > 0 else end
        hit = result.next(self._time_ns, direction)
        if hit is None:
            low, high = self.state.axis.limits
            hit = result.next(low - 1 if direction > 0 else high + 1, direction)
        if hit is not None:
            self._time_ns = hit.start_ns
            go_to_event(self.state, hit.kind, hit.index)
            place = result.position(hit.start_ns) + 1
            self.place.setText(f"{format_count(place)} of {format_count(result.count)}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._pause.isActive():
                self.search()
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def _take(self, result: SearchResult | str | None) -> None:
        self.place.setText("")
        if isinstance(result, str):
            self.counts.setText(result)
            result = None
        elif result is None:
            self.counts.setText("")
        else:
            texts = [f"{format_count(n)} {what}" for what, n in result.counts.items()]
            self.counts.setText("   ·   ".join(texts) or "Nothing has this name.")
        for button in (self.previous, self.next):
            button.setEnabled(result is not None and bool(result.count or result.rows))
        self.state.set_search_result(result)

    def _forget(self) -> None:
        self._worker.cancel()
        self._time_ns, self._row = None, -1
        self.counts.setText("")
        self.place.setText("")
        if self.isVisible():
            self.search()


def _found(
    study: Study, text: str, regex: bool, roots: tuple[Row, ...], asked: IsCancelled
) -> SearchResult | str | None:
    rows = [(row.key, f"{row.label} {row.detail}") for root in roots for row in root.walk()]
    try:
        return study.finder.find(text, regex=regex, rows=rows, cancelled=asked)
    except BadPatternError as error:
        return str(error)
    except FindCancelledError:
        return None


def _tool(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    return button
