"""The Events dock: the events of a row in a table that filters, sorts, adds up and saves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSplitter, QVBoxLayout

from viewer.analysis.study import Study
from viewer.drawing.format import format_count, format_ns
from viewer.drawing.palette import Palette
from viewer.drawing.spreadsheet import csv_text
from viewer.drawing.theme import Theme
from viewer.drawing.times import TimeError
from viewer.panels.duration_chart import DurationChart
from viewer.panels.event_columns import NONE, EventColumn, columns_for, stream_of
from viewer.panels.event_filters import EventFilters
from viewer.panels.event_set import HOLDERS, EventSet, gather, gather_named
from viewer.panels.event_table import EventTable
from viewer.panels.event_view import Listed, Wanted, frame_of, list_events
from viewer.panels.name_cell import without_middle
from viewer.panels.one_line import OneLine
from viewer.panels.panel import Panel
from viewer.printable import counted
from viewer.rows import EventRef, Row
from viewer.state import ALL_ROWS, Listing, ViewState
from viewer.state.jobs import IsCancelled, Worker
from viewer.state.places import home_row
from viewer.timeline.event_menu import fill_event_menu
from viewer.timeline.plain_text import tip, without_key
from viewer.trace import GPU_KINDS

NAME_ROOM = 190
"""How many pixels of the one listed name its button shows."""
FOUND_SHARE, FITTED_SHARE = 0.1, 0.96
_HINT = (
    "Right-click a row of the timeline, or press T on it, and choose Show in Events:\n"
    "its events are listed here, with those of the rows under it."
)


class EventsPanel(Panel):
    """Lists the events of `ViewState.listing`."""

    title = "Events"

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.events: EventSet | None = None
        self.wanted = Wanted()
        self._listing: Listing | None = None
        self._before: Listing | None = None
        self._palette: Palette | None = None
        self._fitted: int | None = None
        self._listed_ns = 0
        self._place = ""
        self._is_new = False
        self._shown_wanted: Wanted | None = None
        self._worker, self._exporter = Worker(self), Worker(self)
        self.where, self.total = OneLine(keeps_end=True), OneLine()
        self.filters = EventFilters(state)
        self.one_name = QPushButton()
        self.table, self.chart = EventTable(), DurationChart()
        self._build()
        self._sum_later = QTimer(self, singleShot=True, interval=0)
        self._connect()

    def _build(self) -> None:
        self.where.setObjectName("soft")
        self.one_name.hide()
        self.columns_button = QPushButton("Columns")
        self.copy_button, self.save_button = QPushButton("Copy"), QPushButton("Save as…")
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        texts = QVBoxLayout()
        texts.setContentsMargins(6, 0, 6, 0)
        texts.setSpacing(0)
        for line in (self.total, self.where):
            texts.addWidget(line)
        for widget in (self.one_name, self.filters):
            head.addWidget(widget)
        head.addLayout(texts, 1)
        for button in (self.columns_button, self.copy_button, self.save_button):
            head.addWidget(button)
        split = QSplitter()
        split.addWidget(self.table)
        split.addWidget(self.chart)
        split.setStretchFactor(0, 4)
        split.setStretchFactor(1, 1)
        split.setSizes([1000, 260])
        self.chart.setMinimumHeight(60)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(head)
        layout.addWidget(split, 1)

    def _connect(self) -> None:
        state = self.state
        self._sum_later.timeout.connect(self._add_up)
        self.filters.changed.connect(self._list)
        self.one_name.clicked.connect(self._list_all_names)
        self.chart.brushed.connect(self._brush)
        self.columns_button.clicked.connect(
            lambda: self.table.open_columns(self.columns_button.mapToGlobal(QPoint(0, 0)))
        )
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(self.save)
        self.table.copy_requested.connect(self.copy)
        self.table.sort_requested.connect(lambda *_: self._list())
        self.table.columns_changed.connect(self._list)
        self.table.stepped.connect(self._select)
        self.table.opened.connect(self.show_event)
        self.table.fill_event_menu = self._fill_menu
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._sum_later.start())
        self._worker.busy_changed.connect(lambda _: self._add_up())
        state.listed.connect(self.invalidate)
        state.event_changed.connect(self._follow)
        state.filter_changed.connect(self._list)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.chart.set_theme(theme)
        self.filters.set_theme(theme)
        super().set_theme(theme)
        self._colour()

    def refresh(self) -> None:
        """Collect the events that are to be listed."""
        state, listing, study = self.state, self.state.listing, self.state.study
        row = state.rows.row(listing.key) if listing is not None else None
        if listing is None or study is None:
            self._worker.cancel()
            self.events = self._palette = self._listing = self._before = None
            self.table.list_events(None, (), np.empty(0, np.int32))
            self.badge_changed.emit("")
            self.show_empty(_HINT if study else "Open a trace to list its events.")
            return
        events = self.events
        is_same_trace = events is not None and events.study is study
        if is_same_trace and listing == self._listing and (row is None or events.row is row):
            return
        if self._listing is not None and listing.name and not self._listing.name:
            self._before = self._listing
        self._listing = listing
        self.show_empty("")
        where = row.text_path if row is not None else "All GPUs" if listing.kind in GPU_KINDS else "All rows"
        self.where.setText(f"Gathering {where}…")
        self._worker.start(lambda _: _gathered(study, row, listing), partial(self._take, where))

    def _take(self, where: str, gathered: _Gathered) -> None:
        self.events, self._palette = gathered.events, gathered.palette
        name = self._listing.name if self._listing is not None else ""
        self._colour()
        self._place = where
        self.one_name.setVisible(bool(name))
        advance = self.fontMetrics().horizontalAdvance
        shown = without_middle(name, lambda text: advance(text) <= NAME_ROOM)
        self.one_name.setText(without_key(f"{shown}  ✕"))
        self.one_name.setToolTip(tip(f"Only {name}\nClick to list events of all names"))
        self.filters.offer(self.events, gathered.streams, bool(name))
        columns = columns_for(self.events)
        if columns != self.table.event_model.columns:
            self.table.list_events(self.events, columns, np.empty(0, np.int32))
        self._is_new = True
        self._shown_wanted = None
        self._list()

    def _list_all_names(self) -> None:
        """List the events of all names again: those of the row, or what was listed before all rows."""
        state, listing = self.state, self._listing
        if listing is not None and listing.key != ALL_ROWS:
            state.list_events(listing.key)
        elif self._before is not None and state.rows.row(self._before.key) is not None:
            state.list_events(self._before.key)
        elif self.events is not None and len(self.events):
            # Nothing was listed before: the row of the first event stands for all rows.
            ref = self.events.events.ref(0)
            if (row := home_row(state, ref.kind, ref.index)) is not None:
                state.list_events(row.key)

    def _list(self) -> None:
        """Filter and sort again in a background thread."""
        events = self.events
        if events is None:
            return
        try:
            wanted = self.filters.wanted()
        except TimeError:
            return
        header = self.table.horizontalHeader()
        columns = columns_for(events)
        section = header.sortIndicatorSection()
        sort = columns[section].key if 0 <= section < len(columns) else ""
        is_descending = header.sortIndicatorOrder() is Qt.SortOrder.DescendingOrder
        self.wanted = replace(wanted, sort=sort, descending=is_descending)
        shown, wanted = self.table.shown_of(columns), self.wanted

        def work(asked: IsCancelled) -> Listed | None:
            listed = list_events(events, columns, wanted, asked)
            if listed is not None:
                # The first access to a column that only the file has reads all of it: do that here.
                for column in shown:
                    column.values(events, listed.order[:1])
            return listed

        self._worker.start(work, partial(self._show, events, columns))

    def _show(self, events: EventSet, columns: tuple[EventColumn, ...], listed: Listed | None) -> None:
        if listed is None or events is not self.events:
            return
        top = self.table.verticalScrollBar().value() if self.wanted == self._shown_wanted else 0
        self._shown_wanted = self.wanted
        self.table.list_events(events, columns, listed.order)
        self.chart.show_histogram(listed.histogram)
        self.chart.show_brush(self.wanted.least_ns, self.wanted.most_ns)
        self.badge_changed.emit(format_count(len(listed.order)))
        self._listed_ns = listed.total_ns
        # The top of a sorted or filtered list is what was asked for: the selected event must not scroll it
        # away. A row that is listed anew shows the event in its place.
        self.table.verticalScrollBar().setValue(top)
        self._follow(scroll=self._is_new and not self.wanted.sort)
        self._is_new = False
        self._add_up()

    def _colour(self) -> None:
        colours = None
        if self._palette is not None:
            colours = self._palette.argb(self.theme)[self._palette.index]
        self.table.event_model.set_colours(colours)
        self.table.viewport().update()

    def choose_durations(self) -> None:
        """Put the cursor into the field of durations; the histogram beside it shows what there is."""
        self.filters.duration.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filters.duration.selectAll()

    def _brush(self, durations: tuple[int, int] | None) -> None:
        text = "" if durations is None else f"{_typed(durations[0])}..{_typed(durations[1])}"
        self.filters.duration.setText(text)
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
        text, below = f"{counted(count, 'event')}, {format_ns(total)} together", self._place
        if count < len(self.events):
            text += f", of {format_count(len(self.events))}"
        chosen = self.table.selected()
        if len(chosen) > 1:
            lengths = self.events.durations(chosen)
            whole = int(lengths.sum())
            text = f"{format_count(len(chosen))} selected, {format_ns(whole)} together"
            least, most = (format_ns(int(edge)) for edge in (lengths.min(), lengths.max()))
            below = f"mean {format_ns(whole / len(chosen))}, {least} to {most}"
        for line, words in ((self.total, text), (self.where, below)):
            line.setText(words)
            line.setToolTip(tip(words))

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

    def _follow(self, scroll: bool = True) -> None:
        chosen = self.state.chosen
        if self.events is not None and chosen is not None and self.isVisible():
            self.table.follow(self.events.position_of(chosen.kind, chosen.index), scroll)

    def _fill_menu(self, menu: QMenu, position: int) -> None:
        if self.events is not None:
            fill_event_menu(menu, self.state, self._ref(self.events, position))

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


@dataclass(frozen=True)
class _Gathered:
    """The events of a list, the colours of names, and the numbers of the streams that have events."""

    events: EventSet
    palette: Palette
    streams: list[int]


def _gathered(study: Study, row: Row | None, listing: Listing) -> _Gathered:
    if listing.kind is not None:
        events = gather_named(study, row, listing.kind, listing.name)
    else:
        assert row is not None
        events = gather(study, row)
    _ = events.present
    numbers = np.unique(stream_of(events, np.arange(len(events), dtype=np.int32))).tolist()
    return _Gathered(events, Palette(study), [number for number in numbers if number != NONE])


def _typed(ns: int) -> str:
    """Return a duration with three digits in the syntax of the filter."""
    for unit, length in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= length:
            return f"{ns / length:.3g}{unit}"
    return f"{ns}ns"
