"""Steps from one thing to the next: iterations, stalls of a GPU, events of a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.time.measure import clip_windows
from viewer.analysis.time.scope import iteration_scope
from viewer.analysis.time.stops import find_stops
from viewer.drawing.format import format_count, format_ns
from viewer.rows import EventRef, Row, RowKind
from viewer.state.time_axis import Window
from viewer.state.view_state import ViewState

if TYPE_CHECKING:
    from viewer.analysis.time.iteration_bounds import Iterations

STALL_MIN_NS = 10_000
ITERATION_MARGIN = 0.02
ONE_ITERATION = 1.5
"""A window of so many times its middle iteration shows several."""
SHORTER = 4
"""By how much shorter stalls are looked for where there is none of a length."""
LARGEST_SHARE, SMALLEST_SHARE = 0.8, 0.005
FOUND_SHARE = 0.2


def show_range(state: ViewState, start_ns: int, end_ns: int) -> None:
    """Bring a range into view, keeping the zoom where the range is well seen with it."""
    _let_through(state, start_ns, end_ns)
    low, high = state.axis.window
    length = high - low
    share = (end_ns - start_ns) / length
    if not SMALLEST_SHARE <= share <= LARGEST_SHARE:
        state.axis.center(start_ns, end_ns, FOUND_SHARE)
    elif start_ns < low or end_ns > high:
        middle = (start_ns + end_ns) // 2
        state.axis.go(middle - length // 2, middle - length // 2 + length)


def _let_through(state: ViewState, start_ns: int, end_ns: int) -> None:
    """Take a filter off that leaves nothing of what is to be shown."""
    if state.filter is not None:
        low, high = state.filter.hull
        if end_ns <= low or start_ns >= high:
            state.set_filter(None)


def zoom_to_selection(state: ViewState, deselect: bool = False) -> None:
    """Zoom to all that is selected."""
    if (hull := state.selections.hull) is not None:
        state.axis.go(*hull)
        if deselect:
            state.select(None)


def filter_to_selection(state: ViewState) -> None:
    """Look at what is selected only, and deselect it; without a selection at the whole trace again.

    A selection outside the recording, beside a longer trace that is compared, is left as it is.
    """
    if state.study is None:
        return
    selected = state.selections.items
    if not selected:
        state.set_filter(None)
    else:
        try:
            inside, _ = clip_windows(state.study.trace, selected)
        except ValueError:
            return
        state.set_filter(state.study.ranges_scope(inside, ranges_text(inside)))
        state.select(None)


def ranges_text(ranges: Sequence[Window], what: str = "selections") -> str:
    """Return "16.90 ms" of one range, and "3 selections, 151.0 ms" of several disjoint ones."""
    length = format_ns(sum(end - start for start, end in ranges))
    return length if len(ranges) == 1 else f"{format_count(len(ranges))} {what}, {length}"


def filter_to_iteration(state: ViewState) -> None:
    """Filter to the selected iteration, else to the one in the middle of the window."""
    iteration = iteration_to_fit(state)
    if state.iterations is not None and iteration is not None:
        state.set_filter(iteration_scope(state.iterations, (iteration,)))
        state.set_iteration(iteration)


def current_iteration(state: ViewState) -> int | None:
    """Return the selected iteration, else the one that fills most of the window, else None.

    None is returned for a window over several iterations.
    """
    iterations = state.iterations
    if iterations is None or state.iteration is not None:
        return state.iteration
    start, end = state.axis.window
    iteration = iterations.iteration_at((start + end) // 2)
    if iteration is None or end - start >= ONE_ITERATION * (
        iterations.end_ns(iteration) - iterations.start_ns(iteration)
    ):
        return None
    return iteration


def iteration_to_fit(state: ViewState) -> int | None:
    """Return the current iteration, else that in the middle of the window, else None."""
    if (iteration := current_iteration(state)) is not None or state.iterations is None:
        return iteration
    return state.iterations.iteration_at(sum(state.axis.window) // 2)


def _entered_iteration(state: ViewState, iterations: Iterations, direction: int) -> int:
    """Return the first iteration that begins in the window, or the last that ends in it."""
    start, end = state.axis.window
    if direction > 0:
        whole = (
            iteration for iteration in range(iterations.count) if iterations.start_ns(iteration) >= start
        )
        return next(whole, iterations.count - 1)
    return next(
        (iteration for iteration in reversed(range(iterations.count)) if iterations.end_ns(iteration) <= end),
        0,
    )


def step_iteration(state: ViewState, direction: int) -> None:
    """Select the next (1) or previous (-1) iteration and show it.

    A window inside an iteration moves to the same place of the other one, so that iterations can be compared
    by eye; any wider window is fitted. Without a selected iteration, this selects the first of those in view,
    or the last.
    """
    iterations = state.iterations
    if iterations is None or not iterations.count:
        return
    now = current_iteration(state)
    if now is None:
        go_to_iteration(state, _entered_iteration(state, iterations, direction))
        return
    iteration = min(max(now + direction, 0), iterations.count - 1)
    start, end = state.axis.window
    if state.filter is not None and len(state.filter.iterations) == 1:
        go_to_iteration(state, iteration)
        return
    inside = iterations.start_ns(now) <= start and end <= iterations.end_ns(now)
    if inside and end - start < iterations.end_ns(now) - iterations.start_ns(now):
        state.axis.pan(iterations.start_ns(iteration) - iterations.start_ns(now), "lap")
        state.set_iteration(iteration)
    else:
        go_to_iteration(state, iteration)


def go_to_iteration(state: ViewState, iteration: int) -> None:
    """Select an iteration and fill the window with it; a filter to one iteration follows it."""
    iterations = state.iterations
    if iterations is None or not 0 <= iteration < iterations.count:
        return
    if state.filter is not None and len(state.filter.iterations) == 1:
        state.set_filter(iteration_scope(iterations, (iteration,)))
        state.set_iteration(iteration)
        return
    _let_through(state, iterations.start_ns(iteration), iterations.end_ns(iteration))
    start, end = iterations.start_ns(iteration), iterations.end_ns(iteration)
    margin = round((end - start) * ITERATION_MARGIN)
    state.axis.go(start - margin, end + margin)
    state.set_iteration(iteration)


def fit_iteration(state: ViewState) -> None:
    """Fill the window with the selected iteration, or with the one in the middle of the window."""
    if (iteration := iteration_to_fit(state)) is not None:
        go_to_iteration(state, iteration)


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a step from stall to stall has led.

    Attributes
    ----------
    number, count : int
        The stop's number, from 1, of how many.
    gpus : int
        On how many GPUs it lies at once.
    length_ns, least_ns : int
        Of the longest of its stalls; shorter stalls than `least_ns` are passed over.
    row : Row or None
        The one whose GPU alone is walked along.
    """

    number: int
    count: int
    gpus: int
    length_ns: int
    least_ns: int
    row: Row | None


def step_stall(state: ViewState, part: str, direction: int) -> Stop | None:
    """Select the next (1) or previous (-1) stall of a part ("idle", "exposed_comm") and show it.

    It is looked for on the GPU of the row under the pointer, over a process and elsewhere on all, where what
    stalls on several at once is one stop and its longest stall is selected; from the selection, else from the
    edge of the window. Stalls that are too short to be seen at this zoom are passed over, so that a walk
    along the holes keeps the zoom; where all of the trace are, the next of the longer ones is zoomed to. The
    row that shows the GPU is scrolled to. None if there is no stop in this direction.
    """
    if state.study is None:
        return None
    row = state.hover.row if state.hover is not None else None
    if row is not None and (row.gpu is None or row.kind is RowKind.PROCESS):
        row = None
    gpus = range(len(state.study.parts)) if row is None or row.gpu is None else [row.gpu]
    parts = {gpu: state.study.parts[gpu] for gpu in gpus}
    window = state.axis.window
    start = state.selection[0] if state.selection else window[0] - 1 if direction > 0 else window[1]
    least = max(STALL_MIN_NS, math.ceil((window[1] - window[0]) * SMALLEST_SHARE))
    if state.walk is not None and state.walk[:2] == (state.selection, window):
        # The last step may have zoomed: the walk goes on among the same stalls until the user zooms.
        least = state.walk[2]
    within = state.filter.hull if state.filter is not None else None
    stops = find_stops(parts, (part,), least, within)
    while not len(stops) and (least := least // SHORTER):
        stops = find_stops(parts, (part,), least, within)
    number = stops.beside(start, direction)
    if number is None:
        return None
    stall = int(stops.start_ns[number]), int(stops.end_ns[number])
    state.select(stall)
    show_range(state, *stall)
    gpu_row = state.rows.gpu_row(int(stops.gpu[number]))
    if gpu_row is not None and (shown := state.rows.nearest_shown(gpu_row)) is not None:
        state.reveal(shown.key)
    state.walk = (stall, state.axis.window, least)
    length = stall[1] - stall[0]
    return Stop(number + 1, len(stops), int(stops.together[number]), length, least, row)


def event_window(state: ViewState, event: EventRef) -> Window:
    """Return start and end of an event."""
    assert state.study is not None
    events = state.study.trace.events[event.kind]
    return int(events.start_ns[event.index]), int(events.end_ns[event.index])


def select_event_time(state: ViewState) -> None:
    """Select the time of the selected event."""
    if state.study is not None and state.chosen is not None:
        state.select(event_window(state, state.chosen))


def select_iteration_time(state: ViewState) -> None:
    """Select the time of the selected iteration, else of the one in the middle of the window."""
    iteration, iterations = iteration_to_fit(state), state.iterations
    if iteration is not None and iterations is not None:
        state.set_iteration(iteration)
        state.select((iterations.start_ns(iteration), iterations.end_ns(iteration)))


def step_event(state: ViewState, row: Row | None, direction: int) -> bool:
    """Select the next (1) or previous (-1) event of the row that holds the selected event, else of `row`.

    Without a selected event in that row, the search begins at the pointer, else at the window's
    edge. Return whether there was one.
    """
    if state.study is None:
        return False
    row_of_chosen = state.rows.row(state.chosen.row_key) if state.chosen else None
    row = row_of_chosen or row
    events = row.events if row else None
    if row is None or events is None or not len(events):
        return False
    if row_of_chosen is not None and state.chosen is not None:
        position = _position(state, row, state.chosen) + direction
    else:
        edge = state.axis.window[0] if direction > 0 else state.axis.window[1]
        at = state.hover.time_ns if state.hover else edge
        position = int(np.searchsorted(events.start_ns, at)) - (direction < 0)
    if not 0 <= position < len(events):
        return False
    state.select_event(events.ref(position, row.key))
    show_range(state, int(events.start_ns[position]), int(events.end_ns[position]))
    state.reveal(row.key)
    return True


def _position(state: ViewState, row: Row, event: EventRef) -> int:
    events = row.events
    assert events is not None
    start = event_window(state, event)[0]
    first, last = np.searchsorted(events.start_ns, start), np.searchsorted(events.start_ns, start, "right")
    same = (p for p in range(int(first), int(last)) if events.ref(p, row.key) == event)
    return next(same, int(first))
