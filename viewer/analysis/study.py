"""Study: the one place where the numbers of a trace are computed, lazily and once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import KernelClasses, Rules, classify
from viewer.analysis.core.gpu_order import GpuOrder, gpu_order
from viewer.analysis.core.parallel import each
from viewer.analysis.core.prefix_sums import Tally
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.shared_gpus import SharedBoard, shared_boards
from viewer.analysis.time.stream_gaps import Holes, find_holes
from viewer.analysis.time.time_breakdown import GpuParts, Occupancy, gpu_parts, occupancy
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.lazy import cached_property

if TYPE_CHECKING:
    from viewer.analysis.collectives.match import Collectives
    from viewer.analysis.find import Finder
    from viewer.analysis.iterations.markers import Candidate
    from viewer.analysis.iterations.phases import Phases
    from viewer.analysis.launches.latency import LaunchDistance
    from viewer.analysis.recording.clocks import Clock
    from viewer.analysis.recording.finding import Finding
    from viewer.analysis.stalls.stalls import Slices
    from viewer.analysis.time.iteration_bounds import Laps

Projection = Literal["thread", "process"]


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
    given_up : bool
        Of a partial study: nothing more comes, opening the trace was cancelled or failed.
    """

    def __init__(self, trace: Trace, rules: Rules | None = None, early: Study | None = None) -> None:
        self.trace = trace
        self.partial = trace.partial
        self.given_up = False
        self.rules = rules or Rules.current()
        self._orders: dict[int, GpuOrder] = {}
        self._holes: dict[int, Holes] = {}
        self._families: dict[int, Tally] = {}
        self._laps: dict[int, Laps | None] = {}
        self._phases: dict[Laps, Phases] = {}
        self._projections: dict[Projection, pd.DataFrame] = {}
        self._slices: dict[int, Slices] = {}
        self._distances: dict[int, LaunchDistance] = {}
        if early is not None and early.rules == self.rules and early.trace.streams == trace.streams:
            self._orders = {gpu.index: early.order(gpu.index) for gpu in trace.gpus}
            self.__dict__["parts"] = early.parts

    @cached_property
    def classes(self) -> KernelClasses:
        """The class of every kernel name (definitions, section 3)."""
        return classify(self.trace, self.rules)

    @cached_property
    def parts(self) -> tuple[GpuParts, ...]:
        """The five parts of each GPU's time, in order of `Trace.gpus` (definitions, section 1)."""
        _ = self.classes
        gpus = range(len(self.trace.gpus))
        return tuple(each(lambda gpu: gpu_parts(self.trace, self.occupancy(gpu)), gpus))

    def occupancy(self, gpu: int) -> Occupancy:
        """Return the unions of a GPU's compute kernels, communication kernels and copies; not kept."""
        return occupancy(self.trace, self.classes, gpu)

    @cached_property
    def launches(self) -> Launches:
        """Which API call launched which GPU operation (definitions, section 4)."""
        return Launches(self.trace, self.order)

    def order(self, gpu: int) -> GpuOrder:
        """Return a GPU's operations over all streams, by start."""
        if gpu not in self._orders:
            self._orders[gpu] = gpu_order(self.trace, gpu)
        return self._orders[gpu]

    @cached_property
    def shared_boards(self) -> tuple[SharedBoard, ...]:
        """The physical GPUs that several processes share."""
        return shared_boards(self)

    def holes(self, gpu: int) -> Holes:
        """Return the gaps of a GPU's compute stream and what fills them."""
        if gpu not in self._holes:
            self._holes[gpu] = find_holes(self.trace, self.classes, self.occupancy(gpu), gpu)
        return self._holes[gpu]

    def families(self, gpu: int) -> Tally:
        """Return the kernels of a GPU, summed by family: the id of the short name."""
        if gpu not in self._families:
            order, kernels = self.order(gpu), self.trace.kernels
            is_kernel = order.kind == GPU_KINDS.index(Kind.KERNEL)
            family = np.zeros(len(order), np.uint32)
            if len(kernels):
                family[is_kernel] = kernels.columns["short_id"][order.index[is_kernel]]
            self._families[gpu] = Tally(order.start_ns, order.end_ns, family, is_kernel)
        return self._families[gpu]

    def prepare(self) -> None:
        """Compute now what a selection needs, so that the first one does not wait."""
        self.launches.prepare()

        def one(gpu: int) -> None:
            self.holes(gpu)
            self.families(gpu)
            self.launches.count(gpu, 0, 0)

        each(one, range(len(self.parts)))

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """What may mark the iterations, best first (definitions, section 6)."""
        from viewer.analysis.iterations.markers import candidates

        return candidates(self) if not self.trace.partial else ()

    def laps(self, candidate: int = 0) -> Laps | None:
        """Return the iterations by one of the `candidates`, None where none is found."""
        if candidate not in self._laps:
            from viewer.analysis.iterations.detect import find_laps

            self._laps[candidate] = find_laps(self, candidate)
        return self._laps[candidate]

    def phases(self) -> Phases | None:
        """Return forward, backward and optimizer over the iterations by the best of the `candidates`."""
        laps = self.laps()
        return self.phases_of(laps) if laps else None

    def phases_of(self, laps: Laps) -> Phases:
        """Return forward, backward and optimizer over some iterations (definitions, section 5)."""
        if laps not in self._phases:
            from viewer.analysis.iterations.phases import find_phases

            self._phases[laps] = find_phases(self, laps)
        return self._phases[laps]

    @cached_property
    def collectives(self) -> Collectives:
        """The collectives matched over the ranks (definitions, section 8)."""
        from viewer.analysis.collectives.match import find_collectives

        return find_collectives(self)

    def slices(self, candidate: int = 0) -> Slices:
        """Return where GPUs are idle, only copy or communicate exposed, and why (definitions, section 7)."""
        if candidate not in self._slices:
            from viewer.analysis.stalls.stalls import find_slices

            self._slices[candidate] = find_slices(self, self.laps(candidate))
        return self._slices[candidate]

    def launch_distance(self, gpu: int) -> LaunchDistance:
        """Return how long the operations of a GPU were queued, over time."""
        if gpu not in self._distances:
            from viewer.analysis.launches.latency import launch_distance

            self._distances[gpu] = launch_distance(self, gpu)
        return self._distances[gpu]

    @cached_property
    def finder(self) -> Finder:
        """The search over everything that has a name."""
        from viewer.analysis.find import Finder

        return Finder(self)

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """The bounds of each GPU's clock, in order of `Trace.gpus` (definitions, section 10)."""
        from viewer.analysis.recording.clocks import clocks

        return clocks(self)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the recording, worst first (definitions, section 10)."""
        from viewer.analysis.recording.findings import findings

        return findings(self)

    def projection(self, mode: Projection) -> pd.DataFrame:
        """Return the NVTX ranges projected on the GPU (definitions, section 5)."""
        if mode not in self._projections:
            from viewer.analysis.launches.projection import project

            self._projections[mode] = project(self, mode)
        return self._projections[mode]
