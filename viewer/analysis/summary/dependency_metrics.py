"""The metric of how much of a trace its dependencies explain."""

from __future__ import annotations

import numpy as np

from viewer.analysis.core.location import Location
from viewer.analysis.dependencies.graph import DependencyGraph, Grade
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, longest
from viewer.analysis.summary.sections import DEPENDENCIES
from viewer.analysis.time.scope import Scope
from viewer.printable import counted


def unknown_waits(graph: DependencyGraph) -> str:
    """Return how many waits of streams cannot be followed, in words; "" where all can."""
    unknown = int((graph.waits.grade == Grade.UNKNOWN).sum())
    if not unknown:
        return ""
    waits = f"{unknown:,} of {counted(len(graph.waits), 'wait')}"
    return f"What {waits} of streams waited for is not known: the record of the event is not in the file."


def _starts_explained(inputs: MetricInputs) -> Result | None:
    """Return the share of starts in the scope that follow what allowed them."""
    trace, graph = inputs.study.trace, inputs.study.dependencies
    operations, scope = graph.operations, inputs.scope
    gpu_of = np.array([stream.gpu for stream in trace.streams], np.int32)[operations.stream]
    explained: list[int] = []
    every: list[int] = []
    locations: list[Location | None] = []
    for gpu, within in enumerate(scope.within):
        own = np.flatnonzero(graph.is_launched & (gpu_of == gpu))
        start = operations.start_ns[own]
        own = own[within.covered(start, start + 1) > 0]
        explained.append(int(graph.explained[own].sum()))
        every.append(len(own))
        locations.append(_longest_lag(graph, gpu, own, scope) if len(own) else None)
    if not sum(every):
        return None
    return Result(
        value=sum(explained) / sum(every),
        per_gpu=tuple(of / count if count else None for of, count in zip(explained, every, strict=True)),
        location=longest(locations),
        locations=tuple(locations),
        doubt=unknown_waits(graph),
    )


def _longest_lag(graph: DependencyGraph, gpu: int, numbers: Indices, scope: Scope) -> Location:
    """Return the operation that began longest after what allowed it, from then to its end."""
    operations, (low, high) = graph.operations, scope.hull
    number = int(numbers[graph.lag_ns[numbers].argmax()])
    begin = max(int(operations.start_ns[number] - max(graph.lag_ns[number], 0)), low)
    return Location(begin, max(min(int(operations.end_ns[number]), high), begin + 1), gpu)


METRICS = (
    Metric(
        "starts_explained",
        DEPENDENCIES,
        "starts explained",
        "share",
        "Starts of operations that follow the latest of what they waited for within 10 µs: their launch, the "
        "operation before them on their stream, or what their stream was made to wait for.",
        _starts_explained,
    ),
)
