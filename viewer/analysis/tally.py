"""Sums of durations by name, for any window, without touching all its events."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

_BLOCK = 4096


class Tally:
    """Events sorted by start, each of one of a few keys.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Sorted by start; they may overlap.
    key : ndarray of unsigned int, shape (n,)
        What is summed apart, a name for instance.

    Attributes
    ----------
    keys : ndarray, shape (k,)
        The distinct keys, increasing.
    """

    def __init__(self, start_ns: Int64, end_ns: Int64, key: npt.NDArray[np.generic]) -> None:
        self.keys, self._key = np.unique(key, return_inverse=True)
        self._key = self._key.astype(np.uint16 if len(self.keys) < 2**16 else np.int32)
        self._start, self._end = start_ns, end_ns
        # Up to a block whose reach lies before an instant, nothing runs then.
        longest = np.maximum.reduceat(end_ns, np.arange(0, len(end_ns), _BLOCK)) if len(end_ns) else end_ns
        self._reach = np.maximum.accumulate(longest)
        self._sorted_end = np.sort(np.maximum(end_ns, start_ns + 1))
        blocks = len(start_ns) // _BLOCK
        self._sums = np.zeros((blocks + 1, len(self.keys)), np.int64)
        whole = slice(0, blocks * _BLOCK)
        block = np.repeat(np.arange(1, blocks + 1), _BLOCK)
        np.add.at(self._sums, (block, self._key[whole]), (end_ns - start_ns)[whole])
        np.cumsum(self._sums, axis=0, out=self._sums)

    def count(self, start_ns: int, end_ns: int) -> int:
        """Return how many events touch [start, end); one of length zero counts as one ns."""
        begun = int(np.searchsorted(self._start, end_ns, side="left"))
        return begun - int(np.searchsorted(self._sorted_end, start_ns, side="right"))

    def sums(self, start_ns: int, end_ns: int) -> Int64:
        """Return the ns of each key inside [start, end), events clipped to it, shape (k,)."""
        return np.asarray(self._before(end_ns) - self._before(start_ns))

    def _before(self, time_ns: int) -> Int64:
        begun = int(np.searchsorted(self._start, time_ns, side="left"))
        block = begun // _BLOCK
        sums: Int64 = self._sums[block].copy()
        rest = slice(block * _BLOCK, begun)
        np.add.at(sums, self._key[rest], self._end[rest] - self._start[rest])
        first = int(np.searchsorted(self._reach, time_ns, side="right")) * _BLOCK
        running = slice(min(first, begun), begun)
        np.subtract.at(sums, self._key[running], np.maximum(self._end[running] - time_ns, 0))
        return sums
