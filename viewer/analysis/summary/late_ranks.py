"""Late ranks: who makes the others wait, who computes longer, what it costs, and why.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.caused_waits import REASONS, CausedWaits, caused_waits
from viewer.analysis.collectives.differences import Differences, find_differences
from viewer.analysis.collectives.late_ranks import RankComparison, compare_stages
from viewer.analysis.core.intervals import union
from viewer.analysis.core.units import share_text
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers

if TYPE_CHECKING:
    from viewer.analysis.study import Study

VerdictKind = Literal["ranks", "stage", "host", "unsure"]

MIN_COST = 0.003
"""Who makes others wait for less than this share of the time of all GPUs is not named."""
MIN_EACH = 0.001
"""It causes at least this share in three of four iterations."""
MIN_COST_OF_FEW = 0.01
"""The same as `MIN_COST` where there are fewer than `FEW` iterations to judge by."""
FEW = 5
MIN_UNMATCHED = 0.01
CLOCK_FINDINGS = ("shifted-clock", "clock-apart", "contradicting-clock")
"""Diagnostics after which nothing can be said of when a GPU arrives."""
_NOW_AND_THEN, _OF_ALL = 3, 0.6
_HOST = [REASONS.index("host"), REASONS.index("copy")]
_COMPUTE, _COMMUNICATION = REASONS.index("compute"), REASONS.index("communication")

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdict:
    """Ranks that are late, or compute longer.

    `kind` is "ranks" (they compute longer), "stage" (a stage of the pipeline does), "host" (they arrive late,
    and their GPU is not slower) or "unsure"; `cost_ns` what all other GPUs together wait for them per
    iteration, None where that is not known, and `share` that of the time of all GPUs.
    """

    kind: VerdictKind
    gpus: tuple[int, ...]
    cost_ns: int | None
    share: float | None
    why: str


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
        heavy = _stage_verdict(study, stages, total)
        verdicts += [heavy] if heavy else []
        if longer:
            usual = tuple(g for c in comparisons if c.longer for g in c.lower_half if g not in c.longer)
            differences = find_differences(study.launches, study.classes, iterations, chosen, longer, usual)
            verdicts.append(_longer_verdict(study, comparisons, caused, total, differences))
        verdicts += _arrival_verdicts(study, caused, total, comparisons, set(longer))
    verdicts.sort(key=lambda v: -(v.cost_ns or 0))
    named = {gpu for verdict in verdicts for gpu in verdict.gpus}
    arrivals = _arrivals(study, caused, int(total.sum()), named)
    doubt = _doubt(study, scope, iterations, chosen)
    if not verdicts and doubt and len(study.trace.gpus) > 1:
        verdicts.append(Verdict("unsure", (), None, None, doubt))
    why = verdicts[0].why if verdicts else _nothing(comparisons, arrivals, stages is not None)
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


def _stage_verdict(study: Study, stages: RankComparison | None, total: Int64) -> Verdict | None:
    """Return the verdict on the stages of a pipeline, None where none is heavier."""
    if stages is None or not stages.longer:
        return None
    heaviest = int(stages.compute_ns.argmax())
    gpus = study.collectives.stages[heaviest]
    excess = int(stages.excess_ns[heaviest])
    others = len(study.trace.gpus) - len(gpus)
    base = max(int(stages.compute_ns[heaviest]) - excess, 1)
    return Verdict(
        "stage",
        gpus,
        excess * others,
        excess * others / float(np.median(total)),
        f"stage {heaviest} of {len(stages.gpus)} ({_names(study, gpus)}) computes "
        f"{share_text(excess / base)} longer per iteration than the lighter half of the stages: "
        "it sets the pace of the pipeline",
    )


def _longer_verdict(
    study: Study,
    comparisons: tuple[RankComparison, ...],
    caused: CausedWaits,
    total: Int64,
    differences: Differences,
) -> Verdict:
    """Return the verdict on all ranks that compute longer than others that do the same work."""
    gpus = tuple(sorted(gpu for c in comparisons for gpu in c.longer))
    shares, bound = [], 0
    for comparison in comparisons:
        for gpu in comparison.longer:
            at = comparison.gpus.index(gpu)
            excess = int(comparison.excess_ns[at])
            shares.append(excess / max(int(comparison.compute_ns[at]) - excess, 1))
            bound = max(bound, excess * (len(comparison.gpus) - len(comparison.longer)))
    known = bool(caused.sets.any())
    cost = int(np.median(caused.root_ns[list(gpus), :, _COMPUTE].sum(axis=0))) if known else bound
    low, high = share_text(min(shares)), share_text(max(shares))
    by = high if low == high else f"{low} to {high}"
    text = f"{_names(study, gpus)} {'compute' if len(gpus) > 1 else 'computes'} {by} longer per iteration"
    if differences.all_alike:
        text += "; all kernels are longer alike: look at clock and power"
    elif differences.kernels:
        names = ", ".join(d.name for d in differences.kernels[:3])
        text += f"; some kernels are longer, which is more work: {names}"
    if differences.ranges:
        text += f"; most of it in {differences.ranges[0].name}"
    if not known:
        text += ". No collectives are matched: the cost is what the others would wait at most"
    return Verdict("ranks", gpus, cost, cost / float(np.median(total)), text)


def _arrival_verdicts(
    study: Study,
    caused: CausedWaits,
    total: Int64,
    comparisons: tuple[RankComparison, ...],
    longer: set[int],
) -> list[Verdict]:
    """Return the verdicts on ranks that make others wait for another reason than that they compute longer."""
    if not caused.sets.any():
        return []
    shares = caused.root_ns / total[None, :, None]
    off = {f.gpu for f in study.findings if f.kind in CLOCK_FINDINGS}
    by_clock = caused.root_ns.sum(axis=(1, 2))
    known = np.array([gpu not in off for gpu in range(len(by_clock))])
    uncertain = np.where(known, caused.uncertain_ns, by_clock) / float(total.sum())
    verdicts = []
    host = shares[:, :, _HOST].sum(axis=2)
    every = list(range(len(host)))
    late = [gpu for gpu in every if _stands_out(host, gpu, every, float(uncertain[gpu]))]
    if late:
        cost = int(np.median(caused.root_ns[late][:, :, [*_HOST, REASONS.index("unknown")]].sum(axis=(0, 2))))
        share = float(caused.root_ns[late].sum() / total.sum())
        causes = "; ".join(_cause(study, caused, gpu) for gpu in late)
        often = ", ".join(f"{caused.last_sets[gpu]} of {caused.sets[gpu]}" for gpu in late)
        text = (
            f"{_names(study, tuple(late))} {'arrive' if len(late) > 1 else 'arrives'} last in {often} sets; "
            f"{'their GPUs are' if len(late) > 1 else 'its GPU is'} not slower; {causes}; "
            f"the waiting costs {share_text(share)} of all GPU time"
        )
        verdicts.append(Verdict("host", tuple(late), cost, share, text))
    # The rest: it computes longer before it arrives, though not in all, or communicates longer itself.
    peers = {gpu: list(c.gpus) for c in comparisons for gpu in c.gpus}
    rest = shares[:, :, _COMPUTE] + shares[:, :, _COMMUNICATION]
    is_pipeline = bool(study.collectives.stages)
    for gpu in every:
        among = peers.get(gpu, [gpu])
        if len(among) < 2 and not is_pipeline:
            among = every
        if gpu in longer or gpu in late or len(among) < 2:
            continue
        if _stands_out(rest, gpu, among, 0.0):
            if uncertain[gpu] >= by_clock[gpu] / float(total.sum()) / 2:
                why = (
                    f"{_names(study, (gpu,))} seems to come last, but its collectives end a constant time "
                    "apart from the others': its clock may be off by that"
                )
                verdicts.append(Verdict("unsure", (), None, None, why))
                continue
            cost = int(np.median(caused.root_ns[gpu][:, [_COMPUTE, _COMMUNICATION]].sum(axis=1)))
            why = (
                f"{_names(study, (gpu,))} makes others wait, {share_text(cost / float(np.median(total)))} of "
                "all GPU time, but does not compute longer than they do in all: what it spends more time "
                "with before it arrives is not known"
            )
            verdicts.append(Verdict("unsure", (gpu,), cost, cost / float(np.median(total)), why))
    return verdicts


def _stands_out(shares: Float, gpu: int, among: list[int], uncertain: float) -> bool:
    """Return whether a GPU causes more waiting than others do, again and again, by enough to matter.

    `shares` has shape (gpus, iterations), of the time of all GPUs; `uncertain` is what a clock may explain.
    """
    others = [g for g in among if g != gpu]
    above = shares[gpu] - np.median(shares[others], axis=0) - uncertain
    count = len(above)
    least = MIN_COST if count >= FEW else MIN_COST_OF_FEW
    if np.median(above) >= least and np.percentile(above, 25) >= MIN_EACH:
        return True
    now_and_then = int((above >= MIN_COST).sum()) >= _NOW_AND_THEN
    of_all = shares[gpu].sum() / max(float(shares[among].sum()), 1e-12)
    return bool(now_and_then and above.mean() >= MIN_COST_OF_FEW and of_all >= _OF_ALL)


def _arrivals(study: Study, caused: CausedWaits, total_ns: int, named: set[int]) -> tuple[Arrival, ...]:
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
            _arrival_cause(study, caused, gpu, named) if by_rank[gpu] >= least else "",
        )
        for gpu in order
    )


def _arrival_cause(study: Study, caused: CausedWaits, gpu: int, named: set[int]) -> str:
    """Return why a GPU was late; in a pipeline its order makes ranks wait that nobody is late for."""
    if study.collectives.stages and gpu not in named:
        return "the order of the pipeline: others wait for what it passes on"
    return _cause(study, caused, gpu)


def _cause(study: Study, caused: CausedWaits, gpu: int) -> str:
    """Return why a GPU was late, in words: where its host was, or what it spent more time with."""
    by_reason = caused.root_ns[gpu].sum(axis=0)
    reason = REASONS[int(by_reason.argmax())] if by_reason.any() else "unknown"
    if reason != "host":
        return {
            "compute": "it computes longer before it arrives",
            "copy": "it copies before it arrives",
            "communication": "its own communication takes longer",
            "unknown": "why is not known",
        }[reason]
    here, there = _idle_by_place(study, caused, gpu)
    more = {place: ns - there.get(place, 0) for place, ns in here.items()}
    place = max(more, key=lambda p: more[p], default=("", ""))
    where, why = place
    if not more or more[place] <= 0:
        return "its host is late"
    return f"its host is late in {where} ({why})" if where else f"its host is late ({why})"


def _idle_by_place(
    study: Study, caused: CausedWaits, gpu: int
) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """Return how long a GPU was idle before it came late, by the range around and the cause, ns.

    And the same of those that came first in the same sets: what is usual is no reason to be late.
    """
    # An arrival may be there several times: once for each wait that was followed back to it.
    arrivals = np.unique(caused.by_host[:, caused.by_host[0] == gpu], axis=1)
    stalls, trace = study.stalls().table, study.trace
    idle = stalls[stalls["kind"] == "idle"]
    results: list[dict[tuple[str, str], int]] = []
    for of_gpu, since, until in (arrivals[:3], arrivals[3:]):
        by_place: dict[tuple[str, str], int] = {}
        for one in np.unique(of_gpu).tolist():
            rows, mine = idle[idle["gpu"] == one], of_gpu == one
            for (inside, cause), same in rows.groupby(["inside", "cause"], observed=True):
                when = union(same["start_ns"].to_numpy(), same["end_ns"].to_numpy())
                ns = int(when.covered(since[mine], until[mine]).sum())
                text = normalise_numbers(trace.names[int(trace.nvtx.name_id[inside])]) if inside >= 0 else ""
                by_place[text, str(cause)] = by_place.get((text, str(cause)), 0) + ns
        results.append(by_place)
    return results[0], results[1]


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


def _names(study: Study, gpus: tuple[int, ...]) -> str:
    """Return "rank 3", "ranks 2 and 5", or the GPUs' labels where ranks are not known."""
    trace = study.trace
    ranks = [trace.processes[trace.gpus[g].process].rank for g in gpus]
    if None in ranks or len(set(ranks)) < len(ranks):
        texts, word = [trace.gpu_label(g) for g in gpus], ""
    else:
        texts, word = [str(rank) for rank in ranks], "rank " if len(ranks) == 1 else "ranks "
    return word + (texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}")
