"""The time of a GPU without compute, piece by piece: which kernel ends it, and what held that one up.

See docs/definitions.md, section 11.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.classify import COMMUNICATION, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.dependencies.graph import Codes, DependencyGraph, Grade, Operations, Rows
from viewer.analysis.dependencies.producers import producers
from viewer.analysis.dependencies.stream_order import find_operations
from viewer.analysis.launches.attribution import Mask
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

BLOCKERS = BY_COMMUNICATION, BY_COPY, BY_COMPUTE = 0, 1, 2
"""What an operation is that blocks another: the codes of `Pieces.blocker`."""
Blockers = npt.NDArray[np.int8]
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Pieces:
    """The intervals of a GPU without compute that a compute kernel ends, by start; none touches another.

    Each is split in three: launch-starved up to `launched_ns`, blocked up to `freed_ns`, the rest unresolved.

    Attributes
    ----------
    start_ns, launched_ns, freed_ns, end_ns : ndarray of int64, shape (pieces,)
        Rising in this order, ns from the trace's zero.
    following : ndarray of int32, shape (pieces,)
        The compute kernel that starts at `end_ns`, a number of `Operations`; of several the first launched.
    binder : ndarray of int32, shape (pieces,)
        The operation that blocked it, -1 where nothing did.
    blocker : ndarray of int8, shape (pieces,)
        `BY_COMMUNICATION`, `BY_COPY` or `BY_COMPUTE`; -1 where nothing did.
    edge, grade : ndarray of uint8, shape (pieces,)
        The `EdgeKind` to the binder and its `Grade`, where there is one.
    tried : ndarray of uint8, shape (pieces,)
        The weakest `Grade` among all that may have held the kernel up.
    """

    start_ns: Int64
    launched_ns: Int64
    freed_ns: Int64
    end_ns: Int64
    following: Rows
    binder: Rows
    blocker: npt.NDArray[np.int8]
    edge: Codes
    grade: Codes
    tried: Codes

    def __len__(self) -> int:
        return len(self.start_ns)

    def of(self, within: Intervals) -> Pieces:
        """Return the pieces between the first start and the last end of a set of time, whole."""
        if not len(within):
            return self.at(slice(0))
        low = int(np.searchsorted(self.end_ns, within.start_ns[0], side="right"))
        high = int(np.searchsorted(self.start_ns, within.end_ns[-1], side="left"))
        return self.at(slice(low, max(low, high)))

    def at(self, rows: slice | Mask | npt.NDArray[np.integer]) -> Pieces:
        """Return some of the pieces, in the order of `rows`."""
        return Pieces(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def starved(self) -> Intervals:
        """When nothing was launched that could run."""
        return with_length(self.start_ns, self.launched_ns)

    @property
    def blocked(self) -> Intervals:
        """When what was launched waited for an operation that had not ended."""
        return with_length(self.launched_ns, self.freed_ns)

    @property
    def unresolved(self) -> Intervals:
        """When it was launched and all that it is known to wait for had ended."""
        return with_length(self.freed_ns, self.end_ns)


def find_pieces(
    trace: Trace, graph: DependencyGraph, blockers: Blockers, unknown: Mask, gpu: int, absent: Intervals
) -> Pieces:
    """Return the time of a GPU without compute, up to its last compute kernel, split by reason.

    Parameters
    ----------
    blockers : ndarray of int8, shape (operations,)
        What each operation is, see `blockers_of`.
    unknown : ndarray of bool, shape (operations,)
        Which operations waited for an event of which nothing is known, see `unknown_waits`.
    absent : Intervals
        The time without compute; a compute kernel starts at each end.
    """
    operations = graph.operations
    start, end = absent.start_ns, absent.end_ns
    following = _first_launched(trace, operations, _kernels(trace, operations, blockers, gpu), end)
    call = operations.call[following]
    known = call >= 0
    # Until the call has returned; a kernel that began inside its call was launch-starved up to its start.
    launched = start.copy()
    returned = trace.api.end_ns[call[known]] if known.any() else start[:0]
    launched[known] = np.clip(returned, start[known], end[known])
    # Without a launch record nobody knows whether the host or the GPU was late: all of it is unresolved.
    found = producers(graph, following)
    pair = np.where(known, found.latest(len(following)), -1)
    is_held = pair >= 0
    binder = np.full(len(start), -1, np.int32)
    binder[is_held] = found.source[pair[is_held]]
    freed = launched.copy()
    freed[is_held] = np.clip(found.until_ns[pair[is_held]], launched[is_held], end[is_held])
    # One that had ended before the launch returned did not block, though it may be the last to end.
    is_blocked = freed > launched
    binder[~is_blocked] = -1
    blocker, edge = np.full(len(start), -1, np.int8), np.zeros(len(start), np.uint8)
    blocker[is_blocked] = blockers[binder[is_blocked]]
    edge[is_blocked] = found.kind[pair[is_blocked]]
    grade = np.zeros(len(start), np.uint8)
    grade[is_blocked] = found.grade[pair[is_blocked]]
    tried = np.where(known & ~unknown[following], found.weakest(len(start)), Grade.UNKNOWN)
    return Pieces(
        start, launched, freed, end, following, binder, blocker, edge, grade, tried.astype(np.uint8)
    )


def blockers_of(trace: Trace, classes: KernelClasses, operations: Operations) -> Blockers:
    """Return what every operation is: communication, a copy or compute, shape (operations,)."""
    first = operations.first
    codes = np.full(int(first[-1]), BY_COPY, np.int8)
    for position, kind in enumerate(GPU_KINDS):
        rows = slice(int(first[position]), int(first[position + 1]))
        if kind is Kind.KERNEL:
            is_comm = classes.class_of[trace.kernels.name_id] == COMMUNICATION
            codes[rows] = np.where(is_comm, BY_COMMUNICATION, BY_COMPUTE)
        elif kind is Kind.GRAPH:
            codes[rows] = BY_COMPUTE
    return codes


def unknown_waits(launches: Launches, graph: DependencyGraph) -> Mask:
    """Return which operations waited for an event whose producers are not known, shape (operations,)."""
    waits, mask = graph.waits, np.zeros(len(graph.operations), bool)
    rows = np.flatnonzero((waits.grade == Grade.UNKNOWN) & (waits.stream >= 0))
    # The order of the streams is made again only where it is asked for: most traces know all their events.
    if len(rows):
        _, order = find_operations(launches)
        stream = waits.stream[rows]
        before = order.last_before(stream, launches.trace.api.start_ns[waits.call[rows]])
        following = np.where(before >= 0, before + 1, order.offsets[stream])
        mask[order.order[following[following < order.offsets[stream + 1]]]] = True
    return mask


def _kernels(trace: Trace, operations: Operations, blockers: Blockers, gpu: int) -> Rows:
    """Return the operations of a GPU that compute and take time, as numbers of `Operations`."""
    pieces = []
    for position, kind in enumerate(GPU_KINDS):
        if kind not in (Kind.KERNEL, Kind.GRAPH):
            continue
        events, rows = trace.events[kind], rows_of_gpu(trace, kind, gpu)
        rows = rows[events.end_ns[rows] > events.start_ns[rows]]
        numbers = rows + np.int32(operations.first[position])
        pieces.append(numbers[blockers[numbers] == BY_COMPUTE])
    return np.concatenate(pieces)


def _first_launched(trace: Trace, operations: Operations, numbers: Rows, starts_ns: Int64) -> Rows:
    """Return for each instant the one of some operations that starts then and was launched first.

    Parameters
    ----------
    numbers : ndarray of int32, shape (n,)
        Each instant is the start of at least one of them.
    starts_ns : ndarray of int64, shape (instants,)
        Increasing, each once.
    """
    if not len(starts_ns):
        return np.empty(0, np.int32)
    start = operations.start_ns[numbers]
    piece = np.minimum(np.searchsorted(starts_ns, start), len(starts_ns) - 1)
    begins = starts_ns[piece] == start
    numbers, piece = numbers[begins], piece[begins]
    call = operations.call[numbers]
    # Without a launch record: after all that have one.
    called = np.full(len(numbers), _NEVER)
    called[call >= 0] = trace.api.start_ns[call[call >= 0]]
    order = np.lexsort((numbers, called, piece))
    first = np.searchsorted(piece[order], np.arange(len(starts_ns)))
    return np.asarray(numbers[order[first]])


def with_length(start_ns: Int64, end_ns: Int64) -> Intervals:
    """Return the parts of pieces that have a length; a kernel lies between any two, so that none touch."""
    has_length = end_ns > start_ns
    return Intervals(start_ns[has_length], end_ns[has_length])
