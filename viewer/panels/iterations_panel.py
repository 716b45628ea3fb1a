"""The Iterations dock: what marks them, how long they are, which are steady, and what each GPU did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QSizePolicy, QSplitter, QVBoxLayout

from viewer.analysis.iterations.markers import Candidate
from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Laps
from viewer.analysis.time.scope import lap_scope
from viewer.drawing.format import MINUS, format_count, format_ns, format_share
from viewer.panels.frame_table import Column, FrameTable
from viewer.panels.iteration_chart import LapChart
from viewer.panels.one_line import Choice
from viewer.panels.panel import MEASURING, Panel
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.navigation import go_to_lap
from viewer.timeline.plain_text import PlainLabel, tip

_LEAST_MARKER = 240
MEAN, EACH = "mean of the GPUs", "every GPU"
_NO_LAPS = (
    "No iterations were found: no NVTX range repeats with the same GPU work, and neither does a kernel.\n"
    "Put an NVTX range around each iteration of the training loop when recording."
)


def _deviation(share: float) -> str:
    return f"{'+' if share >= 0 else MINUS}{abs(share) * 100:.1f} %"


def _text(text: object) -> str:
    return text if isinstance(text, str) else ""


COLUMNS = (
    Column("lap", "#", str, number=True, tip="Numbered from 0, in order"),
    Column("name", "Marker"),
    Column("gpu", "GPU"),
    Column("duration_ns", "Length", format_ns, number=True, tip="Start to start, so that laps tile"),
    Column("deviation", "± median", _deviation, number=True,
           tip="The lap's length against the median of all after the warm-up"),
    Column("skew_ns", "Skew", format_ns, number=True, tip="Latest start over the GPUs less the earliest"),
    Column("compute_only_ns", "Compute", format_ns, number=True, tip="Compute kernels, and no communication"),
    Column("hidden_comm_ns", "Hidden", format_ns, number=True,
           tip="Communication while compute kernels run"),
    Column("exposed_comm_ns", "Exposed", format_ns, number=True,
           tip="Communication that no compute kernel hides"),
    Column("copy_only_ns", "Copies", format_ns, number=True, tip="Copies and sets that nothing hides"),
    Column("idle_ns", "Idle", format_ns, number=True, tip="Nothing on any stream"),
    Column("flag", "Flag", _text),
    Column("why", "Why", _text),
)  # fmt: skip


def lap_frame(laps: Laps, study: Study, which: str) -> pd.DataFrame:
    """Return the laps' table for `MEAN` (parts are means over the GPUs), `EACH` GPU, or one GPU's label."""
    table = laps.table(study)
    labels = np.array([study.trace.gpu_label(g.index) for g in study.trace.gpus], object)
    if which == MEAN:
        table = table[table["gpu"] == 0].set_index("lap").assign(**laps.mean_parts(study))
        table = table.reset_index()
        table["duration_ns"] = laps.duration_ns
        table["gpu"] = "all"
        return table
    table["gpu"] = labels[table["gpu"]]
    return table if which == EACH else table[table["gpu"] == which].reset_index(drop=True)


def steady_text(laps: Laps, steady: Sequence[int], by_hand: bool) -> str:
    """Say in one line which laps are steady, or plainly that none are."""
    if not steady:
        lengths = laps.duration_ns[laps.warm_up :]
        low, middle, high = (format_ns(int(ns)) for ns in (lengths.min(), laps.median_ns, lengths.max()))
        return f"No steady state: {low} to {high}, median {middle}. All laps after the warm-up count."
    median = format_ns(laps.median_of(steady))
    left_out = [f for i, f in enumerate(laps.flags) if f and i not in steady]
    counted = [f"{left_out.count(f)} {f}" for f in dict.fromkeys(left_out)]
    left = f", left out: {', '.join(counted)}" if counted else ""
    how = "chosen by hand" if by_hand else "within 5 % of their median"
    return f"Steady: {format_count(len(steady))} of {format_count(laps.count)} ({how}), median {median}{left}"


def candidate_text(candidate: Candidate) -> str:
    """Return a candidate with its figures, as the list of markers shows it."""
    if candidate.what == "none":
        return "no iterations: nothing qualifies"
    kind = "a guess from the rhythm" if candidate.guess else "NVTX range"
    text = f"{candidate.name}  ·  {kind}  ·  {format_count(candidate.count)} times"
    text += (
        f"  ·  {format_share(candidate.gpu_share)} of GPU time, {format_share(candidate.even_share)} alike"
    )
    return text if candidate.qualifies else f"{text}  ·  does not qualify"


class IterationsPanel(Panel):
    """Lists the laps; a click takes one in hand, a double click fits it."""

    title = "Iterations"
    usual_badge = "888"
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
        self._worker = Worker(self)
        self.table = FrameTable(COLUMNS, "Iterations")
        self.chart = LapChart()
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        for widget in (PlainLabel("Marker"), self.marker, PlainLabel("Parts"), self.which):
            head.addWidget(widget)
        head.addStretch(1)
        head.addWidget(self.filter)
        head.addWidget(self.by_hand)
        head.addWidget(self.by_rule)
        split = QSplitter()
        split.addWidget(self.table)
        split.addWidget(self.chart)
        split.setStretchFactor(0, 4)
        split.setStretchFactor(1, 1)
        split.setSizes([1000, 300])
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(head)
        layout.addWidget(self.steady)
        layout.addWidget(split, 1)
        self.marker.activated.connect(self._choose_marker)
        self.which.activated.connect(lambda _: self._fill())
        self.filter.clicked.connect(self._filter_to_selected)
        self.by_hand.clicked.connect(self._take_selected)
        self.by_rule.clicked.connect(lambda: state.set_steady_choice(None))
        self.table.clicked.connect(lambda index: self._take(self.table.frame_model.position(index)))
        self.table.chosen.connect(lambda position: go_to_lap(state, self._lap(position)))
        self.table.save_requested.connect(self.save_requested)
        self.chart.lap_clicked.connect(lambda lap: go_to_lap(state, lap))
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.invalidate)
        state.laps_changed.connect(self._follow_laps)

    def _look_anew(self) -> None:
        """List the laps once the trace hangs as its session left it: that is long enough by itself."""
        self.forget()
        self.show_empty(MEASURING)
        self._soon.start()

    def _follow_laps(self) -> None:
        self._count()
        if not self._soon.isActive():
            self.invalidate()

    def _count(self) -> None:
        """Say beside the title how many there are, also while nobody sees the panel."""
        laps = self.state.laps
        self.badge_changed.emit(str(laps.count) if laps else "")

    def refresh(self) -> None:
        """Show the laps of the marker that is chosen."""
        study = self.state.study
        candidates = self.state.candidates
        self.marker.clear()
        self.marker.addItems([candidate_text(c) for c in candidates])
        self.marker.setCurrentIndex(min(self.state.marker, len(candidates) - 1))
        self.marker.setToolTip(tip(self.marker.currentText()))
        if not candidates:
            self.show_empty(_NO_LAPS if study else "Open a trace to see its iterations.")
            return
        self.show_empty("")
        assert study is not None
        gpus = [MEAN, EACH, *(study.trace.gpu_label(g.index) for g in study.trace.gpus)]
        if [self.which.itemText(i) for i in range(self.which.count())] != gpus:
            self.which.clear()
            self.which.addItems(gpus)
        self._fill()

    def _fill(self) -> None:
        state, laps = self.state, self.state.laps
        self.chart.setVisible(laps is not None)
        for button in (self.filter, self.by_hand, self.by_rule):
            button.setEnabled(laps is not None)
        if laps is None or state.study is None:
            self.steady.setText("No iterations. Choose a marker to try another.")
            self.table.set_frame(pd.DataFrame({c.key: [] for c in COLUMNS}))
            return
        by_hand = state.steady_choice is not None
        self.by_rule.setVisible(by_hand)
        self.steady.setText(". ".join([steady_text(laps, state.steady, by_hand), *laps.notes]))
        self.steady.setToolTip(tip(self.steady.text()))
        which = self.which.currentText()
        shown = [c for c in COLUMNS if which != MEAN or c.key != "gpu"]
        self.table.set_frame(lap_frame(laps, state.study, which), shown)
        self.chart.show_laps(laps, state.steady, state.lap, self.theme)

    def forget(self) -> None:
        """Await no iterations of the trace before."""
        self._worker.cancel()
        self._count()

    def _choose_marker(self, position: int) -> None:
        """Find the iterations by another marker beside the window, then take it."""
        study = self.state.study
        if study is None or position == self.state.marker:
            self._worker.cancel()
            self.invalidate()
            return
        self.steady.setText("Finding the iterations…")
        self._worker.start(lambda _: study.laps(position), lambda _: self.state.set_marker(position))

    def _lap(self, position: int) -> int:
        return int(self.table.frame_model.frame["lap"].to_numpy()[position])

    def _take(self, position: int) -> None:
        laps = self.state.laps
        if laps is not None:
            lap = self._lap(position)
            self.state.select((laps.start_ns(lap), laps.end_ns(lap)))

    def _selected(self) -> frozenset[int]:
        return frozenset(self._lap(p) for p in self.table.selected_positions())

    def _take_selected(self) -> None:
        if chosen := self._selected():
            self.state.set_steady_choice(chosen)

    def _filter_to_selected(self) -> None:
        if (chosen := self._selected()) and self.state.laps is not None:
            self.state.set_filter(lap_scope(self.state.laps, chosen))
