"""Intervals: sorted, disjoint, half-open sets of time. The only place where interval sums are made."""

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
        low = np.searchsorted(many.end_ns, few.start_ns, side="right")
        count = np.searchsorted(many.start_ns, few.end_ns, side="left") - low
        of = np.repeat(np.arange(len(few)), count)
        at = np.arange(len(of)) + np.repeat(low - (np.cumsum(count) - count), count)
        return Intervals(
            np.maximum(many.start_ns[at], few.start_ns[of]), np.minimum(many.end_ns[at], few.end_ns[of])
        )

    def __or__(self, other: Intervals) -> Intervals:
        return union(
            np.concatenate((self.start_ns, other.start_ns)), np.concatenate((self.end_ns, other.end_ns))
        )

    def __sub__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return self
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
        """Return the time covered inside each window [start, end), ns; two binary searches a window."""
        return self.before(ends) - self.before(starts)

    def before(self, times: npt.ArrayLike) -> Int64:
        """Return the time covered before each of `times`, in ns."""
        t = np.asarray(times, np.int64)
        if not len(self):
            return np.zeros(t.shape, np.int64)
        at = np.maximum(self.start_ns.searchsorted(t, side="right") - 1, 0)
        inside = np.minimum(np.maximum(t, self.start_ns[at]), self.end_ns[at]) - self.start_ns[at]
        return np.asarray(self._sums[at] + inside)

    @cached_property
    def _sums(self) -> Int64:
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.lengths)))


EMPTY = Intervals(NONE, NONE)
"""No time at all."""


def window(start_ns: int, end_ns: int) -> Intervals:
    """Return one interval as a set; nothing if it is empty."""
    return union(np.array([start_ns], np.int64), np.array([end_ns], np.int64))


def union(start_ns: Int64, end_ns: Int64) -> Intervals:
    """Return the union of events in any order, shape (n,) each; those of length zero cover nothing."""
    real = end_ns > start_ns
    if not real.all():
        start_ns, end_ns = start_ns[real], end_ns[real]
    if not len(start_ns):
        return EMPTY
    # "stable" is a merge sort that takes what is already sorted, such as the streams of a GPU, as it is.
    start, end = np.sort(start_ns, kind="stable"), np.sort(end_ns, kind="stable")
    # Nothing runs after the k-th end where the next event has not begun by then.
    first = np.concatenate(([True], start[1:] > end[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Intervals(start[first], end[last])


def sweep(sets: tuple[Intervals, ...]) -> tuple[Int64, npt.NDArray[np.uint8]]:
    """Cut time at every boundary of up to eight sets.

    Returns
    -------
    times : ndarray of int64, shape (n,)
        The boundaries, increasing, each once.
    bits : ndarray of uint8, shape (n,)
        Which sets cover the time from each boundary to the next, set ``k`` as bit ``1 << k``;
        0 after the last, and before the first.
    """
    times = np.concatenate([np.stack((s.start_ns, s.end_ns), axis=1).ravel() for s in sets])
    toggles = np.repeat(np.array([1 << k for k in range(len(sets))], np.uint8), [2 * len(s) for s in sets])
    order = np.argsort(times, kind="stable")
    times = times[order]
    bits = np.bitwise_xor.accumulate(toggles[order])
    last = np.concatenate((times[1:] != times[:-1], [True]))[: len(times)]
    return times[last], bits[last]


def runs(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return where runs of equal values begin, and where they end (exclusive)."""
    if not len(values):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return first, np.append(first[1:], len(values))
