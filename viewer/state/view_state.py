"""ViewState: the one owner of what the user looks at. Widgets read it, change it, and keep no copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal

from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.rows import EventRef, Row
from viewer.state.bookmarks import Bookmarks
from viewer.state.history import History
from viewer.state.measurements import Measurements
from viewer.state.notes import Notes
from viewer.state.rows import RowState
from viewer.state.selections import Selections, with_range
from viewer.state.shown_path import ShownPath
from viewer.state.shown_wait import ShownWait
from viewer.state.time_axis import TimeAxis, Window
from viewer.state.what_if import WhatIfs
from viewer.trace import Kind

if TYPE_CHECKING:
    from viewer.analysis.find import SearchResult
    from viewer.analysis.iterations.candidate import Candidate
    from viewer.analysis.loading import Loading
    from viewer.analysis.study import Study
    from viewer.analysis.time.iteration_bounds import Iterations

ALL_ROWS = "*"
"""Stands for all rows where a row's key is asked for."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What the Events dock lists: the events of a row and of those under it, of one name or of all.

    Attributes
    ----------
    key : str
        The row's key, `ALL_ROWS` for the whole trace (of one name only).
    kind, name : Kind or None, str
        The table and the exact name of the events; None and "" for all.
    """

    key: str
    kind: Kind | None = None
    name: str = ""


CardForm = Literal["full", "short", "key"]
"""How cards are shown: in full, in short, or only when their key is pressed."""


@dataclass(frozen=True, slots=True)
class Hover:
    """What lies under the pointer: an instant, and the row and event if there are any."""

    time_ns: int
    row: Row | None = None
    event: EventRef | None = None


class ViewState(QObject):
    """State of one window on one trace.

    Attributes
    ----------
    study : Study or None
        The open trace and its numbers; ``study.loading`` says how much of it is loaded.
    walk : (Window, Window, int) or None
        Where the last step from stall to stall has led: the stall, the window, and the length in ns of the
        shortest stall that it stops at.
    is_restoring : bool
        A trace is being shown as its session left it: whatever starts now runs at background priority.

    Signals
    -------
    leaving()
        The open trace is about to close: keep what is being written, end drags, menus and questions about it.
    study_changed()
        Another trace is open (or none); everything else has been reset.
    loading_changed()
        Loading the rest of the trace was cancelled or resumed.
    selection_changed(), event_changed(), hover_changed(), overlays_changed(), card_changed()
        That part has changed.
    iterations_changed()
        The marker, the selected iteration or the steady choice has changed.
    filter_changed()
        Another filter applies to everything, or none.
    search_result_changed()
        The results of another search are shown, or none.
    stall_changed()
        Another stall of `Study.stalls` is selected, or none: a stall is selected as long as its range is.
    listed()
        The user wants other events as a list.
    revealed(str)
        Scroll to this row key.
    """

    leaving = Signal()
    study_changed = Signal()
    loading_changed = Signal()
    selection_changed = Signal()
    event_changed = Signal()
    hover_changed = Signal()
    overlays_changed = Signal()
    card_changed = Signal()
    iterations_changed = Signal()
    filter_changed = Signal()
    search_result_changed = Signal()
    stall_changed = Signal()
    listed = Signal()
    revealed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.study: Study | None = None
        self.is_restoring = False
        self.axis = TimeAxis(self)
        self.rows = RowState(self)
        self.history = History(self)
        self.measurements = Measurements(self.history, self)
        self.notes = Notes(self.history, self)
        self.selections = Selections(self.history, self)
        self.bookmarks = Bookmarks(self)
        self.chosen: EventRef | None = None
        self.search_result: SearchResult | None = None
        self.stall_number: int | None = None
        self.listing: Listing | None = None
        self.hover: Hover | None = None
        self.walk: tuple[Window, Window, int] | None = None
        self.overlays: frozenset[str] = frozenset()
        self.card: CardForm = "full"
        self.iteration: int | None = None
        self.filter: Scope | None = None
        self.marker = 0
        self.steady_choice: frozenset[int] | None = None
        self.path = ShownPath(self)
        self.wait = ShownWait(self)
        self.what_if = WhatIfs(self)
        self.axis.changed.connect(self._leave_iteration)
        self.selections.changed.connect(self._leave_stall)
        self.selections.changed.connect(self.selection_changed)

    def leave(self) -> None:
        """Announce that the open trace is about to close; whatever is kept of it is saved after this."""
        self.leaving.emit()

    def set_study(
        self, study: Study | None, roots: tuple[Row, ...] = (), listing: Listing | None = None
    ) -> None:
        """Show another trace, from the start; some of its events may be listed at once."""
        self.leave()
        self.study = study
        self.chosen = self.hover = self.iteration = None
        self.stall_number = self.search_result = None
        self.filter = None
        self.marker = 0
        self.steady_choice = None
        self.history.reset()
        self.measurements.load()
        self.notes.load()
        self.selections.load()
        self.bookmarks.load({})
        self.rows.reset(roots)
        self.listing = listing if listing is not None and self._has_rows_of(listing) else None
        trace = study.trace if study else None
        self.axis.reset(*((trace.extent_ns, trace.window_ns) if trace else ((0, 1), (0, 1))))
        self.study_changed.emit()

    def set_loading(self, loading: Loading) -> None:
        """Set how much of the open trace is loaded, and whether more follows."""
        if self.study is not None and self.study.loading is not loading:
            self.study.loading = loading
            self.loading_changed.emit()

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Mark that a trace and its session are being shown: jobs that start within run in the background."""
        self.is_restoring = True
        try:
            yield
        finally:
            self.is_restoring = False

    @property
    def selection(self) -> Window | None:
        """The range of time that was selected last; `selections` has all of them."""
        return self.selections.current

    def select(self, selection: Window | None) -> None:
        """Select one range of time, or none. An empty range is none."""
        self.selections.set(with_range((), selection))

    def select_event(self, event: EventRef | None) -> None:
        """Select one event, or none."""
        if event != self.chosen:
            self.chosen = event
            self.event_changed.emit()

    def set_hover(self, hover: Hover | None) -> None:
        """Set what lies under the pointer."""
        if hover != self.hover:
            self.hover = hover
            self.hover_changed.emit()

    def set_overlay(self, name: str, on: bool) -> None:
        """Switch an overlay: "idle", "exposed", "waiting" or "path"."""
        self.set_overlays(self.overlays | {name} if on else self.overlays - {name})

    def set_overlays(self, overlays: frozenset[str]) -> None:
        """Show these overlays and no others."""
        if overlays != self.overlays:
            self.overlays = overlays
            self.overlays_changed.emit()

    def set_card(self, form: CardForm) -> None:
        """Show the cards in full, in short, or only when their key is pressed."""
        if form != self.card:
            self.card = form
            self.card_changed.emit()

    def set_iteration(self, iteration: int | None) -> None:
        """Select an iteration (a number from 0), without moving the window."""
        if iteration != self.iteration:
            self.iteration = iteration
            self.iterations_changed.emit()

    def _leave_iteration(self) -> None:
        """Deselect the iteration once the window has left it, or shows the whole trace."""
        iterations = self.iterations if self.iteration is not None else None
        if iterations is None or self.iteration is None:
            return
        start, end = self.axis.window
        is_whole = self.filter is None and self.axis.window == self.axis.limits
        if (
            is_whole
            or end <= iterations.start_ns(self.iteration)
            or start >= iterations.end_ns(self.iteration)
        ):
            self.set_iteration(None)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """What may mark the iterations, best first; none until the trace is loaded completely."""
        study = self.study
        return study.candidates if study is not None and study.loading.is_complete else ()

    @property
    def iterations(self) -> Iterations | None:
        """The iterations by the marker in use, None where there are none."""
        study = self.study
        return study.iterations(self.marker) if study is not None and study.loading.is_complete else None

    @property
    def steady(self) -> tuple[int, ...]:
        """The iterations that numbers are taken from: the user's choice, else the rule's; () for none."""
        if self.steady_choice is not None:
            return tuple(sorted(self.steady_choice))
        iterations = self.iterations
        return iterations.steady.indices if iterations and iterations.steady else ()

    def set_marker(self, marker: int) -> None:
        """Use another candidate as the marker of iterations."""
        if marker != self.marker:
            self.marker, self.iteration, self.steady_choice = marker, None, None
            self.choose_stall(None)
            if self.filter is not None and self.filter.iterations:
                self.set_filter(None)
            self.iterations_changed.emit()

    def set_steady_choice(self, iterations: frozenset[int] | None) -> None:
        """Choose the steady iterations by hand; None returns to the rule."""
        if iterations != self.steady_choice:
            is_filter = self.filter is not None and self.filter.iterations == self.steady != ()
            self.steady_choice = iterations
            if is_filter:
                self.set_filter(self.steady_scope)
            self.iterations_changed.emit()

    @property
    def steady_scope(self) -> Scope | None:
        """The steady iterations, None where there are none."""
        iterations = self.iterations
        return (
            iteration_scope(iterations, self.steady_choice)
            if iterations is not None and self.steady
            else None
        )

    @property
    def scope(self) -> Scope | None:
        """What numbers are taken over: the filter, else the steady state, else the trace's window."""
        if self.filter is not None or self.study is None:
            return self.filter
        return self.steady_scope or self.study.default_scope(self.iterations)

    def set_filter(self, scope: Scope | None) -> None:
        """Filter to a range or to some iterations; None clears the filter."""
        if self.study is None or scope is self.filter:
            return
        self.filter = scope
        self.axis.limit(scope.hull if scope else self.study.trace.extent_ns)
        if scope:
            self.axis.go(*scope.hull)
        self.filter_changed.emit()

    def choose_stall(self, number: int | None) -> None:
        """Select a stall, by its number in `Study.stalls` of the marker in use."""
        if number != self.stall_number:
            self.stall_number = number
            self.stall_changed.emit()

    def _leave_stall(self) -> None:
        """Deselect the stall once the selected range is another one."""
        if self.study is None or self.stall_number is None:
            return
        stall = self.study.stalls(self.marker).table.iloc[self.stall_number]
        if self.selection != (int(stall["start_ns"]), int(stall["end_ns"])):
            self.choose_stall(None)

    def set_search_result(self, result: SearchResult | None) -> None:
        """Mark the results of a search; None removes the marks."""
        if result is not self.search_result:
            self.search_result = result
            self.search_result_changed.emit()

    def list_events(self, key: str, kind: Kind | None = None, name: str = "") -> None:
        """Ask for the events of a row, and of all under it, as a list: of one name and table, or all."""
        listing = Listing(key, kind, name)
        if self._has_rows_of(listing):
            self.listing = listing
            self.listed.emit()

    def _has_rows_of(self, listing: Listing) -> bool:
        return self.rows.row(listing.key) is not None or (
            listing.key == ALL_ROWS and listing.kind is not None
        )

    def reveal(self, key: str) -> None:
        """Unfold and show what hides a row, and scroll to it; a filter of rows that hides it is cleared."""
        if (row := self.rows.row(key)) is not None:
            self.rows.set_hidden([r.key for r in row.path()], False)
            if not all(self.rows.is_shown(r) for r in row.path()):
                self.rows.set_filter("")
            self.rows.set_expanded([r.key for r in row.path()[:-1]], True)
            self.revealed.emit(key)
