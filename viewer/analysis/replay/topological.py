"""The order in which the nodes of a network can be computed, one after another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

Mask = npt.NDArray[np.bool_]
_FINE = 1 << 12
_PASSES = 64


def ordered(times: Int64, before: Int64, after: Int64, fixed: Mask) -> tuple[npt.NDArray[np.int32], Mask]:
    """Return an order in which every node comes after those that it depends on.

    Recorded times give nearly all of it. Where clocks are apart, or where an operation begins before its
    predecessor has ended, a node is moved behind what it depends on.

    Parameters
    ----------
    times : ndarray of int64, shape (nodes,)
        The recorded time of each node, ns.
    before, after : ndarray of int64, shape (edges,)
        Nodes: `after` depends on `before`.
    fixed : ndarray of bool, shape (edges,)
        Edges that may not be left out while others can be.

    Returns
    -------
    order : ndarray of int32, shape (nodes,)
    dropped : ndarray of bool, shape (edges,)
        Edges that are not in this order because with others they make a circle.
    """
    # Finer than nanoseconds, so that there is room for nodes of one instant.
    key = (times - times.min(initial=0)) * _FINE
    dropped = np.zeros(len(before), bool)
    # A pass moves nodes that are too early behind what they depend on; what follows them moves in the next.
    for _ in range(_PASSES):
        late = np.flatnonzero((key[before] >= key[after]) & ~dropped)
        if not len(late):
            break
        np.maximum.at(key, after[late], key[before[late]] + 1)
    else:
        wrong = (key[before] >= key[after]) & ~dropped
        dropped |= wrong & ~fixed
        # Edges that may not be left out have only others among them by now, unless they make a circle alone.
        for _ in range(_PASSES):
            late = np.flatnonzero((key[before] >= key[after]) & ~dropped)
            if not len(late):
                break
            np.maximum.at(key, after[late], key[before[late]] + 1)
        dropped |= key[before] >= key[after]
    return np.argsort(key, kind="stable").astype(np.int32), dropped
