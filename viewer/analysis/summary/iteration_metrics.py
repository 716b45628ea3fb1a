"""Metrics of the iterations: how many and how long, idle time between and inside them, copies before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.core.location import Location
from viewer.analysis.kernels.copies import in_front
from viewer.analysis.study import Study
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, Usual, longest_intervals, sum_of
from viewer.analysis.summary.sections import ITERATIONS
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.steadiness import LEAST_STEADY
from viewer.trace.events import Int64


def _length(inputs: MetricInputs) -> Result | None:
    iterations = inputs.iterations
    if iterations is None:
        return None
    used = iterations.with_length(inputs.used)
    lengths = iterations.duration_ns[used]
    per_gpu = tuple(int(np.median(own[used])) for own in np.diff(iterations.starts)) if used else ()
    median = int(np.median(lengths)) if used else None
    return Result(value=median, per_gpu=per_gpu, location=_with_most(iterations, used, lengths))


def _used(inputs: MetricInputs) -> Result | None:
    if inputs.iterations is None:
        return None
    scope = inputs.scope
    few = inputs.iterations.count < LEAST_STEADY
    steady = ", too few for a steady state" if few else ", no steady state"
    return Result(
        value=f"{len(inputs.used)} of {inputs.iterations.count}"
        f"{steady if scope.iterations and not scope.is_steady else ''}{inputs.iterations.in_doubt}",
        is_usual=scope.is_steady if scope.iterations else None,
        usual=None if scope.iterations else "",
        location=Location(*scope.hull),
    )


def _spread(inputs: MetricInputs) -> Result | None:
    if inputs.iterations is None or not inputs.used:
        return None
    used = inputs.iterations.with_length(inputs.used)
    lengths = inputs.iterations.duration_ns[used]
    spread = (int(lengths.max()) - int(lengths.min())) / max(int(np.median(lengths)), 1)
    return Result(value=spread, location=_with_most(inputs.iterations, used, lengths))


def _skew(inputs: MetricInputs) -> Result | None:
    if inputs.iterations is None or not inputs.used:
        return None
    skew = inputs.iterations.skew_ns[list(inputs.used)]
    return Result(value=int(np.median(skew)), location=_with_most(inputs.iterations, inputs.used, skew))


def between_iterations(study: Study, iterations: Iterations, gpu: int) -> Intervals:
    """Return the idle stalls of a GPU whose operations before and after belong to different iterations."""
    idle = study.parts[gpu].intervals("idle")
    # An iteration starts with an operation: idle time that ends just there lies before its first one.
    is_between = np.isin(idle.end_ns, iterations.starts[gpu, 1:-1])
    return Intervals(idle.start_ns[is_between], idle.end_ns[is_between])


def _idle_between(inputs: MetricInputs) -> Result | None:
    if inputs.iterations is None:
        return None
    return _time_in(inputs, _between(inputs, inputs.iterations))


def _idle_inside(inputs: MetricInputs) -> Result | None:
    if inputs.iterations is None:
        return None
    between = _between(inputs, inputs.iterations)
    idle = inputs.stalls("idle")
    return _time_in(inputs, [of_gpu - other for of_gpu, other in zip(idle, between, strict=True)])


def _between(inputs: MetricInputs, iterations: Iterations) -> list[Intervals]:
    return inputs.on_each_gpu(lambda gpu: between_iterations(inputs.study, iterations, gpu))


def _time_in(inputs: MetricInputs, intervals: list[Intervals]) -> Result:
    totals = [of_gpu.total() for of_gpu in intervals]
    return sum_of(totals, longest_intervals(intervals), inputs.scope.total_ns)


def _copies_before(inputs: MetricInputs) -> Result | None:
    if inputs.iterations is None:
        return None
    used = list(inputs.used)
    copies = in_front(inputs.study.trace, inputs.study.classes, inputs.iterations)
    lengths, starts = copies.length_ns[:, used], copies.start_ns[:, used]
    locations: list[Location | None] = []
    for gpu, of_gpu in enumerate(lengths):
        if not of_gpu.any():
            locations.append(None)
            continue
        worst = int(of_gpu.argmax())
        start = int(starts[gpu, worst])
        locations.append(Location(start, start + int(of_gpu[worst]), gpu))
    return sum_of(lengths.sum(axis=1).tolist(), locations, inputs.scope.total_ns)


def _with_most(iterations: Iterations, used: Sequence[int], values: Int64) -> Location | None:
    """Return the iteration with the greatest of some values, one for each of those used."""
    if not len(values):
        return None
    iteration = used[int(values.argmax())]
    return Location(iterations.start_ns(iteration), iterations.end_ns(iteration))


METRICS = (
    Metric(
        "iteration",
        ITERATIONS,
        "length of an iteration",
        "ns",
        "From the earliest start over the GPUs to the next one's: median over the iterations used. On a GPU "
        "by its own boundaries.",
        _length,
    ),
    Metric(
        "iterations",
        ITERATIONS,
        "iterations used",
        "text",
        "Warm-up, checkpoints, evaluations and outliers are left out. Steady: within 5 % of the median, at "
        "least half of those after the warm-up, and three.",
        _used,
        Usual("a steady state"),
    ),
    Metric(
        "lap_spread",
        ITERATIONS,
        "shortest to longest",
        "share",
        "Longest less shortest of the iterations used, over the median.",
        _spread,
    ),
    Metric(
        "skew",
        ITERATIONS,
        "skew over the GPUs",
        "ns",
        "Latest start of an iteration over the GPUs less the earliest: median.",
        _skew,
    ),
    Metric(
        "idle_between",
        ITERATIONS,
        "idle between iterations",
        "ns",
        "Idle stalls whose operations before and after belong to different iterations: data, logging, the "
        "end of the optimizer.",
        _idle_between,
    ),
    Metric(
        "idle_inside",
        ITERATIONS,
        "idle inside iterations",
        "ns",
        "The rest of the idle time: synchronisation, launches that come too late, waiting for somebody.",
        _idle_inside,
    ),
    Metric(
        "copies_in_front",
        ITERATIONS,
        "copies before the iteration's first kernel",
        "ns",
        "Host-to-device copies of 64 KiB and more between the first compute kernel of an iteration and the "
        "last one before it: the loader's tax.",
        _copies_before,
        Usual("nothing", lambda share: share == 0),
    ),
)
