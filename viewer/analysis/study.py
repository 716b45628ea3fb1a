"""Study: the one place where the numbers of a trace are computed, lazily and once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import KernelClasses, Rules, classify
from viewer.analysis.core.gpu_order import GpuOrder, gpu_order
from viewer.analysis.core.parallel import each
from viewer.analysis.core.prefix_sums import PrefixSums
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.measure import GpuSums, RangeNumbers, measure
from viewer.analysis.time.scope import Scope, iteration_scope, range_scope
from viewer.analysis.time.shared_gpus import SharedGpu, shared_gpus
from viewer.analysis.time.stream_gaps import StreamGaps, find_stream_gaps
from viewer.analysis.time.time_breakdown import BusyIntervals, TimeBreakdown, coverage, time_breakdown
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.lazy import cached_property

if TYPE_CHECKING:
    from viewer.analysis.collectives.match import Collectives
    from viewer.analysis.find import Finder
    from viewer.analysis.iterations.markers import Candidate
    from viewer.analysis.iterations.phases import Phases
    from viewer.analysis.kernels.copies import CopyStory
    from viewer.analysis.kernels.name_stats import NameStats
    from viewer.analysis.launches.latency import LaunchLatency
    from viewer.analysis.launches.projection import Projection
    from viewer.analysis.recording.clocks import Clock
    from viewer.analysis.recording.finding import Finding
    from viewer.analysis.stalls.stalls import Stalls
    from viewer.analysis.time.iteration_bounds import Iterations


class Study:
    """A trace and everything that is computed from it.

    Parameters
    ----------
    trace : Trace
    rules : Rules, optional
        The kernel classes; by default the user's own table where there is one, else the built-in one.
    early : Study, optional
        That of the same trace when only the GPUs' operations were known: what stands is taken over.

    Attributes
    ----------
    partial : bool
        There is more to come, and nobody should wait for the numbers: rows of the trace are still being read,
        or its iterations and sums computed.
    was_cancelled : bool
        Of a partial study: nothing more comes, opening the trace was cancelled or failed.
    """

    def __init__(self, trace: Trace, rules: Rules | None = None, early: Study | None = None) -> None:
        self.trace = trace
        self.partial = trace.partial
        self.was_cancelled = False
        self.rules = rules or Rules.current()
        self._orders: dict[int, GpuOrder] = {}
        self._stream_gaps: dict[int, StreamGaps] = {}
        self._families: dict[int, PrefixSums] = {}
        self._iterations: dict[int, Iterations | None] = {}
        self._phases: dict[Iterations, Phases] = {}
        self._projections: dict[Projection, pd.DataFrame] = {}
        self._stalls: dict[int, Stalls] = {}
        self._distances: dict[int, LaunchLatency] = {}
        if early is not None and early.rules == self.rules and early.trace.streams == trace.streams:
            self._orders = {gpu.index: early.order(gpu.index) for gpu in trace.gpus}
            self.__dict__["parts"] = early.parts

    @cached_property
    def classes(self) -> KernelClasses:
        """The class of every kernel name (docs/definitions.md, section 3)."""
        return classify(self.trace, self.rules)

    @cached_property
    def parts(self) -> tuple[TimeBreakdown, ...]:
        """The five parts of each GPU's time, in order of `Trace.gpus` (docs/definitions.md, section 1)."""
        _ = self.classes
        gpus = range(len(self.trace.gpus))
        return tuple(each(lambda gpu: time_breakdown(self.trace, self.coverage(gpu)), gpus))

    def coverage(self, gpu: int) -> BusyIntervals:
        """Return the unions of a GPU's compute kernels, communication kernels and copies; not kept."""
        return coverage(self.trace, self.classes, gpu)

    @cached_property
    def launches(self) -> Launches:
        """Which API call launched which GPU operation (docs/definitions.md, section 4)."""
        return Launches(self.trace, self.order)

    def other_ends(self, kind: Kind, index: int) -> list[tuple[Kind, int]]:
        """Return the events at the other end of a launch, see `Launches.other_ends`; none while partial."""
        return [] if self.partial else self.launches.other_ends(kind, index)

    def latency_of(self, kind: Kind, index: int) -> int | None:
        """Return the latency of a launch in ns, see `Launches.latency_of`; None while partial."""
        return None if self.partial else self.launches.latency_of(kind, index)

    def order(self, gpu: int) -> GpuOrder:
        """Return a GPU's operations over all streams, by start."""
        if gpu not in self._orders:
            self._orders[gpu] = gpu_order(self.trace, gpu)
        return self._orders[gpu]

    @cached_property
    def shared_gpus(self) -> tuple[SharedGpu, ...]:
        """The physical GPUs that several processes share."""
        return shared_gpus(self.trace, self.coverage)

    def stream_gaps(self, gpu: int) -> StreamGaps:
        """Return the gaps of a GPU's compute stream and what fills them."""
        if gpu not in self._stream_gaps:
            self._stream_gaps[gpu] = find_stream_gaps(self.trace, self.classes, self.coverage(gpu), gpu)
        return self._stream_gaps[gpu]

    def families(self, gpu: int) -> PrefixSums:
        """Return the kernels of a GPU, summed by family: the id of the short name."""
        if gpu not in self._families:
            order, kernels = self.order(gpu), self.trace.kernels
            is_kernel = order.kind == GPU_KINDS.index(Kind.KERNEL)
            family = np.zeros(len(order), np.uint32)
            if len(kernels):
                family[is_kernel] = kernels.columns["short_id"][order.index[is_kernel]]
            self._families[gpu] = PrefixSums(order.start_ns, order.end_ns, family, is_kernel)
        return self._families[gpu]

    def measure(
        self, start_ns: int, end_ns: int, iterations: Iterations | None = None, *, details: bool = True
    ) -> RangeNumbers:
        """Measure the range [start, end) on all GPUs, see `measure.measure`.

        Parameters
        ----------
        iterations : Iterations, optional
            Those that the range is compared with.
        details : bool
            False: the parts only. So it is while the study is partial, whose launches are not known.

        Raises
        ------
        ValueError
            If nothing of the range lies inside the recording.
        """
        gpus = range(len(self.trace.gpus)) if details and not self.partial else ()
        sums = (GpuSums(g, self.families(g), self.launches.spans(g), self.stream_gaps(g)) for g in gpus)
        return measure(self.trace, self.parts, sums, (start_ns, end_ns), iterations)

    def range_scope(self, start_ns: int, end_ns: int, what: str = "range") -> Scope:
        """Return a range of time to take numbers over, see `scope.range_scope`."""
        return range_scope(self.trace, self.parts, start_ns, end_ns, what)

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
        """Return what became of a copy or a set, an index into its table (docs/definitions.md, section 9)."""
        from viewer.analysis.kernels.copies import copy_story

        gpu = self.trace.streams[self.trace.events[kind].owner_of(index)].gpu
        return copy_story(self.trace, self.classes, self.coverage(gpu), kind, index)

    def prepare(self) -> None:
        """Compute now what a selection needs, so that the first one does not wait."""
        self.launches.prepare()

        def one(gpu: int) -> None:
            self.stream_gaps(gpu)
            self.families(gpu)
            self.launches.spans(gpu)

        each(one, range(len(self.parts)))

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """What may mark the iterations, best first (docs/definitions.md, section 6)."""
        from viewer.analysis.iterations.markers import candidates

        return candidates(self) if not self.trace.partial else ()

    def iterations(self, candidate: int = 0) -> Iterations | None:
        """Return the iterations by one of the `candidates`, None where none is found."""
        if candidate not in self._iterations:
            from viewer.analysis.iterations.detect import find_iterations

            self._iterations[candidate] = find_iterations(self, candidate)
        return self._iterations[candidate]

    def phases(self) -> Phases | None:
        """Return forward, backward and optimizer over the iterations by the best of the `candidates`."""
        iterations = self.iterations()
        return self.phases_of(iterations) if iterations else None

    def phases_of(self, iterations: Iterations) -> Phases:
        """Return forward, backward and optimizer over some iterations (docs/definitions.md, section 5)."""
        if iterations not in self._phases:
            from viewer.analysis.iterations.phases import find_phases

            self._phases[iterations] = find_phases(self, iterations)
        return self._phases[iterations]

    @cached_property
    def collectives(self) -> Collectives:
        """The collectives matched over the ranks (docs/definitions.md, section 8)."""
        from viewer.analysis.collectives.match import find_collectives

        return find_collectives(self)

    def stalls(self, candidate: int = 0) -> Stalls:
        """Return where GPUs are idle, only copy or communicate exposed, and why.

        See docs/definitions.md, section 7.
        """
        if candidate not in self._stalls:
            from viewer.analysis.stalls.stalls import find_stalls

            self._stalls[candidate] = find_stalls(self, self.iterations(candidate))
        return self._stalls[candidate]

    def launch_latency(self, gpu: int) -> LaunchLatency:
        """Return how long the operations of a GPU were queued, over time."""
        if gpu not in self._distances:
            from viewer.analysis.launches.latency import launch_latency

            idle = self.parts[gpu].intervals("idle")
            self._distances[gpu] = launch_latency(self.launches, self.order(gpu), idle)
        return self._distances[gpu]

    @cached_property
    def finder(self) -> Finder:
        """The search over everything that has a name."""
        from viewer.analysis.find import Finder

        return Finder(self)

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """The bounds of each GPU's clock, in order of `Trace.gpus` (docs/definitions.md, section 10)."""
        from viewer.analysis.recording.clocks import clocks

        return clocks(self)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the recording, worst first (docs/definitions.md, section 10)."""
        from viewer.analysis.recording.findings import findings

        return findings(self)

    def projection(self, mode: Projection) -> pd.DataFrame:
        """Return the NVTX ranges projected on the GPU (docs/definitions.md, section 5)."""
        if mode not in self._projections:
            from viewer.analysis.launches.projection import project

            self._projections[mode] = project(self.launches, mode)
        return self._projections[mode]
