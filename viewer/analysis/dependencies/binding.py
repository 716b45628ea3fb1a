"""The edge that binds the start of each operation: of all that lead to it, the latest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewer.analysis.dependencies.graph import NO_EDGE, Codes, EdgeKind, Edges, Grade, Mask, Operations, Rows
from viewer.trace import Events
from viewer.trace.events import Int64

CLOSE_NS = 1_000
"""How much later than a start an edge may allow it: the GPU's own time stamps are no better."""


class Bound(NamedTuple):
    """What binds each operation, see `DependencyGraph`; shape (operations,) each."""

    binding: Codes
    binder: Rows
    grade: Codes
    lag_ns: Int64


def bind(operations: Operations, api: Events, edges: Edges, is_node: Mask) -> Bound:
    """Return what binds every operation.

    Parameters
    ----------
    edges : Edges
        Those from operation to operation, besides the streams' own.
    is_node : ndarray of bool, shape (operations,)
        Which operations are nodes of graphs: their order within one launch is not recorded.
    """
    found = _Latest(operations)
    launched = np.flatnonzero(operations.call >= 0)
    call = operations.call[launched]
    # What begins inside its call is bound by it: the call cannot have allowed it any later.
    returned = np.minimum(api.end_ns[call], operations.start_ns[launched])
    found.offer(launched, call, returned, EdgeKind.LAUNCH, np.full(len(call), Grade.PROVEN, np.uint8))
    follows = np.flatnonzero(operations.previous >= 0)
    before = operations.previous[follows]
    same_graph = is_node[follows] & (operations.call[follows] == operations.call[before])
    grade = np.where(same_graph, Grade.TIMING, Grade.PROVEN).astype(np.uint8)
    found.offer(follows, before, operations.end_ns[before], EdgeKind.STREAM, grade)
    for kind in np.unique(edges.kind).tolist():
        rows = edges.kind == kind
        target, source = edges.target[rows], edges.source[rows]
        times = operations.start_ns if kind == EdgeKind.QUEUE else operations.end_ns
        allowed = times[source]
        # Each target once, with the latest source that it can have waited for.
        can = np.flatnonzero(allowed <= operations.start_ns[target] + CLOSE_NS)
        order = can[np.lexsort((allowed[can], target[can]))]
        order = order[np.append(target[order][1:] != target[order][:-1], True)] if len(order) else order
        found.offer(target[order], source[order], allowed[order], EdgeKind(kind), edges.grade[rows][order])
    return Bound(found.binding, found.binder, found.grade, found.lag_ns())


class _Latest:
    """The latest edge of each operation among those that were offered."""

    def __init__(self, operations: Operations) -> None:
        count = len(operations)
        self._start = operations.start_ns
        self._allowed = np.full(count, np.iinfo(np.int64).min, np.int64)
        self.binding = np.full(count, NO_EDGE, np.uint8)
        self.binder = np.full(count, -1, np.int32)
        self.grade = np.zeros(count, np.uint8)

    def offer(self, target: Int64 | Rows, source: Rows, allowed: Int64, kind: EdgeKind, grade: Codes) -> None:
        """Take edges, one a target at most, where they allow it later than those before."""
        start = self._start[target]
        # An operation that began before did not wait for this: rows of one stream may overlap, as the nodes
        # of a graph do.
        is_later: Mask = (allowed > self._allowed[target]) & (allowed <= start + CLOSE_NS)
        target = target[is_later]
        self._allowed[target] = np.minimum(allowed, start)[is_later]
        self.binding[target] = kind
        self.binder[target] = source[is_later]
        self.grade[target] = grade[is_later]

    def lag_ns(self) -> Int64:
        """Return how long after the latest edge each operation started, -1 without an edge."""
        return np.where(self.binding == NO_EDGE, -1, self._start - self._allowed)
