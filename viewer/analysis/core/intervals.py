"""Sets of time as sorted, disjoint, half-open intervals. The only place where interval sums are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Intervals:
    """A set of time, in ns from the trace's zero.

    Attributes
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        ``start_ns[i] < end_ns[i] < start_ns[i + 1]``: half-open, disjoint, not touching, none empty.
        Make one from events by `union`.
    """

    start_ns: Int64
    end_ns: Int64

    def __len__(self) -> int:
        return len(self.start_ns)

    def __and__(self, other: Intervals) -> Intervals:
        few, many = sorted((self, other), key=len)
        if not len(few):
            return EMPTY
        # Each interval of the smaller set meets a run of the larger one, since both are sorted and disjoint:
        # `count` intervals from `first` on.
        first = np.searchsorted(many.end_ns, few.start_ns, side="right")
        count = np.searchsorted(many.start_ns, few.end_ns, side="left") - first
        # One pair per meeting, shape (count.sum(),): position in the smaller set, position in the larger one.
        in_few = np.repeat(np.arange(len(few)), count)
        in_many = np.arange(len(in_few)) + np.repeat(first - (np.cumsum(count) - count), count)
        return Intervals(
            np.maximum(many.start_ns[in_many], few.start_ns[in_few]),
            np.minimum(many.end_ns[in_many], few.end_ns[in_few]),
        )

    def __or__(self, other: Intervals) -> Intervals:
        return union(
            np.concatenate((self.start_ns, other.start_ns)), np.concatenate((self.end_ns, other.end_ns))
        )

    def __sub__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return self
        # What is left is what meets the gaps of the other set, the endless ones at both sides included.
        limits = np.iinfo(np.int64)
        return self & Intervals(
            np.concatenate(([limits.min], other.end_ns)), np.concatenate((other.start_ns, [limits.max]))
        )

    @property
    def lengths(self) -> Int64:
        """Lengths in ns, shape (n,)."""
        return self.end_ns - self.start_ns

    def total(self) -> int:
        """Return the time covered, in ns."""
        return int(self.lengths.sum())

    def clip(self, start_ns: int, end_ns: int) -> Intervals:
        """Return the part inside [start_ns, end_ns)."""
        if end_ns <= start_ns or not len(self):
            return EMPTY
        first = int(np.searchsorted(self.end_ns, start_ns, side="right"))
        last = int(np.searchsorted(self.start_ns, end_ns, side="left"))
        return Intervals(
            np.maximum(self.start_ns[first:last], start_ns), np.minimum(self.end_ns[first:last], end_ns)
        )

    def covered(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> Int64:
        """Return the time covered inside each window [start, end), in ns, of the shape of the windows.

        It costs two binary searches a window, however many intervals lie inside.
        """
        return self.before(ends) - self.before(starts)

    def before(self, times: npt.ArrayLike) -> Int64:
        """Return the time covered before each of `times`, in ns, of the shape of `times`."""
        instants = np.asarray(times, np.int64)
        if not len(self):
            return np.zeros(instants.shape, np.int64)
        # The last interval that begins no later, and how far into it the instant lies: 0 before the first
        # interval, its whole length once it is over.
        last = np.maximum(self.start_ns.searchsorted(instants, side="right") - 1, 0)
        start, end = self.start_ns[last], self.end_ns[last]
        inside = np.minimum(np.maximum(instants, start), end) - start
        return np.asarray(self._sums[last] + inside)

    @cached_property
    def _sums(self) -> Int64:
        """Time covered before each interval, and by all of them, shape (n + 1,)."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.lengths)))


EMPTY = Intervals(NONE, NONE)
"""No time at all."""


def window(start_ns: int, end_ns: int) -> Intervals:
    """Return [start, end) as a set of time; `EMPTY` if it holds no time."""
    return union(np.array([start_ns], np.int64), np.array([end_ns], np.int64))


def union(start_ns: Int64, end_ns: Int64) -> Intervals:
    """Return the union of events in any order, shape (n,) each; those of length zero cover nothing."""
    has_length = end_ns > start_ns
    if not has_length.all():
        start_ns, end_ns = start_ns[has_length], end_ns[has_length]
    if not len(start_ns):
        return EMPTY
    # "stable" is a merge sort that takes what is already sorted, such as the streams of a GPU, as it is.
    start, end = np.sort(start_ns, kind="stable"), np.sort(end_ns, kind="stable")
    # Sorted apart, starts and ends lose their events but keep the count of what runs: at the k-th end, k
    # events are over, and nothing runs if the next start is later. Touching events stay one interval.
    first = np.concatenate(([True], start[1:] > end[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Intervals(start[first], end[last])


def sweep(sets: tuple[Intervals, ...]) -> tuple[Int64, npt.NDArray[np.uint8]]:
    """Return every boundary of up to eight sets, and which of them cover the time from each to the next.

    Returns
    -------
    times : ndarray of int64, shape (n,)
        The boundaries, increasing, each once.
    bits : ndarray of uint8, shape (n,)
        Which sets cover the time from each boundary to the next, set ``k`` as bit ``1 << k``;
        0 after the last, and before the first.
    """
    times = np.concatenate([np.stack((s.start_ns, s.end_ns), axis=1).ravel() for s in sets])
    # A set is disjoint, so each of its boundaries flips its bit: a running XOR gives the sets that cover.
    toggles = np.repeat(np.array([1 << k for k in range(len(sets))], np.uint8), [2 * len(s) for s in sets])
    order = np.argsort(times, kind="stable")
    times = times[order]
    bits = np.bitwise_xor.accumulate(toggles[order])
    # Of several boundaries at one instant the last has seen all of them.
    is_last = np.concatenate((times[1:] != times[:-1], [True]))[: len(times)]
    return times[is_last], bits[is_last]


def runs(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return where runs of equal values begin, and where they end (exclusive), shape (runs,) each."""
    if not len(values):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return first, np.append(first[1:], len(values))
