"""Small kernels and small-kernel bursts (docs/definitions.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.trace.events import Int64

SMALL_NS = 10_000
"""Shorter kernels are small."""
IN_A_ROW = 100
"""How many kernels in a row make a burst, if they are small on average."""
MAX_GAP_NS = 1_000_000
"""A longer gap ends a burst."""


@dataclass(frozen=True)
class SmallKernelBursts:
    """The small-kernel bursts among some kernels of a GPU, in order of time.

    Attributes
    ----------
    first, stop : ndarray of int64, shape (n,)
        The kernels of each burst: positions in the arrays that were searched, ``stop`` exclusive.
    start_ns, end_ns : ndarray of int64, shape (n,)
        From the start of its first kernel to the latest end of its kernels.
    sum_ns : ndarray of int64, shape (n,)
        Sum of its kernels' durations.
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
        """Number of kernels of each burst, shape (n,)."""
        return self.stop - self.first


def find_small_kernel_bursts(start_ns: Int64, end_ns: Int64) -> SmallKernelBursts:
    """Return the small-kernel bursts of one GPU (docs/definitions.md, section 4).

    A burst is a run of kernels in which every hundred in a row last less than 10 µs on average, without a gap
    of more than 1 ms; overlapping runs are one.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Its compute kernels over all streams, by start; they may overlap.
    """
    none = np.empty(0, np.int64)
    count = len(start_ns)
    if count < IN_A_ROW:
        return SmallKernelBursts(none, none, none, none, none)
    # Before each kernel: the durations summed, and the number of gaps that end a burst. A gap reaches from
    # the latest end so far, since a long kernel on one stream may bridge many of another.
    before = np.append(0, np.cumsum(end_ns - start_ns))
    latest_end = np.maximum.accumulate(end_ns)
    gaps = np.append(0, np.cumsum(start_ns[1:] - latest_end[:-1] > MAX_GAP_NS))
    # Every hundred kernels in a row, by the position of the first of them.
    window = np.arange(count - IN_A_ROW + 1)
    is_small = before[window + IN_A_ROW] - before[window] < IN_A_ROW * SMALL_NS
    small = window[is_small & (gaps[window + IN_A_ROW - 1] == gaps[window])]
    if not len(small):
        return SmallKernelBursts(none, none, none, none, none)
    # Windows that share a kernel belong to one burst: a new one begins a whole window later.
    is_new = np.concatenate(([True], np.diff(small) >= IN_A_ROW))
    first = small[is_new]
    stop = small[np.append(np.flatnonzero(is_new)[1:] - 1, len(small) - 1)] + IN_A_ROW
    # `reduceat` over (first, stop) pairs, of which every second result is that of a burst; one more element
    # lets `stop` point behind the last kernel.
    ends = np.maximum.reduceat(np.append(end_ns, end_ns[-1]), np.stack((first, stop), 1).ravel())[::2]
    return SmallKernelBursts(first, stop, start_ns[first], ends, before[stop] - before[first])
