"""Metrics of time: the five categories, and the time in which no kernel runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.summary import overlap_metrics
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, longest_intervals, share_under, sum_of
from viewer.analysis.summary.sections import TIME
from viewer.analysis.time.time_breakdown import CATEGORIES, IDLE, without_kernel

_IN_GRAPHS = "CUDA graphs are recorded as one piece here and may hold more of it: this is a lower bound."


def _category(name: str, inputs: MetricInputs) -> Result:
    per_gpu = inputs.categories[:, CATEGORIES.index(name)].tolist()
    return sum_of(per_gpu, longest_intervals(inputs.stalls(name)), inputs.scope.total_ns)


def _spinning(inputs: MetricInputs) -> Result | None:
    return _where_any(inputs, inputs.on_each_gpu(lambda gpu: inputs.study.parts[gpu].spinning))


def _hidden_by_spinning(inputs: MetricInputs) -> Result | None:
    hidden = inputs.stalls("hidden_comm")
    parts = inputs.study.parts
    return _where_any(inputs, [of_gpu & parts[gpu].spinning for gpu, of_gpu in enumerate(hidden)])


def _where_any(inputs: MetricInputs, intervals: list[Intervals]) -> Result | None:
    """Return the sum of some intervals of each GPU; None, for no metric, where there are none."""
    if not any(map(len, intervals)):
        return None
    return sum_of([i.total() for i in intervals], longest_intervals(intervals), inputs.scope.total_ns)


def _exposed(inputs: MetricInputs) -> Result:
    result = _category("exposed_comm", inputs)
    if not any(of_gpu.has_graphs for of_gpu in inputs.study.parts):
        return result
    return replace(
        result,
        title="exposed communication (at least)",
        definition=f"{_EXPOSED} {_IN_GRAPHS}",
        doubt=_IN_GRAPHS,
    )


def _idle(inputs: MetricInputs) -> Result:
    title = inputs.study.bounds.titled("idle", "idle")
    return replace(_category("idle", inputs), title=title if title != "idle" else "")


def _physical_idle(inputs: MetricInputs) -> Result | None:
    """Return the idle time of the physical GPU beside each that shares one; None where none is shared."""
    physical_of = {gpu: physical for physical in inputs.study.shared_gpus for gpu in physical.gpus}
    if not physical_of:
        return None
    per_gpu: list[int | None] = []
    for gpu, within in enumerate(inputs.scope.within):
        if (physical := physical_of.get(gpu)) is None:
            per_gpu.append(None)
            continue
        totals = physical.parts.totals(within.start_ns, within.end_ns)
        per_gpu.append(int(totals[..., IDLE].sum()))
    # Each physical GPU once, by the first of its processes.
    firsts = [physical.gpus[0] for physical in inputs.study.shared_gpus]
    return Result(value=sum(per_gpu[gpu] or 0 for gpu in firsts), per_gpu=tuple(per_gpu), is_sum=True)


def _no_kernel(inputs: MetricInputs) -> Result:
    per_gpu = without_kernel(inputs.categories).tolist()
    result = sum_of(per_gpu, longest_intervals(inputs.stalls("copy_only", "idle")), inputs.scope.total_ns)
    title = inputs.study.bounds.titled("no kernel running", "no_kernel")
    return replace(result, title=title if title != "no kernel running" else "")


_EXPOSED = (
    "A communication kernel runs and no compute kernel does: at most this can be won by hiding it. Waiting "
    "for a late rank is in it."
)

METRICS = (
    Metric(
        "compute_only",
        TIME,
        "compute only",
        "ns",
        "A compute kernel runs on some stream of the GPU and no communication kernel does.",
        partial(_category, "compute_only"),
    ),
    Metric(
        "spinning",
        TIME,
        "of it spinning",
        "ns",
        "Of the compute, with communication beside it or without: the only compute kernels that run just "
        "wait, for a flag or for time to pass.",
        _spinning,
    ),
    Metric(
        "hidden_by_spinning",
        TIME,
        "hidden behind nothing but spinning",
        "ns",
        "Of hidden communication: the compute kernels beside it only wait. It is as good as exposed.",
        _hidden_by_spinning,
    ),
    Metric(
        "hidden_comm",
        TIME,
        "hidden communication",
        "ns",
        "A communication kernel and a compute kernel run at once: the communication costs nearly nothing.",
        partial(_category, "hidden_comm"),
    ),
    *overlap_metrics.METRICS,
    Metric(
        "exposed_comm",
        TIME,
        "exposed communication",
        "ns",
        _EXPOSED,
        _exposed,
        share_under(0.10),
    ),
    Metric(
        "copy_only",
        TIME,
        "copy only",
        "ns",
        "A copy or a set runs and no kernel on any stream.",
        partial(_category, "copy_only"),
        share_under(0.10),
    ),
    Metric(
        "idle",
        TIME,
        "idle",
        "ns",
        "Nothing runs on any stream of the GPU, no kernel and no copy.",
        _idle,
        share_under(0.05),
    ),
    Metric(
        "physical_idle",
        TIME,
        "idle of the physical GPU",
        "ns",
        "Nothing runs on the physical GPU that several processes share, of any of them: each process alone "
        "looks idle while another one works.",
        _physical_idle,
    ),
    Metric(
        "no_kernel",
        TIME,
        "no kernel running",
        "ns",
        "No kernel runs on any stream: copy only and idle together. A vertical cut there meets no kernel.",
        _no_kernel,
    ),
)
