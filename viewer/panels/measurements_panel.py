"""The Measurements dock: the kept ranges and their sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout

from viewer.analysis.core.intervals import union
from viewer.drawing.format import (
    format_count,
    format_instant,
    format_iteration_share,
    format_ns,
    format_share,
    share_of_iterations,
)
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.panel import Panel
from viewer.state import Measurement, ViewState
from viewer.state.measurement_table import measurement_frame, numbers_of, part_text
from viewer.state.navigation import show_range
from viewer.timeline.plain_text import PlainLabel

COLOURS = {"Blue": "#2563eb", "Orange": "#ea8a1f", "Teal": "#1fa28f", "Violet": "#7c5cd6", "Red": "#d64550"}
_HINT = "Drag over a range of the timeline and press Enter:\nit is kept here with its numbers."
_MEAN = "mean per GPU"
_PARTS = ("compute", "hidden", "exposed", "copies", "idle")


def _share(value: float) -> str:
    return "–" if np.isnan(value) else format_share(value)


def _argb(colour: str) -> int:
    return QColor(colour).rgba()


def _mean(key: str, title: str, tip: str) -> TableColumn:
    return TableColumn(key, f"{title}\n{_MEAN}", part_text, number=True, tip=f"{tip}; {_MEAN}")


COLUMNS = (
    TableColumn("colour", "", lambda _: "●", colour=_argb),
    TableColumn("name", "Name", editable=True, tip="Double-click to rename"),
    TableColumn("start_ns", "Begin", format_instant, number=True, tip="From the trace's zero"),
    TableColumn("length_ns", "Length", format_ns, number=True),
    TableColumn("lap_share", "Of iteration", format_iteration_share, number=True,
           tip="Length over that of the iteration that holds its middle"),
    _mean("compute_only_ns", "Compute", "Compute kernels, and no communication"),
    _mean("hidden_comm_ns", "Hidden", "Communication while compute kernels run"),
    _mean("exposed_comm_ns", "Exposed", "Communication that no compute kernel hides"),
    _mean("copy_only_ns", "Copies", "Copies and sets that nothing hides"),
    _mean("idle_ns", "Idle", "Nothing runs on any stream"),
    TableColumn("idle_share", "Idle, %", _share, number=True, tip="Idle time of all GPUs over their time"),
    _mean("no_kernel_ns", "No kernel running", "Idle, or copy only"),
    TableColumn("note", "Note", editable=True, tip="Double-click to write"),
)  # fmt: skip


def total_text(state: ViewState, chosen: Sequence[Measurement]) -> str:
    """Return "6 ranges, 151.0 ms, 18.9 % of iteration 7"; where ranges overlap, time counts once."""
    if not chosen:
        return ""
    starts = np.array([m.start_ns for m in chosen], np.int64)
    ends = np.array([m.end_ns for m in chosen], np.int64)
    time = union(starts, ends)
    total = time.total()
    text = f"{format_count(len(chosen))} {'range' if len(chosen) == 1 else 'ranges'}, {format_ns(total)}"
    if total < int((ends - starts).sum()):
        text += " (overlaps counted once)"
    iterations = state.iterations
    windows = list(zip(time.start_ns.tolist(), time.end_ns.tolist(), strict=True))
    share = iterations.share_of(windows) if iterations is not None else None
    if iterations is None or share is None:
        return text
    return f"{text}, {share_of_iterations(share, iterations)}"


class MeasurementsPanel(Panel):
    """Lists the kept measurements, and adds up the chosen ones, or all."""

    title = "Measurements"
    needs_all = False

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.table = FrameTable(COLUMNS, "Measurements", editable=True)
        self.total = PlainLabel()
        self.total.setObjectName("total")
        copy, colour, delete = QPushButton("Copy as text"), QPushButton("Colour"), QPushButton("Delete")
        colour.setMenu(self._colour_menu())
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 0, 8, 0)
        foot.addWidget(self.total, 1)
        for button in (copy, colour, delete):
            foot.addWidget(button)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.addWidget(self.table, 1)
        layout.addLayout(foot)
        copy.clicked.connect(self.copy_text)
        delete.clicked.connect(self.delete_chosen)
        self.table.delete_requested.connect(self.delete_chosen)
        self.table.chosen.connect(self._show)
        self.table.frame_model.edited.connect(
            lambda at, key, text: state.measurements.change(at, **{key: text})
        )
        self.table.save_requested.connect(self.save_requested)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._add_up())
        self.table.frame_model.row_tip = self._per_gpu
        state.measurements.changed.connect(self._changed)
        state.iterations_changed.connect(self.invalidate)

    def refresh(self) -> None:
        """Show the kept ranges with their numbers."""
        self.show_empty("" if self.state.measurements.items else _HINT)
        state = self.state
        self.table.set_frame(measurement_frame(state.study, state.measurements.items, state.iterations))
        self._add_up()

    def copy_text(self) -> None:
        """Copy the chosen measurements, and their total, as lines of text."""
        chosen = self._chosen()
        lines = [
            f"{m.name}: {format_ns(m.length_ns)} from {format_instant(m.start_ns)}"
            + (f", {m.note}" * bool(m.note))
            for m in chosen
        ]
        QGuiApplication.clipboard().setText("\n".join([*lines, total_text(self.state, chosen)]))

    def delete_chosen(self) -> None:
        """Delete the selected measurements; undo brings them back."""
        self.state.measurements.delete(set(self.table.selected_positions()))

    def _chosen(self) -> list[Measurement]:
        items = self.state.measurements.items
        return [items[p] for p in self.table.selected_positions()] or list(items)

    def _show(self, position: int) -> None:
        item = self.state.measurements.items[position]
        self.state.select((item.start_ns, item.end_ns))
        show_range(self.state, item.start_ns, item.end_ns)

    def _per_gpu(self, position: int) -> str:
        """Return the time categories of each GPU, a line each."""
        study = self.state.study
        if study is None:
            return ""
        item = self.state.measurements.items[position]
        numbers = numbers_of(study, item, self.state.iterations, details=False)
        if numbers is None:
            return f"{item.name}: nothing was recorded then"
        lines = [f"{item.name}: double-click shows it with the numbers of each GPU"]
        for gpu, parts in zip(study.trace.gpus, numbers.parts_ns, strict=True):
            parts_text = (
                f"{what} {format_ns(ns)}" for what, ns in zip(_PARTS, parts.tolist(), strict=True) if ns
            )
            lines.append(f"{study.trace.gpu_label(gpu.index)}: {', '.join(parts_text)}")
        return "\n".join(lines)

    def _paint(self, colour: str) -> None:
        for position in self.table.selected_positions():
            self.state.measurements.change(position, colour=colour)

    def _changed(self) -> None:
        count = len(self.state.measurements.items)
        self.badge_changed.emit(str(count) if count else "")
        self.invalidate()

    def _add_up(self) -> None:
        chosen = self._chosen()
        bounds = self.state.study.known_bounds.texts if chosen else ()
        self.total.setText(
            ". ".join((total_text(self.state, chosen), *(text.rstrip(".") for text in bounds)))
        )

    def _colour_menu(self) -> QMenu:
        menu = QMenu(self)
        for name, colour in COLOURS.items():
            swatch = QPixmap(12, 12)
            swatch.fill(QColor(colour))
            menu.addAction(QIcon(swatch), name, lambda colour=colour: self._paint(colour))
        return menu
