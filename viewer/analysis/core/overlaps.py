"""Which events overlap which of some disjoint slices of time, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Overlaps:
    """Pairs of a slice and an event that share time.

    Attributes
    ----------
    stalls : int
        How many slices there are.
    stall_at, event_at : ndarray of int64, shape (pairs,)
        Positions in the arrays given.
    length_ns : ndarray of int64, shape (pairs,)
        What they share, more than 0.
    """

    stalls: int
    stall_at: Positions
    event_at: Positions
    length_ns: Int64

    def longest(self) -> tuple[Positions, Int64]:
        """Return for each slice the event that shares most with it (-1: none), and how much, ns."""
        event = np.full(self.stalls, -1, np.int64)
        length = np.zeros(self.stalls, np.int64)
        # Written in rising order of length, the last one stays; of equals the first.
        order = np.lexsort((-self.event_at, self.length_ns))
        event[self.stall_at[order]] = self.event_at[order]
        length[self.stall_at[order]] = self.length_ns[order]
        return event, length

    def counts(self) -> Int64:
        """Return how many events overlap each slice, shape (slices,)."""
        return np.bincount(self.stall_at, minlength=self.stalls).astype(np.int64)

    def sums(self, values: Int64) -> Int64:
        """Return the sum of the events' values over each slice, shape (slices,)."""
        out = np.zeros(self.stalls, np.int64)
        np.add.at(out, self.stall_at, values[self.event_at])
        return out


def overlaps(stall_start: Int64, stall_end: Int64, start_ns: Int64, end_ns: Int64) -> Overlaps:
    """Pair slices with events.

    Parameters
    ----------
    stall_start, stall_end : ndarray of int64, shape (n,)
        Disjoint and sorted; some may be empty.
    start_ns, end_ns : ndarray of int64, shape (m,)
        In any order; they may overlap one another.
    """
    low = np.searchsorted(stall_end, start_ns, side="right")
    high = np.maximum(np.searchsorted(stall_start, end_ns, side="left"), low)
    count = high - low
    event = np.repeat(np.arange(len(start_ns)), count)
    before = np.cumsum(count) - count
    at = np.arange(len(event)) - before[event] + low[event]
    length = np.minimum(stall_end[at], end_ns[event]) - np.maximum(stall_start[at], start_ns[event])
    real = length > 0
    return Overlaps(len(stall_start), at[real], event[real], length[real])
