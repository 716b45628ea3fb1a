"""The outline of a process: the one lane of NVTX ranges that tells most, for the view of one lane a GPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.nvtx_texts import is_library_domain
from viewer.rows.row import RowEvents
from viewer.rows.row_events import of_slice
from viewer.trace import Kind, Trace
from viewer.trace.names import normalise_numbers

OPEN_SHARE = 0.8
FILLED_SHARE = 0.5
MAX_CHILDREN = 16
MAX_IN_SINGLE = 2000
MAX_OPENED = 3
_MAX_NAMES = 4096

Positions = npt.NDArray[np.int64]


def outline(trace: Trace, process: int) -> RowEvents:
    """Return the outermost ranges of the thread and domain of a process that cover most time.

    Where nearly all of that is one repeated range (the iterations, which stand on the ruler), its children
    are shown in its place if they are few and fill it: forward, backward, optimizer. A single range around
    everything (an epoch) is opened likewise, and what is in it again.
    """
    tracks = [track for thread in trace.threads_of(process) for track in trace.tracks_of(thread.index)]
    best: tuple[int, RowEvents] | None = None
    for track in sorted(tracks, key=lambda t: t.index):
        # NCCL's own ranges and start/end ranges overlap, and say nothing of what the program does.
        if track.overlapping or is_library_domain(track.domain):
            continue
        events = of_slice(trace, Kind.NVTX, trace.nvtx.of(track.index))
        total = _total(events, _at_depth(events, 0))
        # Strictly more, by index of the track: the same trace has the same outline every time.
        if best is None or total > best[0]:
            best = total, events
    if best is None:
        return of_slice(trace, Kind.NVTX, slice(0, 0))
    events = best[1]
    positions = _at_depth(events, 0)
    for depth in range(1, MAX_OPENED + 1):
        positions, again = _opened(trace, events, positions, depth)
        if not again:
            break
    return _picked(events, positions)


def _at_depth(events: RowEvents, depth: int) -> Positions:
    if events.depth is None:
        return np.arange(len(events) if depth == 0 else 0)
    return np.flatnonzero(events.depth == depth)


def _total(events: RowEvents, positions: Positions) -> int:
    return int((events.end_ns[positions] - events.start_ns[positions]).sum())


def _opened(trace: Trace, events: RowEvents, outer: Positions, depth: int) -> tuple[Positions, bool]:
    """Replace the range that takes nearly all the time by its children, at `depth`.

    Also return whether it was opened and was a single one, so that what is in it may be opened too.
    """
    main = _main_range(trace, events, outer)
    inner = _at_depth(events, depth)
    if not len(main) or not len(inner):
        return outer, False
    # The last main range that begins before each inner one; it holds this one if it also ends after it.
    around = np.searchsorted(events.start_ns[main], events.start_ns[inner], side="right") - 1
    is_inside = (around >= 0) & (events.end_ns[inner] <= events.end_ns[main[np.maximum(around, 0)]])
    children = inner[is_inside]
    single = len(main) == 1
    # On average: an iteration with a checkpoint may have a few ranges more than the others.
    too_many = len(children) > (MAX_IN_SINGLE if single else MAX_CHILDREN * len(main))
    if too_many or _total(events, children) < FILLED_SHARE * _total(events, main):
        return outer, False
    # A range without children stays: taking it out would leave a gap that looks like idle time.
    opened = main[np.unique(around[is_inside])]
    return np.sort(np.concatenate((np.setdiff1d(outer, opened), children))), single


def _main_range(trace: Trace, events: RowEvents, positions: Positions) -> Positions:
    """Return the ranges of the text (its numbers apart) that takes nearly all the time, else none."""
    ids, code = np.unique(events.name_id[positions], return_inverse=True)
    if not 0 < len(ids) <= _MAX_NAMES:
        return positions[:0]
    texts, text_of = np.unique([normalise_numbers(t) for t in trace.names.take(ids)], return_inverse=True)
    # By text, numbers apart: "Iteration 7" and "Iteration 8" are one repeated range.
    sums = np.zeros(len(texts), np.int64)
    np.add.at(sums, text_of[code], events.end_ns[positions] - events.start_ns[positions])
    most = int(sums.argmax())
    is_main = sums[most] >= OPEN_SHARE * sums.sum() > 0
    return positions[text_of[code] == most] if is_main else positions[:0]


def _picked(events: RowEvents, positions: Positions) -> RowEvents:
    table = events.index
    index = np.arange(table.start, table.stop, dtype=np.int32) if isinstance(table, slice) else table
    return RowEvents(
        events.start_ns[positions],
        events.end_ns[positions],
        events.name_id[positions],
        Kind.NVTX,
        index[positions],
        None,
        events.argb[positions] if events.argb is not None else None,
    )
