"""What the study of a trace knows of each GPU before iterations and ranks are looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.core.classify import KernelClasses, Rules, classify
from viewer.analysis.core.families import kernel_families
from viewer.analysis.core.gpu_order import GpuOrder, gpu_order
from viewer.analysis.core.parallel import each
from viewer.analysis.core.prefix_sums import PrefixSums
from viewer.analysis.launches.launches import Launches
from viewer.analysis.loading import Loading
from viewer.analysis.time.measure import GpuSums, RangeNumbers, measure
from viewer.analysis.time.scope import Scope, iteration_scope, range_scope, ranges_scope
from viewer.analysis.time.shared_gpus import SharedGpu, shared_gpus
from viewer.analysis.time.stream_gaps import StreamGaps, find_stream_gaps
from viewer.analysis.time.time_breakdown import BusyIntervals, TimeBreakdown, coverage, time_breakdown
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.lazy import OncePerKey, cached_property

if TYPE_CHECKING:
    from viewer.analysis.kernels.copies import CopyStory
    from viewer.analysis.kernels.name_stats import NameStats
    from viewer.analysis.time.iteration_bounds import Iterations


class GpuStudy:
    """The operations of each GPU, their classes, launches and sums, each computed once.

    Parameters and attributes are those of `viewer.analysis.study.Study`, of which this is the lower half.
    """

    def __init__(self, trace: Trace, rules: Rules, early: GpuStudy | None, loading: Loading) -> None:
        self.trace = trace
        self.loading = loading
        self.rules = rules
        self._orders: OncePerKey[int, GpuOrder] = OncePerKey()
        self._stream_gaps: OncePerKey[int, StreamGaps] = OncePerKey()
        self._families: OncePerKey[int, PrefixSums] = OncePerKey()
        if early is not None and early.rules == self.rules and early.trace.streams == trace.streams:
            self._orders = OncePerKey({gpu.index: early.order(gpu.index) for gpu in trace.gpus})
            self.__dict__["parts"] = early.parts

    @cached_property
    def classes(self) -> KernelClasses:
        """The class of every kernel name (docs/definitions.md, section 3)."""
        return classify(self.trace, self.rules)

    @cached_property
    def parts(self) -> tuple[TimeBreakdown, ...]:
        """The five categories of each GPU, in order of `Trace.gpus` (docs/definitions.md, section 1)."""
        # Before the threads start, one of which would only wait for the other's classes.
        _ = self.classes
        gpus = range(len(self.trace.gpus))
        return tuple(each(lambda gpu: time_breakdown(self.trace, self.coverage(gpu)), gpus))

    def coverage(self, gpu: int) -> BusyIntervals:
        """Return when a GPU computes, communicates and copies; computed anew at each call."""
        return coverage(self.trace, self.classes, gpu)

    @cached_property
    def launches(self) -> Launches:
        """Which API call launched which GPU operation (docs/definitions.md, section 4)."""
        return Launches(self.trace, self.order)

    def other_ends(self, kind: Kind, index: int) -> list[tuple[Kind, int]]:
        """Return the other ends of a launch, see `Launches.other_ends`; none until all is loaded."""
        return self.launches.other_ends(kind, index) if self.loading.is_complete else []

    def latency_of(self, kind: Kind, index: int) -> int | None:
        """Return a launch's latency in ns, see `Launches.latency_of`; None until all is loaded."""
        return self.launches.latency_of(kind, index) if self.loading.is_complete else None

    def order(self, gpu: int) -> GpuOrder:
        """Return a GPU's operations over all streams, by start."""
        return self._orders.get(gpu, lambda: gpu_order(self.trace, gpu))

    @cached_property
    def shared_gpus(self) -> tuple[SharedGpu, ...]:
        """The physical GPUs that several processes share (docs/definitions.md, section 1)."""
        return shared_gpus(self.trace, self.coverage)

    def stream_gaps(self, gpu: int) -> StreamGaps:
        """Return the gaps of a GPU's compute stream and what fills them (docs/definitions.md, section 1)."""
        return self._stream_gaps.get(
            gpu, lambda: find_stream_gaps(self.trace, self.classes, self.coverage(gpu), gpu)
        )

    def families(self, gpu: int) -> PrefixSums:
        """Return the kernels of a GPU as sums by family, see `kernel_families`."""
        return self._families.get(gpu, lambda: self._sum_families(gpu))

    def _sum_families(self, gpu: int) -> PrefixSums:
        order = self.order(gpu)
        is_kernel = order.kind == GPU_KINDS.index(Kind.KERNEL)
        family = np.zeros(len(order), np.uint32)
        if is_kernel.any():
            family[is_kernel] = kernel_families(self.trace, order.index[is_kernel])
        return PrefixSums(order.start_ns, order.end_ns, family, is_kernel)

    def measure(
        self, start_ns: int, end_ns: int, iterations: Iterations | None = None, *, details: bool = True
    ) -> RangeNumbers:
        """Measure the range [start, end) on all GPUs, see `measure.measure`.

        Parameters
        ----------
        iterations : Iterations, optional
            Those that the range is compared with.
        details : bool
            False: the parts alone. So it is until all is loaded: the launches are not known before.

        Raises
        ------
        ValueError
            If nothing of the range lies inside the recording.
        """
        return self.measure_all(((start_ns, end_ns),), iterations, details=details)

    def measure_all(
        self,
        windows: Iterable[tuple[int, int]],
        iterations: Iterations | None = None,
        *,
        details: bool = True,
    ) -> RangeNumbers:
        """Measure disjoint ranges together, as `measure` measures one; each instant and event counts once."""
        gpus = range(len(self.trace.gpus)) if details and self.loading.is_complete else ()
        sums = (GpuSums(g, self.families(g), self.launches.spans(g), self.stream_gaps(g)) for g in gpus)
        return measure(self.trace, self.parts, sums, windows, iterations)

    def range_scope(self, start_ns: int, end_ns: int, what: str = "range") -> Scope:
        """Return a time range to take numbers over, clipped to the recording; see `scope.range_scope`."""
        return range_scope(self.trace, self.parts, start_ns, end_ns, what)

    def ranges_scope(self, windows: Iterable[tuple[int, int]], what: str = "ranges") -> Scope:
        """Return several disjoint time ranges to take numbers over; see `scope.ranges_scope`."""
        return ranges_scope(self.trace, self.parts, windows, what)

    def default_scope(self, iterations: Iterations | None) -> Scope:
        """Return the steady state where there are iterations, else the trace's window."""
        if iterations is not None:
            return iteration_scope(iterations)
        return self.range_scope(*self.trace.window_ns, "first to last GPU operation: no iterations")

    def name_stats(self, name_id: int, kind: Kind = Kind.KERNEL) -> NameStats:
        """Return the statistics of the operations of one name."""
        from viewer.analysis.kernels.name_stats import name_stats

        return name_stats(self.trace, self.classes, self.coverage, name_id, kind)

    def copy_story(self, kind: Kind, index: int) -> CopyStory:
        """Return whether kernels hide a copy or a set (docs/definitions.md, section 9).

        `index` is that into the events of the kind, `Kind.MEMCPY` or `Kind.MEMSET`.
        """
        from viewer.analysis.kernels.copies import copy_story

        gpu = self.trace.streams[self.trace.events[kind].owner_of(index)].gpu
        return copy_story(self.trace, self.classes, self.coverage(gpu), kind, index)

    def prepare(self) -> None:
        """Compute now what a selection needs, so that the first selection does not wait."""
        self.launches.prepare()

        def prepare_gpu(gpu: int) -> None:
            self.stream_gaps(gpu)
            self.families(gpu)
            self.launches.spans(gpu)

        each(prepare_gpu, range(len(self.parts)))
