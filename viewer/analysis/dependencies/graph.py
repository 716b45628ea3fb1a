"""The dependency graph of a trace: what every GPU operation and every blocking call waited for.

See docs/definitions.md, section 11. The graph is arrays: no object stands for an operation or an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from viewer.trace import GPU_KINDS, Kind
from viewer.trace.events import Int64

Rows = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


class Grade(IntEnum):
    """How an edge is known, weakest first: an edge over several takes the least of them."""

    UNKNOWN = 0
    TIMING = 1
    HANDLE = 2
    PROVEN = 3


GRADE_NAMES: Mapping[Grade, str] = {
    Grade.UNKNOWN: "unknown",
    Grade.TIMING: "by timing",
    Grade.HANDLE: "by handle",
    Grade.PROVEN: "proven",
}
"""What the grades are called, in the window and in files."""


class EdgeKind(IntEnum):
    """What made an operation or a call wait.

    A launch allows an operation when its call returns, a queue when its source *starts*, all others when
    their source ends.
    """

    LAUNCH = 0
    STREAM = 1
    EVENT = 2
    GRAPH = 3
    QUEUE = 4
    DEFAULT_STREAM = 5
    COLLECTIVE = 6
    RETURN = 7
    HOST = 8


@dataclass(frozen=True, eq=False)
class Operations:
    """The operations of all GPUs in one list: kind by kind as in `GPU_KINDS`, each as in its events.

    Attributes
    ----------
    first : ndarray of int64, shape (kinds + 1,)
        Those of the k-th kind are ``first[k]:first[k + 1]``.
    start_ns, end_ns : ndarray of int64, shape (n,)
        Nanoseconds from the trace's zero.
    stream : ndarray of int32, shape (n,)
        Index into `Trace.streams`.
    call : ndarray of int32, shape (n,)
        The call that launched it, an index into `Trace.api`; -1 without a launch record.
    previous : ndarray of int32, shape (n,)
        The operation launched before it on its stream; -1 for the first one.
    driver_streams : tuple of int
        The streams that hold the driver's migrations of unified memory, which nobody launches.
    """

    first: Int64
    start_ns: Int64
    end_ns: Int64
    stream: Rows
    call: Rows
    previous: Rows
    driver_streams: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ns)

    def number_of(self, kind: Kind, index: int) -> int:
        """Return the place in the list of an event of a kind."""
        return int(self.first[GPU_KINDS.index(kind)]) + index

    def event_of(self, number: int) -> tuple[Kind, int]:
        """Return the kind of an operation and its index into the events of that kind."""
        place = int(np.searchsorted(self.first, number, side="right")) - 1
        return GPU_KINDS[place], number - int(self.first[place])


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges by target; what the numbers of both ends mean depends on which edges they are.

    Attributes
    ----------
    target, source : ndarray of int32, shape (edges,)
        `target` is sorted; the source comes first in time.
    kind : ndarray of uint8, shape (edges,)
        An `EdgeKind`.
    grade : ndarray of uint8, shape (edges,)
        A `Grade`.
    """

    target: Rows
    source: Rows
    kind: Codes
    grade: Codes

    def __len__(self) -> int:
        return len(self.target)

    def of(self, target: int) -> slice:
        """Return the edges of one target as a slice."""
        low, high = np.searchsorted(self.target, [target, target + 1])
        return slice(int(low), int(high))

    @classmethod
    def of_columns(cls, target: Rows, source: Rows, kind: EdgeKind | Codes, grade: Codes) -> Edges:
        """Return edges sorted by target; `kind` may be one for all."""
        kinds = np.full(len(target), kind, np.uint8) if isinstance(kind, EdgeKind) else kind
        order = np.argsort(target, kind="stable")
        return cls(target[order].astype(np.int32), source[order].astype(np.int32), kinds[order], grade[order])

    @classmethod
    def best_known(cls, target: Rows, source: Rows, kind: EdgeKind, grade: Codes) -> Edges:
        """Return edges of one kind, each once, with the best of its grades."""
        order = np.lexsort((grade, source, target))
        pair = np.stack((target, source))[:, order]
        # Equal pairs are neighbours, and the best grade comes last.
        last = np.append((pair[:, 1:] != pair[:, :-1]).any(axis=0), True)[: len(order)]
        kept = order[last]
        return cls.of_columns(target[kept], source[kept], kind, grade[kept])

    @classmethod
    def joined(cls, *parts: Edges) -> Edges:
        """Return the edges of all parts."""
        columns = ("target", "source", "kind", "grade")
        return cls.of_columns(*(np.concatenate([getattr(p, name) for p in parts]) for name in columns))

    @classmethod
    def none(cls) -> Edges:
        """Return no edges."""
        rows, codes = np.empty(0, np.int32), np.empty(0, np.uint8)
        return cls(rows, rows, codes, codes)


NO_EDGE = 255
"""In `DependencyGraph.binding`: no edge leads to the operation."""


@dataclass(frozen=True, eq=False)
class CollectiveSets:
    """The matched sets of collectives (docs/definitions.md, section 8).

    Attributes
    ----------
    offsets : ndarray of int64, shape (sets + 1,)
        The members of set k are ``operations[offsets[k]:offsets[k + 1]]``.
    operations : ndarray of int32, shape (members of all sets,)
        Numbers of operations.
    root : ndarray of int32, shape (sets,)
        The operation of the root; -1 where every member waits for all.
    root_waits : ndarray of bool, shape (sets,)
        With a root: True where it alone waits, for all others (a reduction); False where all others wait for
        it alone (a broadcast).
    group : ndarray of int32, shape (sets,)
        Index into ``Collectives.groups``.
    """

    offsets: Int64
    operations: Rows
    root: Rows
    root_waits: Mask
    group: Rows

    def __len__(self) -> int:
        return len(self.root)

    def of(self, number: int) -> Rows:
        """Return the operations of one set."""
        return self.operations[self.offsets[number] : self.offsets[number + 1]]


@dataclass(frozen=True, eq=False)
class StreamWaits:
    """The calls that made a stream wait for an event, by their stream, then by time.

    Attributes
    ----------
    call : ndarray of int32, shape (waits,)
        Indices into `Trace.api`.
    stream : ndarray of int32, shape (waits,)
        The stream that waits, an index into `Trace.streams`; -1 where no operation was recorded on it.
    target : ndarray of int32, shape (waits,)
        The operation that was launched next on that stream, which had to wait; -1 where there is none.
    offsets : ndarray of int64, shape (waits + 1,)
        The producers of wait k are ``producers[offsets[k]:offsets[k + 1]]``.
    producers : ndarray of int32
        Numbers of operations, of each stream the last one launched: the ones before it are implied.
    producer_grade : ndarray of uint8
        The `Grade` of each producer.
    grade : ndarray of uint8, shape (waits,)
        The least `Grade` of all that was followed; `Grade.UNKNOWN` where the event, or one behind it, is not
        known. A wait that is known and has no producers waited for nothing.
    """

    call: Rows
    stream: Rows
    target: Rows
    offsets: Int64
    producers: Rows
    producer_grade: Codes
    grade: Codes

    def __len__(self) -> int:
        return len(self.call)

    def of(self, number: int) -> Rows:
        """Return the producers of one wait."""
        return self.producers[self.offsets[number] : self.offsets[number + 1]]


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """The edges of a graph by how they are known, and the share of starts that they explain.

    `unknown` counts the waits for events whose producers are not known. `explained_share` is None without
    operations that were launched.
    """

    proven: int
    by_handle: int
    by_timing: int
    unknown: int
    explained_share: float | None


@dataclass(frozen=True, eq=False)
class DependencyGraph:
    """What every operation and every blocking call of a trace waited for.

    Attributes
    ----------
    operations : Operations
        With the edges that each has at most one of: from its launch (`call`) and from its stream
        (`previous`).
    op_edges : Edges
        From operation to operation: `EdgeKind.EVENT`, `GRAPH`, `QUEUE`, `DEFAULT_STREAM`.
    return_edges : Edges
        From an operation (source) to the call that waits for it (target, an index into `Trace.api`).
    host_edges : Edges
        From a call to a call of another thread; that from the call before it on its own thread is implied.
    set_of : ndarray of int32, shape (operations,)
        The matched set of a collective, an index into `sets`; -1 for none. Of two, that which it waited for
        longer.
    sets : CollectiveSets
    waits : StreamWaits
    binding : ndarray of uint8, shape (operations,)
        The `EdgeKind` of the edge that binds each start, the latest of all; `NO_EDGE` where none leads there.
    binder : ndarray of int32, shape (operations,)
        The call (`EdgeKind.LAUNCH`) or operation (all others) from which that edge comes, -1 for none.
    grade : ndarray of uint8, shape (operations,)
        The `Grade` of that edge.
    lag_ns : ndarray of int64, shape (operations,)
        From when that edge allowed the operation to its start, never negative; -1 for none.
    """

    operations: Operations
    op_edges: Edges
    return_edges: Edges
    host_edges: Edges
    set_of: Rows
    sets: CollectiveSets
    waits: StreamWaits
    binding: Codes
    binder: Rows
    grade: Codes
    lag_ns: Int64

    @property
    def is_launched(self) -> Mask:
        """Which operations somebody launched, shape (operations,): all but the driver's migrations."""
        return ~np.isin(self.operations.stream, self.operations.driver_streams)

    @property
    def explained(self) -> Mask:
        """Which operations follow their binding edge within 10 µs, shape (operations,)."""
        return (self.lag_ns >= 0) & (self.lag_ns <= EXPLAINED_NS)

    @property
    def counts(self) -> EdgeCounts:
        """The edges by grade, and the share of starts that follow their binding edge within 10 µs."""
        ops = self.operations
        grades = np.zeros(len(Grade), np.int64)
        # Launches and streams have no rows of their own: there is one such edge for each index that is given.
        grades[Grade.PROVEN] += int((ops.call >= 0).sum()) + int((ops.previous >= 0).sum())
        for edges in (self.op_edges, self.return_edges, self.host_edges):
            grades += np.bincount(edges.grade, minlength=len(Grade))
        unknown = int((self.waits.grade == Grade.UNKNOWN).sum())
        launched = self.is_launched
        share = float(self.explained[launched].mean()) if launched.any() else None
        proven, by_handle, by_timing = (int(grades[g]) for g in (Grade.PROVEN, Grade.HANDLE, Grade.TIMING))
        return EdgeCounts(proven, by_handle, by_timing, unknown, share)


EXPLAINED_NS = 10_000
"""A start within this of what allowed it needs no other cause: launches and streams take microseconds."""
