"""The Findings dock: what to mend first, most worth first, each with its place and what it wins."""

from __future__ import annotations

import pandas as pd
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QToolButton, QVBoxLayout, QWidget

from viewer.analysis.findings.finding import Finding, Findings
from viewer.drawing.spreadsheet import csv_text
from viewer.panels.finding_row import FindingRow
from viewer.panels.panel import Panel
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.navigation import show_range
from viewer.state.places import reveal_gpu
from viewer.timeline.definitions_dialog import show_definitions
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import PlainLabel

TITLE_PX = 13
SEARCHING = "Looking for what to mend first…"
FAILED = "This could not be searched; the log says why."
NO_TRACE = "Open a trace to see what to mend first."
SHOW, WHAT_IF = "Show", "What if"
MOST_CHANGES = 8
"""With more changes than this, stalls that are closed one by one, a list of them says nothing."""
HEADS = {
    "findings": "Fix these first",
    "nothing": "Nothing to fix",
    "unknown": "Not enough was recorded",
}


class FindingsPanel(Panel):
    """Lists `Study.findings` of the marker in use; a click on one shows its place."""

    title = "Findings"

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.findings: Findings | None = None
        self.rows: list[FindingRow] = []
        self._chosen: int | None = None
        self._worker = Worker(self)
        self.head, self.summary = PlainLabel(), PlainLabel()
        self.head.setFont(font(TITLE_PX, STRONG))
        self.summary.setObjectName("soft")
        self.summary.setWordWrap(True)
        self.copy_button, self.save_button, self.help_button = (
            QPushButton("Copy"),
            QPushButton("Save as…"),
            QToolButton(),
        )
        self.help_button.setText("?")
        self.help_button.setAutoRaise(True)
        self.help_button.setToolTip("What do these numbers mean?")
        self.help_button.setAccessibleName("What do these numbers mean: findings")
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(lambda: self.save_requested.emit(self.frame()))
        self.help_button.clicked.connect(lambda: show_definitions(self, "findings"))
        top = QHBoxLayout()
        top.setContentsMargins(12, 4, 8, 2)
        top.setSpacing(8)
        top.addWidget(self.head)
        top.addSpacing(12)
        top.addWidget(self.summary, 1)
        for button in (self.copy_button, self.save_button, self.help_button):
            top.addWidget(button)
        self.area = QScrollArea()
        self.area.setAccessibleName("What to mend first")
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self.area, 1)
        state.iterations_changed.connect(self._search)
        state.loading_changed.connect(self._search)
        self._marker: int | None = None
        self._worker.busy_changed.connect(self._follow_worker)
        self._search()

    def forget(self) -> None:
        """Drop the findings of the previous trace, and look for those of this one."""
        self._marker = None
        self._search()

    def refresh(self) -> None:
        """Show the findings."""
        if self.state.study is None:
            self.show_empty(NO_TRACE)
            return
        if self.findings is None:
            is_failed = self._marker is not None and not self._worker.is_busy
            self.show_empty(FAILED if is_failed else SEARCHING)
            return
        self.show_empty("")
        findings = self.findings
        self.head.setText(HEADS[findings.verdict])
        self.summary.setText(findings.heading)
        self.copy_button.setEnabled(bool(findings.items))
        self.save_button.setEnabled(bool(findings.items))
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(0)
        most = max((finding.share for finding in findings), default=1.0)
        self.rows = []
        for number, finding in enumerate(findings, 1):
            row = FindingRow(number, finding, most, self.theme, _button(finding))
            row.chosen.connect(lambda n=number - 1: self.show_finding(n))
            row.button_pressed.connect(lambda n=number - 1: self._press(n))
            row.step.connect(lambda by, n=number - 1: self._step(n + by))
            column.addWidget(row)
            self.rows.append(row)
        for text in (*findings.doubts, *findings.other_limits):
            column.addWidget(self._note(text, is_doubt=text in findings.doubts))
        column.addStretch()
        self.area.setWidget(page)
        self._mark()

    def show_finding(self, number: int) -> None:
        """Bring the place of a finding into view, and mark its row."""
        assert self.findings is not None
        self._chosen = number
        self._mark()
        place = self.findings.items[number].location
        if place is None:
            return
        if place.gpu is not None:
            reveal_gpu(self.state, place.gpu)
        # The stall is chosen with the range that it fills, as in the Stalls dock.
        self.state.select((place.start_ns, place.end_ns))
        stalls = self.state.study.stalls(self.state.marker) if self.state.study is not None else None
        if stalls is not None and (stall := stalls.exactly(place.start_ns, place.end_ns)) is not None:
            self.state.choose_stall(stall)
        show_range(self.state, place.start_ns, place.end_ns)

    def _press(self, number: int) -> None:
        """Show a finding, and predict the timeline with it mended where its changes can be listed."""
        assert self.findings is not None
        self.show_finding(number)
        finding = self.findings.items[number]
        if _button(finding) == WHAT_IF:
            self.state.what_if.show(finding.changes)

    def copy(self) -> None:
        """Copy the findings as tab-separated text with a header."""
        QGuiApplication.clipboard().setText(csv_text(self.frame(), "\t"))

    def frame(self) -> pd.DataFrame:
        """Return a row a finding: its number, title, win, share, grade, evidence and next step."""
        items: tuple[Finding, ...] = self.findings.items if self.findings is not None else ()
        return pd.DataFrame(
            {
                "number": range(1, len(items) + 1),
                "title": [finding.title for finding in items],
                "win_ns": pd.array([finding.win_ns for finding in items], "Int64"),
                "time_ns": [finding.time_ns for finding in items],
                "share": [finding.share for finding in items],
                "grade": [finding.grade for finding in items],
                "evidence": [finding.evidence for finding in items],
                "next_step": [finding.next_step for finding in items],
            }
        )

    def _search(self) -> None:
        """Look for findings in a background thread, also while the panel is hidden."""
        study, marker = self.state.study, self.state.marker
        if study is None or not study.loading.is_complete:
            self._drop()
            self._marker = None
            self._worker.cancel()
        elif marker != self._marker:
            self._drop()
            self._marker = marker
            self._worker.start(lambda _: study.findings(marker), self._take, background=True)

    def _drop(self) -> None:
        self.findings, self.rows, self._chosen = None, [], None
        self.badge_changed.emit("")
        self.invalidate()

    def _take(self, findings: Findings) -> None:
        self.findings = findings
        self.badge_changed.emit(str(len(findings)) if len(findings) else "")
        self.invalidate()

    def _follow_worker(self, is_busy: bool) -> None:
        """Say so where the search ended without an answer."""
        if not is_busy and self.findings is None and self._marker is not None:
            self.invalidate()

    def _mark(self) -> None:
        for number, row in enumerate(self.rows):
            row.set_chosen(number == self._chosen)

    def _step(self, number: int) -> None:
        if 0 <= number < len(self.rows):
            self.rows[number].setFocus()
            self.area.ensureWidgetVisible(self.rows[number])

    def _note(self, text: str, *, is_doubt: bool) -> PlainLabel:
        note = PlainLabel(text)
        note.setWordWrap(True)
        note.setContentsMargins(12, 6, 12, 0)
        if is_doubt:
            note.setStyleSheet(f"color: #{self.theme.warning & 0xFFFFFF:06x};")
        else:
            note.setObjectName("soft")
        return note


def _button(finding: Finding) -> str:
    if 0 < len(finding.changes) <= MOST_CHANGES:
        return WHAT_IF
    return SHOW if finding.location is not None else ""
