"""Summary of the ranks: the slowest one, and how much exposed communication is waiting for a late one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from viewer.analysis.collectives.late_ranks import RankComparison
from viewer.analysis.summary.metric import Location, Metric, longest, longest_stalls
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_RANKS = "ranks"
SPLIT = (
    "Exact part: each stall is split to the nanosecond. Where stalls are summed by main cause, each counts "
    "wholly for one; the two are not to be compared."
)


def rank_summary(
    study: Study, comparisons: tuple[RankComparison, ...], iterations: Iterations | None, scope: Scope
) -> Iterator[Metric]:
    """Yield the slowest rank of those that do the same work, and the waiting in exposed communication."""
    compared = [c for c in comparisons if len(c.gpus) > 1]
    for number, group in enumerate(compared):
        of = f" of {len(group.gpus)} that do the same work" if len(compared) > 1 else ""
        yield from _slowest(study, group, (f"_{number}" if number else "", of), iterations, scope)
    if study.collectives.groups:
        yield from _waiting(study, comparisons, scope)
        yield from _exposed_waiting(study, scope)


def _slowest(
    study: Study, group: RankComparison, which: tuple[str, str], iterations: Iterations | None, scope: Scope
) -> Iterator[Metric]:
    trace = study.trace
    suffix, of = which
    confirmed = {True: "it also waits least", False: "but it does not wait least", None: "waits not known"}
    says = {True: "waits least", False: "does not wait least", None: "waits not known"}
    name = trace.gpu_label(group.slowest)
    location = None
    if iterations is not None and (scope.iterations or iterations.basis):
        iteration = (scope.iterations or iterations.basis)[0]
        location = Location(iterations.start_ns(iteration), iterations.end_ns(iteration), group.slowest)
    yield Metric(
        f"slowest_rank{suffix}",
        _RANKS,
        "slowest rank" + of,
        name if group.is_straggler else "none stands out",
        "text",
        f"Most time with a compute kernel per iteration among the {len(group.gpus)} GPUs with the same "
        "kernels by family. It stands out if the spread exceeds 2 % and it is the slowest in three of four "
        "iterations: "
        f"{name}: {group.pattern}, {confirmed[group.waits_least]}.",
        normal="none",
        is_normal=not group.is_straggler,
        location=location,
    )
    yield Metric(
        f"slowest_says{suffix}",
        _RANKS,
        "what speaks for it",
        f"slowest in {group.slowest_share * 100:.0f} %; {says[group.waits_least]}",
        "text",
        f"In how many of the iterations {name} is the slowest: {group.pattern}. Who is late makes the others "
        "wait, and waits least.",
        location=location,
    )
    per_gpu: list[int | None] = [None] * len(trace.gpus)
    for gpu, compute in zip(group.gpus, group.compute_ns.tolist(), strict=True):
        per_gpu[gpu] = compute
    yield Metric(
        f"rank_spread{suffix}",
        _RANKS,
        "spread of compute time",
        group.spread,
        "share",
        "(Longest - shortest) / median of the compute time per iteration. The lengths of iterations do not "
        "tell: they are equal in a synchronised job.",
        normal="under 2 %",
        is_normal=not group.is_straggler,
        location=location,
    )
    yield Metric(
        f"rank_compute{suffix}",
        _RANKS,
        "compute per iteration",
        int(group.compute_ns.mean()),
        "ns",
        "Time with a compute kernel per iteration: median over those taken, on each GPU; over all the mean.",
        per_gpu=tuple(per_gpu),
        location=location,
    )


def _waiting(study: Study, comparisons: tuple[RankComparison, ...], scope: Scope) -> Iterator[Metric]:
    per_gpu: list[int | None] = [None] * len(study.trace.gpus)
    for group in comparisons:
        if group.wait_ns is not None:
            for gpu, wait in zip(group.gpus, group.wait_ns.tolist(), strict=True):
                per_gpu[gpu] = wait
    known = [wait for wait in per_gpu if wait is not None]
    if known:
        spots = longest_stalls(
            [study.collectives.waits(gpu) & within for gpu, within in enumerate(scope.within)]
        )
        yield Metric(
            "rank_wait",
            _RANKS,
            "waiting in collectives per iteration",
            sum(known) // len(known),
            "ns",
            "Time in collectives while another rank has not come yet, per iteration: median of those taken, "
            "on each GPU; over all the mean.",
            per_gpu=tuple(per_gpu),
            location=longest(spots),
            spots=spots,
        )


def _exposed_waiting(study: Study, scope: Scope) -> Iterator[Metric]:
    stalls = [
        scope.stalls(study.parts, gpu, "exposed_comm") & study.collectives.waits(gpu)
        for gpu in range(len(scope.within))
    ]
    exposed = [s.total() for s in stalls]
    spots = longest_stalls(stalls)
    yield Metric(
        "exposed_wait",
        _RANKS,
        "exposed communication that is waiting, exact part",
        sum(exposed),
        "ns",
        "Exposed communication while the GPU waits in a collective for a rank that comes later; the rest is "
        "transfer. " + SPLIT,
        share=sum(exposed) / max(scope.total_ns, 1),
        per_gpu=tuple(exposed),
        location=longest(spots),
        spots=spots,
    )
