"""The five categories of a GPU's time, for any time range at the cost of a binary search.

See docs/definitions.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.classify import COMMUNICATION, WAITING, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import EMPTY, Intervals, union
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

CATEGORIES = ("compute_only", "hidden_comm", "exposed_comm", "copy_only", "idle")
COPY_ONLY, IDLE = CATEGORIES.index("copy_only"), CATEGORIES.index("idle")


@dataclass(frozen=True)
class BusyIntervals:
    """When one GPU computes, communicates and copies: unions over all its streams and contexts.

    `compute` includes whole CUDA graphs, which `has_graphs` tells; `copies` includes sets. They may overlap.
    `spinning` is the part of `compute` in which kernels of class waiting run and no other compute kernel.
    """

    compute: Intervals
    communication: Intervals
    copies: Intervals
    spinning: Intervals
    has_graphs: bool

    def __or__(self, other: BusyIntervals) -> BusyIntervals:
        compute = self.compute | other.compute
        # A kernel that waits on one GPU of the card while another one computes spins no longer.
        working = (self.compute - self.spinning) | (other.compute - other.spinning)
        return BusyIntervals(
            compute,
            self.communication | other.communication,
            self.copies | other.copies,
            compute - working,
            self.has_graphs or other.has_graphs,
        )


@dataclass(frozen=True)
class TimeBreakdown:
    """The five categories of one GPU's time: disjoint, and together they fill it.

    Attributes
    ----------
    window_ns : (int, int)
        First to last GPU operation of the trace; idle stalls lie inside it.
    busy : tuple of Intervals
        The first four of `CATEGORIES`; idle is the rest.
    spinning : Intervals
        The part of compute, with communication beside it or without, in which no compute kernel runs but
        those of class waiting.
    has_graphs : bool
        Whether CUDA graphs are recorded as one piece. They count as compute and may hold communication, so
        that the exposed communication is a lower bound.
    """

    window_ns: tuple[int, int]
    busy: tuple[Intervals, ...]
    spinning: Intervals
    has_graphs: bool

    def cumulative(self, times_ns: npt.ArrayLike) -> Int64:
        """Return the time spent in each category before each instant, shape (5, *times.shape), ns.

        Idle counts from the trace's zero, so that only differences between two instants mean something.
        """
        instants = np.asarray(times_ns, np.int64)
        before = np.empty((len(CATEGORIES), *instants.shape), np.int64)
        for category, covered in enumerate(self.busy):
            before[category] = covered.before(instants)
        # The rest, never measured by itself: the five sum to the time exactly, for any two instants.
        before[IDLE] = instants - before[:IDLE].sum(axis=0)
        return before

    def totals(self, start_ns: npt.ArrayLike, end_ns: npt.ArrayLike) -> Int64:
        """Return the time of each category in the windows [start, end), shape (*windows.shape, 5), ns.

        The five sum to the length of the window.

        Raises
        ------
        ValueError
            If a window ends before it starts.
        """
        # Starts and ends in one array: one pass of binary searches for each category, not two.
        edges = np.stack(np.broadcast_arrays(np.asarray(start_ns, np.int64), np.asarray(end_ns, np.int64)))
        # Shape (5, 2, *windows.shape): category, start or end, window. The category moves to the last axis.
        before = self.cumulative(edges)
        totals = np.moveaxis(before[:, 1] - before[:, 0], 0, -1)
        if (totals < 0).any():
            raise ValueError("a window ends before it starts, or its parts overlap")
        return totals

    def part_at(self, time_ns: int) -> int:
        """Return the category at an instant, a position in `CATEGORIES`."""
        return int(np.argmax(self.totals(time_ns, time_ns + 1)))

    def intervals(
        self, *categories: str, start_ns: int | None = None, end_ns: int | None = None
    ) -> Intervals:
        """Return the maximal intervals of some categories together, inside [start, end).

        The start and the end are by default those of `window_ns`.
        """
        low = self.window_ns[0] if start_ns is None else start_ns
        high = self.window_ns[1] if end_ns is None else end_ns
        positions = [CATEGORIES.index(category) for category in categories]
        pieces = [self._idle(low, high) if p == IDLE else self.busy[p].clip(low, high) for p in positions]
        return reduce(or_, pieces)

    def interval_in(
        self, category: str, low_ns: int, high_ns: int, span_ns: tuple[int, int]
    ) -> tuple[int, int] | None:
        """Return the maximal interval of a category that has most time in [low, high), in ns, whole.

        None where the category has no time there. Idle time ends with `window_ns`, as stalls do; what lies
        before and after it, up to the recording's `span_ns`, are intervals of their own.
        """
        pieces = self.intervals(category, start_ns=low_ns, end_ns=high_ns)
        if not len(pieces):
            return None
        inside = int(pieces.start_ns[np.argmax(pieces.lengths)])
        if (position := CATEGORIES.index(category)) != IDLE:
            covered = self.busy[position]
            found = int(np.searchsorted(covered.start_ns, inside, side="right")) - 1
            return int(covered.start_ns[found]), int(covered.end_ns[found])
        low, high = span_ns
        for edge in self.window_ns:
            low, high = (max(low, edge), high) if edge <= inside else (low, min(high, edge))
        for covered in self.busy:
            following = int(np.searchsorted(covered.start_ns, inside, side="right"))
            if following > 0:
                low = max(low, int(covered.end_ns[following - 1]))
            if following < len(covered):
                high = min(high, int(covered.start_ns[following]))
        return low, high

    def _idle(self, low: int, high: int) -> Intervals:
        """Return what the busy categories leave of [low, high)."""
        if high <= low:
            return EMPTY
        # The busy categories are disjoint: sorted apart, the k-th of `low` and all ends begins the gap that
        # the k-th of all starts and `high` ends. Neighbours that touch leave a gap of no length.
        clipped = [covered.clip(low, high) for covered in self.busy]
        start = np.sort(np.concatenate([[low], *(covered.end_ns for covered in clipped)]), kind="stable")
        end = np.sort(np.concatenate([*(covered.start_ns for covered in clipped), [high]]), kind="stable")
        has_length = end > start
        return Intervals(start[has_length], end[has_length])


def coverage(trace: Trace, classes: KernelClasses, gpu: int) -> BusyIntervals:
    """Return when a GPU computes, communicates and copies."""
    kernels = rows_of_gpu(trace, Kind.KERNEL, gpu)
    graphs = rows_of_gpu(trace, Kind.GRAPH, gpu)
    class_of = classes.class_of[trace.kernels.name_id[kernels]]
    is_comm, is_waiting = class_of == COMMUNICATION, class_of == WAITING
    # A whole graph counts as compute, since what runs inside it was not recorded; `has_graphs` lets every
    # number that this touches be called a bound.
    compute = _union(trace, (Kind.KERNEL, kernels[~is_comm]), (Kind.GRAPH, graphs))
    spinning = EMPTY
    if is_waiting.any():
        working = _union(trace, (Kind.KERNEL, kernels[~is_comm & ~is_waiting]), (Kind.GRAPH, graphs))
        spinning = compute - working
    return BusyIntervals(
        compute,
        _union(trace, (Kind.KERNEL, kernels[is_comm])),
        _union(trace, *((k, rows_of_gpu(trace, k, gpu)) for k in (Kind.MEMCPY, Kind.MEMSET))),
        spinning,
        bool(len(graphs)),
    )


def time_breakdown(trace: Trace, covered: BusyIntervals) -> TimeBreakdown:
    """Return the five categories of a GPU's time."""
    compute, communication = covered.compute, covered.communication
    # In order of precedence, each less those before it: disjoint, which all sums rely on. Communication beats
    # copies: a copy beside it costs nothing more.
    busy = (
        compute - communication,
        compute & communication,
        communication - compute,
        covered.copies - compute - communication,
    )
    return TimeBreakdown(trace.window_ns, busy, covered.spinning, covered.has_graphs)


def without_kernel(parts_ns: Int64) -> Int64:
    """Return the time in which no kernel runs, copy only and idle, shape (...) of parts (..., 5), ns."""
    return np.asarray(parts_ns[..., COPY_ONLY] + parts_ns[..., IDLE])


def _union(trace: Trace, *rows: tuple[Kind, npt.NDArray[np.int32]]) -> Intervals:
    start = np.concatenate([trace.events[kind].start_ns[index] for kind, index in rows])
    end = np.concatenate([trace.events[kind].end_ns[index] for kind, index in rows])
    return union(start, end)
