"""Rows that cannot be: they are left out or cut, and a note names them (docs/definitions.md, section 10)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Events, Int64
from viewer.trace.model import IMPOSSIBLE

Mask = npt.NDArray[np.bool_]

_NAMED = 3
_TOO_LONG_NS, _FAR_TOO_LONG_NS = 100_000, 5_000_000
"""An operation is cut only where it reaches so far beyond the start of the next one of its stream.

The first where it outlasts two later ones at least, the second where it outlasts one: a kernel that is
launched before the one in front has ended may be over first.
"""


def impossible_note(table: str, rows: npt.NDArray[np.generic], what: str, done: str) -> str:
    """Return "TABLE: impossible: rows 5, 9, 12 and 4 more end before they start; …"."""
    numbers = [f"{int(row):,}" for row in rows[:_NAMED].tolist()]
    more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    named = f"row{'s' if len(rows) > 1 else ''} {', '.join(numbers)}{more}"
    return f"{table}: {IMPOSSIBLE}: {named}: {what}; {done}"


def overlong(events: Events) -> tuple[Events, Int64]:
    """Cut the operations that outlast later ones of their own stream, which runs one after another.

    Kernels of a CUDA graph are exempt, as a stream shows those of its branches side by side, and so are page
    migrations, which no stream orders.

    Parameters
    ----------
    events : Events
        Operations of GPUs, sorted.

    Returns
    -------
    Events
        With the end of such an operation at the start of the next one of its stream.
    ndarray of int64
        The rows of the file that were cut.
    """
    none = np.empty(0, np.int64)
    start, end = events.start_ns, events.end_ns
    if len(events) < 2:
        return events, none
    # Few operations end after the next one does: all else is done for these alone.
    suspects = np.flatnonzero((end[:-1] >= end[1:]) & (end[:-1] > start[1:] + _TOO_LONG_NS))
    if not len(suspects):
        return events, none
    # The next row may belong to the next stream, which says nothing of this one.
    owner = np.searchsorted(events.offsets, suspects, side="right") - 1
    last_of_owner = events.offsets[owner + 1]
    after = suspects + 1
    is_wrong = (after < last_of_owner) & (start[suspects] < start[after])
    is_wrong &= ~_in_graph(events, suspects) & ~_in_graph(events, after)
    second = np.minimum(after + 1, len(start) - 1)
    outlasts_two = (after + 1 < last_of_owner) & (end[suspects] >= end[second])
    is_wrong &= outlasts_two | (end[suspects] > start[after] + _FAR_TOO_LONG_NS)
    is_wrong &= ~events.migrations()[suspects]
    rows = suspects[is_wrong]
    if not len(rows):
        return events, none
    # The array may be mapped from a file, and other traces may share it.
    cut = end.copy()
    cut[rows] = start[rows + 1]
    return replace(events, end_ns=cut), np.asarray(events.columns["file_row"][rows], np.int64)


def outermost(start: Int64, end: Int64, is_open: Mask) -> Mask:
    """Return which of some ranges lie in no range that has an end; all are sorted by (start, -end)."""
    lowest = np.iinfo(np.int64).min
    # Open ranges enclose nothing: that they reach to the end of the session is our own doing.
    latest = np.maximum.accumulate(np.where(is_open, lowest, end)) if len(end) else end
    return np.asarray(start >= np.concatenate(([lowest], latest[:-1]))[: len(start)], bool)


def end_of_open(start: Int64, end: Int64, is_open: Mask, kind: npt.NDArray[np.signedinteger]) -> Int64:
    """Return the latest end that the ranges of one thread can have, as they nest.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Sorted by (start, -end), with the end of the session as that of the open ones.
    is_open : ndarray of bool, shape (n,)
        Which have no end in the file.
    kind : ndarray of int, shape (n,)
        Equal for ranges of one name, numbers apart; -1 for those that do not matter.

    Returns
    -------
    ndarray of int64, shape (n,)
        Of an open range the end of the closed range around it, or the start of the next range of its kind,
        whichever is first; of the others `end`.
    """
    latest = end.copy()
    # By kind, then by time: the successor of a range is the next one of its kind.
    order = np.argsort(kind, kind="stable")
    same = (kind[order][1:] == kind[order][:-1]) & (kind[order][1:] >= 0)
    before, after = order[:-1][same], order[1:][same]
    latest[before] = np.where(is_open[before], np.minimum(latest[before], start[after]), latest[before])
    # Row by row, as there are few: a recording is stopped inside a handful of ranges.
    for row in np.flatnonzero(is_open & ~outermost(start, end, is_open)).tolist():
        around = (end[:row] > start[row]) & ~is_open[:row]
        latest[row] = min(int(latest[row]), int(end[:row][around].min()))
    return np.maximum(latest, start)


def _in_graph(events: Events, rows: npt.NDArray[np.intp]) -> Mask:
    """Return which operations are nodes of a CUDA graph; those of one launch share its correlation id."""
    node = events.columns.get("graph_node")
    of_graph = np.zeros(len(rows), bool) if node is None else np.asarray(node[rows] != 0)
    ids = np.asarray(events.columns["correlation"])
    before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(ids) - 1)
    shared = (ids[rows] != 0) & (
        ((ids[before] == ids[rows]) & (before != rows)) | ((ids[after] == ids[rows]) & (after != rows))
    )
    return np.asarray(of_graph | shared, bool)
