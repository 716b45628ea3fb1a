"""Lanes of the events of a row: by nesting, and greedily where events overlap without nesting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from viewer.analysis.launches.projection import nesting_depth
from viewer.trace.events import Int64

LAST_LANE = 255
"""The last number of a lane: all that lies deeper counts as this one, which is never drawn."""


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
    # The common case, kernels of one stream, is answered without an allocation.
    if not (start_ns[1:] < end_ns[:-1]).any():
        return None
    lane = nesting_depth(start_ns, end_ns)
    # Two neighbours of one lane that overlap show that depth alone does not separate their cluster: a
    # cluster is a run of events without an instant between them at which nothing runs.
    order = np.argsort(lane, kind="stable")
    same = (lane[order[1:]] == lane[order[:-1]]) & (lane[order[1:]] < LAST_LANE)
    clash = order[1:][same & (start_ns[order[1:]] < end_ns[order[:-1]])]
    if len(clash):
        reach = np.maximum.accumulate(end_ns)
        cluster = np.concatenate(([0], np.cumsum(start_ns[1:] >= reach[:-1])))
        # Only clusters in which depth fails are laid out greedily: everywhere else a range keeps the lane of
        # its depth, and parents stay above children.
        wrong = np.zeros(int(cluster[-1]) + 1, bool)
        wrong[cluster[clash]] = True
        mixed = np.flatnonzero(wrong[cluster])
        lane[mixed] = _greedy(start_ns[mixed], end_ns[mixed])
    return lane


def _greedy(start_ns: Int64, end_ns: Int64) -> npt.NDArray[np.uint8]:
    """Give each event the first free lane: a lane takes, whenever it is free, the next event without one."""
    lane = np.full(len(start_ns), LAST_LANE, np.uint8)
    left = np.arange(len(start_ns))
    for number in range(LAST_LANE):
        if not len(left):
            break
        # For each event the next that starts when it has ended: following these fills one lane in one pass.
        free = np.searchsorted(start_ns[left], end_ns[left], side="left")
        # An empty event would lead to itself and never end.
        after = np.maximum(free, np.arange(1, len(left) + 1)).tolist()
        event, taken = 0, []
        while event < len(after):
            taken.append(event)
            event = after[event]
        lane[left[taken]] = number
        left = np.delete(left, taken)
    return lane
