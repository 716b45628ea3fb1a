"""Why a GPU computes nothing: nothing was launched, an operation blocked what comes next, or not known.

See docs/definitions.md, section 11.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import Intervals, window
from viewer.analysis.core.overlaps import overlaps
from viewer.analysis.dependencies.graph import DependencyGraph, Grade, Rows
from viewer.analysis.dependencies.pieces import (
    BLOCKERS,
    BY_COMMUNICATION,
    BY_COMPUTE,
    BY_COPY,
    Blockers,
    Pieces,
    blockers_of,
    find_pieces,
    unknown_waits,
    with_length,
)
from viewer.analysis.launches.attribution import Mask
from viewer.analysis.launches.launches import Launches
from viewer.analysis.stalls.causes import SHARES, host_shares
from viewer.analysis.stalls.host_time import Hosts
from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.events import Int64
from viewer.trace.lazy import OncePerKey, cached_property


@dataclass(frozen=True, slots=True)
class ReasonSums:
    """The time of a GPU without compute by reason, ns; of several GPUs, their sums.

    Attributes
    ----------
    compute_absent_ns : int
        The sum of the next four.
    launch_starved_ns, blocked_ns, unresolved_ns, after_last_ns : int
    by_communication_ns, by_copy_ns, by_compute_ns : int
        They sum to `blocked_ns`; compute is that of another GPU.
    communication_wait_ns : int
        Of communication that blocks, the wait for a later rank.
    proven_ns, by_handle_ns, by_timing_ns : int
        `blocked_ns` by how the edge to what blocked is known.
    tried_proven_ns, tried_by_handle_ns, tried_by_timing_ns, tried_unknown_ns : int
        `unresolved_ns` by the weakest edge that was tried.
    exposed_blocking_ns, exposed_free_ns : int
        Exposed communication while something blocks, and the rest of it.
    """

    compute_absent_ns: int = 0
    launch_starved_ns: int = 0
    blocked_ns: int = 0
    unresolved_ns: int = 0
    after_last_ns: int = 0
    by_communication_ns: int = 0
    by_copy_ns: int = 0
    by_compute_ns: int = 0
    communication_wait_ns: int = 0
    proven_ns: int = 0
    by_handle_ns: int = 0
    by_timing_ns: int = 0
    tried_proven_ns: int = 0
    tried_by_handle_ns: int = 0
    tried_by_timing_ns: int = 0
    tried_unknown_ns: int = 0
    exposed_blocking_ns: int = 0
    exposed_free_ns: int = 0

    def __add__(self, other: ReasonSums) -> ReasonSums:
        return ReasonSums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


class StallReasons:
    """Why each GPU of a trace computes nothing, over any time.

    Parameters
    ----------
    launches : Launches
    classes : KernelClasses
    parts : tuple of TimeBreakdown, one per GPU
    collectives : Collectives
    graph : DependencyGraph
    """

    def __init__(
        self,
        launches: Launches,
        classes: KernelClasses,
        parts: tuple[TimeBreakdown, ...],
        collectives: Collectives,
        graph: DependencyGraph,
    ) -> None:
        self.trace = launches.trace
        self.classes = classes
        self.parts = parts
        self.collectives = collectives
        self.graph = graph
        self._launches = launches
        self._pieces: OncePerKey[int, Pieces] = OncePerKey()

    @cached_property
    def hosts(self) -> Hosts:
        """What the host threads do with their time."""
        return Hosts(self._launches)

    def pieces(self, gpu: int) -> Pieces:
        """Return the intervals of a GPU without compute that a compute kernel ends, over the recording."""
        return self._pieces.get(gpu, lambda: self._find(gpu))

    def after_last(self, gpu: int) -> Intervals:
        """Return the time of a GPU after its last compute kernel; all of it without any."""
        compute, (low, high) = self._compute(gpu), self._extent
        return window(int(compute.end_ns[-1]) if len(compute) else low, high)

    def waits(self, gpu: int) -> Intervals:
        """Return when what blocks a GPU is a collective that waits for a later rank itself."""
        return self._waits(self.pieces(gpu))

    def exposed(self, gpu: int) -> Intervals:
        """Return the exposed communication of a GPU, over the recording."""
        low, high = self._extent
        return self.parts[gpu].intervals("exposed_comm", start_ns=low, end_ns=high)

    def sums(self, gpu: int, within: Intervals) -> ReasonSums:
        """Return the time of a GPU without compute inside a set of time, by reason.

        The set lies inside the recording. A piece across an edge counts with its part inside.
        """
        pieces = self.pieces(gpu).of(within)
        starved = int(within.covered(pieces.start_ns, pieces.launched_ns).sum())
        # The length of each piece inside, once: the sums below are of some of them each.
        blocked = within.covered(pieces.launched_ns, pieces.freed_ns)
        unresolved = within.covered(pieces.freed_ns, pieces.end_ns)
        by = [int(blocked[pieces.blocker == blocker].sum()) for blocker in range(len(BLOCKERS))]
        by_grade = [int(blocked[pieces.grade == grade].sum()) for grade in Grade]
        tried = [int(unresolved[pieces.tried == grade].sum()) for grade in Grade]
        held, rest = int(blocked.sum()), int(unresolved.sum())
        last = (self.after_last(gpu) & within).total()
        exposed = self.exposed(gpu) & within
        blocking = (exposed & pieces.blocked).total()
        return ReasonSums(
            compute_absent_ns=starved + held + rest + last,
            launch_starved_ns=starved,
            blocked_ns=held,
            unresolved_ns=rest,
            after_last_ns=last,
            by_communication_ns=by[BY_COMMUNICATION],
            by_copy_ns=by[BY_COPY],
            by_compute_ns=by[BY_COMPUTE],
            communication_wait_ns=(self._waits(pieces) & within).total(),
            proven_ns=by_grade[Grade.PROVEN],
            by_handle_ns=by_grade[Grade.HANDLE],
            by_timing_ns=by_grade[Grade.TIMING],
            tried_proven_ns=tried[Grade.PROVEN],
            tried_by_handle_ns=tried[Grade.HANDLE],
            tried_by_timing_ns=tried[Grade.TIMING],
            tried_unknown_ns=tried[Grade.UNKNOWN],
            exposed_blocking_ns=blocking,
            exposed_free_ns=exposed.total() - blocking,
        )

    def shares(self, gpu: int, within: Intervals) -> Int64:
        """Return what the launching threads did while a GPU was launch-starved, inside a set of time.

        Returns
        -------
        ndarray of int64, shape (9,)
            In order of `viewer.analysis.stalls.causes.SHARES`, ns; they sum to the launch-starved time.
        """
        pieces = self.pieces(gpu).of(within)
        pieces = pieces.at(pieces.launched_ns > pieces.start_ns)
        if not len(pieces):
            return np.zeros(len(SHARES), np.int64)
        # The parts inside, each with the call that the GPU waited for: one piece may lie in two iterations.
        shared = overlaps(pieces.start_ns, pieces.launched_ns, within.start_ns, within.end_ns)
        piece, of = shared.stall_at, shared.event_at
        start = np.maximum(pieces.start_ns[piece], within.start_ns[of])
        end = np.minimum(pieces.launched_ns[piece], within.end_ns[of])
        calls = self.graph.operations.call[pieces.following[piece]].astype(np.int64)
        process = self.trace.gpus[gpu].process
        return np.asarray(host_shares(self.hosts, process, start, end, calls).sum(axis=1))

    def blocker_of(self, numbers: Rows) -> Blockers:
        """Return what operations are, as `Pieces.blocker`; -1 for -1."""
        return np.where(numbers >= 0, self._blocker_of[numbers] if len(self._blocker_of) else -1, -1)

    @cached_property
    def last_arrivals(self) -> Rows:
        """Of each kernel that waited in a collective the kernel that came last to it, else -1; (kernels,)."""
        last = np.full(len(self.trace.kernels), -1, np.int32)
        for group in self.collectives.groups:
            rows = group.kernels[:, group.matched]
            gpu = self.collectives.last_gpu[rows]
            for member, own in enumerate(group.gpus):
                # Of two groups that a kernel is in, only the one that it waited for has this GPU as the last.
                waits = (gpu == own) & (self.collectives.wait_ns[rows] > 0)
                last[rows[waits]] = np.broadcast_to(rows[member], rows.shape)[waits]
        return last

    def _waits(self, pieces: Pieces) -> Intervals:
        """Return when the collectives that block the pieces wait for a later rank themselves."""
        by = pieces.at(pieces.blocker == BY_COMMUNICATION)
        kernel = by.binder - self.graph.operations.first[GPU_KINDS.index(Kind.KERNEL)]
        begin = self.trace.kernels.start_ns[kernel]
        # A collective waits first: from its start until the last member of its set is there.
        turn = begin + np.maximum(self.collectives.wait_ns[kernel], 0)
        return with_length(
            np.clip(begin, by.launched_ns, by.freed_ns), np.clip(turn, by.launched_ns, by.freed_ns)
        )

    def _compute(self, gpu: int) -> Intervals:
        low, high = self._extent
        return self.parts[gpu].intervals("compute_only", "hidden_comm", start_ns=low, end_ns=high)

    @cached_property
    def _extent(self) -> tuple[int, int]:
        """All time that a scope may hold, ns."""
        return self.trace.span_ns

    @cached_property
    def _unknown(self) -> Mask:
        return unknown_waits(self._launches, self.graph)

    @cached_property
    def _blocker_of(self) -> Blockers:
        return blockers_of(self.trace, self.classes, self.graph.operations)

    def _find(self, gpu: int) -> Pieces:
        absent = (window(*self._extent) - self._compute(gpu)) - self.after_last(gpu)
        return find_pieces(self.trace, self.graph, self._blocker_of, self._unknown, gpu, absent)
