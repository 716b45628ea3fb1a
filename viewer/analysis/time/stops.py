"""Stops of a walk from stall to stall: what stalls on several GPUs at once is one.

See docs/definitions.md, section 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class Stops:
    """The stops, by start.

    Attributes
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Of the longest stall of each stop; the starts increase.
    gpu : ndarray of int64, shape (n,)
        Whose stall that is.
    together : ndarray of int64, shape (n,)
        On how many GPUs something of the stop lies.
    """

    start_ns: Int64
    end_ns: Int64
    gpu: Int64
    together: Int64

    def __len__(self) -> int:
        return len(self.start_ns)

    def beside(self, time_ns: int, direction: int) -> int | None:
        """Return the first stop that starts after an instant, or (-1) the last that starts before it."""
        if direction > 0:
            number = int(np.searchsorted(self.start_ns, time_ns, side="right"))
        else:
            number = int(np.searchsorted(self.start_ns, time_ns, side="left")) - 1
        return number if 0 <= number < len(self) else None


def find_stops(
    breakdowns: Mapping[int, TimeBreakdown],
    categories: Sequence[str],
    min_ns: int,
    within_ns: tuple[int, int] | None = None,
) -> Stops:
    """Return the stops of some GPUs: stalls that share an instant are one.

    A stall is a maximal interval of `categories` together, at least `min_ns` long, inside the trace's window.
    Stalls are taken by start; each joins the stop before it as long as one instant lies in all of them, so
    that a stop holds at most one stall a GPU.

    Parameters
    ----------
    within_ns : (int, int), optional
        Only stalls that touch this range.
    """
    starts, ends, gpus = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for gpu, breakdown in breakdowns.items():
        stalls = breakdown.intervals(*categories)
        is_taken = stalls.lengths >= min_ns
        if within_ns is not None:
            is_taken &= (stalls.start_ns < within_ns[1]) & (stalls.end_ns > within_ns[0])
        starts.append(stalls.start_ns[is_taken])
        ends.append(stalls.end_ns[is_taken])
        gpus.append(np.full(int(is_taken.sum()), gpu, np.int64))
    start, end, owner = np.concatenate(starts), np.concatenate(ends), np.concatenate(gpus)
    order = np.lexsort((end, start))
    start, end, owner = start[order], end[order], owner[order]
    first = _first_of_stops(start, end)
    if not len(first):
        return Stops(start, end, owner, owner)
    # The longest of each stop: sorted by stop and then by length, it is the last of its run.
    stop = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(start))))
    last = np.append(first[1:], len(start)) - 1
    longest = np.lexsort((-owner, end - start, stop))[last]
    return Stops(start[longest], end[longest], owner[longest], last - first + 1)


def _first_of_stops(start: Int64, end: Int64) -> Int64:
    """Return the position of the first stall of each stop, of stalls sorted by start."""
    # The first stall that begins when a stall is over cannot share an instant with it. Of a stop that begins
    # at i, the next one begins at the least of these over i and all after: a later stall k is over after k
    # itself, so that it does not lower the least before the stop has ended.
    over = np.searchsorted(start, end, side="left")
    following = np.minimum.accumulate(over[::-1])[::-1].tolist()
    first, at = [], 0
    while at < len(start):  # a turn for each stop, of which there are as many as one can walk along
        first.append(at)
        at = following[at]
    return np.array(first, np.int64)
