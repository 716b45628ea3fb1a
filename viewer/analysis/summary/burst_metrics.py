"""Metrics of small kernels and small-kernel bursts."""

from __future__ import annotations

from dataclasses import replace

from viewer.analysis.core.location import Location
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, Usual, longest, longest_intervals, sum_of
from viewer.analysis.summary.sections import BURSTS


def _small(inputs: MetricInputs) -> Result:
    return sum_of([gpu.small for gpu in inputs.small_kernels], _runs(inputs))


def _small_share(inputs: MetricInputs) -> Result:
    gpus, locations = inputs.small_kernels, _runs(inputs)
    return Result(
        value=sum(gpu.small for gpu in gpus) / max(sum(gpu.computed for gpu in gpus), 1),
        per_gpu=tuple(gpu.small / max(gpu.computed, 1) for gpu in gpus),
        location=longest(locations),
        locations=locations,
    )


def _bursts(inputs: MetricInputs) -> Result:
    return sum_of([len(gpu.bursts) for gpu in inputs.small_kernels], _worst(inputs))


def _kernels(inputs: MetricInputs) -> Result:
    return sum_of([int(gpu.bursts.kernels.sum()) for gpu in inputs.small_kernels], _worst(inputs))


def _time(inputs: MetricInputs) -> Result:
    time = [int(gpu.bursts.sum_ns.sum()) for gpu in inputs.small_kernels]
    return replace(sum_of(time, _worst(inputs), inputs.scope.total_ns), location=_worst_of_all(inputs))


def _outside_optimizer(inputs: MetricInputs) -> Result:
    count = [int(gpu.is_foreign.sum()) for gpu in inputs.small_kernels]
    has_optimizer = inputs.phases is not None and inputs.phases.phase("optimizer") is not None
    return replace(
        sum_of(count, _worst(inputs)),
        location=_worst_of_all(inputs),
        is_usual=None if sum(count) and not has_optimizer else not sum(count),
        definition="" if has_optimizer else f"{_OUTSIDE} {_NO_OPTIMIZER}",
        doubt=_NO_OPTIMIZER if sum(count) and not has_optimizer else "",
    )


def _runs(inputs: MetricInputs) -> tuple[Location | None, ...]:
    return longest_intervals([gpu.runs for gpu in inputs.small_kernels])


def _worst(inputs: MetricInputs) -> tuple[Location | None, ...]:
    bursts = (gpu.worst() for gpu in inputs.small_kernels)
    return tuple(burst[2] if burst else None for burst in bursts)


def _worst_of_all(inputs: MetricInputs) -> Location | None:
    """Return the largest burst of all GPUs, one outside the optimizer if there is any."""
    bursts = [burst for gpu in inputs.small_kernels if (burst := gpu.worst())]
    return max(bursts, key=lambda burst: burst[:2])[2] if bursts else None


_BURST = "Runs of compute kernels in which every hundred in a row average under 10 µs, no gap over 1 ms."
_OUTSIDE = "Small-kernel bursts of which the optimizer launched less than half of the kernels."
_NO_OPTIMIZER = "No range is called optimizer here: some of them may be its own."

METRICS = (
    Metric("small_kernels", BURSTS, "small kernels", "count", "Compute kernels under 10 µs.", _small),
    Metric(
        "small_share",
        BURSTS,
        "small ones among the compute kernels",
        "share",
        "Number of compute kernels under 10 µs over that of all compute kernels.",
        _small_share,
    ),
    Metric("launch_seas", BURSTS, "small-kernel bursts", "count", _BURST, _bursts),
    Metric("sea_kernels", BURSTS, "kernels in small-kernel bursts", "count", _BURST, _kernels),
    Metric("sea_time", BURSTS, "time of those kernels", "ns", f"Sum of their durations. {_BURST}", _time),
    Metric(
        "seas_outside_optimizer",
        BURSTS,
        "small-kernel bursts outside the optimizer",
        "count",
        _OUTSIDE,
        _outside_optimizer,
        Usual("none"),
    ),
)
