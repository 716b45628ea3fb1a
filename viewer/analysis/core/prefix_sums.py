"""Sums of durations by name, and how many events touch a window, without going through all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

_BLOCK = 1024


class PrefixSums:
    """Events sorted by start, each of one of a few keys.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Sorted by start; they may overlap. They are kept, not copied.
    key : ndarray of unsigned int, shape (n,)
        What is summed apart, a name for instance.
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
        # Up to a block whose reach lies before an instant, nothing runs then.
        longest = np.maximum.reduceat(end_ns, np.arange(0, len(end_ns), _BLOCK)) if len(end_ns) else end_ns
        self._reach = np.maximum.accumulate(longest)
        blocks, columns = len(start_ns) // _BLOCK, len(self.keys) + 1
        whole = slice(0, blocks * _BLOCK)
        place = (np.arange(1, blocks + 1) * columns)[:, None] + self._code[whole].reshape(blocks, _BLOCK)
        sums = np.zeros((blocks + 1) * columns, np.int64)
        np.add.at(sums, place.ravel(), (end_ns - start_ns)[whole])
        self._sums = np.cumsum(sums.reshape(-1, columns), axis=0)
        held = (self._code[whole] < len(self.keys)).reshape(blocks, _BLOCK).sum(axis=1)
        self._counts = np.concatenate(([0], np.cumsum(held)))

    def count(self, start_ns: int, end_ns: int) -> int:
        """Return how many events touch [start, end); one of length zero counts as one ns."""
        begun = self._begun(end_ns) - self._begun(start_ns)
        running = self._running(start_ns)
        runs = (self._end[running] > start_ns) & (self._code[running] < len(self.keys))
        return begun + int(np.count_nonzero(runs))

    def sums(self, start_ns: int, end_ns: int) -> Int64:
        """Return the ns of each key inside [start, end), events clipped to it, shape (k,)."""
        return np.asarray(self._before(end_ns) - self._before(start_ns))[:-1]

    def _begun(self, time_ns: int) -> int:
        """Return how many events start before an instant."""
        begun = int(np.searchsorted(self._start, time_ns, side="left"))
        block = begun // _BLOCK
        rest = self._code[block * _BLOCK : begun]
        return int(self._counts[block]) + int(np.count_nonzero(rest < len(self.keys)))

    def _running(self, time_ns: int) -> slice:
        """Return a run of events that start before an instant, with all that are not over by then."""
        begun = int(np.searchsorted(self._start, time_ns, side="left"))
        first = int(np.searchsorted(self._reach, time_ns, side="right")) * _BLOCK
        return slice(min(first, begun), begun)

    def _before(self, time_ns: int) -> Int64:
        running = self._running(time_ns)
        block = running.stop // _BLOCK
        sums: Int64 = self._sums[block].copy()
        rest = slice(block * _BLOCK, running.stop)
        np.add.at(sums, self._code[rest], self._end[rest] - self._start[rest])
        np.subtract.at(sums, self._code[running], np.maximum(self._end[running] - time_ns, 0))
        return sums


def coded(
    key: npt.NDArray[np.unsignedinteger[Any]], counted: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.unsignedinteger[Any]]]:
    """Return the distinct keys, increasing, and each event's position among them.

    Keys are small numbers, such as ids of names: nothing is sorted. Events that are not `counted` get the
    position after the last.
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
