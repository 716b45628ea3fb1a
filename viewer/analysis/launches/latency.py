"""How long the operations of a GPU were queued, over time (docs/definitions.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.arrays import Whole, narrowed
from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.launches.launches import NEAR_ZERO_NS, UNKNOWN, Launches
from viewer.trace import GPU_KINDS
from viewer.trace.events import Int64

MIN_IDLE_NS = 10_000
"""Shorter idle stalls do not count as an empty queue."""


@dataclass(frozen=True, eq=False)
class LaunchLatency:
    """How long each operation of a GPU was queued; those without a launch record are left out.

    Attributes
    ----------
    times_ns : ndarray of int64, shape (n,)
        Starts of the operations, increasing.
    queued_ns : ndarray of int32 or int64, shape (n,)
        Their queue times.
    dry_ns : ndarray of int64, shape (m,)
        Starts of the operations that end an idle stall of 10 µs or more and were not queued: there the
        queue was empty.
    """

    times_ns: Int64
    queued_ns: Whole
    dry_ns: Int64

    def at(self, time_ns: int) -> int | None:
        """Return the queue time in ns of the operation that started last, None before the first."""
        last = int(np.searchsorted(self.times_ns, time_ns, side="right")) - 1
        return int(self.queued_ns[last]) if last >= 0 else None

    def columns(self, start_ns: int, end_ns: int, width: int) -> tuple[Int64, Int64]:
        """Return the shortest and the longest queue time in each pixel column, -1 where nothing starts.

        Shape (width,) each, ns; the columns cut [start, end) into equal pieces.
        """
        # Whole numbers: the columns are those of the bars, which a rounded float would shift by a pixel.
        edges = start_ns + (end_ns - start_ns) * np.arange(width + 1, dtype=np.int64) // width
        position = np.searchsorted(self.times_ns, edges, side="left")
        low, high = np.full(width, -1, np.int64), np.full(width, -1, np.int64)
        # `reduceat` of an empty column would return its first element: it sees only the columns that hold
        # operations, whose positions follow one another without a gap.
        filled = np.flatnonzero(position[1:] > position[:-1])
        if len(filled):
            queued = self.queued_ns[position[0] : position[-1]]
            first = position[filled] - position[0]
            low[filled], high[filled] = np.minimum.reduceat(queued, first), np.maximum.reduceat(queued, first)
        return low, high


def launch_latency(launches: Launches, order: GpuOrder, idle: Intervals) -> LaunchLatency:
    """Return the queue times of the operations of a GPU.

    Parameters
    ----------
    launches : Launches
    order : GpuOrder
        The operations of the GPU, by start.
    idle : Intervals
        The idle stalls of the GPU.
    """
    queued = np.full(len(order), UNKNOWN, np.int64)
    for position, kind in enumerate(GPU_KINDS):
        of_kind = order.kind == position
        if of_kind.any():
            queued[of_kind] = launches.queued_ns(kind, order.index[of_kind])
    times, known = order.start_ns, queued != UNKNOWN
    if not known.all():
        times, queued = times[known], queued[known]
    # Short gaps lie between any two kernels of one stream, however full the queue is.
    ends = idle.end_ns[idle.lengths >= MIN_IDLE_NS]
    # The operation that ends an idle stall starts where the stall ends, if it has a launch record at all.
    first = np.searchsorted(times, ends, side="left")
    has_next = first < len(times)
    ends, first = ends[has_next], first[has_next]
    is_dry = (times[first] == ends) & (queued[first] < NEAR_ZERO_NS)
    return LaunchLatency(times, narrowed(queued), ends[is_dry])
