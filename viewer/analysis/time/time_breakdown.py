"""The five parts of a GPU's time, for any window at the cost of a binary search.

See docs/definitions.md, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import EMPTY, Intervals, union
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

CATEGORIES = ("compute_only", "hidden_comm", "exposed_comm", "copy_only", "idle")
COPY_ONLY, IDLE = CATEGORIES.index("copy_only"), CATEGORIES.index("idle")


@dataclass(frozen=True)
class BusyIntervals:
    """What covers one GPU, as unions over all its streams and contexts."""

    compute: Intervals
    communication: Intervals
    copies: Intervals
    has_graphs: bool

    def __or__(self, other: BusyIntervals) -> BusyIntervals:
        return BusyIntervals(
            self.compute | other.compute,
            self.communication | other.communication,
            self.copies | other.copies,
            self.has_graphs or other.has_graphs,
        )


@dataclass(frozen=True)
class TimeBreakdown:
    """The five parts of one GPU's time.

    Attributes
    ----------
    window_ns : (int, int)
        The trace's window; idle stalls are looked for inside it.
    busy : tuple of Intervals
        The first four of `CATEGORIES`; idle is the rest.
    has_graphs : bool
        Whether CUDA graphs are recorded as one piece: they may hold communication, so that the exposed
        communication is a lower bound.
    """

    window_ns: tuple[int, int]
    busy: tuple[Intervals, ...]
    has_graphs: bool

    def cumulative(self, times_ns: npt.ArrayLike) -> Int64:
        """Return the ns spent in each part before each time, shape (5, *times.shape).

        Idle counts from the trace's zero: only differences between two times mean something.
        """
        t = np.asarray(times_ns, np.int64)
        out = np.empty((len(CATEGORIES), *t.shape), np.int64)
        for part, covered in enumerate(self.busy):
            out[part] = covered.before(t)
        out[IDLE] = t - out[:IDLE].sum(axis=0)
        return out

    def totals(self, start_ns: npt.ArrayLike, end_ns: npt.ArrayLike) -> Int64:
        """Return the ns of each part in the windows [start, end), shape (*windows.shape, 5).

        The five sum to the length of the window.

        Raises
        ------
        ValueError
            If a window ends before it starts.
        """
        edges = np.stack(np.broadcast_arrays(np.asarray(start_ns, np.int64), np.asarray(end_ns, np.int64)))
        before = self.cumulative(edges)
        totals = np.moveaxis(before[:, 1] - before[:, 0], 0, -1)
        if (totals < 0).any():
            raise ValueError("a window ends before it starts, or its parts overlap")
        return totals

    def part_at(self, time_ns: int) -> int:
        """Return the part at an instant, a position in `CATEGORIES`."""
        return int(np.argmax(self.totals(time_ns, time_ns + 1)))

    def intervals(self, *parts: str, start_ns: int | None = None, end_ns: int | None = None) -> Intervals:
        """Return the maximal intervals of one or several parts together, inside [start, end).

        Without a start or an end: that of the trace's window.
        """
        low = self.window_ns[0] if start_ns is None else start_ns
        high = self.window_ns[1] if end_ns is None else end_ns
        wanted = [self.busy[CATEGORIES.index(p)].clip(low, high) for p in parts if p != CATEGORIES[IDLE]]
        if CATEGORIES[IDLE] in parts:
            wanted.append(self._idle(low, high))
        return reduce(or_, wanted)

    def next_stall(
        self, parts: Sequence[str], time_ns: int, direction: int, min_ns: int = 0
    ) -> tuple[int, int] | None:
        """Return the next stall that starts after an instant, or (direction -1) the last that starts before.

        A stall is a maximal interval of `parts` together, at least `min_ns` long, inside the trace's window.
        """
        stalls = self.intervals(*parts)
        long = stalls.lengths >= min_ns
        start, end = stalls.start_ns[long], stalls.end_ns[long]
        if direction > 0:
            at = int(np.searchsorted(start, time_ns, side="right"))
        else:
            at = int(np.searchsorted(start, time_ns, side="left")) - 1
        return (int(start[at]), int(end[at])) if 0 <= at < len(start) else None

    def _idle(self, low: int, high: int) -> Intervals:
        """Return what the busy parts, which are disjoint, leave of [low, high)."""
        if high <= low:
            return EMPTY
        held = [covered.clip(low, high) for covered in self.busy]
        start = np.sort(np.concatenate([[low], *(c.end_ns for c in held)]), kind="stable")
        end = np.sort(np.concatenate([*(c.start_ns for c in held), [high]]), kind="stable")
        real = end > start
        return Intervals(start[real], end[real])


def coverage(trace: Trace, classes: KernelClasses, gpu: int) -> BusyIntervals:
    """Make the three unions of a GPU: compute (with graph launches), communication, copies and sets."""
    kernels = rows_of_gpu(trace, Kind.KERNEL, gpu)
    graphs = rows_of_gpu(trace, Kind.GRAPH, gpu)
    is_comm = classes.is_comm(trace.kernels.name_id[kernels])
    return BusyIntervals(
        _union(trace, (Kind.KERNEL, kernels[~is_comm]), (Kind.GRAPH, graphs)),
        _union(trace, (Kind.KERNEL, kernels[is_comm])),
        _union(trace, *((k, rows_of_gpu(trace, k, gpu)) for k in (Kind.MEMCPY, Kind.MEMSET))),
        bool(len(graphs)),
    )


def time_breakdown(trace: Trace, covered: BusyIntervals) -> TimeBreakdown:
    """Cut a GPU's time into its five parts."""
    compute, communication = covered.compute, covered.communication
    busy = (
        compute - communication,
        compute & communication,
        communication - compute,
        covered.copies - compute - communication,
    )
    return TimeBreakdown(trace.window_ns, busy, covered.has_graphs)


def without_kernel(parts_ns: Int64) -> Int64:
    """Return the time without a kernel on any stream, copy only and idle; parts have the shape (..., 5)."""
    return np.asarray(parts_ns[..., COPY_ONLY] + parts_ns[..., IDLE])


def _union(trace: Trace, *rows: tuple[Kind, npt.NDArray[np.int32]]) -> Intervals:
    start = np.concatenate([trace.events[kind].start_ns[index] for kind, index in rows])
    end = np.concatenate([trace.events[kind].end_ns[index] for kind, index in rows])
    return union(start, end)
