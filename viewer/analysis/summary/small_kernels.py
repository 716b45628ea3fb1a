"""The small kernels and small-kernel bursts of each GPU in a scope, and which bursts are the optimizer's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import Intervals, runs, union
from viewer.analysis.core.location import Location
from viewer.analysis.kernels.kernel_tables import bursts_in, compute_only, kernels_in, small_in
from viewer.analysis.kernels.small_kernel_bursts import SMALL_NS, SmallKernelBursts
from viewer.analysis.launches.attribution import Mask, Rows
from viewer.analysis.time.scope import Scope
from viewer.trace import Trace
from viewer.trace.events import Events


@dataclass(frozen=True)
class SmallKernels:
    """The small kernels of one GPU among its compute kernels.

    Attributes
    ----------
    computed, small : int
        How many compute kernels there are, and how many of them last under 10 µs.
    runs : Intervals
        From where to where small ones follow each other.
    is_foreign : ndarray of bool, shape (bursts,)
        The bursts of which the optimizer launched less than half.
    """

    gpu: int
    computed: int
    small: int
    runs: Intervals
    bursts: SmallKernelBursts
    is_foreign: Mask

    def worst(self) -> tuple[bool, int, Location] | None:
        """Return the burst to look at, the largest foreign one, else of all; None without bursts.

        Whether it is foreign, how many kernels it has, and where it is.
        """
        if not len(self.bursts):
            return None
        keys = list(zip(self.is_foreign.tolist(), self.bursts.kernels.tolist(), strict=True))
        # Foreign ones first, then by size: what the optimizer launches in bursts is no surprise.
        number = keys.index(max(keys))
        start, end = int(self.bursts.start_ns[number]), int(self.bursts.end_ns[number])
        return *keys[number], Location(start, end, self.gpu)


def small_kernels(
    trace: Trace, classes: KernelClasses, scope: Scope, optimizer: Sequence[Rows] | None
) -> tuple[SmallKernels, ...]:
    """Return the small kernels of each GPU.

    Parameters
    ----------
    optimizer : sequence of ndarray, one per GPU, optional
        The kernels that the optimizer launched, indices into ``trace.kernels``; None: no range is called so.
    """
    none = np.empty(0, np.int64)
    return tuple(
        _on_gpu(trace, classes, gpu, within, optimizer[gpu] if optimizer else none)
        for gpu, within in enumerate(scope.within)
    )


def _on_gpu(
    trace: Trace, classes: KernelClasses, gpu: int, within: Intervals, optimizer: Rows
) -> SmallKernels:
    kernels = trace.kernels
    # Communication is left out before bursts are looked for: a long collective between would tear them apart.
    rows = compute_only(kernels, classes, kernels_in(trace, gpu, within))
    bursts = bursts_in(kernels, classes, rows)
    is_foreign = ~_mostly(bursts, rows, optimizer)
    return SmallKernels(
        gpu, len(rows), small_in(kernels, rows), _runs_of_small(kernels, rows), bursts, is_foreign
    )


def _mostly(bursts: SmallKernelBursts, rows: Rows, own: Rows) -> Mask:
    """Return which bursts have at least half of their kernels in `own`."""
    # Bursts are positions in `rows`: a prefix sum over them counts the kernels of each in two look-ups.
    before = np.append(0, np.cumsum(np.isin(rows, own)))
    return np.asarray((before[bursts.stop] - before[bursts.first]) * 2 >= bursts.kernels)


def _runs_of_small(kernels: Events, rows: Rows) -> Intervals:
    """Return from where to where kernels under 10 µs follow each other, without a longer one between."""
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    is_small = end - start < SMALL_NS
    first, stop = runs(is_small)
    first, stop = first[is_small[first]], stop[is_small[first]]
    # A union, since kernels of several streams overlap, and so may the runs.
    return union(start[first], end[stop - 1])
