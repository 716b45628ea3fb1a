"""Which lane of its row an event lies in: by nesting, and greedily where events overlap without nesting."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from viewer.analysis.projection import nesting_depth
from viewer.trace.events import Int64

LAST_LANE = 255
"""Lanes are numbered to here; all that lies deeper is counted as this one, which is never drawn."""


def lanes(start_ns: Int64, end_ns: Int64) -> npt.NDArray[np.uint8] | None:
    """Return the lane of each event, so that events of a lane do not overlap.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Sorted by (start, -end).

    Returns
    -------
    ndarray of uint8, shape (n,), or None
        The nesting depth; where events overlap without nesting, the first lane that is free, for all the
        events that hang together with them. None where no two overlap.
    """
    if not (start_ns[1:] < end_ns[:-1]).any():
        return None
    lane = nesting_depth(start_ns, end_ns)
    order = np.argsort(lane, kind="stable")
    same = (lane[order[1:]] == lane[order[:-1]]) & (lane[order[1:]] < LAST_LANE)
    clash = order[1:][same & (start_ns[order[1:]] < end_ns[order[:-1]])]
    if len(clash):
        reach = np.maximum.accumulate(end_ns)
        cluster = np.concatenate(([0], np.cumsum(start_ns[1:] >= reach[:-1])))
        wrong = np.zeros(int(cluster[-1]) + 1, bool)
        wrong[cluster[clash]] = True
        mixed = np.flatnonzero(wrong[cluster])
        lane[mixed] = _greedy(start_ns[mixed].tolist(), end_ns[mixed].tolist())
    return lane


def _greedy(starts: list[int], ends: list[int]) -> npt.NDArray[np.uint8]:
    """Give each event the first free lane; vectors do not help, each answer depends on the one before."""
    out: list[int] = []
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    opened = 0
    for start, end in zip(starts, ends, strict=True):
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, opened = opened, opened + 1
        heappush(busy, (end, lane))
        out.append(lane)
    return np.minimum(out, LAST_LANE).astype(np.uint8)
