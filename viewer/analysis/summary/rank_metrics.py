"""Metrics of the ranks: who is late and what it costs, who computes longer, how much is waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from viewer.analysis.collectives.rank_comparison import RankComparison
from viewer.analysis.core.location import Location
from viewer.analysis.core.units import duration_text, share_text
from viewer.analysis.late_ranks.late_verdicts import Verdict, names
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import (
    Metric,
    Result,
    Usual,
    longest,
    longest_intervals,
    share_under,
    sum_of,
)
from viewer.analysis.summary.sections import RANKS
from viewer.trace.events import Int64

_Compute = Callable[[MetricInputs, RankComparison], Result]


def _of_each_group(title: str, compute: _Compute) -> Callable[[MetricInputs], list[Result]]:
    """Return a metric's function that compares the GPUs of each group that does the same work."""

    def results(inputs: MetricInputs) -> list[Result]:
        groups = [group for group in inputs.ranks if len(group.gpus) > 1]
        label = inputs.study.trace.gpu_label
        return [
            replace(
                compute(inputs, group),
                suffix=f"_{number}" if number else "",
                title=f"{title}, of the {len(group.gpus)} like {label(group.gpus[0])}"
                if len(groups) > 1
                else "",
                location=_first_iteration(inputs, _longest(group)),
            )
            for number, group in enumerate(groups)
        ]

    return results


def _late(inputs: MetricInputs) -> Result | None:
    late = inputs.late_ranks
    if len(inputs.study.trace.gpus) < 2:
        return None
    if not late.verdicts:
        return Result(value="none", is_usual=True, definition=f"{_LATE} Here: {late.why}.", doubt=late.doubt)
    first = late.verdicts[0]
    return Result(
        value="; ".join(_short(inputs, verdict) for verdict in late.verdicts),
        is_usual=None if first.kind == "unsure" else False,
        definition=f"{_LATE} Here: {'; '.join(verdict.why for verdict in late.verdicts)}.",
        location=_first_iteration(inputs, first.gpus[0]) if first.gpus else None,
        doubt=late.why_unsure,
    )


def _short(inputs: MetricInputs, verdict: Verdict) -> str:
    """Return a verdict in a few words: "rank 3: host late, 53.6 %"."""
    words = {"ranks": "computes longer", "stage": "heaviest stage", "host": "host late", "unsure": "unsure"}
    text = words[verdict.kind]
    if verdict.gpus:
        text = f"{names(inputs.study, verdict.gpus)}: {text}"
    return text if verdict.share is None else f"{text}, {share_text(verdict.share)}"


def _cost(inputs: MetricInputs) -> Result | None:
    late = inputs.late_ranks
    if late.caused_ns is None:
        return None
    per_gpu = tuple(int(ns) for ns in late.caused_ns)
    iterations = max(len(inputs.used), 1)
    locations = tuple(_first_iteration(inputs, gpu) for gpu in range(len(per_gpu)))
    # Per iteration, but the scope's time is of all iterations: the share needs both alike.
    return Result(
        value=sum(per_gpu),
        per_gpu=per_gpu,
        share=sum(per_gpu) * iterations / max(inputs.scope.total_ns, 1),
        location=locations[per_gpu.index(max(per_gpu))],
        locations=locations,
        doubt=_bound(inputs),
    )


def _longer(inputs: MetricInputs, group: RankComparison) -> Result:
    names = ", ".join(inputs.study.trace.gpu_label(gpu) for gpu in group.longer)
    return Result(value=names or "none", is_usual=not group.longer)


def _evidence(inputs: MetricInputs, group: RankComparison) -> Result:
    # What the longest would take without its excess: the lower half itself differs from iteration to
    # iteration, and the excess is the median of those differences.
    base = max(int(group.compute_ns.max()) - int(group.excess_ns.max()), 1)
    most = int(group.excess_ns.argmax())
    name = inputs.study.trace.gpu_label(group.gpus[most])
    return Result(
        value=f"{name}: {share_text(int(group.excess_ns[most]) / base)} above the lower half, "
        f"± {duration_text(int(group.noise_ns[most]))}"
    )


def _spread(_: MetricInputs, group: RankComparison) -> Result:
    return Result(value=group.spread)


def _compute(inputs: MetricInputs, group: RankComparison) -> Result:
    return Result(
        value=int(group.compute_ns.mean()), per_gpu=_per_gpu(inputs, [(group.gpus, group.compute_ns)])
    )


def _longest(group: RankComparison) -> int:
    return group.gpus[int(group.compute_ns.argmax())]


def _first_iteration(inputs: MetricInputs, gpu: int) -> Location | None:
    iterations = inputs.iterations
    if iterations is None or not (chosen := inputs.scope.iterations or iterations.basis):
        return None
    return Location(iterations.start_ns(chosen[0]), iterations.end_ns(chosen[0]), gpu)


def _wait(inputs: MetricInputs) -> Result | None:
    per_gpu = _per_gpu(inputs, [(g.gpus, g.wait_ns) for g in inputs.ranks if g.wait_ns is not None])
    # GPUs of groups without a matched collective have no wait, which is not a wait of 0.
    known = [wait for wait in per_gpu if wait is not None]
    if not inputs.study.collectives.groups or not known:
        return None
    locations = longest_intervals(inputs.on_each_gpu(inputs.study.collectives.waits))
    return Result(
        value=sum(known) // len(known),
        per_gpu=per_gpu,
        location=longest(locations),
        locations=locations,
        doubt=_bound(inputs),
    )


def _exposed_wait(inputs: MetricInputs) -> Result | None:
    collectives = inputs.study.collectives
    if not collectives.groups:
        return None
    waits = [e & collectives.waits(gpu) for gpu, e in enumerate(inputs.stalls("exposed_comm"))]
    result = sum_of([w.total() for w in waits], longest_intervals(waits), inputs.scope.total_ns)
    return replace(result, doubt=_bound(inputs))


def _bound(inputs: MetricInputs) -> str:
    """Return why wait times are lower bounds, "" where they are not."""
    is_bound = bool(inputs.study.collectives.is_bound.any())
    return (
        "Some collectives lack a member: what the others waited in them is a lower bound." if is_bound else ""
    )


def _per_gpu(inputs: MetricInputs, groups: list[tuple[tuple[int, ...], Int64]]) -> tuple[int | None, ...]:
    """Return values of groups of GPUs by GPU, None for those in no group."""
    values: list[int | None] = [None] * len(inputs.study.trace.gpus)
    for gpus, of_group in groups:
        for gpu, value in zip(gpus, of_group.tolist(), strict=True):
            values[gpu] = value
    return tuple(values)


_LATE = (
    "Ranks that make others wait, followed back to where the waiting began, or that compute longer than "
    "others that do the same work; what costs most first."
)
_LONGER = (
    "The GPUs whose time with a compute kernel per iteration exceeds that of the lower half of those with "
    "the same kernels by more than 2 %, and by more than three times what varies from iteration to iteration."
)
_EVIDENCE = (
    "By how much the longest exceeds the lower half, and how much that varies from iteration to iteration."
)
_COST = (
    "Exposed waiting of the other GPUs that began with this one, per iteration: median of those used. A rank "
    "that is late because it waited itself hands it on; over all it is the sum."
)
_EXACT = (
    "Exact part: each stall is split to the nanosecond. Where stalls are summed by main cause, each counts "
    "wholly for one; the two are not to be compared."
)

METRICS = (
    Metric("late_ranks", RANKS, "late ranks", "text", _LATE, _late, Usual("none")),
    Metric("caused_wait", RANKS, "wait caused per iteration", "ns", _COST, _cost),
    Metric(
        "slowest_rank",
        RANKS,
        "computes longer",
        "text",
        _LONGER,
        _of_each_group("computes longer", _longer),
        Usual("none"),
    ),
    Metric("slowest_says", RANKS, "evidence", "text", _EVIDENCE, _of_each_group("evidence", _evidence)),
    Metric(
        "rank_spread",
        RANKS,
        "spread of compute time",
        "share",
        "(Longest - shortest) / median of the compute time per iteration. The lengths of iterations do not "
        "tell: they are equal in a synchronised job.",
        _of_each_group("spread of compute time", _spread),
        share_under(0.02),
    ),
    Metric(
        "rank_compute",
        RANKS,
        "compute per iteration",
        "ns",
        "Time with a compute kernel per iteration: median over those used, on each GPU; over all the mean.",
        _of_each_group("compute per iteration", _compute),
    ),
    Metric(
        "rank_wait",
        RANKS,
        "wait time in collectives per iteration",
        "ns",
        "Time in collectives while another rank has not come yet, per iteration: median of those used, on "
        "each GPU; over all the mean.",
        _wait,
    ),
    Metric(
        "exposed_wait",
        RANKS,
        "exposed communication that is waiting, exact part",
        "ns",
        "Exposed communication while the GPU waits in a collective for a rank that comes later; the rest is "
        f"transfer. {_EXACT}",
        _exposed_wait,
        note=_EXACT,
    ),
)
