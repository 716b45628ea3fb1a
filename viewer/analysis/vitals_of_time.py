"""Vitals of time: the five parts, the iterations, and idle time between and inside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.copies import in_front
from viewer.analysis.intervals import Intervals
from viewer.analysis.laps import Laps
from viewer.analysis.parts import PARTS
from viewer.analysis.scope import Scope
from viewer.analysis.vital import Evidence, Vital

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


def time_vitals(study: Study, scope: Scope) -> Iterator[Vital]:
    """Yield the five parts and the time without a kernel."""
    parts, total = scope.parts(study), max(scope.total_ns, 1)
    hides = any(of_gpu.has_graphs for of_gpu in study.parts)
    for position, (key, (name, definition, limit)) in enumerate(_PARTS.items()):
        ns = int(parts[:, position].sum())
        yield Vital(
            key,
            TIME,
            f"{name} (at least)" if hides and key == "exposed_comm" else name,
            ns,
            "ns",
            f"{definition} {_IN_GRAPHS}" if hides and key == "exposed_comm" else definition,
            share=ns / total,
            per_gpu=tuple(parts[:, position].tolist()),
            normal=f"under {limit:.0%}" if limit else "",
            is_normal=ns < limit * total if limit else None,
            evidence=_longest(study, scope, key),
        )
    without = parts[:, PARTS.index("copy_only")] + parts[:, PARTS.index("idle")]
    yield Vital(
        "no_kernel",
        TIME,
        "no kernel",
        int(without.sum()),
        "ns",
        "No kernel runs on any stream: copy only and idle together. A vertical cut there meets no kernel.",
        share=int(without.sum()) / total,
        per_gpu=tuple(without.tolist()),
        evidence=_longest(study, scope, "copy_only", "idle"),
    )


def iteration_vitals(study: Study, laps: Laps, scope: Scope) -> Iterator[Vital]:
    """Yield the laps' number and length, idle time between and inside them, and copies in front of them."""
    picked = list(scope.laps) or list(laps.basis)
    lengths = laps.duration_ns[picked]
    median = int(np.median(lengths)) if len(lengths) else None
    yield Vital(
        "iteration",
        ITERATIONS,
        "length of an iteration",
        median,
        "ns",
        "From the earliest start over the GPUs to the next one's: median over the iterations taken.",
        evidence=_of_lap(laps, picked, lengths),
    )
    yield Vital(
        "iterations",
        ITERATIONS,
        "iterations taken",
        f"{len(picked)} of {laps.count}",
        "text",
        "Warm-up, checkpoints, evaluations and outliers are left out. Steady: within 5 % of the median, at "
        "least half of those after the warm-up, and three.",
        normal="a steady state",
        is_normal=scope.is_steady,
    )
    if len(lengths):
        yield Vital(
            "lap_spread",
            ITERATIONS,
            "shortest to longest",
            (int(lengths.max()) - int(lengths.min())) / max(median or 1, 1),
            "share",
            "Longest less shortest of the iterations taken, over the median.",
        )
        skew = laps.skew_ns[picked]
        yield Vital(
            "skew",
            ITERATIONS,
            "skew over the GPUs",
            int(np.median(skew)),
            "ns",
            "Latest start of an iteration over the GPUs less the earliest: median.",
            evidence=_of_lap(laps, picked, skew),
        )
    yield from _idle_by_place(study, laps, scope)
    yield _in_front(study, laps, picked, scope)


def between_laps(study: Study, laps: Laps, gpu: int) -> Intervals:
    """Return the idle slices of a GPU whose operations before and after belong to different laps."""
    idle = study.parts[gpu].intervals("idle")
    held = np.isin(idle.end_ns, laps.starts[gpu, 1:-1])
    return Intervals(idle.start_ns[held], idle.end_ns[held])


def _idle_by_place(study: Study, laps: Laps, scope: Scope) -> Iterator[Vital]:
    between, inside, spots = [], [], []
    for gpu, within in enumerate(scope.within):
        of_gpu = between_laps(study, laps, gpu) & within
        spots.append(of_gpu)
        between.append(of_gpu.total())
        inside.append(scope.slices(study, gpu, "idle").total() - between[-1])
    total = max(scope.total_ns, 1)
    yield Vital(
        "idle_between",
        ITERATIONS,
        "idle between iterations",
        sum(between),
        "ns",
        "Idle slices whose operations before and after belong to different iterations: data, logging, the "
        "end of the optimizer.",
        share=sum(between) / total,
        per_gpu=tuple(between),
        evidence=_longest_of(spots),
    )
    yield Vital(
        "idle_inside",
        ITERATIONS,
        "idle inside iterations",
        sum(inside),
        "ns",
        "The rest of the idle time: synchronisation, launches that come too late, waiting for somebody.",
        share=sum(inside) / total,
        per_gpu=tuple(inside),
        evidence=_longest_of([scope.slices(study, gpu, "idle") - spot for gpu, spot in enumerate(spots)]),
    )


def _in_front(study: Study, laps: Laps, picked: list[int], scope: Scope) -> Vital:
    found = in_front(study, laps)
    lengths = found.length_ns[:, picked]
    per_gpu = lengths.sum(axis=1)
    evidence = None
    if lengths.any():
        gpu, at = np.unravel_index(int(lengths.argmax()), lengths.shape)
        start = int(found.start_ns[gpu, picked[at]])
        evidence = Evidence(start, start + int(lengths[gpu, at]), int(gpu))
    return Vital(
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
        evidence=evidence,
    )


def _longest(study: Study, scope: Scope, *parts: str) -> Evidence | None:
    return _longest_of([scope.slices(study, gpu, *parts) for gpu in range(len(scope.within))])


def _longest_of(slices: list[Intervals]) -> Evidence | None:
    held = [(int(s.lengths.max()), gpu, int(s.lengths.argmax())) for gpu, s in enumerate(slices) if len(s)]
    if not held:
        return None
    _, gpu, at = max(held)
    return Evidence(int(slices[gpu].start_ns[at]), int(slices[gpu].end_ns[at]), gpu)


def _of_lap(laps: Laps, picked: list[int], values: np.ndarray) -> Evidence | None:
    """Return the lap with the greatest of some values."""
    if not len(values):
        return None
    lap = picked[int(values.argmax())]
    return Evidence(laps.start_ns(lap), laps.end_ns(lap))
