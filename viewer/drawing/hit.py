"""What lies under the pointer, and which edges of events are near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.drawing.lanes import Lane
from viewer.drawing.layout import PlacedRow
from viewer.rows.row import EventRef, Row

MAX_SLOP_PX = 2


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Several events that one pixel column shows.

    Attributes
    ----------
    start_ns, end_ns : int
        What the column spans.
    count : int
    mean_ns : float
        Mean duration.
    busy : float
        The share of the column that is covered.
    commonest : int
        Name id, and `commonest_count` how many have it.
    """

    start_ns: int
    end_ns: int
    count: int
    mean_ns: float
    busy: float
    commonest: int
    commonest_count: int


@dataclass(frozen=True, slots=True)
class HitResult:
    """What lies under the pointer.

    Attributes
    ----------
    placed : PlacedRow
    row : Row
        Whose event it is: the placed row, or the one that it previews.
    time_ns : int
    event : EventRef or None
        The one event, where it is one.
    position : int or None
        Its position in ``row.events``.
    column : ColumnFacts or None
        Where it is several.
    gpu, part : int or None
        Over a state lane: the GPU, and the part that takes most of the pixel (a position in `CATEGORIES`).
    """

    placed: PlacedRow
    row: Row
    time_ns: int
    event: EventRef | None = None
    position: int | None = None
    column: ColumnFacts | None = None
    gpu: int | None = None
    part: int | None = None


def find(lane: Lane, time_ns: int, low_ns: int, high_ns: int) -> int | tuple[int, int] | None:
    """Return the event of a lane at an instant, else those that touch [low, high) as a range, else None."""
    at = int(np.searchsorted(lane.start_ns, time_ns, side="right")) - 1
    if at >= 0 and lane.end_ns[at] > time_ns and lane.end_ns[at] - lane.start_ns[at] >= high_ns - low_ns:
        return at
    first, last = (int(i) for i in np.searchsorted(lane.start_ns, (low_ns, high_ns)))
    if first > 0 and lane.end_ns[first - 1] > low_ns:
        first -= 1
    if last - first == 1:
        return first
    return (first, last) if last > first else None


def column_facts(lane: Lane, names: np.ndarray, first: int, last: int, low: int, high: int) -> ColumnFacts:
    """Return the facts of events first:last of a lane over the column [low, high); `names` are their ids."""
    start, end = lane.start_ns[first:last], lane.end_ns[first:last]
    clipped = int((np.minimum(end, high) - np.maximum(start, low)).clip(0).sum())
    found, counts = np.unique(names, return_counts=True)
    top = int(np.argmax(counts))
    mean = int((end - start).sum()) / (last - first)
    busy = clipped / max(high - low, 1)
    return ColumnFacts(low, high, last - first, mean, busy, int(found[top]), int(counts[top]))


def nearest_edge(lanes: Sequence[Lane], t_ns: int, tolerance_ns: float) -> int | None:
    """Return the begin or end of an event that is nearest to an instant, None beyond the tolerance."""
    near: list[int] = []
    for lane in lanes:
        at = int(np.searchsorted(lane.start_ns, t_ns))
        for i in (at - 1, at):
            if 0 <= i < len(lane):
                near += (int(lane.start_ns[i]), int(lane.end_ns[i]))
        if at >= 2:
            near.append(int(lane.end_ns[at - 2]))
    best = min(near, key=lambda edge: abs(edge - t_ns), default=None)
    return best if best is not None and abs(best - t_ns) <= tolerance_ns else None
