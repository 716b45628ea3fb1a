"""Small kernels and small-kernel bursts (docs/definitions.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.trace.events import Int64

SMALL_NS = 10_000
IN_A_ROW = 100
MAX_GAP_NS = 1_000_000


@dataclass(frozen=True)
class SmallKernelBursts:
    """The small-kernel bursts among some kernels, in order of time.

    Attributes
    ----------
    first, stop : ndarray of int64, shape (n,)
        The kernels of each burst, as positions in the arrays given, ``first`` to ``stop`` exclusive.
    start_ns, end_ns : ndarray of int64, shape (n,)
        From the start of the first kernel to the latest end.
    sum_ns : ndarray of int64, shape (n,)
        Sum of the kernels' durations.
    """

    first: Int64
    stop: Int64
    start_ns: Int64
    end_ns: Int64
    sum_ns: Int64

    def __len__(self) -> int:
        return len(self.first)

    @property
    def kernels(self) -> Int64:
        """Number of kernels of each burst."""
        return self.stop - self.first


def find_small_kernel_bursts(start_ns: Int64, end_ns: Int64) -> SmallKernelBursts:
    """Return the small-kernel bursts of one GPU.

    Runs in which every hundred consecutive kernels average under 10 µs, with no gap over 1 ms; overlapping
    runs are one.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Its compute kernels over all streams, by start.
    """
    none = np.empty(0, np.int64)
    count = len(start_ns)
    if count < IN_A_ROW:
        return SmallKernelBursts(none, none, none, none, none)
    before = np.append(0, np.cumsum(end_ns - start_ns))
    reach = np.maximum.accumulate(end_ns)
    breaks = np.append(0, np.cumsum(start_ns[1:] - reach[:-1] > MAX_GAP_NS))
    window = np.arange(count - IN_A_ROW + 1)
    is_burst = (before[window + IN_A_ROW] - before[window] < IN_A_ROW * SMALL_NS) & (
        breaks[window + IN_A_ROW - 1] == breaks[window]
    )
    hits = window[is_burst]
    if not len(hits):
        return SmallKernelBursts(none, none, none, none, none)
    new = np.concatenate(([True], np.diff(hits) >= IN_A_ROW))
    first = hits[new]
    stop = hits[np.append(np.flatnonzero(new)[1:] - 1, len(hits) - 1)] + IN_A_ROW
    ends = np.maximum.reduceat(np.append(end_ns, end_ns[-1]), np.stack((first, stop), 1).ravel())[::2]
    return SmallKernelBursts(first, stop, start_ns[first], ends, before[stop] - before[first])
