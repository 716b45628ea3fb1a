"""Snapping: the edges that a selection snaps to, those that one can see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from viewer.analysis.study import Study
from viewer.drawing.bands import EventBand, StateBand
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.scene import Scene
from viewer.trace.events import Int64

SEEN_PX = 2
"""An edge is seen where its event, or the gap beside it, is at least so many pixels long."""
_MOST = 4096
"""In a longer run of events within reach none is seen."""

Edges = tuple[Int64, Int64]
"""Starts and ends of disjoint intervals, sorted, ns."""


def edges_of(scene: Scene, placed: Iterable[PlacedRow]) -> list[Edges]:
    """Return the intervals that rows draw: the events of their lanes, and the states of their GPUs."""
    rows = list(placed)
    found: list[Edges] = []
    for _, band in bands_in(rows, EventBand):
        lane = scene.lanes(band.row)[band.lane]
        found.append((lane.start_ns, lane.end_ns))
    for _, state in bands_in(rows, StateBand):
        found += states_of(scene.study, state.gpu)
    return found


def states_of(study: Study, gpu: int) -> list[Edges]:
    """Return the intervals of a GPU's categories; those of idle are the gaps between them."""
    return [(part.start_ns, part.end_ns) for part in study.parts[gpu].busy]


def seen_edges(sets: Iterable[Edges], low_ns: int, high_ns: int, least_ns: float) -> Int64:
    """Return the starts and ends in [low, high] that are seen, unsorted.

    Parameters
    ----------
    least_ns : float
        How long an event, or the gap beside it, must be for their common edge to be seen.
    """
    found = [np.empty(0, np.int64)]
    for start, end in sets:
        # Intervals are disjoint, so that ends are sorted as the starts are.
        first = int(np.searchsorted(end, low_ns))
        last = int(np.searchsorted(start, high_ns, side="right"))
        # So many within reach are narrower than a pixel: none of their edges is seen.
        if not 0 < last - first <= _MOST:
            continue
        # With a neighbour at each side, whose gaps to the events within reach count too.
        run = slice(max(first - 1, 0), last + 1)
        begins, ends = np.asarray(start[run]), np.asarray(end[run])
        gaps = begins[1:] - ends[:-1]
        is_long = ends - begins >= least_ns
        before = np.concatenate(([True], gaps >= least_ns))
        after = np.concatenate((gaps >= least_ns, [True]))
        found += (begins[is_long | before], ends[is_long | after])
    edges = np.concatenate(found)
    return np.asarray(edges[(edges >= low_ns) & (edges <= high_ns)])


def nearest(edges: Int64, time_ns: int, tolerance_ns: float) -> int | None:
    """Return the edge nearest to an instant, None beyond the tolerance."""
    if not len(edges):
        return None
    edge = int(edges[np.argmin(np.abs(edges - time_ns))])
    return edge if abs(edge - time_ns) <= tolerance_ns else None


def next_edge(
    sets: Sequence[Edges], points: Int64, time_ns: int, direction: int, pixel_ns: float, reach_ns: int
) -> int | None:
    """Return the next (1) or previous (-1) edge that is seen, at least a pixel away; None within reach.

    Parameters
    ----------
    points : ndarray of int64
        Further instants that are snapped to.
    reach_ns : int
        How far to look.
    """
    near, far = max(1, round(pixel_ns)), max(2, round(64 * pixel_ns))
    while near <= reach_ns:
        far = min(far, reach_ns)
        low, high = sorted((time_ns + direction * near, time_ns + direction * far))
        edges = np.concatenate((seen_edges(sets, low, high, SEEN_PX * pixel_ns), points))
        edges = edges[(edges >= low) & (edges <= high)]
        if len(edges):
            return int(edges.min() if direction > 0 else edges.max())
        # Farther by a factor each time: the next edge is mostly near, and a far one costs few more looks.
        near, far = far + 1, 4 * far
    return None
