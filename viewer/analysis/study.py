"""The study of a trace: computes each number when it is first asked for, and keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from viewer.analysis.core.classify import Rules
from viewer.analysis.gpu_study import GpuStudy
from viewer.analysis.loading import Loading
from viewer.trace import Kind, Trace
from viewer.trace.lazy import OncePerKey, cached_property

if TYPE_CHECKING:
    from viewer.analysis.collectives.match import Collectives
    from viewer.analysis.collectives.overlap_tax import OverlapTax
    from viewer.analysis.dependencies.graph import DependencyGraph
    from viewer.analysis.dependencies.stall_producers import StallProducers
    from viewer.analysis.dependencies.stall_reasons import StallReasons
    from viewer.analysis.find import Finder
    from viewer.analysis.findings.finding import Findings
    from viewer.analysis.iterations.candidate import Candidate
    from viewer.analysis.iterations.phases import Phases
    from viewer.analysis.launches.latency import LaunchLatency
    from viewer.analysis.launches.projection import Projection
    from viewer.analysis.recording.bounds import Bounds
    from viewer.analysis.recording.clocks import Clock
    from viewer.analysis.recording.diagnostic import Diagnostic
    from viewer.analysis.replay.changes import Change
    from viewer.analysis.replay.critical_path import CriticalPath
    from viewer.analysis.replay.inputs import Replay
    from viewer.analysis.replay.slack import Slack
    from viewer.analysis.replay.what_if import Chosen, WhatIf
    from viewer.analysis.stalls.stalls import StallInputs, Stalls
    from viewer.analysis.time.iteration_bounds import Iterations


class Study(GpuStudy):
    """A trace and everything that is computed from it, each result once.

    The functions of `viewer.analysis` take what they use; this hands it to them.

    Parameters
    ----------
    trace : Trace
    rules : Rules, optional
        The kernel classes; by default the user's own table where there is one, else the built-in one.
    early : Study, optional
        That of the same trace when only the GPUs' operations were known; its results that still hold are
        taken over.

    Attributes
    ----------
    loading : Loading
        How much of the trace is loaded: the one value that everybody reads. Until it is complete nobody asks
        for what is still being computed.

    Notes
    -----
    Several threads may ask at once. The first one computes a result, the others wait for it: each result is
    computed once. Only known results are free of waiting.
    """

    def __init__(
        self,
        trace: Trace,
        rules: Rules | None = None,
        early: Study | None = None,
        loading: Loading = Loading.COMPLETE,
    ) -> None:
        super().__init__(trace, rules or Rules.current(), early, loading)
        self._iterations: OncePerKey[int, Iterations | None] = OncePerKey()
        self._phases: OncePerKey[Iterations, Phases] = OncePerKey()
        self._projections: OncePerKey[Projection, pd.DataFrame] = OncePerKey()
        self._stalls: OncePerKey[int, Stalls] = OncePerKey()
        self._producers: OncePerKey[int, StallProducers] = OncePerKey()
        self._critical_paths: OncePerKey[int, tuple[CriticalPath, ...]] = OncePerKey()
        self._findings: OncePerKey[int, Findings] = OncePerKey()
        self._slack: OncePerKey[tuple[int, int], Slack] = OncePerKey()
        self._latencies: OncePerKey[int, LaunchLatency] = OncePerKey()
        self._bounds: OncePerKey[bool, Bounds] = OncePerKey()

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates for the marker of the iterations, best first (docs/definitions.md, section 6)."""
        from viewer.analysis.iterations.markers import candidates

        if not self.loading.has_all_rows:
            return ()
        return candidates(self.launches, self.order, self.classes, self.projection("process"))

    def iterations(self, candidate: int = 0) -> Iterations | None:
        """Return the iterations by one of the `candidates`, None if there are none."""
        from viewer.analysis.iterations.detect import find_iterations

        def find() -> Iterations | None:
            if not 0 <= candidate < len(self.candidates):
                return None
            return find_iterations(self.launches, self.order, self.candidates[candidate])

        return self._iterations.get(candidate, find)

    def phases(self) -> Phases | None:
        """Return forward, backward and optimizer over the iterations by the best of the `candidates`."""
        iterations = self.iterations()
        return self.phases_of(iterations) if iterations else None

    def phases_of(self, iterations: Iterations) -> Phases:
        """Return forward, backward and optimizer over some iterations (docs/definitions.md, section 5)."""
        from viewer.analysis.iterations.phases import find_phases

        return self._phases.get(iterations, lambda: find_phases(self.launches, self.classes, iterations))

    @cached_property
    def collectives(self) -> Collectives:
        """The collectives, matched over the ranks (docs/definitions.md, section 8)."""
        from viewer.analysis.collectives.match import find_collectives

        return find_collectives(self.launches, self.classes, self.parts)

    @cached_property
    def dependencies(self) -> DependencyGraph:
        """What every operation and blocking call waited for (docs/definitions.md, section 11)."""
        from viewer.analysis.dependencies.build import build_graph

        return build_graph(self.launches, self.collectives)

    @cached_property
    def stall_reasons(self) -> StallReasons:
        """Why each GPU computes nothing (docs/definitions.md, section 11)."""
        from viewer.analysis.dependencies.stall_reasons import StallReasons

        return StallReasons(self.launches, self.classes, self.parts, self.collectives, self.dependencies)

    @property
    def known_stall_reasons(self) -> StallReasons | None:
        """`stall_reasons` if they are known without waiting."""
        return self.__dict__.get("stall_reasons")

    def stall_producers(self, candidate: int = 0) -> StallProducers:
        """Return which operation each of `stalls` waited for (docs/definitions.md, section 11)."""
        from viewer.analysis.dependencies.stall_producers import stall_producers

        return self._producers.get(
            candidate, lambda: stall_producers(self.stalls(candidate), self.stall_reasons)
        )

    @cached_property
    def replay(self) -> Replay:
        """The trace as it can be replayed (docs/definitions.md, section 12)."""
        from viewer.analysis.replay.inputs import ReplayInputs, make_replay

        return make_replay(
            ReplayInputs(
                self.launches, self.order, self.classes, self.parts, self.collectives, self.dependencies
            )
        )

    def what_if(self, changes: Sequence[Change], candidate: int = 0, chosen: Chosen = None) -> WhatIf:
        """Return the iterations by one of the `candidates` as they would be with some changes.

        `chosen` says which of them to tell of: an index, "steady", or None for all.

        Raises
        ------
        ChangeError
            If there are no iterations, or a change matches nothing.
        """
        from viewer.analysis.replay.what_if import what_if

        return what_if(self.replay, changes, self.iterations(candidate), chosen)

    def critical_paths(self, candidate: int = 0) -> tuple[CriticalPath, ...]:
        """Return the critical path of each iteration by one of the `candidates`; () without iterations."""
        from viewer.analysis.replay.what_if import recorded_paths

        return self._critical_paths.get(
            candidate, lambda: recorded_paths(self.replay, self.iterations(candidate))
        )

    @cached_property
    def overlap_tax(self) -> OverlapTax:
        """What hidden communication costs the kernels beside it (docs/definitions.md, section 1)."""
        from viewer.analysis.collectives.overlap_tax import overlap_tax
        from viewer.analysis.collectives.rank_comparison import same_work_of

        groups = same_work_of(self.trace, self.iterations(), self.collectives)
        return overlap_tax(self.launches, self.classes, self.coverage, groups)

    @property
    def known_overlap_tax(self) -> OverlapTax | None:
        """The overlap tax once it is computed, without waiting for it."""
        return self.__dict__.get("overlap_tax")

    def slack(self, kind: Kind, index: int, candidate: int = 0) -> int | None:
        """Return how much longer an operation or a CUDA call could last before its iteration does, ns.

        `index` is that into the events of the kind. None outside the iterations by one of the `candidates`,
        and where nothing in its iteration waits for it (docs/definitions.md, section 12).
        """
        from viewer.analysis.replay.slack import find_slack

        iterations = self.iterations(candidate)
        begin = int(self.trace.events[kind].start_ns[index])
        iteration = iterations.iteration_at(begin) if iterations is not None else None
        if iterations is None or iteration is None:
            return None
        found = self._slack.get(
            (candidate, iteration), lambda: find_slack(self.replay, iterations, iteration)
        )
        if kind is Kind.API:
            return found.of_call(int(self.replay.network.hosts.outer_of[index]))
        return found.of_operation(self.replay.network.operations.number_of(kind, index))

    @property
    def stall_inputs(self) -> StallInputs:
        """What the stalls are found in."""
        from viewer.analysis.stalls.stalls import StallInputs

        return StallInputs(self.launches, self.order, self.classes, self.parts, self.collectives)

    def stalls(self, candidate: int = 0) -> Stalls:
        """Return where GPUs are idle, only copy or communicate exposed, and why.

        See docs/definitions.md, section 7.
        """
        from viewer.analysis.stalls.stalls import find_stalls

        return self._stalls.get(candidate, lambda: find_stalls(self.stall_inputs, self.iterations(candidate)))

    def findings(self, candidate: int = 0) -> Findings:
        """Return what to mend first, by the iterations of one of the `candidates`.

        See docs/definitions.md, section 14.
        """
        from viewer.analysis.findings.find_findings import find_findings

        return self._findings.get(candidate, lambda: find_findings(self, candidate))

    def launch_latency(self, gpu: int) -> LaunchLatency:
        """Return the queue times of a GPU's operations (docs/definitions.md, section 4)."""
        return self._latencies.get(gpu, lambda: self._find_latency(gpu))

    def _find_latency(self, gpu: int) -> LaunchLatency:
        from viewer.analysis.launches.latency import launch_latency

        return launch_latency(self.launches, self.order(gpu), self.parts[gpu].intervals("idle"))

    @cached_property
    def finder(self) -> Finder:
        """The search over all names of the trace."""
        from viewer.analysis.find import Finder

        return Finder(self.trace)

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """The bounds of each GPU's clock, in order of `Trace.gpus` (docs/definitions.md, section 10)."""
        from viewer.analysis.recording.clocks import clocks

        return clocks(self.launches)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the recording, worst first (docs/definitions.md, section 10)."""
        from viewer.analysis.recording.diagnostics import diagnostics

        return diagnostics(self.launches, self.classes, self.clocks)

    @cached_property
    def bounds(self) -> Bounds:
        """Which times are bounds (docs/definitions.md, section 10)."""
        from viewer.analysis.recording.bounds import bounds

        return bounds(self.trace, self.parts, self.diagnostics)

    @property
    def known_bounds(self) -> Bounds:
        """The bounds as far as they are known without waiting: lost rows once the diagnostics are."""
        from viewer.analysis.recording.bounds import bounds

        found = self.__dict__.get("diagnostics")
        return self._bounds.get(found is not None, lambda: bounds(self.trace, self.parts, found or ()))

    def projection(self, mode: Projection) -> pd.DataFrame:
        """Return the NVTX ranges projected onto the GPU (docs/definitions.md, section 5)."""
        from viewer.analysis.launches.projection import project

        return self._projections.get(mode, lambda: project(self.launches, mode))
