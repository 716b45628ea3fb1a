"""Which events overlap which stalls, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Overlaps:
    """Pairs of a stall and an event that share time.

    Attributes
    ----------
    stalls : int
        How many stalls there are.
    stall_at, event_at : ndarray of int64, shape (pairs,)
        Positions in the arrays that `overlaps` was given.
    length_ns : ndarray of int64, shape (pairs,)
        Time that the two share, more than 0.
    """

    stalls: int
    stall_at: Positions
    event_at: Positions
    length_ns: Int64

    def longest(self) -> tuple[Positions, Int64]:
        """Return for each stall the event that shares most time with it (-1: none), and that time in ns.

        Of events that share equally much, the first in the array counts. Shape (stalls,) each.
        """
        event = np.full(self.stalls, -1, np.int64)
        length = np.zeros(self.stalls, np.int64)
        # Several pairs write to one stall, and the last to write stays: so the longest comes last, and of
        # equally long ones the first event.
        order = np.lexsort((-self.event_at, self.length_ns))
        event[self.stall_at[order]] = self.event_at[order]
        length[self.stall_at[order]] = self.length_ns[order]
        return event, length

    def most(self, kind: npt.NDArray[np.integer[Any]]) -> tuple[Positions, Int64]:
        """Return for each stall the longest event of the kind that shares most time with it, and that time.

        Parameters
        ----------
        kind : ndarray of int, shape (m,)
            Of each event, such as its name.

        Returns
        -------
        ndarray of int64, shape (stalls,)
            Positions of the events, -1 for none.
        ndarray of int64, shape (stalls,)
            What all events of that kind share with the stall, ns.
        """
        event, total = np.full(self.stalls, -1, np.int64), np.zeros(self.stalls, np.int64)
        if not len(self.event_at):
            return event, total
        # By (stall, kind), the longest pair last; of equally long ones the first event.
        kinds = np.asarray(kind)[self.event_at].astype(np.int64)
        order = np.lexsort((-self.event_at, self.length_ns, kinds, self.stall_at))
        stall, of_kind = self.stall_at[order], kinds[order]
        is_first = np.concatenate(([True], (stall[1:] != stall[:-1]) | (of_kind[1:] != of_kind[:-1])))
        first = np.flatnonzero(is_first)
        longest = order[np.append(first[1:], len(order)) - 1]
        sums = np.add.reduceat(self.length_ns[order], first)
        # Several kinds write to one stall, and the last to write stays: that with the largest sum, of equal
        # ones that of the first event.
        by_sum = np.lexsort((-self.event_at[longest], sums))
        event[stall[first][by_sum]] = self.event_at[longest[by_sum]]
        total[stall[first][by_sum]] = sums[by_sum]
        return event, total

    def counts(self) -> Int64:
        """Return how many events overlap each stall, shape (stalls,)."""
        return np.bincount(self.stall_at, minlength=self.stalls).astype(np.int64)

    def sums(self, values: Int64) -> Int64:
        """Return the sum of the events' values over each stall, shape (stalls,)."""
        sums = np.zeros(self.stalls, np.int64)
        np.add.at(sums, self.stall_at, values[self.event_at])
        return sums


def overlaps(stall_start: Int64, stall_end: Int64, start_ns: Int64, end_ns: Int64) -> Overlaps:
    """Return the pairs of stalls and events that share time.

    Parameters
    ----------
    stall_start, stall_end : ndarray of int64, shape (n,)
        Disjoint and sorted; some may be empty.
    start_ns, end_ns : ndarray of int64, shape (m,)
        In any order; they may overlap one another.
    """
    # The stalls are sorted and disjoint, so that an event meets a run of them: those from `first` to `stop`.
    first = np.searchsorted(stall_end, start_ns, side="right")
    stop = np.maximum(np.searchsorted(stall_start, end_ns, side="left"), first)
    count = stop - first
    # One entry a pair, shape (count.sum(),): the event, and the stall as first + place within the run.
    event = np.repeat(np.arange(len(start_ns)), count)
    pairs_before = np.cumsum(count) - count
    stall = np.arange(len(event)) - pairs_before[event] + first[event]
    length = np.minimum(stall_end[stall], end_ns[event]) - np.maximum(stall_start[stall], start_ns[event])
    # Empty stalls and events of length zero lie inside a run and share no time.
    shares_time = length > 0
    return Overlaps(len(stall_start), stall[shares_time], event[shares_time], length[shares_time])
