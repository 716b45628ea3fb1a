"""The status bar: the critical path, diagnostics, messages, the length in view and hidden rows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStatusBar, QToolButton, QWidget

from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.app.theme_manager import css
from viewer.drawing.format import format_count, format_ns, format_share
from viewer.drawing.theme import LIGHT, Theme
from viewer.panels.diagnostics_panel import summary_of
from viewer.state import ViewState
from viewer.timeline.headers.path_values import path_text
from viewer.timeline.headers.row_headers import FIGURES_MS
from viewer.timeline.plain_text import PlainLabel, tip, without_key
from viewer.timeline.spoken import announce

SAID_MS = 6000
_PADDING = 6


class StatusBar(QStatusBar):
    """Shows "1 error, 2 warnings" and the worst diagnostic; at the right the length in view and hidden rows.

    Signals
    -------
    clicked()
        The user wants to see all diagnostics.
    """

    clicked = Signal()

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.setSizeGripEnabled(False)
        self.badge, self.hidden = _ElidedButton(), QToolButton()
        for button in (self.badge, self.hidden):
            button.setAutoRaise(True)
        self.badge.clicked.connect(self.clicked)
        self.hidden.setObjectName("link")
        self.hidden.setToolTip("Show the rows again that were hidden")
        self.hidden.clicked.connect(lambda: state.rows.set_hidden(state.rows.missed, False))
        self.length = PlainLabel()
        self.length.setObjectName("soft")
        self.path = PlainLabel()
        self.path.setObjectName("soft")
        self.path.setContentsMargins(_PADDING, 0, _PADDING, 0)
        self.addWidget(self.path)
        self.addWidget(self.badge, 1)
        self.addPermanentWidget(self.hidden)
        self.addPermanentWidget(self.length)
        self._theme: Theme = LIGHT
        self._diagnostics: Sequence[Diagnostic] = ()
        state.axis.changed.connect(self._show_length)
        for changed in (state.study_changed, state.selection_changed):
            changed.connect(self.clearMessage)
        state.rows.changed.connect(self._show_hidden)
        self._soon = QTimer(self, singleShot=True, interval=FIGURES_MS)
        self._soon.timeout.connect(self._show_path)
        for changed in (state.axis.changed, state.path.changed, state.iterations_changed):
            changed.connect(self._soon.start)
        self._show_hidden()

    def say(self, text: str) -> None:
        """Show a message for a while: an effect out of view, or why a command had none."""
        self.showMessage(text, SAID_MS)
        announce(self, text)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.show_diagnostics(self._diagnostics)

    def show_diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show the number of errors and warnings, and the worst of them."""
        self._diagnostics = diagnostics
        summary = summary_of(diagnostics)
        self.badge.setVisible(bool(summary))
        if summary:
            worst = diagnostics[0]
            colour = self._theme.error if worst.severity == "error" else self._theme.warning
            self.badge.say(f"▲  {summary}   ·   {' '.join(worst.title.split())}")
            self.badge.setToolTip(tip(f"{worst.title}\n{worst.meaning}"))
            self.badge.setStyleSheet(
                f"QToolButton {{ border: 0; color: {css(colour)}; padding: 2px {_PADDING}px; }}"
                " QToolButton:focus { text-decoration: underline; }"
            )

    def _show_length(self) -> None:
        (start, end), (low, high) = self.state.axis.window, self.state.axis.limits
        share = format_share((end - start) / (high - low))
        self.length.setText(f"{format_ns(end - start)} in view, {share} of {format_ns(high - low)}")

    def _show_path(self) -> None:
        """Show what is known of the critical path, once the window rests: it is not for every frame."""
        text = path_text(self.state)
        self.path.setText(text)
        self.path.setVisible(bool(text))

    def _show_hidden(self) -> None:
        count = len(self.state.rows.missed)
        self.hidden.setText(f"{format_count(count)} {'row' if count == 1 else 'rows'} hidden · Show")
        self.hidden.setVisible(count > 0)


class _ElidedButton(QToolButton):
    """A button of one line, which ends in "…" where there is no room for all of it."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)

    def say(self, text: str) -> None:
        self._text = text
        self.setAccessibleName(text)
        self.updateGeometry()
        self._fit()

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self._text) + 2 * _PADDING + 2
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.width() - 2 * _PADDING
        self.setText(
            without_key(self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, room))
        )
