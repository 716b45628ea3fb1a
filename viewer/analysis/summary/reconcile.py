"""Reconcile: which looser definition gives a share that another tool or a person names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import CATEGORIES, COPY_ONLY, IDLE, without_kernel
from viewer.trace import GPU_KINDS, Kind

if TYPE_CHECKING:
    from viewer.analysis.study import Study
    from viewer.analysis.time.iteration_bounds import Iterations

What = Literal["idle", "communication", "compute", "copies"]

CLOSE = 0.01
"""Shares that differ by no more than this are called the same."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One way to define a number, and what it comes to: a share of the time of all GPUs."""

    name: str
    share: float
    definition: str
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A claimed share beside its interpretations, the nearest first; one fits within `CLOSE`."""

    what: What
    claimed: float
    ours: Interpretation
    interpretations: tuple[Interpretation, ...]

    @property
    def agrees(self) -> bool:
        """Whether the claimed share is the one measured here."""
        return abs(self.ours.share - self.claimed) <= CLOSE

    @property
    def explained_by(self) -> Interpretation | None:
        """The looser definition that gives the claimed share, None where none does or none is needed."""
        if self.agrees:
            return None
        nearest = next((r for r in self.interpretations if not r.is_ours), None)
        return nearest if nearest and abs(nearest.share - self.claimed) <= CLOSE else None


def reconcile(
    study: Study, scope: Scope, what: What, claimed: float, iterations: Iterations | None = None
) -> Reconciled:
    """Return the measured share, and what looser definitions give, beside a claimed one.

    Parameters
    ----------
    claimed : float
        A share of the time, 0.20 for "idle 20 %".
    iterations : Iterations, optional
        With them idle inside the CPU's ranges is among the interpretations.
    """
    interpretations = {
        "idle": _idle,
        "communication": _communication,
        "compute": _compute,
        "copies": _copies,
    }[what](study, scope)
    if what == "idle" and iterations is not None and scope.iterations:
        on_cpu = _idle_in_cpu_ranges(study, iterations, scope)
        interpretations = (*interpretations, on_cpu) if on_cpu else interpretations
    ours = next(r for r in interpretations if r.is_ours)
    # By distance, and of equals in the order above: the stricter definition first.
    near = tuple(sorted(interpretations, key=lambda r: abs(r.share - claimed)))
    return Reconciled(what, claimed, ours, near)


def _idle(study: Study, scope: Scope) -> tuple[Interpretation, ...]:
    parts = scope.parts(study.parts)
    idle, no_kernel = parts[:, IDLE].sum(), without_kernel(parts).sum()
    exposed = parts[:, CATEGORIES.index("exposed_comm")].sum()
    gaps, busiest, sums = [], [], []
    for gpu, within in enumerate(scope.within):
        # Stream by stream, as one who looks at a single row would add up its gaps.
        free = [within.total() - _covered(study, [s], within).total() for s in _streams(study, gpu)]
        gaps.append(sum(free))
        busiest.append(min(free, default=within.total()))
        # Overlapping durations may exceed the window: below nothing there is no idle time.
        sums.append(max(within.total() - _sum(study, gpu, within), 0))
    return (
        _interpretation(scope, "idle", idle, "Nothing runs on any stream, kernel or copy.", ours=True),
        _interpretation(scope, "no kernel", no_kernel, "No kernel on any stream: copies count as idle."),
        _interpretation(
            scope,
            "no compute kernel",
            no_kernel + exposed,
            "No compute kernel on any stream: copies and exposed communication count as idle.",
        ),
        _interpretation(
            scope, "gaps of the busiest stream", sum(busiest), "One stream alone: stream gaps count as idle."
        ),
        _interpretation(
            scope,
            "sum of the gaps of all streams",
            sum(gaps),
            "Gaps added up over streams: the same instant counts once for every stream that is empty.",
        ),
        _interpretation(
            scope,
            "window less the sum of durations",
            sum(sums),
            "Durations added up: what overlaps counts twice as busy.",
        ),
    )


def _communication(study: Study, scope: Scope) -> tuple[Interpretation, ...]:
    parts = scope.parts(study.parts)
    exposed = parts[:, CATEGORIES.index("exposed_comm")].sum()
    hidden = parts[:, CATEGORIES.index("hidden_comm")].sum()
    sums, kernels = 0, 0
    for gpu, within in enumerate(scope.within):
        rows = rows_of_gpu(study.trace, Kind.KERNEL, gpu)
        table = study.trace.kernels
        lengths = within.covered(table.start_ns[rows], table.end_ns[rows])
        comm = study.classes.is_comm(table.name_id[rows])
        sums += int(lengths[comm].sum())
        kernels += int(lengths.sum())
    return (
        _interpretation(
            scope, "exposed communication", exposed, "Communication that no compute hides.", ours=True
        ),
        _interpretation(scope, "all communication", exposed + hidden, "Union of the communication kernels."),
        _interpretation(
            scope, "sum of durations", sums, "Durations of communication kernels over the time of the GPUs."
        ),
        Interpretation(
            "share of the kernels' time",
            sums / max(kernels, 1),
            "Sum of durations over that of all kernels: what nsys prints for a kernel or a row.",
        ),
    )


def _compute(study: Study, scope: Scope) -> tuple[Interpretation, ...]:
    parts = scope.parts(study.parts)
    alone = parts[:, CATEGORIES.index("compute_only")].sum()
    compute = alone + parts[:, CATEGORIES.index("hidden_comm")].sum()
    busy = parts[:, :IDLE].sum()
    sums = sum(_sum(study, gpu, within) for gpu, within in enumerate(scope.within))
    return (
        _interpretation(scope, "compute", compute, "A compute kernel runs on some stream.", ours=True),
        _interpretation(scope, "compute alone", alone, "Compute without communication beside it."),
        _interpretation(scope, "busy", busy, "Anything runs, waiting in communication and copies included."),
        _interpretation(
            scope, "sum of durations", sums, "Durations of all operations added up over streams."
        ),
    )


def _copies(study: Study, scope: Scope) -> tuple[Interpretation, ...]:
    parts = scope.parts(study.parts)
    union_ns = sums = 0
    for gpu, within in enumerate(scope.within):
        covered = [_of_kind(study, gpu, kind) for kind in (Kind.MEMCPY, Kind.MEMSET)]
        start = np.concatenate([s for s, _ in covered])
        end = np.concatenate([e for _, e in covered])
        union_ns += (union(start, end) & within).total()
        sums += int(within.covered(start, end).sum())
    return (
        _interpretation(
            scope,
            "copy only",
            parts[:, COPY_ONLY].sum(),
            "A copy runs and no kernel.",
            ours=True,
        ),
        _interpretation(scope, "all copies", union_ns, "Union of the copies and sets, hidden ones too."),
        _interpretation(
            scope, "sum of durations", sums, "Durations of copies and sets added up over streams."
        ),
    )


def _idle_in_cpu_ranges(study: Study, iterations: Iterations, scope: Scope) -> Interpretation | None:
    """Return the idle time inside the marker's ranges as they lie on the CPU, None for others' markers."""
    marker = next((c for c in study.candidates if c.name == iterations.marker and c.what == "range"), None)
    if marker is None:
        return None
    idle = total = 0
    for gpu in study.trace.gpus:
        ranges = marker.instances.get(gpu.process)
        if ranges is None:
            continue
        # The scope numbers iterations; where ranges were split or left out they are not the same, and all
        # count.
        if len(ranges) == iterations.count:
            ranges = ranges.take(np.array(scope.iterations, np.int64))
        inside = union(ranges.start_ns, ranges.end_ns)
        total += inside.total()
        idle += (study.parts[gpu.index].intervals("idle") & inside).total()
    return Interpretation(
        "idle inside the CPU's ranges",
        idle / max(total, 1),
        f"Measured in the ranges called {iterations.marker} where the CPU has them: when work was asked for, "
        "not when the GPU did it; what lies between the ranges is left out.",
    )


def _interpretation(scope: Scope, name: str, ns: int, definition: str, ours: bool = False) -> Interpretation:
    return Interpretation(name, int(ns) / max(scope.total_ns, 1), definition, ours)


def _streams(study: Study, gpu: int) -> list[int]:
    """Return the streams of a GPU that have operations."""
    events = study.trace.events
    return [
        s.index
        for s in study.trace.streams_of(gpu)
        if any(events[k].of(s.index).stop > events[k].of(s.index).start for k in GPU_KINDS)
    ]


def _covered(study: Study, streams: list[int], within: Intervals) -> Intervals:
    events = study.trace.events
    rows = [(events[k], events[k].of(s)) for k in GPU_KINDS for s in streams]
    start = np.concatenate([e.start_ns[r] for e, r in rows])
    end = np.concatenate([e.end_ns[r] for e, r in rows])
    return union(start, end) & within


def _of_kind(study: Study, gpu: int, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    rows = rows_of_gpu(study.trace, kind, gpu)
    return study.trace.events[kind].start_ns[rows], study.trace.events[kind].end_ns[rows]


def _sum(study: Study, gpu: int, within: Intervals) -> int:
    return sum(int(within.covered(*_of_kind(study, gpu, kind)).sum()) for kind in GPU_KINDS)
