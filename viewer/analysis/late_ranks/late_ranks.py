"""Late ranks: who makes the others wait, who computes longer, what it costs, and why.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.collectives.caused_waits import CausedWaits, caused_waits
from viewer.analysis.collectives.differences import Differences, find_differences
from viewer.analysis.collectives.rank_comparison import RankComparison, compare_stages
from viewer.analysis.core.units import share_text
from viewer.analysis.late_ranks.late_verdicts import (
    MIN_COST,
    TOO_FEW,
    Verdict,
    arrival_cause,
    arrival_verdicts,
    longer_verdict,
    stage_verdict,
)
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.study import Study

MIN_UNMATCHED = 0.01
"""Exposed communication of more than this share of the time whose partners are not known leaves it open."""


@dataclass(frozen=True)
class Arrival:
    """How often a GPU came last, what waiting began with it, and why.

    `caused_ns` is over the whole scope, less what its clock may explain; `share` that of all GPU time.
    """

    gpu: int
    last: int
    sets: int
    caused_ns: int
    share: float
    cause: str


@dataclass(frozen=True, eq=False)
class LateRanks:
    """Both answers over one scope.

    Attributes
    ----------
    verdicts : tuple of Verdict
        The one that costs most first; () for none.
    why : str
        Of no verdict: what was looked at. Else that of the first verdict.
    doubt : str
        Why the answer is not sure, "" where it is.
    stages : RankComparison or None
        The stages of a pipeline, compared.
    differences : Differences or None
        Of the ranks that compute longer: which kernels are longer, and in which ranges.
    arrivals : tuple of Arrival
        One a GPU with matched collectives, the one that caused most first.
    caused_ns : ndarray of int64, shape (gpus,), or None
        Waiting caused per iteration, median; None without matched collectives.
    """

    verdicts: tuple[Verdict, ...]
    why: str
    doubt: str
    comparisons: tuple[RankComparison, ...]
    stages: RankComparison | None
    differences: Differences | None
    arrivals: tuple[Arrival, ...]
    caused_ns: Int64 | None

    @property
    def verdict(self) -> str:
        """The kind of the verdict that costs most, or "none"."""
        return self.verdicts[0].kind if self.verdicts else "none"

    @property
    def why_unsure(self) -> str:
        """Why the answer as a whole is not sure, "" where it is."""
        return self.doubt or next((v.why for v in self.verdicts if v.kind == "unsure"), "")

    @property
    def spread(self) -> float | None:
        """The largest spread of compute time among GPUs that do the same work, None without any."""
        return max((c.spread for c in self.comparisons if len(c.gpus) > 1), default=None)


def late_ranks(
    study: Study,
    scope: Scope,
    iterations: Iterations | None,
    chosen: tuple[int, ...],
    comparisons: tuple[RankComparison, ...],
) -> LateRanks:
    """Answer both questions over a scope.

    Parameters
    ----------
    chosen : tuple of int
        The iterations that medians are taken over; () for none: then nothing is said to persist.
    comparisons : tuple of RankComparison
        The ranks compared over those iterations.
    """
    starts, ends = _windows(study, scope, iterations, chosen)
    caused = caused_waits(study.collectives, starts, ends)
    total = np.maximum((ends - starts).sum(axis=0), 1)
    stages = compare_stages(comparisons, study.collectives)
    verdicts: list[Verdict] = []
    differences = None
    if iterations is not None and chosen:
        longer = tuple(gpu for c in comparisons for gpu in c.longer)
        heavy = stage_verdict(study, stages, total)
        verdicts += [heavy] if heavy else []
        if longer:
            usual = tuple(g for c in comparisons if c.longer for g in c.lower_half if g not in c.longer)
            differences = find_differences(study.launches, study.classes, iterations, chosen, longer, usual)
            verdicts.append(longer_verdict(study, comparisons, caused, total, differences))
        verdicts += arrival_verdicts(study, caused, total, set(longer))
    verdicts.sort(key=lambda v: -(v.cost_ns or 0))
    arrivals = _arrivals(study, caused, int(total.sum()), verdicts)
    doubt = _doubt(study, scope, iterations, chosen)
    if not verdicts and doubt and len(study.trace.gpus) > 1:
        verdicts.append(Verdict("unsure", (), None, None, doubt))
    if not doubt and len(study.trace.gpus) > 1 and len(chosen) < TOO_FEW:
        doubt = f"only {len(chosen)} of the iterations count: whether anything persists is not known"
    why = verdicts[0].why if verdicts else _nothing(comparisons, arrivals, study.collectives.is_pipeline)
    has_sets = bool(caused.sets.any())
    median = np.median(caused.root_ns.sum(axis=2), axis=1).astype(np.int64) if has_sets else None
    return LateRanks(
        tuple(verdicts), why, doubt, comparisons, stages, differences, arrivals,
        median if chosen else None,
    )  # fmt: skip


def _windows(
    study: Study, scope: Scope, iterations: Iterations | None, chosen: tuple[int, ...]
) -> tuple[Int64, Int64]:
    """Return the windows of each GPU: its iterations, without any the scope; shape (gpus, windows) each."""
    if iterations is not None and chosen:
        order = sorted(chosen)
        return iterations.starts[:, :-1][:, order], iterations.starts[:, 1:][:, order]
    gpus = len(study.trace.gpus)
    low, high = scope.hull
    return np.full((gpus, 1), low, np.int64), np.full((gpus, 1), high, np.int64)


def _arrivals(
    study: Study, caused: CausedWaits, total_ns: int, verdicts: list[Verdict]
) -> tuple[Arrival, ...]:
    by_rank = np.maximum(caused.by_rank - caused.uncertain_ns, 0)
    order = [g for g in np.argsort(-by_rank, kind="stable").tolist() if caused.sets[g]]
    least = MIN_COST * total_ns
    return tuple(
        Arrival(
            gpu,
            int(caused.last_sets[gpu]),
            int(caused.sets[gpu]),
            int(by_rank[gpu]),
            int(by_rank[gpu]) / max(total_ns, 1),
            arrival_cause(study, caused, gpu, verdicts) if by_rank[gpu] >= least else "",
        )
        for gpu in order
    )


def _doubt(study: Study, scope: Scope, iterations: Iterations | None, chosen: tuple[int, ...]) -> str:
    """Return why nothing sure can be said, "" where it can."""
    if len(study.trace.gpus) < 2:
        return ""
    if iterations is None or not chosen:
        return "there are no whole iterations to compare the ranks over"
    collectives = study.collectives
    if collectives.unrecorded:
        return f"{collectives.unrecorded} of the job's ranks are not in the recording"
    low, high = scope.hull
    if high <= low:
        return ""
    unmatched = sum(collectives.exposed(gpu.index, scope.within[gpu.index])[2] for gpu in study.trace.gpus)
    if unmatched > MIN_UNMATCHED * scope.total_ns:
        share = share_text(unmatched / scope.total_ns)
        return f"{share} of the time is exposed communication whose partners are not known"
    return ""


def _nothing(
    comparisons: tuple[RankComparison, ...], arrivals: tuple[Arrival, ...], is_pipeline: bool
) -> str:
    spread = max((c.spread for c in comparisons if len(c.gpus) > 1), default=None)
    if spread is None:
        return "no two GPUs do the same work"
    text = f"no rank computes longer than the others (spread {share_text(spread)})"
    if not arrivals:
        return f"{text}; no collectives are matched"
    most = share_text(arrivals[0].share)
    if is_pipeline:
        return (
            f"{text}, and none makes them wait longer than the other ranks of its stage do (at most {most})"
        )
    return f"{text}, and none makes them wait persistently (at most {most})"
