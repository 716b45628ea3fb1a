"""The Reconcile page: a figure from elsewhere, the measured one, and the definitions that give either."""

from __future__ import annotations

import re

import pandas as pd
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from viewer.analysis.summary.reconcile import Reconciled, What, reconcile
from viewer.analysis.time.scope import Scope
from viewer.drawing.format import MINUS, format_share
from viewer.drawing.spec_table import Cell, Head, SpecTable, Tone
from viewer.drawing.theme import LIGHT, Theme
from viewer.panels.spec_table_view import SpecTableView
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.timeline.plain_text import PlainLabel

SUBJECTS: tuple[What, ...] = ("idle", "communication", "compute", "copies")
TYPING_PAUSE_MS = 250
_HINT = "Type a figure from another tool or person, such as 20 %, to see which definition gives it."


def parse_share(text: str) -> float | None:
    """Return "20", "20%" or "20,5 %" as a fraction, None for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:[.,]\d+)?)\s*%?\s*", text)
    return float(match[1].replace(",", ".")) / 100 if match else None


def verdict(reconciled: Reconciled) -> str:
    """Return a sentence that relates a figure to the measured one."""
    claimed, ours = format_share(reconciled.claimed), format_share(reconciled.ours.share)
    measured = f"Measured here: {reconciled.ours.name} {ours}."
    if reconciled.agrees:
        return f"{measured} The two agree."
    if reconciled.explained_by is not None:
        other = reconciled.explained_by
        gives = f"“{other.name}” gives ({format_share(other.share)})"
        return f"{measured} {claimed} is what {gives}: {other.definition}"
    nearest = next(r for r in reconciled.interpretations if not r.is_ours)
    return (
        f"{measured} No definition known here gives {claimed}; the nearest is “{nearest.name}” with "
        f"{format_share(nearest.share)}. Was it taken over the same time?"
    )


def interpretation_table(reconciled: Reconciled) -> SpecTable:
    """Return the readings, nearest first."""
    heads = (
        Head("Definition", number=False),
        Head("gives"),
        Head("difference", "To the figure typed in, in points"),
        Head("What it counts", number=False),
    )
    rows = []
    for interpretation in reconciled.interpretations:
        tone: Tone = "strong" if interpretation.is_ours else "plain"
        apart = (interpretation.share - reconciled.claimed) * 100
        sign = "+" if apart >= 0 else MINUS
        rows.append(
            (
                Cell(
                    f"{interpretation.name}  (ours)" if interpretation.is_ours else interpretation.name,
                    interpretation.definition,
                    tone=tone,
                ),
                Cell(format_share(interpretation.share), interpretation.definition, tone=tone),
                Cell(f"{sign}{abs(apart):.1f}", tone="soft"),
                Cell(interpretation.definition, interpretation.definition, tone="soft"),
            )
        )
    table = pd.DataFrame(
        [(r.name, r.share, r.definition) for r in reconciled.interpretations], columns=_COLUMNS
    )
    return SpecTable("Readings", heads, rows, table)


_COLUMNS = ["name", "share", "definition"]


class ReconcilePage(QWidget):
    """Asks for a figure and shows which definition gives it.

    Signals
    -------
    save_requested(DataFrame)
        The user wants the readings as a file.
    """

    save_requested = Signal(object)

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.theme: Theme = LIGHT
        self.scope: Scope | None = None
        self.subject, self.figure = QComboBox(), QLineEdit()
        self.subject.addItems([s.capitalize() for s in SUBJECTS])
        self.subject.setAccessibleName("What the figure is about")
        self.figure.setPlaceholderText("20 %")
        self.figure.setAccessibleName("The figure from elsewhere, in per cent of the time")
        self.figure.setMaximumWidth(110)
        self.verdict = PlainLabel(_HINT)
        self.verdict.setWordWrap(True)
        self.verdict.setObjectName("soft")
        head = QHBoxLayout()
        for widget in (PlainLabel("Somewhere it says"), self.subject, PlainLabel("is"), self.figure):
            head.addWidget(widget)
        head.addStretch(1)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(12, 8, 12, 8)
        self._column.addLayout(head)
        self._column.addWidget(self.verdict)
        self._column.addStretch(1)
        self._table: SpecTableView | None = None
        self._worker = Worker(self)
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.ask)
        self.figure.textChanged.connect(self._pause.start)
        self.figure.returnPressed.connect(self.ask)
        self.subject.activated.connect(self.ask)

    def take(self, scope: Scope | None, theme: Theme) -> None:
        """Use another scope or another theme."""
        self.scope, self.theme = scope, theme
        self.ask()

    def ask(self) -> None:
        """Compare the figure with the measured one."""
        self._pause.stop()
        study, scope, claimed = self.state.study, self.scope, parse_share(self.figure.text())
        if study is None or scope is None or claimed is None:
            self._worker.cancel()
            self._show(None)
            return
        what, iterations = SUBJECTS[self.subject.currentIndex()], self.state.iterations
        self._worker.start(lambda _: reconcile(study, scope, what, claimed, iterations), self._show)

    def _show(self, reconciled: Reconciled | None) -> None:
        if self._table is not None:
            self._column.removeWidget(self._table)
            self._table.deleteLater()
            self._table = None
        typed = bool(self.figure.text().strip())
        if reconciled is None:
            self.verdict.setText("Type a share of the time, such as 20 %." if typed else _HINT)
            return
        self.verdict.setText(verdict(reconciled))
        self._table = SpecTableView(interpretation_table(reconciled), self.theme)
        self._table.save_requested.connect(self.save_requested)
        self._column.insertWidget(2, self._table)
