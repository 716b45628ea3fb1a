"""The times of a trace as a network: what each start and each return comes after, and by how much.

Its values are the ends of the operations, and *anchors*: points of host threads whose times do not follow
from the call before them alone. Between anchors a thread runs as it was recorded, so that only anchors and
operations have to be replayed (docs/definitions.md, section 12).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.dependencies.graph import Operations
from viewer.analysis.replay.anchors import Anchors
from viewer.analysis.replay.collective_ends import CollectiveEnds
from viewer.analysis.replay.host_calls import HostCalls
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

Rows = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

LAUNCH, STREAM, OTHER, FIXED = range(4)
"""What binds the start of an operation: its call, the one before it, another edge, or nothing known."""
NEVER_NS = -(2**61)


@dataclass(frozen=True, eq=False)
class Network:
    """The constraints on the times of operations and host threads.

    Values are numbered: the ends of the `n` operations, then the anchors, then one that is always 0 ns, one
    that is long before everything, and the starts of the operations. All lags are int64
    nanoseconds and may be negative.

    Attributes
    ----------
    operations : Operations
    hosts : HostCalls
    ends : CollectiveEnds
        Whose end follows the starts of others.
    launch_source, stream_source : ndarray of int32, shape (n,)
        The values that every start comes after; "never" where there is none.
    launch_lag, stream_lag : ndarray of int64, shape (n,)
        By how much, with the lags that a changed replay has. That of the launch counts from the start of the
        outermost call around it, `launch_call`.
    launch_call : ndarray of int32, shape (n,)
        A place in `hosts`; 0 without a launch.
    extra_target, extra_source, extra_lag : ndarray, shape (extras,)
        Further edges, sorted by target: an operation, and the value that it comes after.
    extra_edge : ndarray of int32, shape (extras,)
        Which edge of the graph's `op_edges` it is.
    binder : ndarray of uint8, shape (n,)
        `LAUNCH`, `STREAM`, `OTHER` or `FIXED`: the latest of what a start was recorded to come after.
    work_ns : ndarray of int64, shape (n,)
        Duration of an operation; of one in `ends` the time from the latest start to its own end.
    in_set : ndarray of int32, shape (n,)
        Its set in `ends`, -1 for none.
    anchors : Anchors
    order : ndarray of int32, shape (nodes,)
        The numbers of all nodes, each after those that it comes after: operations, anchors, sets.
    dropped : int
        Edges left out because together with others they made a circle.
    """

    operations: Operations
    hosts: HostCalls
    ends: CollectiveEnds
    launch_source: Rows
    launch_lag: Int64
    launch_call: Rows
    stream_source: Rows
    stream_lag: Int64
    extra_target: Rows
    extra_source: Rows
    extra_lag: Int64
    extra_edge: Rows
    binder: Codes
    work_ns: Int64
    in_set: Rows
    anchors: Anchors
    order: Rows
    dropped: int

    @property
    def zero(self) -> int:
        """The value that is always 0 ns."""
        return len(self.operations) + len(self.anchors)

    @property
    def never(self) -> int:
        """The value that is long before everything."""
        return self.zero + 1

    @cached_property
    def extra_first(self) -> Int64:
        """Where the further edges of each operation begin, and the last ones end, shape (n + 1,)."""
        return np.searchsorted(self.extra_target, np.arange(len(self.operations) + 1, dtype=np.int32))

    @cached_property
    def pair_first(self) -> Int64:
        """Where the pairs of each anchor begin, and the last ones end, shape (anchors + 1,)."""
        return np.searchsorted(self.anchors.anchor, np.arange(len(self.anchors) + 1, dtype=np.int32))
