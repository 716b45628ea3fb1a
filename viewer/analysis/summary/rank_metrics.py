"""Metrics of the ranks: the slowest one, and how much exposed communication is waiting for a late one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from viewer.analysis.collectives.late_ranks import RankComparison
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import (
    Location,
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
                location=_first_iteration(inputs, group.slowest),
            )
            for number, group in enumerate(groups)
        ]

    return results


def _slowest(inputs: MetricInputs, group: RankComparison) -> Result:
    name = inputs.study.trace.gpu_label(group.slowest)
    confirmed = {True: "it also waits least", False: "but it does not wait least", None: "waits not known"}
    return Result(
        value=name if group.is_straggler else "none stands out",
        is_usual=not group.is_straggler,
        definition=f"{_SLOWEST} Here, among {len(group.gpus)} GPUs: {name}: {group.pattern}, "
        f"{confirmed[group.waits_least]}.",
    )


def _evidence(inputs: MetricInputs, group: RankComparison) -> Result:
    waits = {True: "waits least", False: "does not wait least", None: "waits not known"}
    name = inputs.study.trace.gpu_label(group.slowest)
    return Result(
        value=f"slowest in {group.slowest_share * 100:.0f} %; {waits[group.waits_least]}",
        definition=f"{_EVIDENCE} Here {name}: {group.pattern}.",
    )


def _spread(_: MetricInputs, group: RankComparison) -> Result:
    return Result(value=group.spread, is_usual=not group.is_straggler)


def _compute(inputs: MetricInputs, group: RankComparison) -> Result:
    return Result(
        value=int(group.compute_ns.mean()), per_gpu=_per_gpu(inputs, [(group.gpus, group.compute_ns)])
    )


def _first_iteration(inputs: MetricInputs, gpu: int) -> Location | None:
    iterations = inputs.iterations
    if iterations is None or not (chosen := inputs.scope.iterations or iterations.basis):
        return None
    return Location(iterations.start_ns(chosen[0]), iterations.end_ns(chosen[0]), gpu)


def _wait(inputs: MetricInputs) -> Result | None:
    per_gpu = _per_gpu(inputs, [(g.gpus, g.wait_ns) for g in inputs.ranks if g.wait_ns is not None])
    known = [wait for wait in per_gpu if wait is not None]
    if not inputs.study.collectives.groups or not known:
        return None
    locations = longest_intervals(inputs.on_each_gpu(inputs.study.collectives.waits))
    return Result(
        value=sum(known) // len(known), per_gpu=per_gpu, location=longest(locations), locations=locations
    )


def _exposed_wait(inputs: MetricInputs) -> Result | None:
    collectives = inputs.study.collectives
    if not collectives.groups:
        return None
    waits = [e & collectives.waits(gpu) for gpu, e in enumerate(inputs.stalls("exposed_comm"))]
    return sum_of([w.total() for w in waits], longest_intervals(waits), inputs.scope.total_ns)


def _per_gpu(inputs: MetricInputs, groups: list[tuple[tuple[int, ...], Int64]]) -> tuple[int | None, ...]:
    """Return values of groups of GPUs by GPU, None for those in no group."""
    values: list[int | None] = [None] * len(inputs.study.trace.gpus)
    for gpus, of_group in groups:
        for gpu, value in zip(gpus, of_group.tolist(), strict=True):
            values[gpu] = value
    return tuple(values)


_SLOWEST = (
    "Most time with a compute kernel per iteration among the GPUs with the same kernels by family. It stands "
    "out if the spread exceeds 2 % and it is the slowest in three of four iterations."
)
_EVIDENCE = (
    "In how many of the iterations it is the slowest. Who is late makes the others wait, and waits least."
)
_EXACT = (
    "Exact part: each stall is split to the nanosecond. Where stalls are summed by main cause, each counts "
    "wholly for one; the two are not to be compared."
)

METRICS = (
    Metric(
        "slowest_rank",
        RANKS,
        "slowest rank",
        "text",
        _SLOWEST,
        _of_each_group("slowest rank", _slowest),
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
        Usual(share_under(0.02).text),
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
