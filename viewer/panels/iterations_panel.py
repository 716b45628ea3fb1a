"""The Iterations dock: their marker, their lengths, which are steady, and the time of each GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.iterations.candidate import Candidate
from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import iteration_scope
from viewer.drawing.format import MINUS, format_count, format_ns, format_share
from viewer.panels.critical_path_page import CriticalPathPage
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.iteration_chart import IterationChart
from viewer.panels.one_line import Choice
from viewer.panels.panel import MEASURING, Panel
from viewer.state import ViewState
from viewer.state.marker_choice import MarkerChoice
from viewer.state.navigation import go_to_iteration
from viewer.timeline.plain_text import PlainLabel, tip

_LEAST_MARKER = 240
MEAN, EACH = "mean of the GPUs", "every GPU"
_NO_ITERATIONS = (
    "No iterations were found: no NVTX range repeats with the same GPU work, and neither does a kernel.\n"
    "Put an NVTX range around each iteration of the training loop when recording."
)


def _deviation(share: float) -> str:
    return f"{'+' if share >= 0 else MINUS}{abs(share) * 100:.1f} %"


def _text(text: object) -> str:
    return text if isinstance(text, str) else ""


COLUMNS = (
    TableColumn("lap", "#", str, number=True, tip="Numbered from 0, in order"),
    TableColumn("name", "Marker"),
    TableColumn("gpu", "GPU"),
    TableColumn("duration_ns", "Length", format_ns, number=True,
                tip="Start to start, so that iterations tile"),
    TableColumn("deviation", "± median", _deviation, number=True,
           tip="The iteration's length against the median of all after the warm-up"),
    TableColumn("skew_ns", "Skew", format_ns, number=True,
                tip="Latest start over the GPUs less the earliest"),
    TableColumn("compute_only_ns", "Compute", format_ns, number=True,
                tip="Compute kernels, and no communication"),
    TableColumn("hidden_comm_ns", "Hidden", format_ns, number=True,
           tip="Communication while compute kernels run"),
    TableColumn("exposed_comm_ns", "Exposed", format_ns, number=True,
           tip="Communication that no compute kernel hides"),
    TableColumn("copy_only_ns", "Copies", format_ns, number=True, tip="Copies and sets that nothing hides"),
    TableColumn("idle_ns", "Idle", format_ns, number=True, tip="Nothing on any stream"),
    TableColumn("flag", "Flag", _text),
    TableColumn("why", "Why", _text),
)  # fmt: skip


def iteration_frame(iterations: Iterations, study: Study, which: str) -> pd.DataFrame:
    """Return the iterations' table for `MEAN` (means over the GPUs), `EACH` GPU, or one GPU's label."""
    table = iterations.table(study.parts)
    labels = np.array([study.trace.gpu_label(g.index) for g in study.trace.gpus], object)
    if which == MEAN:
        table = table[table["gpu"] == 0].set_index("lap").assign(**iterations.mean_parts(study.parts))
        table = table.reset_index()
        table["duration_ns"] = iterations.duration_ns
        table["gpu"] = "all"
        return table
    table["gpu"] = labels[table["gpu"]]
    return table if which == EACH else table[table["gpu"] == which].reset_index(drop=True)


def steady_text(iterations: Iterations, steady: Sequence[int], by_hand: bool) -> str:
    """Return a line that names the steady iterations, or says that there are none."""
    if not steady:
        count = f"{format_count(len(iterations.basis))} of {format_count(iterations.count)}"
        return f"{iterations.not_steady[:1].upper()}{iterations.not_steady[1:]}. Numbers are over {count}"
    median = format_ns(iterations.median_of(steady))
    left_out = [f for i, f in enumerate(iterations.flags) if f and i not in steady]
    counted = [f"{left_out.count(f)} {f}" for f in dict.fromkeys(left_out)]
    left = f", left out: {', '.join(counted)}" if counted else ""
    how = "chosen by hand" if by_hand else "within 5 % of their median"
    count = f"{format_count(len(steady))} of {format_count(iterations.count)}"
    return f"Steady: {count} ({how}), median {median}{left}"


_KINDS = {"named": "NVTX range", "derived": "derived", "guess": "guess"}


def candidate_text(candidate: Candidate) -> str:
    """Return a candidate and its numbers as the list of markers shows them."""
    if candidate.what == "none":
        return "no iterations: nothing qualifies"
    parts = [candidate.name, _KINDS[candidate.kind], f"{format_count(candidate.count)} times"]
    parts.append(
        f"{format_share(candidate.gpu_share)} of GPU time, {format_share(candidate.even_share)} alike"
    )
    if candidate.unit != "iteration":
        parts.append("a part of an iteration")
    if candidate.warning:
        parts.append(candidate.warning)
    if not candidate.qualifies:
        parts.append("does not qualify")
    return "  ·  ".join(parts)


def marker_tip(candidate: Candidate) -> str:
    """Return why a candidate is in doubt, "" where it is not."""
    return "\n".join(text for text in (candidate.why, candidate.warning, candidate.disagreement) if text)


class IterationsPanel(Panel):
    """Lists the iterations; a click selects one, a double click fits it."""

    title = "Iterations"
    lazy = True

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.marker, self.which = Choice(), Choice()
        self.marker.setAccessibleName("What marks the iterations")
        for box in (self.marker, self.which):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.marker.setMinimumWidth(_LEAST_MARKER)
        self.which.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.which.setAccessibleName("Whose parts to list")
        self.steady = PlainLabel()
        self.steady.setObjectName("soft")
        self.steady.setWordWrap(True)
        self.steady.setContentsMargins(8, 2, 8, 0)
        self.filter = QPushButton("Filter to the selected")
        self.filter.setToolTip("Count and list only what happens in these iterations, everywhere")
        self.by_hand = QPushButton("Take the selected as steady")
        self.by_rule = QPushButton("By the rule")
        self.show_path = QPushButton("Critical path")
        self.show_path.setCheckable(True)
        self.show_path.setToolTip(
            "List the critical path of the iteration in view, in place of the iterations"
        )
        self.path_page = CriticalPathPage(state)
        self._choice = MarkerChoice(state, self)
        self.table = FrameTable(COLUMNS, "Iterations")
        self.chart = IterationChart()
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        for widget in (PlainLabel("Marker"), self.marker, PlainLabel("Parts"), self.which):
            head.addWidget(widget)
        head.addStretch(1)
        head.addWidget(self.show_path)
        head.addWidget(self.filter)
        head.addWidget(self.by_hand)
        head.addWidget(self.by_rule)
        split = QSplitter()
        split.addWidget(self.table)
        split.addWidget(self.chart)
        split.setStretchFactor(0, 4)
        split.setStretchFactor(1, 1)
        split.setSizes([1000, 300])
        lengths = QWidget()
        column = QVBoxLayout(lengths)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.steady)
        column.addWidget(split, 1)
        self.pages = QStackedWidget()
        self.pages.addWidget(lengths)
        self.pages.addWidget(self.path_page)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(head)
        layout.addWidget(self.pages, 1)
        self.show_path.toggled.connect(lambda on: self.pages.setCurrentIndex(int(on)))
        self.path_page.save_requested.connect(self.save_requested)
        self.marker.activated.connect(self._choose_marker)
        self.which.activated.connect(lambda _: self._fill())
        self.filter.clicked.connect(self._filter_to_selected)
        self.by_hand.clicked.connect(self._take_selected)
        self.by_rule.clicked.connect(lambda: state.set_steady_choice(None))
        self.table.clicked.connect(lambda index: self._take(self.table.frame_model.position(index)))
        self.table.chosen.connect(lambda position: go_to_iteration(state, self._iteration(position)))
        self.table.save_requested.connect(self.save_requested)
        self.chart.iteration_clicked.connect(lambda iteration: go_to_iteration(state, iteration))
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.invalidate)
        state.iterations_changed.connect(self._follow_iterations)

    def _look_anew(self) -> None:
        """List the iterations only after the session is restored, which takes long enough by itself."""
        self.forget()
        self.show_empty(MEASURING)
        self._soon.start()

    def _follow_iterations(self) -> None:
        self._count()
        if not self._soon.isActive():
            self.invalidate()

    def _count(self) -> None:
        """Show the number of iterations beside the title, also while the panel is hidden."""
        iterations = self.state.iterations
        self.badge_changed.emit(str(iterations.count) if iterations else "")

    def refresh(self) -> None:
        """Show the iterations of the chosen marker."""
        study = self.state.study
        candidates = self.state.candidates
        self.marker.clear()
        self.marker.addItems([candidate_text(c) for c in candidates])
        self.marker.setCurrentIndex(min(self.state.marker, len(candidates) - 1))
        for place, candidate in enumerate(candidates):
            self.marker.setItemData(place, tip(marker_tip(candidate)), Qt.ItemDataRole.ToolTipRole)
        self.marker.setToolTip(tip(self.marker.currentText()))
        if not candidates:
            self.show_empty(_NO_ITERATIONS if study else "Open a trace to see its iterations.")
            return
        self.show_empty("")
        assert study is not None
        gpus = [MEAN, EACH, *(study.trace.gpu_label(g.index) for g in study.trace.gpus)]
        if [self.which.itemText(i) for i in range(self.which.count())] != gpus:
            self.which.clear()
            self.which.addItems(gpus)
        self._fill()

    def _fill(self) -> None:
        state, iterations = self.state, self.state.iterations
        self.chart.setVisible(iterations is not None)
        for button in (self.show_path, self.filter, self.by_hand, self.by_rule):
            button.setEnabled(iterations is not None)
        if iterations is None or state.study is None:
            self.steady.setText("No iterations. Choose a marker to try another.")
            self.table.set_frame(pd.DataFrame({c.key: [] for c in COLUMNS}))
            return
        by_hand = state.steady_choice is not None
        self.by_rule.setVisible(by_hand)
        sentences = [
            iterations.doubt_text.rstrip("."),
            steady_text(iterations, state.steady, by_hand),
            *(text.rstrip(".") for text in state.study.known_bounds.texts),
        ]
        self.steady.setText(". ".join([text for text in sentences if text] + [*iterations.notes]))
        self.steady.setToolTip(tip(self.steady.text()))
        which = self.which.currentText()
        shown = [c for c in COLUMNS if which != MEAN or c.key != "gpu"]
        self.table.set_frame(iteration_frame(iterations, state.study, which), shown)
        self.chart.show_iterations(iterations, state.steady, state.iteration, self.theme)

    def forget(self) -> None:
        """Drop the pending iterations of the previous trace."""
        self._choice.cancel()
        self.path_page.forget()
        self._count()

    def _choose_marker(self, position: int) -> None:
        if self._choice.choose(position):
            self.steady.setText("Finding the iterations…")
        else:
            self.invalidate()

    def _iteration(self, position: int) -> int:
        return int(self.table.frame_model.frame["lap"].to_numpy()[position])

    def _take(self, position: int) -> None:
        iterations = self.state.iterations
        if iterations is not None:
            iteration = self._iteration(position)
            self.state.select((iterations.start_ns(iteration), iterations.end_ns(iteration)))

    def _selected(self) -> frozenset[int]:
        return frozenset(self._iteration(p) for p in self.table.selected_positions())

    def _take_selected(self) -> None:
        if chosen := self._selected():
            self.state.set_steady_choice(chosen)

    def _filter_to_selected(self) -> None:
        if (chosen := self._selected()) and self.state.iterations is not None:
            self.state.set_filter(iteration_scope(self.state.iterations, chosen))
