"""Metrics of the phases: what each takes, and backward over forward."""

from __future__ import annotations

from functools import partial

from viewer.analysis.core.location import Location
from viewer.analysis.iterations.phases import NOT_FOUND, OWN_IN_BACKWARD, Phase, Phases
from viewer.analysis.iterations.phases import PHASES as NAMES
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, Usual, longest_intervals
from viewer.analysis.summary.sections import PHASES

USUAL_RATIO = (1.6, 2.5)
"""Backward over forward, from and to."""


def _compute(name: str, inputs: MetricInputs) -> Result | None:
    if inputs.phases is None:
        return None
    phase, over = inputs.phases.phase(name), _over(inputs, inputs.phases)
    if phase is None and name == OWN_IN_BACKWARD:
        return None
    return Result(
        value=over.median_ns(name),
        per_gpu=over.medians_ns(name),
        location=_example(inputs, name),
        locations=_locations(inputs, phase),
        definition=f"{_DEFINITION} Found by: {phase.how if phase else NOT_FOUND}.",
    )


def _ratio(inputs: MetricInputs) -> Result | None:
    if inputs.phases is None:
        return None
    over = _over(inputs, inputs.phases)
    return Result(
        value=over.ratio,
        per_gpu=over.ratios,
        location=_example(inputs, "backward"),
        locations=_locations(inputs, inputs.phases.phase("backward")),
    )


def _over(inputs: MetricInputs, phases: Phases) -> Phases:
    """Return the phases with medians over the iterations used."""
    return phases.over(inputs.used)


def _example(inputs: MetricInputs, name: str) -> Location | None:
    """Return the place that the table of phases names for one."""
    for row in inputs.phase_table.to_dict("records"):
        if row["phase"] == name:
            return Location(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
    return None


def _locations(inputs: MetricInputs, phase: Phase | None) -> tuple[Location | None, ...]:
    return longest_intervals(inputs.on_each_gpu(lambda gpu: phase.extent[gpu])) if phase else ()


_DEFINITION = (
    "Union of the compute kernels that it launched, no communication: per iteration, median over those used, "
    "mean over the GPUs."
)

METRICS = (
    *(
        Metric(name.replace(" ", "_"), PHASES, name, "ns", _DEFINITION, partial(_compute, name))
        for name in (*NAMES, OWN_IN_BACKWARD)
    ),
    Metric(
        "backward_to_forward",
        PHASES,
        "backward over forward",
        "ratio",
        "Kernels launched in backward, the optimizer and the owner's own launches there left out, over those "
        "in forward, by length. About 2 is usual; 3 points at activation checkpointing.",
        _ratio,
        Usual("about 2", lambda ratio: USUAL_RATIO[0] <= ratio <= USUAL_RATIO[1]),
    ),
)
