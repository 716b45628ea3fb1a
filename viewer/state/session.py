"""A session: what a reader made of a trace, taken from the state and given back to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from viewer.analysis.study import Study
from viewer.rows import EventRef
from viewer.rows.presets import PRESETS
from viewer.state.bookmarks import Bookmark
from viewer.state.measurements import Measurement
from viewer.state.notes import Note
from viewer.state.time_axis import Window
from viewer.state.view_state import ViewState


@dataclass(frozen=True, slots=True)
class RowChoice:
    """How rows are shown, by key; `pinned` in order."""

    expanded: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    pinned: tuple[str, ...] = ()
    filter_text: str = ""
    preset: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class IterationChoice:
    """What an iteration is.

    Attributes
    ----------
    marker, marker_name : int, str
        The candidate and its name, by which it is found again where candidates are numbered otherwise.
    iteration : int or None
        The selected one.
    steady : frozenset of int or None
        The steady iterations chosen by hand, None for the rule's.
    """

    marker: int = 0
    marker_name: str = ""
    iteration: int | None = None
    steady: frozenset[int] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Session:
    """What is kept of a window on a trace.

    `extra` holds what another version of the program wrote beside it.
    """

    window: Window
    rows: RowChoice = RowChoice()
    overlays: frozenset[str] = frozenset()
    iterations: IterationChoice = IterationChoice()
    notes: tuple[Note, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    bookmarks: Mapping[int, Bookmark] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    selections: tuple[Window, ...] = ()


def take_session(state: ViewState, before: Session | None = None) -> Session:
    """Return what is to be kept of the state; `before` is the session that it began with."""
    rows, candidates = state.rows, state.candidates
    name = candidates[state.marker].name if state.marker < len(candidates) else ""
    row_choice = RowChoice(
        frozenset(rows.unfolded), frozenset(rows.hidden), tuple(rows.pinned), rows.filter_text, rows.preset
    )
    iterations = IterationChoice(state.marker, name, state.iteration, state.steady_choice)
    if before is not None:
        row_choice = replace(row_choice, extra=before.rows.extra)
        iterations = replace(iterations, extra=before.iterations.extra)
    return Session(
        state.axis.window,
        row_choice,
        state.overlays,
        iterations,
        tuple(replace(note, start_ns=start, end_ns=end) for note, (start, end) in _spans(state)),
        state.measurements.items,
        dict(state.bookmarks.items),
        before.extra if before is not None else {},
        state.selections.items,
    )


def apply_session(state: ViewState, session: Session) -> None:
    """Look at the trace that is open as a session says; it is no edit that could be undone."""
    if state.study is None:
        return
    rows = session.rows
    if rows.preset in PRESETS:
        # The rows that it stands for may be others by now: it may have been chosen before all were read.
        expanded, hidden = PRESETS[rows.preset](state.rows.roots)
        state.rows.restore(expanded, hidden, rows.pinned, rows.filter_text, rows.preset)
    else:
        state.rows.restore(rows.expanded, rows.hidden, rows.pinned, rows.filter_text)
    _apply_iterations(state, session.iterations)
    state.set_overlays(session.overlays)
    state.measurements.load(session.measurements)
    state.notes.load(tuple(_found_again(state, note) for note in session.notes))
    state.bookmarks.load(session.bookmarks)
    state.selections.load(session.selections)
    state.axis.reset(state.axis.limits, session.window)


def carried_over(kept: Session, begun: Session, left: Session) -> Session:
    """Return a session with the changes that the user made between two sessions of another view of its trace.

    What is not in `left` as it was in `begun` is as it was left; all else is as it was kept.
    """

    def choice(kept: frozenset[str], begun: frozenset[str], left: frozenset[str]) -> frozenset[str]:
        return (kept - (begun - left)) | (left - begun)

    rows, first, last = kept.rows, begun.rows, left.rows
    return replace(
        kept,
        window=left.window if left.window != begun.window else kept.window,
        rows=replace(
            rows,
            expanded=choice(rows.expanded, first.expanded, last.expanded),
            hidden=choice(rows.hidden, first.hidden, last.hidden),
            pinned=(*rows.pinned, *(key for key in last.pinned if key not in (*rows.pinned, *first.pinned))),
            filter_text=last.filter_text or rows.filter_text,
            preset=last.preset if last.preset != first.preset else rows.preset,
        ),
        overlays=choice(kept.overlays, begun.overlays, left.overlays),
        notes=(*kept.notes, *left.notes),
        measurements=(*kept.measurements, *left.measurements),
        selections=left.selections if left.selections != begun.selections else kept.selections,
        bookmarks={
            **kept.bookmarks,
            **{
                number: replace(one, hidden=choice(rows.hidden, first.hidden, one.hidden))
                for number, one in left.bookmarks.items()
            },
        },
    )


def _spans(state: ViewState) -> list[tuple[Note, Window]]:
    return [(note, note.span(state.study)) for note in state.notes.items]


def marker_of(study: Study, choice: IterationChoice) -> int | None:
    """Return which of the study's candidates a session has chosen, None where it is not among them."""
    same = [n for n, c in enumerate(study.candidates) if c.name == choice.marker_name]
    if choice.marker in same:
        return choice.marker
    return same[0] if same else None


def _apply_iterations(state: ViewState, choice: IterationChoice) -> None:
    # Of a partial study there are no iterations yet, and they would be counted here, while the window waits.
    if state.study is None or not state.study.loading.is_complete:
        return
    marker = marker_of(state.study, choice)
    if marker is None:
        return
    state.set_marker(marker)
    count = state.iterations.count if state.iterations is not None else 0
    if choice.iteration is not None and 0 <= choice.iteration < count:
        state.set_iteration(choice.iteration)
    if choice.steady is not None:
        steady = frozenset(iteration for iteration in choice.steady if 0 <= iteration < count)
        state.set_steady_choice(steady or None)


def _found_again(state: ViewState, note: Note) -> Note:
    """Return the note bound to its event in this trace; unbound where the event is not there."""
    study, event = state.study, note.event
    if study is None or event is None:
        return note
    found = find_event(state, event, (note.start_ns, note.end_ns))
    if found is None and _is_as_long(study, event, note.end_ns - note.start_ns):
        found = event
    return replace(note, event=found)


def find_event(state: ViewState, event: EventRef, span: Window) -> EventRef | None:
    """Return an event that had these times in another reading of the trace, None where it is not there.

    Its table may have been sorted otherwise: by other ranks, when not all was read.
    """
    study = state.study
    if study is None:
        return None
    table = study.trace.events[event.kind]
    if event.index < len(table) and span == (table.start_ns[event.index], table.end_ns[event.index]):
        return event
    row = state.rows.row(event.row_key)
    events = row.events if row is not None else None
    if events is None:
        return None
    first, last = (int(np.searchsorted(events.start_ns, span[0], side)) for side in ("left", "right"))
    ends = (at for at in range(first, last) if events.end_ns[at] == span[1])
    return next((events.ref(at, event.row_key) for at in ends), None)


def _is_as_long(study: Study, event: EventRef, length_ns: int) -> bool:
    """Whether a table has, at that index, an event of that length: it may have been aligned since."""
    events = study.trace.events[event.kind]
    if not 0 <= event.index < len(events):
        return False
    return int(events.end_ns[event.index] - events.start_ns[event.index]) == length_ns
