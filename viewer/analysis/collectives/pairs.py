"""Which sequences of communication kernels end together: the evidence that joins ranks to groups.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

MAX_END_APART_NS = 50_000
TIGHT_NS = 4_000
"""The width of the window in which the differences between the ends of real partners lie."""
_IN_STEP_NS = 5_000
_SAMPLES = 256
_MIN_TIGHT = 5
_MIN_RATIO, _MIN_COMMON = 0.5, 3
"""Sequences of which one has fewer than this share of the other's kernels are not the same collectives."""


@dataclass(frozen=True, eq=False)
class KernelSequence:
    """The communication kernels of one name on one stream, in order; `communicator` where recorded."""

    gpu: int
    stream: int
    name_id: int
    rows: Int64
    communicator: int | None


@dataclass(frozen=True, slots=True)
class PairFit:
    """How two sequences run together, judged by a sample of their kernels.

    Attributes
    ----------
    first, second : int
        Positions of the sequences.
    together : float
        Of the kernels in the time that both cover, the share that overlaps one of the other sequence and ends
        within 50 µs of it; of the shorter sequence, where one lacks some.
    tight : float
        The share whose ends differ by one and the same time, within `TIGHT_NS`.
    is_mixed : bool
        Whether these are more than chance explains, and end closer together than they start: then some of the
        kernels are collectives of both.
    unsteady_ns, starts_unsteady_ns : int
        Median deviation of the differences between the ends, and between the starts: clocks that differ by a
        constant do not matter.
    """

    first: int
    second: int
    together: float
    tight: float
    is_mixed: bool
    unsteady_ns: int
    starts_unsteady_ns: int

    @property
    def is_only_in_step(self) -> bool:
        """Whether the kernels end no closer together than they start: nothing makes them end together."""
        return self.unsteady_ns > _IN_STEP_NS and 10 * self.unsteady_ns > 6 * self.starts_unsteady_ns


class PairFits:
    """Compares sequences of one name with one another.

    Parameters
    ----------
    starts, ends : list of ndarray of int64
        Of the kernels of each sequence, in order; none is empty.
    gpus : list of int
        The GPU of each sequence: sequences of one GPU are not compared.
    """

    def __init__(self, starts: list[Int64], ends: list[Int64], gpus: list[int]) -> None:
        self._starts, self._ends = starts, ends
        self._gpus = np.array(gpus)
        self._counts = np.array([len(e) for e in ends])
        self._offsets = np.concatenate(([0], np.cumsum(self._counts)))
        # One sorted array of all ends: each sequence has a stretch of time of its own, so that one binary
        # search finds the nearest end in every sequence at once.
        self._low = min(int(e[0]) for e in ends)
        self._stretch = 2 * (max(int(e[-1]) for e in ends) - self._low) + 1
        self._first_end = np.array([int(e[0]) for e in ends])
        self._last_end = np.array([int(e[-1]) for e in ends])
        self._all_starts, self._all_ends = np.concatenate(starts), np.concatenate(ends)
        owner = np.repeat(np.arange(len(ends)), self._counts)
        self._keys = owner * self._stretch + (self._all_ends - self._low)

    def __iter__(self) -> Iterator[PairFit]:
        for first in range(len(self._ends) - 1):
            later = np.arange(first + 1, len(self._ends))
            others = later[self._gpus[later] != self._gpus[first]]
            if len(others):
                yield from self._with(first, others)

    def _with(self, first: int, others: npt.NDArray[np.int64]) -> Iterator[PairFit]:
        ends = self._ends[first]
        # The time that both cover: a rank whose recording starts late lacks the sets before, no more.
        low = np.maximum(self._first_end[others], ends[0]) - MAX_END_APART_NS
        high = np.minimum(self._last_end[others], ends[-1]) + MAX_END_APART_NS
        # With as many kernels each, none is missing, and all count.
        is_whole = self._counts[others] == len(ends)
        low = np.where(is_whole, self._low, low)
        high = np.where(is_whole, self._low + self._stretch // 2, high)
        own = np.searchsorted(ends, high, side="right") - np.searchsorted(ends, low)
        theirs = self._count(others, low, high)
        ratio = theirs / np.maximum(own, 1)
        fits = (ratio >= _MIN_RATIO) & (ratio <= 1 / _MIN_RATIO)
        fits &= np.where(is_whole, own > 0, np.minimum(own, theirs) >= _MIN_COMMON)
        others, low, high, own, ratio = others[fits], low[fits], high[fits], own[fits], ratio[fits]
        if not len(others):
            return
        # Shape (others, samples): which own kernel, which of the other sequence ends next to it, how far off.
        begin = np.searchsorted(ends, low)
        step = np.minimum(np.arange(_SAMPLES)[None, :] * np.maximum(own[:, None] / _SAMPLES, 1), own[:, None])
        used = step < own[:, None]
        sample = np.minimum(begin[:, None] + step.astype(np.int64), len(ends) - 1)
        nearest = self._nearest(others[:, None], ends[sample])
        apart = ends[sample] - self._all_ends[nearest]
        # Mutual: of two kernels that end next to the same one only the nearer is its partner.
        back = nearest_of(ends, self._all_ends[nearest]) == sample
        overlap = np.maximum(self._starts[first][sample], self._all_starts[nearest]) < np.minimum(
            ends[sample], self._all_ends[nearest]
        )
        close = used & back & overlap & (np.abs(apart) <= MAX_END_APART_NS)
        samples = used.sum(axis=1) * np.minimum(ratio, 1)
        for row in np.flatnonzero(close.any(axis=1)).tolist():
            order = np.argsort(apart[row][close[row]], kind="stable")
            # Sorted, so that the densest window of differences is found by one search.
            differences = apart[row][close[row]][order]
            begin_apart = (self._starts[first][sample[row]] - self._all_starts[nearest[row]])[close[row]]
            in_window = np.searchsorted(differences, differences + TIGHT_NS, side="right")
            counts = in_window - np.arange(len(differences))
            low = int(counts.argmax())
            window = slice(low, low + int(counts[low]))
            by_chance = len(differences) * TIGHT_NS / (2 * MAX_END_APART_NS)
            closer = 2 * deviation(differences[window]) <= deviation(begin_apart[order][window])
            yield PairFit(
                first,
                int(others[row]),
                min(len(differences) / samples[row], 1.0),
                min(counts[low] / samples[row], 1.0),
                bool(counts[low] >= _MIN_TIGHT + 2 * by_chance and closer),
                deviation(differences),
                deviation(begin_apart),
            )

    def _count(self, others: npt.NDArray[np.int64], low: Int64, high: Int64) -> npt.NDArray[np.int64]:
        """Return how many kernels of each sequence end in [low, high]."""
        # Each sequence has a stretch of numbers of its own: one sorted array is searched for all of them at
        # once.
        base = others * self._stretch - self._low
        limit = np.searchsorted(self._keys, base + high, side="right")
        return np.minimum(limit, self._offsets[others + 1]) - np.maximum(
            np.searchsorted(self._keys, base + low), self._offsets[others]
        )

    def _nearest(self, others: npt.NDArray[np.int64], times: Int64) -> npt.NDArray[np.int64]:
        """Return the kernel of each sequence that ends next to each time, a position in all of them."""
        after = np.searchsorted(self._keys, others * self._stretch + (times - self._low))
        low, high = self._offsets[others], self._offsets[others + 1] - 1
        after, before = np.clip(after, low, high), np.clip(after - 1, low, high)
        # Of two that are as near the earlier one: the choice must not depend on which side is asked.
        is_before = np.abs(self._all_ends[before] - times) <= np.abs(self._all_ends[after] - times)
        return np.where(is_before, before, after)


def nearest_of(sorted_times: Int64, times: Int64) -> npt.NDArray[np.int64]:
    """Return the position of the entry of `sorted_times`, which is not empty, next to each of `times`."""
    after = np.minimum(np.searchsorted(sorted_times, times), len(sorted_times) - 1)
    before = np.maximum(after - 1, 0)
    is_before = np.abs(sorted_times[before] - times) <= np.abs(sorted_times[after] - times)
    return np.where(is_before, before, after)


def deviation(values: Int64) -> int:
    """Return the median deviation of some values, at least one, from their median."""
    return int(np.median(np.abs(values - np.median(values))))
