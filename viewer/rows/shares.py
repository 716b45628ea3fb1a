"""The percentages of rows (definitions, section 2): nsys-ui's share of durations, and occupancy."""

from __future__ import annotations

from viewer.rows.model import Row, RowEvents, RowKind

_SIBLINGS = (
    (RowKind.KERNELS, RowKind.MEMORY),
    (RowKind.STREAM,),
    (RowKind.FAMILY,),
    (RowKind.KERNEL_NAME,),
    (RowKind.MEMORY_KIND,),
)


def busy_ns(events: RowEvents, start_ns: int, end_ns: int) -> int:
    """Return the sum of the events' durations, each clipped to [start_ns, end_ns); overlaps count twice."""
    last = int(events.start_ns.searchsorted(end_ns))
    start, end = events.start_ns[:last], events.end_ns[:last]
    return int((end.clip(start_ns, end_ns) - start.clip(start_ns, end_ns)).sum())


def share(row: Row, start_ns: int, end_ns: int) -> float | None:
    """Return a row's sum of durations over the sum of its siblings, inside a window.

    Over a whole trace it is the figure that nsys-ui prints, and ``row.share``. It is no share of time: use
    `occupancy` for that. None for rows that have no siblings of their kind, or where none of them is busy.
    """
    kinds = next((kinds for kinds in _SIBLINGS if row.kind in kinds), None)
    if kinds is None or row.parent is None or row.events is None:
        return None
    sums = {
        sibling.key: busy_ns(sibling.events, start_ns, end_ns)
        for sibling in row.parent.children
        if sibling.kind in kinds and sibling.events is not None
    }
    total = sum(sums.values())
    return sums[row.key] / total if total else None


def occupancy(row: Row, start_ns: int, end_ns: int) -> float | None:
    """Return the share of a window in which at least one of the row's events runs; None without events."""
    if row.events is None or end_ns <= start_ns:
        return None
    return row.occupied.clip(start_ns, end_ns).total() / (end_ns - start_ns)
