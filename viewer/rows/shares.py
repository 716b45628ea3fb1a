"""The percentages of rows (docs/definitions.md, section 2): nsys-ui's share of durations, and coverage."""

from __future__ import annotations

import numpy as np

from viewer.analysis.core.intervals import Intervals
from viewer.rows.row import Row, RowEvents


def busy_ns(events: RowEvents, within: Intervals) -> int:
    """Return the sum of the events' durations inside a set of time; overlaps count twice."""
    if not len(within):
        return 0
    # What starts behind the time cannot count; what started before it may still run, so that the cut is on
    # one side only.
    last = int(events.start_ns.searchsorted(within.end_ns[-1]))
    begun = slice(0, last)
    # One range is the common filter: clipping to it needs no search.
    if len(within) == 1:
        low = np.maximum(events.start_ns[begun], within.start_ns[0])
        high = np.minimum(events.end_ns[begun], within.end_ns[0])
        return int(np.maximum(high - low, 0).sum())
    return int(within.covered(events.start_ns[begun], events.end_ns[begun]).sum())


def share(row: Row, within: Intervals) -> float | None:
    """Return a row's sum of durations over the sum of its siblings, inside a set of time.

    Over a whole trace it is the figure that nsys-ui prints, and ``row.share``. It is no share of time: use
    `coverage` for that. None for rows that have no siblings of their kind, or where none of them is busy.
    """
    return shares_below(row.parent, within).get(row.key) if row.parent is not None else None


def shares_below(parent: Row, within: Intervals) -> dict[str, float]:
    """Return the `share` of each row below a row that has one, by its key."""
    busy: dict[str, dict[str, int]] = {}
    for row in parent.children:
        if (siblings := row.kind.traits.siblings) and row.events is not None:
            busy.setdefault(siblings, {})[row.key] = busy_ns(row.events, within)
    return {
        key: row_ns / total
        for rows_ns in busy.values()
        if (total := sum(rows_ns.values()))
        for key, row_ns in rows_ns.items()
    }


def coverage(row: Row, within: Intervals) -> float | None:
    """Return the share of a set of time in which any of the row's events runs; None without events."""
    if row.events is None or not len(within):
        return None
    return (row.occupied & within).total() / within.total()
