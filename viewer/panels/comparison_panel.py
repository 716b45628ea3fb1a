"""The Comparison dock: the summary of two traces side by side, with their differences."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout

from viewer.analysis.summary.compare import Compared, compare, marker_notes
from viewer.analysis.summary.summary import Summary, summary
from viewer.drawing.format import format_change, format_difference, format_share, format_value, shortened
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.panel import Panel
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.timeline.plain_text import PlainLabel


def _share(value: float) -> str:
    return "" if np.isnan(value) else format_share(value)


def _change(value: float) -> str:
    return "" if np.isnan(value) else format_change(value)


_COLUMNS = (
    TableColumn("section", "Section"),
    TableColumn("name", "Number"),
    TableColumn("first_text", "A", number=True, tip="The trace above"),
    TableColumn("first_share", "of the time", _share, number=True),
    TableColumn("second_text", "B", number=True, tip="The trace below"),
    TableColumn("second_share", "of the time", _share, number=True),
    TableColumn("difference_text", "B less A", number=True),
    TableColumn("change", "Change", _change, number=True),
    TableColumn("how", "Counted"),
)


class ComparisonPanel(Panel):
    """Shows both summaries, each over its own steady state or its own filter."""

    title = "Comparison"

    def __init__(self, state: ViewState, other: ViewState) -> None:
        super().__init__(state)
        self.other = other
        self.warnings, self.what = PlainLabel(), PlainLabel()
        self.warnings.setObjectName("warning")
        self.warnings.setWordWrap(True)
        self.warnings.hide()
        self.what.setObjectName("total")
        self.table = FrameTable(_COLUMNS, "Comparison")
        copy = QPushButton("Copy as text")
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 0, 8, 0)
        foot.addWidget(self.what, 1)
        foot.addWidget(copy)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.addWidget(self.warnings)
        layout.addWidget(self.table, 1)
        layout.addLayout(foot)
        copy.clicked.connect(self.table.copy)
        self.table.save_requested.connect(self.save_requested)
        self._worker = Worker(self)
        for compared in (state, other):
            compared.iterations_changed.connect(self.invalidate)
            compared.filter_changed.connect(self.invalidate)

    def refresh(self) -> None:
        """Compute the numbers of both traces in a background thread."""
        first, second = self.state.study, self.other.study
        if first is None or second is None:
            return
        self.show_empty("Computing the numbers of both traces …")
        inputs = first, self.state.iterations, self.state.scope
        other_inputs = second, self.other.iterations, self.other.scope

        def work(_: object) -> tuple[Summary, Summary]:
            return summary(*inputs), summary(*other_inputs)

        background = self.state.is_restoring or self.other.is_restoring
        self._worker.start(work, lambda summaries: self._show(*summaries), background=background)

    def _show(self, first: Summary, second: Summary) -> None:
        self.show_empty("")
        rows = compare(first, second)
        self.table.set_frame(comparison_frame(rows))
        self.table.frame_model.row_tip = lambda position: _row_tip(rows[position])
        warnings = marker_notes(first, second)
        self.warnings.setText("\n".join(warnings))
        self.warnings.setVisible(bool(warnings))
        self.what.setText(f"A: {first.scope.what}   ·   B: {second.scope.what}")


_LONGEST = 32
"""Of a text in the table; its tooltip has the whole."""


def _row_tip(row: Compared) -> str:
    """Return what a number means, and the texts that are cut."""
    texts = [format_value(value, row.unit) for value in (row.first, row.second)]
    whole = [f"{key}: {text}" for key, text in zip("AB", texts, strict=True) if len(text) > _LONGEST]
    return "\n".join([row.definition, *whole])


def comparison_frame(rows: tuple[Compared, ...]) -> pd.DataFrame:
    """Return compared numbers as a table, with a text for each value."""
    frame = pd.DataFrame([asdict(row) for row in rows])
    frame["first_text"] = [shortened(format_value(r.first, r.unit), _LONGEST) for r in rows]
    frame["second_text"] = [shortened(format_value(r.second, r.unit), _LONGEST) for r in rows]
    frame["difference_text"] = [format_difference(r.difference, r.unit) for r in rows]
    for key in ("first_share", "second_share", "change"):
        frame[key] = frame[key].astype(float)
    return frame
