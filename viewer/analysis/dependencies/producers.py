"""What an operation had to wait for on the GPU (docs/definitions.md, section 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.dependencies.binding import CLOSE_NS
from viewer.analysis.dependencies.graph import Codes, DependencyGraph, EdgeKind, Grade, Rows
from viewer.analysis.launches.attribution import Indices
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class Producers:
    """The producers of some operations: pairs, those of the first operation first.

    Attributes
    ----------
    at : ndarray of int64, shape (pairs,)
        Which of the operations: a position in what `producers` was given, rising.
    source : ndarray of int32, shape (pairs,)
        The producer, a number of `Operations`.
    kind, grade : ndarray of uint8, shape (pairs,)
        The `EdgeKind` and the `Grade` of the edge.
    until_ns : ndarray of int64, shape (pairs,)
        Until when it held the operation up: its end, in a queue its start.
    """

    at: Indices
    source: Rows
    kind: Codes
    grade: Codes
    until_ns: Int64

    def latest(self, count: int) -> Indices:
        """Return the pair of each operation that held it up longest, shape (count,); -1 without any.

        Of those that did so equally long the one that is known best counts.
        """
        chosen = np.full(count, -1, np.int64)
        # The last to write stays: so by time, then by grade.
        order = np.lexsort((self.grade, self.until_ns, self.at))
        chosen[self.at[order]] = order
        return chosen

    def weakest(self, count: int) -> Codes:
        """Return the weakest `Grade` of each operation's pairs, shape (count,); proven without any."""
        grade = np.full(count, Grade.PROVEN, np.uint8)
        # Unbuffered: one operation has several pairs.
        np.minimum.at(grade, self.at, self.grade)
        return grade


def producers(graph: DependencyGraph, numbers: Rows) -> Producers:
    """Return what some operations waited for on the GPU: before them on their stream, and by edges.

    Parameters
    ----------
    numbers : ndarray of int32, shape (n,)
        Numbers of `Operations`; each may occur more than once.
    """
    edges = graph.op_edges
    low = np.searchsorted(edges.target, numbers, side="left")
    count = np.searchsorted(edges.target, numbers, side="right") - low
    # One entry an edge: the operation, and the edge as low + place within its run.
    at = np.repeat(np.arange(len(numbers)), count)
    edge = np.arange(len(at)) + np.repeat(low - (np.cumsum(count) - count), count)
    operations = graph.operations
    previous = operations.previous[numbers]
    on_stream = np.flatnonzero(previous >= 0)
    position = np.concatenate((on_stream, at))
    source = np.concatenate((previous[on_stream], edges.source[edge]))
    kind = np.concatenate((np.full(len(on_stream), EdgeKind.STREAM, np.uint8), edges.kind[edge]))
    grade = np.concatenate((np.full(len(on_stream), Grade.PROVEN, np.uint8), edges.grade[edge]))
    # In a hardware queue the next operation may start as soon as the one before it has started.
    until = np.where(kind == EdgeKind.QUEUE, operations.start_ns[source], operations.end_ns[source])
    # What began before did not wait for it: rows of one stream may overlap, as the nodes of a graph do.
    held = np.flatnonzero(until <= operations.start_ns[numbers[position]] + CLOSE_NS)
    # Stable, so that of an operation the one before it on its stream comes first.
    order = held[np.argsort(position[held], kind="stable")]
    return Producers(position[order], source[order], kind[order], grade[order], until[order])
