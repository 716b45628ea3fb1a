"""The report's key `late_ranks` (docs/definitions.md, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.collectives.differences import Difference
from viewer.analysis.late_ranks.late_ranks import Arrival
from viewer.analysis.late_ranks.late_verdicts import Verdict
from viewer.analysis.summary.summary import Summary

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def late_rank_facts(study: Study, summary: Summary | None) -> dict[str, Any]:
    """Return the key `late_ranks`, None without GPUs."""
    if summary is None:
        return {"late_ranks": None}
    late = summary.late_ranks
    first = late.verdicts[0] if late.verdicts else None
    differences = late.differences
    return {
        "late_ranks": {
            "verdict": late.verdict,
            "ranks": _ranks(study, first.gpus if first else ()),
            "gpus": _gpus(study, first.gpus if first else ()),
            "cost_ns": first.cost_ns if first else None,
            "share": first.share if first else None,
            "others": [_verdict(study, verdict) for verdict in late.verdicts[1:]],
            "spread": late.spread,
            "all_alike": differences.all_alike if differences else None,
            "kernels": [_difference(d) for d in differences.kernels] if differences else [],
            "ranges": [_difference(d) for d in differences.ranges] if differences else [],
            "arrives_last": [_arrival(study, arrival) for arrival in late.arrivals],
            "why": late.why,
        }
    }


def _verdict(study: Study, verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.kind,
        "ranks": _ranks(study, verdict.gpus),
        "gpus": _gpus(study, verdict.gpus),
        "cost_ns": verdict.cost_ns,
        "share": verdict.share,
        "why": verdict.why,
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "more_ns": difference.more_ns,
        "share": difference.share,
        "count": difference.count,
        "usual_count": difference.usual_count,
    }


def _arrival(study: Study, arrival: Arrival) -> dict[str, Any]:
    return {
        "rank": _ranks(study, (arrival.gpu,))[0],
        "gpu": _gpus(study, (arrival.gpu,))[0],
        "sets": arrival.last,
        "of": arrival.sets,
        "caused_wait_ns": arrival.caused_ns,
        "share": arrival.share,
        "cause": arrival.cause or None,
    }


def _ranks(study: Study, gpus: tuple[int, ...]) -> list[int | None]:
    """Return the ranks of some GPUs, None for those of which it is not known."""
    return [study.trace.processes[study.trace.gpus[g].process].rank for g in gpus]


def _gpus(study: Study, gpus: tuple[int, ...]) -> list[dict[str, int]]:
    found = [study.trace.gpus[g] for g in gpus]
    return [{"pid": study.trace.processes[g.process].pid, "device": g.device} for g in found]
