"""Hits: what lies under the pointer, and which edges of events are near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.drawing.bands import Band
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
class CounterFacts:
    """What a counter row shows in one pixel column.

    Attributes
    ----------
    value : float or None
        What holds at the instant under the pointer; None where no value is known.
    count : int
        How many samples the column holds.
    low, high : float or None
        The least and the greatest of these; None where no value is known.
    """

    value: float | None
    count: int
    low: float | None
    high: float | None


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
        Over a state lane: the GPU, and the category that takes most of the pixel (a position in
        `CATEGORIES`); over a counter row of a GPU this GPU.
    counter : CounterFacts or None
        Over a counter row.
    band : Band or None
        The band under the pointer.
    """

    placed: PlacedRow
    row: Row
    time_ns: int
    event: EventRef | None = None
    position: int | None = None
    column: ColumnFacts | None = None
    gpu: int | None = None
    part: int | None = None
    counter: CounterFacts | None = None
    band: Band | None = None


def find(lane: Lane, time_ns: int, low_ns: int, high_ns: int) -> int | tuple[int, int] | None:
    """Return the event of a lane at an instant, else those that touch [low, high) as a range, else None."""
    last_begun = int(np.searchsorted(lane.start_ns, time_ns, side="right")) - 1
    is_running = last_begun >= 0 and lane.end_ns[last_begun] > time_ns
    # An event shorter than the pixel is one of the several that the pixel shows.
    if is_running and lane.end_ns[last_begun] - lane.start_ns[last_begun] >= high_ns - low_ns:
        return last_begun
    # Starts alone: lanes are disjoint, so that of those that began before only the last can reach in.
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
    ids, counts = np.unique(names, return_counts=True)
    commonest = int(np.argmax(counts))
    mean = int((end - start).sum()) / (last - first)
    busy = clipped / max(high - low, 1)
    return ColumnFacts(low, high, last - first, mean, busy, int(ids[commonest]), int(counts[commonest]))


def nearest_edge(lanes: Sequence[Lane], t_ns: int, tolerance_ns: float) -> int | None:
    """Return the begin or end of an event that is nearest to an instant, None beyond the tolerance."""
    near: list[int] = []
    for lane in lanes:
        # The neighbours on both sides; the one before the last may end nearer than an empty event after it.
        following = int(np.searchsorted(lane.start_ns, t_ns))
        for event in (following - 1, following):
            if 0 <= event < len(lane):
                near += (int(lane.start_ns[event]), int(lane.end_ns[event]))
        if following >= 2:
            near.append(int(lane.end_ns[following - 2]))
    best = min(near, key=lambda edge: abs(edge - t_ns), default=None)
    return best if best is not None and abs(best - t_ns) <= tolerance_ns else None
