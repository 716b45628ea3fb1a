"""Launch latency: how far the CPU runs ahead of a GPU, over time (docs/definitions.md, section 4)."""

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


@dataclass(frozen=True, eq=False)
class LaunchLatency:
    """How long each operation of a GPU was queued; those without a launch record are left out.

    Attributes
    ----------
    times_ns : ndarray of int64, shape (n,)
        Starts of the operations, rising.
    queued_ns : ndarray of int32 or int64, shape (n,)
    dry_ns : ndarray of int64, shape (m,)
        Starts of the operations that end an idle stall of 10 µs or more and were not queued: there the
        queue had run dry.
    """

    times_ns: Int64
    queued_ns: Whole
    dry_ns: Int64

    def at(self, time_ns: int) -> int | None:
        """Return how long the operation that started last was queued, None before the first."""
        at = int(np.searchsorted(self.times_ns, time_ns, side="right")) - 1
        return int(self.queued_ns[at]) if at >= 0 else None

    def columns(self, start_ns: int, end_ns: int, width: int) -> tuple[Int64, Int64]:
        """Return the least and the most queued time in each of `width` columns, -1 where nothing starts."""
        edges = start_ns + (end_ns - start_ns) * np.arange(width + 1, dtype=np.int64) // width
        at = np.searchsorted(self.times_ns, edges, side="left")
        low, high = np.full(width, -1, np.int64), np.full(width, -1, np.int64)
        full = np.flatnonzero(at[1:] > at[:-1])
        if len(full):
            held = self.queued_ns[at[0] : at[-1]]
            first = at[full] - at[0]
            low[full], high[full] = np.minimum.reduceat(held, first), np.maximum.reduceat(held, first)
        return low, high


def launch_latency(launches: Launches, order: GpuOrder, idle: Intervals) -> LaunchLatency:
    """Return the launch latency of a GPU."""
    queued = np.full(len(order), UNKNOWN, np.int64)
    for position, kind in enumerate(GPU_KINDS):
        mine = order.kind == position
        if mine.any():
            queued[mine] = launches.queued_ns(kind, order.index[mine])
    times, known = order.start_ns, queued != UNKNOWN
    if not known.all():
        times, queued = times[known], queued[known]
    ends = idle.end_ns[idle.lengths >= MIN_IDLE_NS]
    first = np.searchsorted(times, ends, side="left")
    held = first < len(times)
    ends, first = ends[held], first[held]
    is_dry = (times[first] == ends) & (queued[first] < NEAR_ZERO_NS)
    return LaunchLatency(times, narrowed(queued), ends[is_dry])
