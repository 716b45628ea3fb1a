"""The Events dock: the events of a row in a table that filters, sorts, adds up and saves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSplitter,
    QVBoxLayout,
)

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.study import Study
from viewer.drawing.format import format_count, format_ns
from viewer.drawing.palette import Palette
from viewer.drawing.spreadsheet import csv_text
from viewer.drawing.theme import Theme
from viewer.drawing.times import TimeError
from viewer.panels.duration_chart import DurationChart
from viewer.panels.event_columns import EventColumn, columns_for
from viewer.panels.event_set import HOLDERS, EventSet, gather
from viewer.panels.event_table import EventTable
from viewer.panels.event_view import Listed, Wanted, frame_of, list_events, parse_durations
from viewer.panels.one_line import Choice, OneLine
from viewer.panels.panel import Panel
from viewer.printable import counted
from viewer.rows import EventRef, Row
from viewer.state import ViewState
from viewer.state.jobs import IsCancelled, Worker
from viewer.state.places import home_row
from viewer.timeline.plain_text import PlainLabel, tip

TYPING_PAUSE_MS = 150
EVERYTHING = "All classes"
FOUND_SHARE, FITTED_SHARE = 0.1, 0.96
_HINT = (
    "Right-click a row of the timeline, or press T on it, and choose Show in Events:\n"
    "its events are listed here, with those of the rows under it."
)


class EventsPanel(Panel):
    """Lists the events of `ViewState.listed_key`."""

    title = "Events"

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.events: EventSet | None = None
        self.wanted = Wanted()
        self._palette: Palette | None = None
        self._fitted: int | None = None
        self._listed_ns = 0
        self._worker, self._exporter = Worker(self), Worker(self)
        self.where, self.total = OneLine(), PlainLabel()
        self.text, self.duration, self.group = QLineEdit(), QLineEdit(), Choice()
        self.table, self.chart = EventTable(), DurationChart()
        self._build()
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._sum_later = QTimer(self, singleShot=True, interval=0)
        self._connect()

    def _build(self) -> None:
        self.where.setObjectName("soft")
        self.text.setPlaceholderText("Name")
        self.text.setAccessibleName("Only events whose name holds these words")
        self.duration.setPlaceholderText(">10us, 1ms..5ms")
        self.duration.setAccessibleName("Only events of these durations")
        self.group.setAccessibleName("Only events of this class")
        self.group.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        for field, width in ((self.text, 200), (self.duration, 170)):
            field.setClearButtonEnabled(True)
            field.setMaximumWidth(width)
            field.setMinimumWidth(width * 3 // 4)
        self.columns_button = QPushButton("Columns")
        self.copy_button, self.save_button = QPushButton("Copy"), QPushButton("Save as…")
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        for widget in (self.text, self.duration, self.group):
            head.addWidget(widget)
        head.addWidget(self.total)
        head.addWidget(self.where, 1)
        for button in (self.columns_button, self.copy_button, self.save_button):
            head.addWidget(button)
        split = QSplitter()
        split.addWidget(self.table)
        split.addWidget(self.chart)
        split.setStretchFactor(0, 4)
        split.setStretchFactor(1, 1)
        split.setSizes([1000, 320])
        self.chart.setMinimumHeight(60)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(head)
        layout.addWidget(split, 1)

    def _connect(self) -> None:
        state = self.state
        self._pause.timeout.connect(self._list)
        self._sum_later.timeout.connect(self._add_up)
        self.text.textChanged.connect(self._pause.start)
        self.duration.textChanged.connect(self._pause.start)
        self.group.activated.connect(lambda _: self._list())
        self.chart.brushed.connect(self._brush)
        self.columns_button.clicked.connect(
            lambda: self.table.open_columns(self.columns_button.mapToGlobal(QPoint(0, 0)))
        )
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(self.save)
        self.table.copy_requested.connect(self.copy)
        self.table.sort_requested.connect(lambda *_: self._list())
        self.table.stepped.connect(self._select)
        self.table.opened.connect(self.show_event)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._sum_later.start())
        self._worker.busy_changed.connect(lambda _: self._add_up())
        state.listed.connect(lambda _: self.invalidate())
        state.event_changed.connect(self._follow)
        state.filter_changed.connect(self._follow_filter)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.chart.set_theme(theme)
        super().set_theme(theme)
        self._colour()

    def refresh(self) -> None:
        """Collect the events of the listed row."""
        row = self.state.rows.row(self.state.listed_key) if self.state.listed_key else None
        study = self.state.study
        if row is None or study is None:
            self._worker.cancel()
            self.events = self._palette = None
            self.table.list_events(None, (), np.empty(0, np.int32))
            self.badge_changed.emit("")
            self.show_empty(_HINT if study else "Open a trace to list its events.")
            return
        if self.events is not None and self.events.row is row and self.events.study is study:
            return
        self.show_empty("")
        self.where.setText(f"Gathering {row.text_path}…")
        self._worker.start(lambda _: _gathered(study, row), self._take)

    def _take(self, gathered: tuple[EventSet, Palette]) -> None:
        self.events, self._palette = gathered
        self._colour()
        self.where.setText(self.events.row.text_path)
        self.where.setToolTip(tip(self.events.row.text_path))
        present = self.events.present
        self.group.clear()
        self.group.addItem(EVERYTHING, "")
        for name in present:
            self.group.addItem(CLASS_LABELS.get(name, name), name)
        self.group.setVisible(len(present) > 1)
        columns = columns_for(self.events)
        if columns != self.table.event_model.columns:
            self.table.list_events(self.events, columns, np.empty(0, np.int32))
        self._list()

    def _list(self) -> None:
        """Filter and sort again in a background thread."""
        self._pause.stop()
        events = self.events
        if events is None:
            return
        try:
            least, most = parse_durations(self.duration.text())
        except TimeError as error:
            self.duration.setToolTip(tip(str(error)))
            self._mark_wrong(True)
            return
        self._mark_wrong(False)
        header = self.table.horizontalHeader()
        columns = columns_for(events)
        section = header.sortIndicatorSection()
        sort = columns[section].key if 0 <= section < len(columns) else ""
        group = self.group.currentData() or ""
        self.wanted = Wanted(
            self.text.text(), least, most, group, self.state.filter, sort,
            header.sortIndicatorOrder().name == "DescendingOrder",
        )  # fmt: skip
        work = partial(list_events, events, columns, self.wanted)
        self._worker.start(work, partial(self._show, events, columns))

    def _mark_wrong(self, wrong: bool) -> None:
        colour = f"#{self.theme.error & 0xFFFFFF:06x}"
        self.duration.setStyleSheet(f"QLineEdit {{ border-color: {colour}; }}" if wrong else "")
        if not wrong:
            self.duration.setToolTip("")

    def _show(self, events: EventSet, columns: tuple[EventColumn, ...], listed: Listed | None) -> None:
        if listed is None or events is not self.events:
            return
        self.table.list_events(events, columns, listed.order)
        self.chart.show_histogram(listed.histogram)
        self.chart.show_brush(self.wanted.least_ns, self.wanted.most_ns)
        self.badge_changed.emit(format_count(len(listed.order)))
        self._listed_ns = listed.total_ns
        self._follow()
        self._add_up()

    def _colour(self) -> None:
        colours = None
        if self._palette is not None:
            colours = self._palette.argb(self.theme)[self._palette.index]
        self.table.event_model.set_colours(colours)
        self.table.viewport().update()

    def _brush(self, durations: tuple[int, int] | None) -> None:
        self.duration.setText("" if durations is None else f"{_typed(durations[0])}..{_typed(durations[1])}")
        self._list()

    def _add_up(self) -> None:
        """Show the count and the sum of the listed events, and of the selected ones."""
        if self.events is None:
            self.total.setText("")
            return
        if self._worker.is_busy:
            self.total.setText("Sorting…")
            return
        count, total = len(self.table.event_model.order), self._listed_ns
        text = f"{counted(count, 'event')}, {format_ns(total)} together"
        if count < len(self.events):
            text += f", of {format_count(len(self.events))}"
        chosen = self.table.selected()
        if len(chosen) > 1:
            lengths = self.events.durations(chosen)
            whole = int(lengths.sum())
            text = (
                f"{format_count(len(chosen))} selected: {format_ns(whole)} together, "
                f"mean {format_ns(whole / len(chosen))}, {format_ns(int(lengths.min()))} to "
                f"{format_ns(int(lengths.max()))}   ·   {text}"
            )
        self.total.setText(text)

    # The timeline

    def _select(self, position: int) -> None:
        if self.events is not None:
            self.state.select_event(self._ref(self.events, position))

    def show_event(self, position: int) -> None:
        """Show an event with its surroundings; a second call zooms in until it fills the width."""
        if self.events is None:
            return
        ref = self._ref(self.events, position)
        self.state.select_event(ref)
        self.state.reveal(ref.row_key or self.events.row.key)
        window = (
            int(self.events.events.start_ns[position]),
            int(self.events.events.end_ns[position]),
        )
        share = FITTED_SHARE if self._fitted == position and self._is_centred(window) else FOUND_SHARE
        self.state.axis.center(*window, share)
        self._fitted = position

    def _is_centred(self, window: tuple[int, int]) -> bool:
        start, end = self.state.axis.window
        return start <= window[0] and window[1] <= end and (end - start) * 0.5 < (window[1] - window[0]) / 0.1

    def _ref(self, events: EventSet, position: int) -> EventRef:
        """Return an event in the listed row, or in its own row where the listed one only groups rows."""
        if events.row.kind not in HOLDERS:
            return events.events.ref(position, events.row.key)
        ref = events.events.ref(position)
        row = home_row(self.state, ref.kind, ref.index)
        return replace(ref, row_key=row.key if row else "")

    def _follow(self) -> None:
        chosen = self.state.chosen
        if self.events is not None and chosen is not None and self.isVisible():
            self.table.follow(self.events.position_of(chosen.kind, chosen.index))

    def _follow_filter(self) -> None:
        if self.events is not None and self.wanted.scope is not self.state.filter:
            self._list()

    # Copy and save

    def copy(self) -> None:
        """Copy the selected events (or all listed ones) as tab-separated text with a header."""
        self._hand_out(QGuiApplication.clipboard().setText, as_text=True)

    def save(self) -> None:
        """Request a file of the selected events (or of all listed ones)."""
        self._hand_out(self.save_requested.emit, as_text=False)

    def _hand_out(self, take: Callable[[Any], None], as_text: bool) -> None:
        events = self.events
        if events is None:
            return
        chosen = self.table.selected()
        positions = chosen if len(chosen) > 1 else self.table.event_model.order
        columns = self.table.shown_columns()

        def work(_: IsCancelled) -> object:
            frame = frame_of(events, columns, positions)
            return csv_text(frame, "\t") if as_text else frame

        self._exporter.start(work, take)


def _gathered(study: Study, row: Row) -> tuple[EventSet, Palette]:
    events = gather(study, row)
    _ = events.present
    return events, Palette(study)


def _typed(ns: int) -> str:
    """Return a duration with three digits in the syntax of the filter."""
    for unit, length in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= length:
            return f"{ns / length:.3g}{unit}"
    return f"{ns}ns"
