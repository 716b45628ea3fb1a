"""The calls of host threads as the replay takes them: outermost ones, one after another on each thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Events, Int64

Rows = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HostCalls:
    """The calls that lie in no other call of their thread, thread by thread in order of time.

    A run of queries that ends when the GPU has come so far is one call.

    Attributes
    ----------
    row : ndarray of int32, shape (n,)
        Indices into ``trace.api``.
    thread : ndarray of int32, shape (n,)
    start_ns, end_ns : ndarray of int64, shape (n,)
    is_first : ndarray of bool, shape (n,)
        Whether it is the first of its thread.
    outer_of : ndarray of int32, shape (calls of the trace,)
        For every call, nested or not, the place here of the outermost call around it.
    """

    row: Rows
    thread: Rows
    start_ns: Int64
    end_ns: Int64
    is_first: Mask
    outer_of: Rows

    def __len__(self) -> int:
        return len(self.row)


def host_calls(api: Events, polling: tuple[Rows, Rows]) -> HostCalls:
    """Return the outermost calls of each thread.

    Parameters
    ----------
    polling : (ndarray of int32, ndarray of int32), shape (runs,) each
        The first and the last call of each run of queries that is one call here.
    """
    is_outer = np.zeros(len(api), bool)
    for thread in range(len(api.offsets) - 1):
        rows = api.of(thread)
        start, end = api.start_ns[rows], api.end_ns[rows]
        if len(start):
            # Sorted by (start, -end), a call lies in another one if an earlier one has not ended yet. Calls
            # of length zero at one instant follow one another.
            latest = np.maximum.accumulate(end)
            is_outer[rows] = np.concatenate(([True], start[1:] >= latest[:-1]))
    for first, last in zip(*(calls.tolist() for calls in polling), strict=True):
        is_outer[first + 1 : last + 1] = False
    row = np.flatnonzero(is_outer).astype(np.int32)
    thread_of = api.owners()[row]
    outer_of = (np.cumsum(is_outer) - 1).astype(np.int32)
    # The end of what lies inside may be later by a rounding of the recording; the outermost call holds all.
    end_ns = np.maximum.reduceat(api.end_ns, row) if len(row) else np.empty(0, np.int64)
    is_first = np.concatenate(([True], thread_of[1:] != thread_of[:-1]))[: len(row)]
    return HostCalls(row, thread_of, api.start_ns[row], end_ns, is_first, outer_of)
