"""Summary of time: the five parts, the iterations, and idle time between and inside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.kernels.copies import in_front
from viewer.analysis.summary.metric import Location, Metric, longest, longest_stalls
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import without_kernel

if TYPE_CHECKING:
    from viewer.analysis.study import Study

TIME, ITERATIONS = "time", "iterations"

_PARTS = {
    "compute_only": (
        "compute only",
        "A compute kernel runs on some stream of the GPU and no communication kernel does.",
        None,
    ),
    "hidden_comm": (
        "hidden communication",
        "A communication kernel and a compute kernel run at once: the communication costs nearly nothing.",
        None,
    ),
    "exposed_comm": (
        "exposed communication",
        "A communication kernel runs and no compute kernel does: at most this can be won by hiding it. "
        "Waiting for a late rank is in it.",
        0.10,
    ),
    "copy_only": ("copy only", "A copy or a set runs and no kernel on any stream.", None),
    "idle": ("idle", "Nothing runs on any stream of the GPU, no kernel and no copy.", 0.05),
}


_IN_GRAPHS = "CUDA graphs are recorded as one piece here and may hold more of it: this is a lower bound."

LIMITS = {key: limit for key, (_, _, limit) in _PARTS.items() if limit}
"""The share of its time that a part should stay under."""


def time_summary(study: Study, scope: Scope) -> Iterator[Metric]:
    """Yield the five parts and the time without a kernel."""
    parts, total = scope.parts(study.parts), max(scope.total_ns, 1)
    hides = any(of_gpu.has_graphs for of_gpu in study.parts)
    for position, (key, (name, definition, limit)) in enumerate(_PARTS.items()):
        ns = int(parts[:, position].sum())
        spots = _spots(study, scope, key)
        yield Metric(
            key,
            TIME,
            f"{name} (at least)" if hides and key == "exposed_comm" else name,
            ns,
            "ns",
            f"{definition} {_IN_GRAPHS}" if hides and key == "exposed_comm" else definition,
            share=ns / total,
            per_gpu=tuple(parts[:, position].tolist()),
            normal=f"under {limit * 100:.0f} %" if limit else "",
            is_normal=ns < limit * total if limit else None,
            location=longest(spots),
            spots=spots,
        )
    spots = _spots(study, scope, "copy_only", "idle")
    without = without_kernel(parts)
    yield Metric(
        "no_kernel",
        TIME,
        "no kernel",
        int(without.sum()),
        "ns",
        "No kernel runs on any stream: copy only and idle together. A vertical cut there meets no kernel.",
        share=int(without.sum()) / total,
        per_gpu=tuple(without.tolist()),
        location=longest(spots),
        spots=spots,
    )


def iteration_summary(study: Study, iterations: Iterations, scope: Scope) -> Iterator[Metric]:
    """Yield the iterations' number and length, idle time between and inside them, and copies before them."""
    picked = list(scope.iterations_of(iterations))
    lengths = iterations.duration_ns[picked]
    median = int(np.median(lengths)) if len(lengths) else None
    yield Metric(
        "iteration",
        ITERATIONS,
        "length of an iteration",
        median,
        "ns",
        "From the earliest start over the GPUs to the next one's: median over the iterations taken. On a "
        "GPU by its own boundaries.",
        per_gpu=tuple(int(np.median(own[picked])) for own in np.diff(iterations.starts)) if picked else (),
        location=_of_iteration(iterations, picked, lengths),
    )
    yield Metric(
        "iterations",
        ITERATIONS,
        "iterations taken",
        f"{len(picked)} of {iterations.count}"
        + (", no steady state" if scope.iterations and not scope.is_steady else ""),
        "text",
        "Warm-up, checkpoints, evaluations and outliers are left out. Steady: within 5 % of the median, at "
        "least half of those after the warm-up, and three.",
        normal="a steady state" if scope.iterations else "",
        is_normal=scope.is_steady if scope.iterations else None,
        location=Location(*scope.hull),
    )
    if len(lengths):
        yield Metric(
            "lap_spread",
            ITERATIONS,
            "shortest to longest",
            (int(lengths.max()) - int(lengths.min())) / max(median or 1, 1),
            "share",
            "Longest less shortest of the iterations taken, over the median.",
            location=_of_iteration(iterations, picked, lengths),
        )
        skew = iterations.skew_ns[picked]
        yield Metric(
            "skew",
            ITERATIONS,
            "skew over the GPUs",
            int(np.median(skew)),
            "ns",
            "Latest start of an iteration over the GPUs less the earliest: median.",
            location=_of_iteration(iterations, picked, skew),
        )
    yield from _idle_by_place(study, iterations, scope)
    yield _in_front(study, iterations, picked, scope)


def between_iterations(study: Study, iterations: Iterations, gpu: int) -> Intervals:
    """Return the idle stalls of a GPU whose operations before and after belong to different iterations."""
    idle = study.parts[gpu].intervals("idle")
    held = np.isin(idle.end_ns, iterations.starts[gpu, 1:-1])
    return Intervals(idle.start_ns[held], idle.end_ns[held])


def _idle_by_place(study: Study, iterations: Iterations, scope: Scope) -> Iterator[Metric]:
    between = [between_iterations(study, iterations, gpu) & within for gpu, within in enumerate(scope.within)]
    inside = [scope.stalls(study.parts, gpu, "idle") - held for gpu, held in enumerate(between)]
    total = max(scope.total_ns, 1)
    of_place = {True: [s.total() for s in between], False: [s.total() for s in inside]}
    spots = {True: longest_stalls(between), False: longest_stalls(inside)}
    yield Metric(
        "idle_between",
        ITERATIONS,
        "idle between iterations",
        sum(of_place[True]),
        "ns",
        "Idle stalls whose operations before and after belong to different iterations: data, logging, the "
        "end of the optimizer.",
        share=sum(of_place[True]) / total,
        per_gpu=tuple(of_place[True]),
        location=longest(spots[True]),
        spots=spots[True],
    )
    yield Metric(
        "idle_inside",
        ITERATIONS,
        "idle inside iterations",
        sum(of_place[False]),
        "ns",
        "The rest of the idle time: synchronisation, launches that come too late, waiting for somebody.",
        share=sum(of_place[False]) / total,
        per_gpu=tuple(of_place[False]),
        location=longest(spots[False]),
        spots=spots[False],
    )


def _in_front(study: Study, iterations: Iterations, picked: list[int], scope: Scope) -> Metric:
    found = in_front(study.trace, study.classes, iterations)
    lengths = found.length_ns[:, picked]
    per_gpu = lengths.sum(axis=1)
    spots: list[Location | None] = []
    for gpu, of_gpu in enumerate(lengths):
        at = int(of_gpu.argmax()) if of_gpu.any() else None
        start = int(found.start_ns[gpu, picked[at]]) if at is not None else 0
        spots.append(Location(start, start + int(of_gpu[at]), gpu) if at is not None else None)
    return Metric(
        "copies_in_front",
        ITERATIONS,
        "copies in front of an iteration",
        int(per_gpu.sum()),
        "ns",
        "Host-to-device copies of 64 KiB and more between the first compute kernel of an iteration and the "
        "last one before it: the loader's tax.",
        share=int(per_gpu.sum()) / max(scope.total_ns, 1),
        per_gpu=tuple(per_gpu.tolist()),
        normal="nothing",
        is_normal=not lengths.any(),
        location=longest(spots),
        spots=tuple(spots),
    )


def _spots(study: Study, scope: Scope, *parts: str) -> tuple[Location | None, ...]:
    return longest_stalls([scope.stalls(study.parts, gpu, *parts) for gpu in range(len(scope.within))])


def _of_iteration(iterations: Iterations, picked: list[int], values: np.ndarray) -> Location | None:
    """Return the iteration with the greatest of some values."""
    if not len(values):
        return None
    iteration = picked[int(values.argmax())]
    return Location(iterations.start_ns(iteration), iterations.end_ns(iteration))
