"""The status bar: whether the recording can be trusted. It is there only while there is something to say."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStatusBar, QToolButton, QWidget

from viewer.analysis.health import Finding
from viewer.app.theme import css
from viewer.drawing.theme import LIGHT, Theme
from viewer.panels.diagnostics import summary_of


class StatusBar(QStatusBar):
    """Shows "1 error, 2 warnings" and what the worst is.

    Signals
    -------
    clicked()
        The user wants to see all of them.
    """

    clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.badge = QToolButton()
        self.badge.setAutoRaise(True)
        self.badge.clicked.connect(self.clicked)
        self.addWidget(self.badge)
        self._theme: Theme = LIGHT
        self._findings: Sequence[Finding] = ()
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self.show_findings(self._findings)

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Say how many errors and warnings there are, and the worst of them."""
        self._findings = findings
        summary = summary_of(findings)
        self.setVisible(bool(summary))
        if summary:
            worst = findings[0]
            colour = self._theme.error if worst.severity == "error" else self._theme.warning
            self.badge.setText(f"▲  {summary}   ·   {worst.title}")
            self.badge.setToolTip(worst.meaning)
            self.badge.setStyleSheet(f"QToolButton {{ border: 0; color: {css(colour)}; padding: 2px 6px; }}")
