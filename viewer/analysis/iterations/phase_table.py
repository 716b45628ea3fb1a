"""The table of phases: length, kernels, small-kernel bursts and idle time inside.

See docs/definitions.md, section 5.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.iterations.phases import Phase, Phases
from viewer.analysis.kernels.kernel_tables import bursts_in, class_table, small_in, top_kernels
from viewer.analysis.launches.attribution import Rows
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace.names import short_name


def phase_table(
    phases: Phases, iterations: Iterations, scope: Scope, parts: tuple[TimeBreakdown, ...]
) -> pd.DataFrame:
    """Return one row per phase, over the iterations of a scope and all GPUs.

    Returns
    -------
    DataFrame
        `phase`, `how` (how it was found), `compute_ns` and `length_ns` (the union of its compute kernels, and
        its stretches; medians over the iterations, means over the GPUs), and sums over iterations and GPUs:
        `kernels`, `small_kernels`, `seas`, `sea_kernels`, `sea_ns` (small-kernel bursts), `idle_ns` (inside);
        `top_kernels` (the three names with most time: `name`, `kernels`, `sum_ns`, `share`), `top` (the same
        as text), `<class>_ns` (durations), and its location: `gpu`, `start_ns`, `end_ns`.
    """
    chosen = phases.over(scope.iterations_of(iterations))
    idle = tuple(scope.stalls(parts, gpu, "idle") for gpu in range(len(scope.within)))
    rows = [_row(iterations, chosen, phase, scope, idle) for phase in phases.phases]
    return pd.DataFrame([row for row in rows if row])


def _row(
    iterations: Iterations,
    phases: Phases,
    phase: Phase,
    scope: Scope,
    idle: tuple[Intervals, ...],
) -> dict[str, object]:
    trace, classes, kernels = phase.trace, phase.classes, phase.trace.kernels
    pieces: list[Rows] = []
    small = bursts = in_bursts = burst_ns = idle_ns = 0
    for gpu, within in enumerate(scope.within):
        own = phase.kernels[gpu]
        # Cut to the scope, kernel by kernel: a phase may reach over its edge.
        own = own[within.covered(kernels.start_ns[own], kernels.end_ns[own]) > 0]
        pieces.append(own)
        of_gpu = bursts_in(kernels, classes, own)
        small += small_in(kernels, own)
        bursts += len(of_gpu)
        in_bursts += int(of_gpu.kernels.sum())
        burst_ns += int(of_gpu.sum_ns.sum())
        # Idle time of the GPU, not gaps between the phase's own operations: a copy in such a gap is no idle
        # time.
        idle_ns += (idle[gpu] & phase.extent[gpu]).total()
    rows = tuple(pieces)
    top = top_kernels(trace, classes, scope, rows, 3)
    of_class = class_table(trace, classes, scope, rows)
    gpu, start, end = _example(phase, scope)
    return {
        "phase": phase.name,
        "how": phase.how,
        "compute_ns": phases.median_ns(phase.name) or 0,
        "length_ns": _length(phase, iterations, phases.basis),
        "kernels": sum(map(len, rows)),
        "small_kernels": small,
        "seas": bursts,
        "sea_kernels": in_bursts,
        "sea_ns": burst_ns,
        "idle_ns": idle_ns,
        "top": ", ".join(
            f"{short_name(n)} {s * 100:.1f} %" for n, s in zip(top["name"], top["share"], strict=True)
        ),
        "top_kernels": tuple(top[["name", "kernels", "sum_ns", "share"]].to_dict("records")),
        **{f"{c}_ns": int(ns) for c, ns in zip(CLASSES, of_class["sum_ns"], strict=True)},
        "gpu": gpu,
        "start_ns": start,
        "end_ns": end,
    }


def _length(phase: Phase, iterations: Iterations, basis: tuple[int, ...]) -> int:
    """Return the median over iterations of the length of the stretches, as the mean over the GPUs."""
    medians = []
    for gpu, extent in enumerate(phase.extent):
        lengths = extent.covered(*iterations.windows(gpu))[list(basis)]
        # Iterations without the phase do not count as short ones.
        if (lengths > 0).any():
            medians.append(int(np.median(lengths[lengths > 0])))
    return sum(medians) // len(medians) if medians else 0


def _example(phase: Phase, scope: Scope) -> tuple[int, int, int]:
    """Return a GPU and the first stretch of the phase there inside the scope."""
    for gpu, within in enumerate(scope.within):
        inside: Intervals = phase.extent[gpu] & within
        if len(inside):
            return gpu, int(inside.start_ns[0]), int(inside.end_ns[0])
    return 0, 0, 0
