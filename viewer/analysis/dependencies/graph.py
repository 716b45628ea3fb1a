"""The dependency graph of a trace: what every GPU operation and every blocking call waited for.

See docs/definitions.md, section 11. The graph is arrays: no object stands for an operation or an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from viewer.trace import GPU_KINDS, Kind
from viewer.trace.events import Int64

Rows = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


class Grade(IntEnum):
    """How an edge is known, weakest first: an edge over several takes the least of them."""

    UNKNOWN = 0
    TIMING = 1
    HANDLE = 2
    PROVEN = 3


class EdgeKind(IntEnum):
    """What made an operation or a call wait."""

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
    """

    first: Int64
    start_ns: Int64
    end_ns: Int64
    stream: Rows
    call: Rows
    previous: Rows

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
