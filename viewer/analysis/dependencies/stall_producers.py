"""The operation that each stall waited for, and its split by reason (docs/definitions.md, section 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.intervals import runs
from viewer.analysis.dependencies.graph import Codes, Rows
from viewer.analysis.dependencies.pieces import BY_COMMUNICATION, Pieces
from viewer.analysis.dependencies.producers import producers
from viewer.analysis.dependencies.stall_reasons import StallReasons
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.stalls.stalls import Stalls
from viewer.trace import Kind
from viewer.trace.events import Int64

REASONS = ("launch-starved", "blocked", "unresolved", "after last")
"""Why a GPU computes nothing; the rows of `StallProducers.split_ns`."""
STARVED, BLOCKED, UNRESOLVED, AFTER_LAST = range(len(REASONS))


@dataclass(frozen=True, eq=False)
class StallProducers:
    """The reasons of all stalls and what they waited for, by their numbers.

    Attributes
    ----------
    stalls : Stalls
    reasons : StallReasons
    split_ns : ndarray of int64, shape (4, stalls)
        The length of each stall by `REASONS`: that of the piece without compute it lies in, clipped to it.
    reason : ndarray of int8, shape (stalls,)
        The largest of these, a position in `REASONS`.
    producer : ndarray of int32, shape (stalls,)
        The operation that was waited for while blocked, a number of `Operations`; -1 for none.
    edge, grade : ndarray of uint8, shape (stalls,)
        The `EdgeKind` to the producer and its `Grade`; where nothing blocked the weakest that was tried.
    late : ndarray of int32, shape (stalls,)
        Where the producer is a collective that mostly waited itself: the operation of its last arrival; -1.
    following : ndarray of int32, shape (stalls,)
        The compute kernel that had to wait, -1 after the last one.
    """

    stalls: Stalls
    reasons: StallReasons
    split_ns: Int64
    reason: npt.NDArray[np.int8]
    producer: Rows
    edge: Codes
    grade: Codes
    late: Rows
    following: Rows

    def targets(self, rows: Indices | slice = slice(None)) -> Rows:
        """Return what some stalls mainly waited for: the late operation, else the producer; -1 for none.

        A stall of which less is blocked than something else waited for no operation in the main.
        """
        target = np.where(self.late[rows] >= 0, self.late[rows], self.producer[rows])
        return np.where(self.reason[rows] == BLOCKED, target, np.int32(-1))

    def event(self, number: int) -> tuple[Kind, int] | None:
        """Return the event that a stall mainly waited for, None for none."""
        target = int(self.targets(slice(number, number + 1))[0])
        return self.reasons.graph.operations.event_of(target) if target >= 0 else None


def stall_producers(stalls: Stalls, reasons: StallReasons) -> StallProducers:
    """Return the reasons of all stalls of a trace, and what they waited for."""
    table = stalls.table
    gpu, start, end = (table[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    count = len(table)
    found = StallProducers(
        stalls,
        reasons,
        np.zeros((len(REASONS), count), np.int64),
        np.zeros(count, np.int8),
        *(np.full(count, -1, np.int32), np.zeros(count, np.uint8), np.zeros(count, np.uint8)),
        *(np.full(count, -1, np.int32) for _ in range(2)),
    )
    order = np.argsort(gpu, kind="stable")
    for low, high in zip(*runs(gpu[order]), strict=True):
        rows = order[low:high]
        _of_gpu(reasons, int(gpu[rows[0]]), rows, start[rows], end[rows], found)
    found.reason[:] = found.split_ns.argmax(axis=0)
    return found


def _of_gpu(
    reasons: StallReasons, gpu: int, rows: Indices, start: Int64, end: Int64, found: StallProducers
) -> None:
    """Fill in the stalls of one GPU, whose numbers are `rows`."""
    pieces = reasons.pieces(gpu)
    # A stall lies in one piece: no compute runs in it. After the last kernel there is none.
    piece = np.searchsorted(pieces.start_ns, start, side="right") - 1
    inside = (piece >= 0) & (start < pieces.end_ns[np.maximum(piece, 0)]) if len(pieces) else piece > 0
    found.split_ns[AFTER_LAST, rows[~inside]] = (end - start)[~inside]
    rows, start, end, own = rows[inside], start[inside], end[inside], pieces.at(piece[inside])
    for reason, (begin, stop) in enumerate(
        ((own.start_ns, own.launched_ns), (own.launched_ns, own.freed_ns), (own.freed_ns, own.end_ns))
    ):
        shared = np.minimum(stop, end) - np.maximum(begin, start)
        found.split_ns[reason, rows] = np.maximum(shared, 0)
    found.following[rows] = own.following
    found.grade[rows] = own.tried
    is_blocked = found.split_ns[BLOCKED, rows] > 0
    rows, own = rows[is_blocked], own.at(is_blocked)
    low, high = np.maximum(own.launched_ns, start[is_blocked]), np.minimum(own.freed_ns, end[is_blocked])
    pair = _covering(reasons, own, low, high)
    found.producer[rows], found.edge[rows], found.grade[rows] = pair
    found.late[rows] = _late(reasons, found.producer[rows], low, high)


def _covering(reasons: StallReasons, pieces: Pieces, low: Int64, high: Int64) -> tuple[Rows, Codes, Codes]:
    """Return of each piece the producer that runs in most of [low, high), the edge to it and its grade.

    Where none runs then, it is the one that blocks to the end: it had not begun.
    """
    operations = reasons.graph.operations
    found = producers(reasons.graph, pieces.following)
    shared = np.minimum(operations.end_ns[found.source], high[found.at]) - np.maximum(
        operations.start_ns[found.source], low[found.at]
    )
    source, edge, grade = pieces.binder.copy(), pieces.edge.copy(), pieces.grade.copy()
    # The last to write stays: that with most time; of equals the one that is known best.
    order = np.lexsort((found.grade, shared, found.at))
    order = order[shared[order] > 0]
    at = found.at[order]
    source[at], edge[at], grade[at] = found.source[order], found.kind[order], found.grade[order]
    return source, edge, grade


def _late(reasons: StallReasons, producer: Rows, low: Int64, high: Int64) -> Rows:
    """Return the last arrival's operation where a collective waits for it in most of [low, high), else -1."""
    late = np.full(len(producer), -1, np.int32)
    rows = np.flatnonzero(reasons.blocker_of(producer) == BY_COMMUNICATION)
    # Kernels come first among the operations.
    kernel = producer[rows]
    begin = reasons.trace.kernels.start_ns[kernel]
    turn = begin + np.maximum(reasons.collectives.wait_ns[kernel], 0)
    waited = np.minimum(turn, high[rows]) - np.maximum(begin, low[rows])
    mostly = 2 * waited > high[rows] - low[rows]
    late[rows[mostly]] = reasons.last_arrivals[kernel[mostly]]
    return late
