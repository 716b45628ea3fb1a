"""What hidden communication costs the compute kernels beside it (docs/definitions.md, section 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.kernel_signatures import KernelSignatures, kernel_signatures
from viewer.analysis.collectives.paired_means import MeanDifference, mean_differences
from viewer.analysis.core.classify import COMMUNICATION, WAITING, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.core.overlaps import overlaps
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.time_breakdown import BusyIntervals
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

ALONE, BESIDE, PARTLY, NOT_COUNTED = range(4)
"""Beside no communication; beside communication for more than half of it; for less; not a compute kernel."""
LEAST_OF_EACH = 5
"""Kernels of a signature alone, and beside communication, below which their means are not compared."""


@dataclass(frozen=True, slots=True)
class TaxSum:
    """What some kernels paid for the communication beside them, ns.

    Attributes
    ----------
    tax_ns : int
        How much longer those of a known price took than they would have alone; signed.
    bound_ns : int
        By how much that may be off: the prices' bounds, which chance does not all take to the same side.
    beside_ns, unknown_ns : int
        The durations of all kernels beside communication, and of those whose price is not known.
    """

    tax_ns: int = 0
    bound_ns: int = 0
    beside_ns: int = 0
    unknown_ns: int = 0


@dataclass(frozen=True, slots=True)
class CollectiveTax:
    """What one collective's kernel cost the compute beside it, ns; `hidden_ns` had compute beside it."""

    hidden_ns: int
    tax_ns: int
    unknown_ns: int


@dataclass(frozen=True, eq=False)
class OverlapTax:
    """What every compute kernel of a trace paid for the communication beside it.

    Attributes
    ----------
    signatures : KernelSignatures
    side : ndarray of uint8, shape (kernels,)
        `ALONE`, `BESIDE`, `PARTLY` or `NOT_COUNTED`.
    difference : MeanDifference
        Of each place: the mean duration beside communication less that alone.
    """

    trace: Trace
    classes: KernelClasses
    signatures: KernelSignatures
    side: npt.NDArray[np.uint8]
    difference: MeanDifference

    def price(self, kernel: int) -> int | None:
        """Return what a kernel beside communication paid, ns; None where it is not known, or not beside."""
        place = int(self.signatures.place[kernel])
        is_known = self.side[kernel] == BESIDE and bool(self.difference.is_known[place])
        return int(self.difference.each_ns[place]) if is_known else None

    def sum_of(self, gpus: Sequence[int], within: Sequence[Intervals] | None = None) -> TaxSum:
        """Return what the kernels of some GPUs paid.

        A kernel belongs to the time in which it starts, so that the iterations add up.

        Parameters
        ----------
        within : sequence of Intervals, optional
            The time on each of them; by default all.
        """
        times = [None] * len(gpus) if within is None else within
        rows = [self._beside_of(gpu, time) for gpu, time in zip(gpus, times, strict=True)]
        beside = np.concatenate([np.empty(0, np.int32), *rows])
        code = self.signatures.place[beside]
        length = self.trace.kernels.end_ns[beside] - self.trace.kernels.start_ns[beside]
        is_known = self.difference.is_known[code]
        # How many kernels paid each price; what a price is off by, all of them are off by together.
        paid = np.bincount(code[is_known], minlength=len(self.difference.each_ns))
        return TaxSum(
            int((paid * self.difference.each_ns).sum()),
            round(float(np.sqrt(((paid * self.difference.bound_ns).astype(float) ** 2).sum()))),
            int(length.sum()),
            int(length[~is_known].sum()),
        )

    def dearest(self, gpu: int, within: Intervals) -> int | None:
        """Return the kernel of a GPU that paid most of those that start in a time; None if none paid."""
        rows = self._beside_of(gpu, within)
        prices = self.difference.each_ns[self.signatures.place[rows]]
        return int(rows[np.argmax(prices)]) if prices.max(initial=0) > 0 else None

    def longest_unknown(self, gpu: int, within: Intervals) -> int | None:
        """Return the longest kernel of a GPU whose price is not known, of those that start in a time."""
        rows = self._beside_of(gpu, within)
        rows = rows[~self.difference.is_known[self.signatures.place[rows]]]
        length = self.trace.kernels.end_ns[rows] - self.trace.kernels.start_ns[rows]
        return int(rows[np.argmax(length)]) if len(rows) else None

    def of_collective(self, kernel: int) -> CollectiveTax | None:
        """Return what a communication kernel cost the compute beside it; None for other kernels.

        Where several collectives run beside a kernel, each bears of its price as much as it shares of the
        time that they share with it.
        """
        rows, hidden, tax, unknown = self._collectives
        at = int(np.searchsorted(rows, kernel))
        if at == len(rows) or rows[at] != kernel:
            return None
        return CollectiveTax(int(hidden[at]), int(tax[at]), int(unknown[at]))

    def _beside_of(self, gpu: int, within: Intervals | None = None) -> npt.NDArray[np.int32]:
        """Return the kernels of a GPU beside communication, of those that start in a time."""
        rows = rows_of_gpu(self.trace, Kind.KERNEL, gpu)
        rows = rows[self.side[rows] == BESIDE]
        if within is not None:
            rows = rows[_starts_in(self.trace.kernels.start_ns[rows], within)]
        return np.asarray(rows)

    @cached_property
    def _collectives(self) -> tuple[Int64, Int64, Int64, Int64]:
        """The communication kernels, increasing, and of each hidden, paid and unknown time, ns."""
        trace, kernels = self.trace, self.trace.kernels
        is_comm = self.classes.is_comm(kernels.name_id)
        rows = np.flatnonzero(is_comm)
        hidden, tax, unknown = (np.zeros(len(rows), np.int64) for _ in range(3))
        for gpu in trace.gpus:
            beside = self._beside_of(gpu.index)
            start, end = kernels.start_ns[beside], kernels.end_ns[beside]
            pairs = []
            for stream in trace.streams_of(gpu.index):
                of_stream = kernels.of(stream.index)
                comm = np.flatnonzero(is_comm[of_stream]) + of_stream.start
                # The kernels of a stream follow one another, which `overlaps` asks of stalls.
                found = overlaps(kernels.start_ns[comm], kernels.end_ns[comm], start, end)
                pairs.append((comm[found.stall_at], found.event_at, found.length_ns))
            comm, event, shared = (np.concatenate(column) for column in zip(*pairs, strict=True))
            at = np.searchsorted(rows, comm)
            np.add.at(hidden, at, shared)
            whole = np.zeros(len(beside), np.int64)
            np.add.at(whole, event, shared)
            code = self.signatures.place[beside][event]
            is_known = self.difference.is_known[code]
            # Rounded pair by pair: at most half a nanosecond each.
            part = np.rint(self.difference.each_ns[code] * (shared / np.maximum(whole[event], 1)))
            np.add.at(tax, at[is_known], part[is_known].astype(np.int64))
            np.add.at(unknown, at[~is_known], shared[~is_known])
        return rows, hidden, tax, unknown


def overlap_tax(
    launches: Launches,
    classes: KernelClasses,
    coverage: Callable[[int], BusyIntervals],
    groups: Sequence[Sequence[int]],
) -> OverlapTax:
    """Return what hidden communication costs the compute kernels beside it.

    Parameters
    ----------
    coverage : callable
        That of `Study`.
    groups : sequence of sequence of int
        The GPUs that do the same work; each GPU is in one of them.
    """
    trace, kernels = launches.trace, launches.trace.kernels
    class_of = classes.class_of[kernels.name_id]
    # What spins does no work that could take longer.
    is_compute = (class_of != COMMUNICATION) & (class_of != WAITING)
    side = np.full(len(kernels), NOT_COUNTED, np.uint8)
    for gpu in trace.gpus:
        rows = rows_of_gpu(trace, Kind.KERNEL, gpu.index)
        rows = rows[is_compute[rows]]
        start, end = kernels.start_ns[rows], kernels.end_ns[rows]
        shared = coverage(gpu.index).communication.covered(start, end)
        side[rows] = np.where(2 * shared > end - start, BESIDE, np.where(shared > 0, PARTLY, ALONE))
    # Kernels of a name that never has communication beside it pay nothing, and need no signature.
    has_beside = np.zeros(len(trace.names), bool)
    has_beside[kernels.name_id[side == BESIDE]] = True
    signatures = kernel_signatures(launches, is_compute, is_compute & has_beside[kernels.name_id], groups)
    compared = np.flatnonzero((side <= BESIDE) & (signatures.place >= 0))
    is_beside, length = side[compared] == BESIDE, kernels.end_ns[compared] - kernels.start_ns[compared]
    place, on_gpu = (column[compared].astype(np.int64) for column in (signatures.place, signatures.gpu))
    # Each rank is compared with itself.
    by_place = mean_differences(place, on_gpu, is_beside, length, len(signatures.example), LEAST_OF_EACH)
    # Where a place has too few kernels its signature answers, each place still compared with itself: a
    # mixture of depths is no price, however many of them are beside communication.
    whole = signatures.signature
    of_place = mean_differences(
        whole[place],
        place * len(trace.gpus) + on_gpu,
        is_beside,
        length,
        int(whole.max(initial=-1)) + 1,
        LEAST_OF_EACH,
    ).take(whole)
    return OverlapTax(trace, classes, signatures, side, by_place.or_else(of_place))


def _starts_in(start_ns: Int64, within: Intervals) -> npt.NDArray[np.bool_]:
    """Return which instants lie in a set of time, shape (n,)."""
    last = np.searchsorted(within.start_ns, start_ns, side="right") - 1
    # The 0 behind the last end is what an instant before all of them (-1) meets.
    return np.asarray(start_ns < np.append(within.end_ns, 0)[last])
