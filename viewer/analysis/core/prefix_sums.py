"""Durations summed by name, and events counted, in any window: prefix sums over blocks of events."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

_BLOCK = 1024


class PrefixSums:
    """Durations by key, and counts, of events that are sorted by start.

    A question about a window costs two binary searches and a block of events at each edge.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Sorted by start; they may overlap. They are kept, not copied.
    key : ndarray of unsigned int, shape (n,)
        By which the durations are summed, the id of a name for instance.
    counted : ndarray of bool, shape (n,), optional
        Which of the events count; all by default.

    Attributes
    ----------
    keys : ndarray, shape (k,)
        The distinct keys, increasing.
    """

    def __init__(
        self,
        start_ns: Int64,
        end_ns: Int64,
        key: npt.NDArray[np.unsignedinteger[Any]],
        counted: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.keys, self._code = coded(key, counted)
        self._start, self._end = start_ns, end_ns
        # The latest end up to and including each block: if it lies before an instant, no event of these
        # blocks runs then.
        latest = np.maximum.reduceat(end_ns, np.arange(0, len(end_ns), _BLOCK)) if len(end_ns) else end_ns
        self._reach = np.maximum.accumulate(latest)
        # Sums before each full block by key, shape (blocks + 1, keys + 1), ns; the last column takes what is
        # not counted. The rest of the events, less than a block, is added up when asked for.
        blocks, columns = len(start_ns) // _BLOCK, len(self.keys) + 1
        in_blocks = slice(0, blocks * _BLOCK)
        cell = (np.arange(1, blocks + 1) * columns)[:, None] + self._code[in_blocks].reshape(blocks, _BLOCK)
        sums = np.zeros((blocks + 1) * columns, np.int64)
        np.add.at(sums, cell.ravel(), (end_ns - start_ns)[in_blocks])
        self._sums = np.cumsum(sums.reshape(-1, columns), axis=0)
        counts = (self._code[in_blocks] < len(self.keys)).reshape(blocks, _BLOCK).sum(axis=1)
        self._counts = np.concatenate(([0], np.cumsum(counts)))

    def count(self, start_ns: int, end_ns: int) -> int:
        """Return how many events touch [start, end); one of length zero counts where it starts."""
        begun = self._begun(end_ns) - self._begun(start_ns)
        running = self._running(start_ns)
        runs = (self._end[running] > start_ns) & (self._code[running] < len(self.keys))
        return begun + int(np.count_nonzero(runs))

    def count_in(self, windows: Sequence[tuple[int, int]]) -> int:
        """Return how many events touch any of some windows: disjoint, by start; each event counts once."""
        total = sum(self.count(start, end) for start, end in windows)
        # An event touches a run of neighbouring windows. It was counted once too often for each pair of
        # neighbours that it touches: it starts before the end of the one and runs at the start of the other.
        for (_, end), (start, _) in pairwise(windows):
            running = self._running(start)
            begun = int(np.searchsorted(self._start, end, side="left"))
            both = slice(running.start, max(running.start, min(running.stop, begun)))
            runs = (self._end[both] > start) & (self._code[both] < len(self.keys))
            total -= int(np.count_nonzero(runs))
        return total

    def sums(self, start_ns: int, end_ns: int) -> Int64:
        """Return the time of each key inside [start, end), events clipped to it, shape (k,), ns."""
        return np.asarray(self._before(end_ns) - self._before(start_ns))[:-1]

    def _begun(self, time_ns: int) -> int:
        """Return how many counted events start before an instant."""
        begun = int(np.searchsorted(self._start, time_ns, side="left"))
        block = begun // _BLOCK
        rest = self._code[block * _BLOCK : begun]
        return int(self._counts[block]) + int(np.count_nonzero(rest < len(self.keys)))

    def _running(self, time_ns: int) -> slice:
        """Return a run of events that start before an instant; every event that still runs then is in it."""
        begun = int(np.searchsorted(self._start, time_ns, side="left"))
        first = int(np.searchsorted(self._reach, time_ns, side="right")) * _BLOCK
        return slice(min(first, begun), begun)

    def _before(self, time_ns: int) -> Int64:
        """Return the time of each key before an instant, what is not counted last, shape (k + 1,), ns."""
        running = self._running(time_ns)
        block = running.stop // _BLOCK
        sums: Int64 = self._sums[block].copy()
        rest = slice(block * _BLOCK, running.stop)
        np.add.at(sums, self._code[rest], self._end[rest] - self._start[rest])
        # The events that started count whole so far: take away what lies after the instant.
        np.subtract.at(sums, self._code[running], np.maximum(self._end[running] - time_ns, 0))
        return sums


def coded(
    key: npt.NDArray[np.unsignedinteger[Any]], counted: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.unsignedinteger[Any]]]:
    """Return the distinct keys, increasing, shape (k,), and each event's position among them, shape (n,).

    Keys are small numbers, such as ids of names, so that a table over all of them stands in for a sort.
    Events that are not `counted` get the position k, after the last key.
    """
    used = np.zeros(int(key.max(initial=0)) + 1, bool)
    used[key if counted is None else key[counted]] = True
    keys = np.flatnonzero(used)
    code_of = np.zeros(len(used), np.min_scalar_type(len(keys)))
    code_of[keys] = np.arange(len(keys))
    code = code_of[key]
    if counted is not None:
        code[~counted] = len(keys)
    return keys.astype(key.dtype), code
