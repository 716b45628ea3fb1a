"""The outline of a process: the one lane of NVTX ranges that says most, for the eight-lane view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.texts import is_library_domain
from viewer.rows.model import RowEvents
from viewer.rows.tables import of_slice
from viewer.trace import Kind, Trace
from viewer.trace.names import normalise_numbers

OPEN_SHARE = 0.8
FILLED_SHARE = 0.5
MAX_CHILDREN = 16
_MAX_NAMES = 4096


@dataclass(frozen=True, slots=True)
class _Top:
    """The outermost ranges of a track, as positions in its events."""

    events: RowEvents
    at: npt.NDArray[np.int64]
    busy_ns: int


def outline(trace: Trace, process: int) -> RowEvents:
    """Return the outermost ranges of the thread and domain of a process that cover most time.

    Where nearly all of that is one repeated range (the iterations, which stand on the ruler), its children
    are shown in its place if they are few and fill it: forward, backward, optimizer.
    """
    threads = {t.index for t in trace.threads_of(process)}
    best: _Top | None = None
    for track in trace.tracks:
        if track.thread not in threads or track.overlapping or is_library_domain(track.domain):
            continue
        top = _top(of_slice(trace, Kind.NVTX, trace.nvtx.of(track.index)))
        if best is None or top.busy_ns > best.busy_ns:
            best = top
    if best is None:
        return of_slice(trace, Kind.NVTX, slice(0, 0))
    return _taken(best.events, _opened(trace, best))


def _top(events: RowEvents) -> _Top:
    at = _at_depth(events, 0)
    return _Top(events, at, int((events.end_ns[at] - events.start_ns[at]).sum()))


def _at_depth(events: RowEvents, depth: int) -> npt.NDArray[np.int64]:
    if events.depth is None:
        return np.arange(len(events) if depth == 0 else 0)
    return np.flatnonzero(events.depth == depth)


def _opened(trace: Trace, top: _Top) -> npt.NDArray[np.int64]:
    """Return the outermost ranges, the repeated one replaced by its children."""
    events, at = top.events, top.at
    ids, code = np.unique(events.name_id[at], return_inverse=True)
    if not 0 < len(ids) <= _MAX_NAMES or not top.busy_ns:
        return at
    texts, text_of = np.unique([normalise_numbers(t) for t in trace.names.take(ids)], return_inverse=True)
    length = events.end_ns[at] - events.start_ns[at]
    sums = np.zeros(len(texts), np.int64)
    np.add.at(sums, text_of[code], length)
    repeated = at[text_of[code] == int(sums.argmax())]
    if len(repeated) < 2 or int(sums.max()) < OPEN_SHARE * top.busy_ns:
        return at
    inner = _at_depth(events, 1)
    around = np.searchsorted(events.start_ns[repeated], events.start_ns[inner], side="right") - 1
    held = (around >= 0) & (events.end_ns[inner] <= events.end_ns[repeated[np.maximum(around, 0)]])
    children = inner[held]
    filled = int((events.end_ns[children] - events.start_ns[children]).sum())
    if filled < FILLED_SHARE * int(sums.max()) or len(children) > MAX_CHILDREN * len(repeated):
        return at
    with_children = np.zeros(len(events), bool)
    with_children[repeated[np.unique(around[held])]] = True
    return np.sort(np.concatenate((at[~with_children[at]], children)))


def _taken(events: RowEvents, at: npt.NDArray[np.int64]) -> RowEvents:
    held = events.index
    index = np.arange(held.start, held.stop, dtype=np.int32)[at] if isinstance(held, slice) else held[at]
    argb = events.argb[at] if events.argb is not None else None
    return RowEvents(events.start_ns[at], events.end_ns[at], events.name_id[at], Kind.NVTX, index, None, argb)
