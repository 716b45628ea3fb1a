"""The Stalls dock: where GPUs are idle, only copy or communicate unhidden, and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSplitter,
    QVBoxLayout,
)

from viewer.analysis.stalls.stall_kinds import WHOLE
from viewer.analysis.stalls.stalls import CAUSES, PLACES, STALL_KINDS
from viewer.analysis.stalls.words import KIND_TEXT, PLACE_TEXT, cause_text
from viewer.analysis.time.time_breakdown import CATEGORIES, IDLE
from viewer.drawing.format import format_count, format_instant, format_ns, format_share
from viewer.drawing.theme import LIGHT, Theme
from viewer.drawing.times import TimeError
from viewer.panels.event_view import parse_durations
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.one_line import Choice, OneLine
from viewer.panels.panel import MEASURING, Panel
from viewer.panels.stall_view import StallView, WantedStalls, stall_view
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.navigation import show_range
from viewer.state.places import go_to_event, home_row
from viewer.trace import Kind

TYPING_PAUSE_MS = 150
_PART_OF = {kind: CATEGORIES.index(kind) for kind in STALL_KINDS}
_ALWAYS = ("kind", "start_ns", "duration_ns", "cause")
_NO_GPU = "No GPU work was recorded, so there are no stalls."
_PART_OF_TEXT = {KIND_TEXT[kind]: part for kind, part in _PART_OF.items()}


@cache
def _columns(
    theme: Theme,
) -> tuple[tuple[TableColumn, ...], tuple[TableColumn, ...], tuple[TableColumn, ...]]:
    """Return the columns of groups, of single stalls and of totals."""

    def colour(kind: str) -> int:
        part = _PART_OF.get(kind, _PART_OF_TEXT.get(kind, IDLE))
        return theme.text_faint if part == IDLE else theme.parts[part]

    dot = TableColumn("kind", "", lambda _: "●", colour=colour, tip="The kind of stall")
    length = partial(TableColumn, text=format_ns, number=True)
    groups = (
        dot,
        TableColumn(
            "text",
            "Similar stalls",
            tip="Of one kind, place, cause and range, and of similar length. Double-click to open",
        ),
        length("total_ns", "Together", tip="Over all GPUs"),
        TableColumn("count", "Count", format_count, number=True),
        length("mean_ns", "Mean"),
        TableColumn("gpus", "GPUs", str, number=True),
    )
    each = (
        dot,
        TableColumn("gpu", "GPU"),
        TableColumn("start_ns", "Start", format_instant, number=True),
        length("duration_ns", "Length"),
        TableColumn("cause", "Cause", cause_text,
               tip="The largest share of the launching thread's time in the stall"),
        TableColumn("share", "Evidence", format_share, number=True,
               tip="Share of the stall that is evidence of the cause"),
        TableColumn("reason", "Reason", tip="Why no compute kernel runs: the largest part of the stall"),
        TableColumn("producer", "Waits for operation",
               tip="What the next compute kernel waits for. Double-click, or Enter, goes there"),
        TableColumn("inside", "Inside", tip="The innermost NVTX range of that thread over half of it"),
        TableColumn("drained_by", "Blocking call", tip="The blocking call that covers the stall's start"),
        TableColumn("call", "In", tip="The longest call that the cause names, or the wait for an event"),
        TableColumn("waits_for", "Waits for", tip="The last arrival of the collective"),
        TableColumn("copies", "Copies"),
        TableColumn("place", "Place"),
        TableColumn("iteration", "Iteration"),
        TableColumn("before", "Before"),
        TableColumn("after", "After"),
    )  # fmt: skip
    totals = (
        dot,
        TableColumn("cause", "Main cause", cause_text, tip=WHOLE),
        length("total_ns", "Whole stalls", tip=WHOLE),
        TableColumn(
            "share",
            "Of its kind",
            format_share,
            number=True,
            tip="Of all idle, copy-only or exposed stalls, unfiltered; over all GPUs",
        ),
        TableColumn("count", "Count", format_count, number=True),
    )
    return groups, each, totals


class StallsPanel(Panel):
    """Lists stalls grouped or one by one; a click shows a stall in the timeline, a double click its cause."""

    title = "Stalls"
    lazy = True

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.view: StallView | None = None
        self._group: np.ndarray | None = None
        self._worker = Worker(self)
        self.kind, self.cause, self.place, self.gpu = (Choice() for _ in range(4))
        self.length, self.text = QLineEdit(), OneLine()
        self.grouped, self.back = QPushButton("Each stall"), QPushButton("‹ All groups")
        groups, _, totals = _columns(LIGHT)
        self.table, self.totals = FrameTable(groups, "Stalls"), FrameTable(totals, "Stalls by cause")
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._build()
        self._connect()

    def _build(self) -> None:
        for box, name, items in (
            (self.kind, "All stalls", [(KIND_TEXT[k].capitalize(), k) for k in STALL_KINDS]),
            (self.cause, "Any cause", [(_label(cause), cause) for cause in CAUSES]),
            (self.place, "Anywhere", [(PLACE_TEXT[p].capitalize(), p) for p in PLACES if p]),
        ):
            box.setAccessibleName(f"{name}, or only")
            box.addItem(name, "")
            for title, value in items:
                box.addItem(title, value)
        self.gpu.setAccessibleName("All GPUs, or only")
        self.length.setPlaceholderText(">1ms, 1ms..5ms")
        self.length.setAccessibleName("Only stalls of these lengths")
        self.length.setClearButtonEnabled(True)
        self.length.setFixedWidth(150)
        self.text.setObjectName("soft")
        self.text.setToolTip(WHOLE)
        self.grouped.setCheckable(True)
        self.back.hide()
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        for widget in (self.kind, self.cause, self.place, self.gpu, self.length, self.back):
            head.addWidget(widget)
        head.addWidget(self.text, 1)
        head.addWidget(self.grouped)
        split = QSplitter()
        split.addWidget(self.totals)
        split.addWidget(self.table)
        split.setStretchFactor(0, 0)
        split.setStretchFactor(1, 1)
        split.setSizes([510, 900])
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(head)
        layout.addWidget(split, 1)

    def _connect(self) -> None:
        state = self.state
        for box in (self.kind, self.cause, self.place, self.gpu):
            box.activated.connect(lambda _: self._fill())
        self._pause.timeout.connect(self._fill)
        self.length.textChanged.connect(self._pause.start)
        self.grouped.toggled.connect(lambda _: self._show_lines())
        self.back.clicked.connect(self.close_group)
        self.totals.clicked.connect(lambda index: self._take_cause(self.totals.frame_model.position(index)))
        self.table.clicked.connect(lambda index: self._point(self.table.frame_model.position(index)))
        self.table.chosen.connect(self._open)
        self.table.row_actions = self._actions
        for table in (self.table, self.totals):
            table.save_requested.connect(self.save_requested)
        self._worker.busy_changed.connect(self._say)
        state.iterations_changed.connect(self.invalidate)
        state.filter_changed.connect(self.invalidate)

    def refresh(self) -> None:
        """Compute the stalls of the trace by the marker in use."""
        study = self.state.study
        if study is None or not study.trace.gpus:
            self.forget()
            self.show_empty(_NO_GPU if study else "Open a trace to list where its GPUs are idle.")
            return
        labels = [study.trace.gpu_label(g.index) for g in study.trace.gpus]
        if [self.gpu.itemText(i) for i in range(1, self.gpu.count())] != labels:
            self._group = None
            self.gpu.clear()
            self.gpu.addItem("All GPUs", None)
            for number, label in enumerate(labels):
                self.gpu.addItem(label, number)
        self._fill()

    def forget(self) -> None:
        self._worker.cancel()
        self.view = self._group = None
        self.badge_changed.emit("")
        self.show_empty(MEASURING)

    def open_group(self, numbers: np.ndarray) -> None:
        """List the stalls of one group."""
        self._group = numbers
        self.grouped.setChecked(True)
        self._fill()

    def close_group(self) -> None:
        """Go back to the groups."""
        self._group = None
        self.grouped.setChecked(False)
        self._fill()

    def _fill(self) -> None:
        study = self.state.study
        if study is None:
            return
        try:
            least, most = parse_durations(self.length.text())
        except TimeError as error:
            self.text.setText(str(error))
            return
        wanted = WantedStalls(
            self.kind.currentData(), self.cause.currentData(), self.place.currentData(),
            self.gpu.currentData(), least, most, self.state.filter, self._group,
        )  # fmt: skip
        marker = self.state.marker
        self._worker.start(
            lambda _: stall_view(study, marker, wanted), self._show, background=self.state.is_restoring
        )

    def _show(self, view: StallView) -> None:
        self.view = view
        self.show_empty("")
        self.badge_changed.emit(format_count(len(view.stalls)))
        self.totals.set_frame(view.totals, _columns(self.theme)[2])
        self._show_lines()
        self._say()

    def _show_lines(self) -> None:
        view = self.view
        self.back.setVisible(self._group is not None)
        self.grouped.setVisible(self._group is None)
        if view is None:
            return
        groups, each, _ = _columns(self.theme)
        if self.grouped.isChecked():
            self.table.set_frame(view.each, [c for c in each if c.key in _ALWAYS or _says(view.each, c.key)])
        else:
            self.table.set_frame(view.groups, groups)

    def _say(self) -> None:
        busy = self._worker.is_busy
        self.text.setText("Looking for causes…" if busy else self.view.text if self.view else "")

    def _take_cause(self, position: int) -> None:
        row = self.totals.frame_model.frame.iloc[position]
        self.kind.setCurrentIndex(self.kind.findData(row["kind"]))
        self.cause.setCurrentIndex(self.cause.findData(row["cause"]))
        self._fill()

    def _point(self, position: int) -> None:
        """Show a stall, or the first one of a group, in the timeline."""
        if self.view is None:
            return
        row = self.table.frame_model.frame.iloc[position]
        number = int(row["number"] if "number" in row.index else row["rows"][0])
        stalls = self.view.stalls
        start, end = (int(stalls.table[c].iloc[number]) for c in ("start_ns", "end_ns"))
        self.state.select((start, end))
        self.state.choose_stall(number)
        show_range(self.state, start, end)

    def _open(self, position: int) -> None:
        """Open a group, or show what a stall waits for: an operation, a blocking call, else its launch."""
        row = self.table.frame_model.frame.iloc[position]
        if "rows" in row.index:
            self.open_group(np.asarray(row["rows"]))
            return
        self._point(position)
        assert self.view is not None
        if self._follow(position):
            return
        stall = self.view.stalls.table.iloc[int(row["number"])]
        for key, kind in _BEHIND:
            index = int(stall[key])
            home = home_row(self.state, kind, index) if index >= 0 else None
            if home is not None:
                self.state.reveal(home.key)
                return

    def _follow(self, position: int) -> bool:
        """Go to the operation that a stall mainly waits for; return whether there is one."""
        row = self.table.frame_model.frame.iloc[position]
        if self.view is None or "number" not in row.index:
            return False
        event = self.view.producers.event(int(row["number"]))
        if event is not None:
            go_to_event(self.state, *event)
        return event is not None

    def _actions(self, position: int) -> list[tuple[str, Callable[[], object]]]:
        """Return what the menu of a row has first: to go to what the stall waits for."""
        row = self.table.frame_model.frame.iloc[position]
        if "number" not in row.index or not row["producer"]:
            return []
        return [(f"Go to {row['producer']}", partial(self._follow, position))]


_BEHIND = (
    ("blocking_call", Kind.API),
    ("other_call", Kind.API),
    ("drained_by", Kind.API),
    ("awaited", Kind.API),
    ("launch", Kind.API),
    ("collective", Kind.KERNEL),
)


def _label(cause: str) -> str:
    """Return the text of a cause with a capital letter: "Slow CUDA call"."""
    text = cause_text(cause)
    return text[0].upper() + text[1:]


def _says(frame: pd.DataFrame, key: str) -> bool:
    """Whether a column of words or shares holds any value."""
    column = frame[key]
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return bool((column > 0).any())
    return any(column.cat.categories[np.flatnonzero(np.bincount(column.cat.codes))] != "")
