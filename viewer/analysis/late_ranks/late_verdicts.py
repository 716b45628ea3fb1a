"""Verdicts on late ranks: which stand out, by how much, and why they are late.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.caused_waits import REASONS, CausedWaits
from viewer.analysis.collectives.differences import Differences
from viewer.analysis.collectives.rank_comparison import RankComparison
from viewer.analysis.core.classify import WAITING
from viewer.analysis.core.intervals import union
from viewer.analysis.core.units import share_text
from viewer.analysis.late_ranks.pipeline_costs import beyond_order, most_in_a_pipeline
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers

if TYPE_CHECKING:
    from viewer.analysis.study import Study

VerdictKind = Literal["ranks", "stage", "host", "unsure"]

MIN_COST = 0.005
"""Who makes others wait for less than this share of the time of all GPUs is not named."""
MIN_EACH = 0.001
"""It causes at least this share in three of four iterations."""
MIN_COST_OF_FEW = 0.01
"""The same as `MIN_COST` where there are fewer than `FEW` iterations to judge by."""
FEW, TOO_FEW = 5, 3
FEW_SETS = 30
"""With fewer sets than this a host is named for no less than `MIN_COST_OF_FEW` of the time."""
MIN_OF_ORDER = 0.2
"""A host's part of what began with a rank of a pipeline that is said beside the order of the pipeline."""
MIN_IN_TURN = 0.02
"""Hosts that come late in turn are worth a word from this share of the time of all GPUs on."""
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


def stage_verdict(study: Study, stages: RankComparison | None, total: Int64) -> Verdict | None:
    """Return the verdict on the stages of a pipeline, None where none is heavier."""
    if stages is None or not stages.longer:
        return None
    heaviest = int(stages.compute_ns.argmax())
    # All heavy stages are named, but the cost is the heaviest one's: the others wait for it, and a second
    # heavy one costs nothing as long as the first is there.
    gpus = tuple(sorted(gpu for stage in stages.longer for gpu in study.collectives.stages[stage]))
    excess = int(stages.excess_ns[heaviest])
    others = len(study.trace.gpus) - len(study.collectives.stages[heaviest])
    # What it would compute without the excess, against which the excess is a share; a stage that did nothing
    # at all must not divide by zero.
    base = max(int(stages.compute_ns[heaviest]) - excess, 1)
    also = f", {len(stages.longer) - 1} more too" if len(stages.longer) > 1 else ""
    return Verdict(
        "stage",
        gpus,
        excess * others,
        excess * others / float(np.median(total)),
        f"stage {heaviest} of {len(stages.gpus)} computes {share_text(excess / base)} longer per iteration "
        f"than the lighter half of the stages{also} ({names(study, gpus)}): it sets the pace of the pipeline",
    )


def longer_verdict(
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
            shares.append(comparison.excess_share(gpu))
            # Comparable ranks wait for the slowest only, so the costs of several do not add up: the largest
            # is the bound.
            bound = max(bound, excess * (len(comparison.gpus) - len(comparison.longer)))
    # Whom others wait for is not known of a GPU whose collectives are not matched, or whose clock is off.
    off = {f.gpu for f in study.diagnostics if f.kind in CLOCK_FINDINGS}
    known = bool(caused.sets[list(gpus)].all()) and not off & set(gpus)
    if study.collectives.is_pipeline:
        bound = most_in_a_pipeline(comparisons, len(study.trace.gpus))
    # The median over iterations: one iteration that went wrong is not what the ranks cost.
    cost = bound
    if known:
        per_iteration = beyond_order(study, caused.root_ns[:, :, _COMPUTE], gpus).sum(axis=0)
        cost = int(np.median(per_iteration))
        if study.collectives.is_pipeline:
            cost = min(cost, bound)
    low, high = share_text(min(shares)), share_text(max(shares))
    by = high if low == high else f"{low} to {high}"
    text = f"{names(study, gpus)} {'compute' if len(gpus) > 1 else 'computes'} {by} longer per iteration"
    # Slower in all kernels alike is a slow GPU, and in some of them more work: the two need different people.
    if differences.all_alike:
        text += "; all kernels are longer alike: look at clock and power"
    elif differences.kernels:
        families = ", ".join(d.name for d in differences.kernels[:3])
        says = "mostly waiting" if _only_waits(study, differences.kernels[0].name) else "more work"
        text += f"; some kernels are longer, which is {says}: {families}"
    if differences.ranges:
        text += f"; most of it in {differences.ranges[0].name}"
    if not known:
        why = "Its clock is off" if off & set(gpus) else "Not all collectives are matched"
        text += f". {why}: the cost is what the others would wait at most"
    elif study.collectives.is_pipeline:
        text += (
            ". The cost is an estimate: the waiting beyond what the others of their stage cause; at most it "
            f"is {share_text(bound / float(np.median(total)))} of all GPU time"
        )
    return Verdict("ranks", gpus, cost, cost / float(np.median(total)), text)


def arrival_verdicts(
    study: Study,
    caused: CausedWaits,
    total: Int64,
    longer: set[int],
) -> list[Verdict]:
    """Return the verdicts on ranks that make others wait for another reason than that they compute longer."""
    if not caused.sets.any():
        return []
    shares = caused.root_ns / total[None, :, None]
    # Of a GPU whose clock is off all of its lateness may be the clock's, so none of it counts against its
    # rank.
    off = {f.gpu for f in study.diagnostics if f.kind in CLOCK_FINDINGS}
    by_clock = caused.root_ns.sum(axis=(1, 2))
    known = np.array([gpu not in off for gpu in range(len(by_clock))])
    uncertain = np.where(known, caused.uncertain_ns, by_clock) / float(total.sum())
    verdicts = []
    # Only the reasons that lie with the host: who computes longer has been judged by the comparison, and
    # would be named twice.
    host = shares[:, :, _HOST].sum(axis=2)
    every = list(range(len(host)))
    late = [
        gpu
        for gpu in every
        if stands_out(host, gpu, every, float(uncertain[gpu]))
        and (caused.sets[gpu] >= FEW_SETS or np.median(host[gpu]) >= MIN_COST_OF_FEW)
    ]
    causes = "; ".join(_cause(study, caused, gpu, is_host=True) for gpu in late)
    # Two iterations in which a rank is late may be chance; that is said rather than a cost that does not
    # persist.
    if late and host.shape[1] < TOO_FEW:
        text = (
            f"{names(study, tuple(late))} came late in all of {host.shape[1]} iterations: whether "
            f"that persists is not known; {causes}"
        )
        verdicts.append(Verdict("unsure", (), None, None, text))
    elif late:
        # Not what is waited for its compute: that is no lateness of the host.
        host_ns = caused.root_ns[:, :, [*_HOST, REASONS.index("unknown")]].sum(axis=2)
        per_iteration = beyond_order(study, host_ns, tuple(late)).sum(axis=0)
        cost, share = int(np.median(per_iteration)), float(per_iteration.sum() / total.sum())
        often = ", ".join(f"{caused.last_sets[gpu]} of {caused.sets[gpu]}" for gpu in late)
        text = (
            f"{names(study, tuple(late))} {'arrive' if len(late) > 1 else 'arrives'} last in {often} sets; "
            f"{'their GPUs are' if len(late) > 1 else 'its GPU is'} not slower; {causes}; "
            f"the waiting costs {share_text(share)} of all GPU time"
        )
        verdicts.append(Verdict("host", tuple(late), cost, share, text))
    elif turns := _in_turn(study, caused, host - uncertain[:, None], total):
        verdicts.append(turns)
    # In a pipeline everybody waits for its neighbours' compute: that is its order.
    if not study.collectives.is_pipeline:
        verdicts += _unsure_verdicts(study, caused, total, longer | set(late), uncertain)
    return verdicts


def _in_turn(study: Study, caused: CausedWaits, host: Float, total: Int64) -> Verdict | None:
    """Return that hosts come late in turn, another one in each iteration; None where they do not.

    `host` has shape (gpus, iterations): what began with each one's host, a share of the time of all GPUs.
    """
    gpus, count = host.shape
    if gpus < 2 or count < TOO_FEW:
        return None
    # As for one that stands out, but whoever it is: above the median of the others in the same iteration.
    above = np.array([host[g] - np.median(np.delete(host, g, axis=0), axis=0) for g in range(gpus)])
    who, most = above.argmax(axis=0), np.maximum(above.max(axis=0), 0.0)
    is_late = most >= MIN_COST_OF_FEW
    share = float((most * total).sum() / total.sum())
    late = sorted(set(who[is_late].tolist()))
    # One rank alone in a few iterations has been looked for before.
    if share < MIN_IN_TURN or int(is_late.sum()) < TOO_FEW or len(late) < 2:
        return None
    causes = sorted({_cause(study, caused, gpu, is_host=True) for gpu in late})
    text = (
        f"different ranks come late in turn, one of them in {int(is_late.sum())} of {count} iterations "
        f"({names(study, tuple(late))}), and none again and again; {'; '.join(causes)}; the waiting costs "
        f"{share_text(share)} of all GPU time"
    )
    return Verdict("unsure", (), int(np.median(most * total)), share, text)


def _unsure_verdicts(
    study: Study, caused: CausedWaits, total: Int64, named: set[int], uncertain: Float
) -> list[Verdict]:
    """Return that ranks make others wait, though they compute no longer and their hosts are not late."""
    shares = caused.root_ns[:, :, [_COMPUTE, _COMMUNICATION]].sum(axis=2) / total[None, :]
    every = list(range(len(shares)))
    any_off = any(f.kind in CLOCK_FINDINGS for f in study.diagnostics)
    verdicts = []
    for gpu in every:
        # The clock is not taken off here, but asked about below: here it decides between two sentences, not
        # whether to speak.
        if gpu in named or not stands_out(shares, gpu, every, 0.0):
            continue
        if uncertain[gpu] >= float(caused.root_ns[gpu].sum() / total.sum()) / 2:
            why = (
                f"{names(study, (gpu,))} seems to come last, but its collectives end a constant time apart "
                "from the others': its clock may be off by that"
            )
            verdicts.append(Verdict("unsure", (), None, None, why))
            continue
        # It may have waited for the one whose clock is off, in a collective that is not matched.
        if any_off:
            continue
        cost = int(np.median(caused.root_ns[gpu][:, [_COMPUTE, _COMMUNICATION]].sum(axis=1)))
        why = (
            f"{names(study, (gpu,))} makes others wait, {share_text(cost / float(np.median(total)))} of all "
            "GPU time, but does not compute longer in all: what it spends more time with before it arrives "
            "is not known"
        )
        verdicts.append(Verdict("unsure", (), cost, cost / float(np.median(total)), why))
    return verdicts


def stands_out(shares: Float, gpu: int, among: list[int], uncertain: float) -> bool:
    """Return whether a GPU causes more waiting than others do, again and again, by enough to matter.

    `shares` has shape (gpus, iterations), of the time of all GPUs; `uncertain` is what a clock may explain.
    """
    others = [g for g in among if g != gpu]
    # Against the median of the others, iteration by iteration: in a job where everybody waits for somebody in
    # turn, nobody stands out.
    above = shares[gpu] - np.median(shares[others], axis=0) - uncertain
    count = len(above)
    least = MIN_COST if count >= FEW else MIN_COST_OF_FEW
    # A median alone would let half of the iterations say the contrary. Of few iterations a percentile says
    # little, so every one has to agree.
    each = np.percentile(above, 25) >= MIN_EACH if count >= FEW else above.min() >= MIN_COST
    if np.median(above) >= least and each:
        return True
    # A rank that is late in few iterations but by a lot (it saves a checkpoint, its data loader stalls) has a
    # small median, and is found by its share of all waiting.
    now_and_then = int((above >= MIN_COST).sum()) >= _NOW_AND_THEN
    of_all = shares[gpu].sum() / max(float(shares[among].sum()), 1e-12)
    return bool(now_and_then and above.mean() >= MIN_COST_OF_FEW and of_all >= _OF_ALL)


def arrival_cause(study: Study, caused: CausedWaits, gpu: int, verdicts: list[Verdict]) -> str:
    """Return why a GPU was late; in a pipeline its order makes ranks wait that nobody is late for."""
    kinds = {verdict.kind for verdict in verdicts if gpu in verdict.gpus}
    if study.collectives.is_pipeline and not kinds:
        order = "the order of the pipeline: others wait for what it passes on"
        host = beyond_order(study, caused.root_ns[:, :, _HOST].sum(axis=2), (gpu,)).sum()
        if host < MIN_OF_ORDER * caused.root_ns[gpu].sum():
            return order
        return f"{_cause(study, caused, gpu, is_host=True)}; the rest is {order}"
    return _cause(study, caused, gpu, is_host="host" in kinds)


def _cause(study: Study, caused: CausedWaits, gpu: int, *, is_host: bool) -> str:
    """Return why a GPU was late, in words: where its host was, or what it spent more time with.

    With `is_host` it is known to be the host, or copies.
    """
    by_reason = caused.root_ns[gpu].sum(axis=0)
    if is_host:
        by_reason = np.where(np.isin(np.arange(len(REASONS)), _HOST), by_reason, 0)
    reason = REASONS[int(by_reason.argmax())] if by_reason.any() else "unknown"
    if reason != "host":
        return {
            "compute": "it computes longer before it arrives",
            "copy": "it copies before it arrives",
            "communication": "its own communication takes longer",
            "unknown": "why is not known",
        }[reason]
    here, there = _idle_by_place(study, caused, gpu)
    # Every rank is idle somewhere before a collective. What is more than with the one that came first is what
    # made this one late.
    more = {place: ns - there.get(place, 0) for place, ns in here.items()}
    place = max(more, key=lambda p: more[p], default=("", ""))
    where, why = place
    if not more or more[place] <= 0:
        return "its host is late"
    text = f"its host is late in {where}" if where else "its host is late"
    return text if why == "unknown" else f"{text} ({why})"


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
            rows, of_one = idle[idle["gpu"] == one], of_gpu == one
            for (inside, cause), same in rows.groupby(["inside", "cause"], observed=True):
                # Only the part of a stall that lies between the two arrivals counts, which is why it is cut
                # and not summed.
                when = union(same["start_ns"].to_numpy(), same["end_ns"].to_numpy())
                ns = int(when.covered(since[of_one], until[of_one]).sum())
                text = normalise_numbers(trace.names[int(trace.nvtx.name_id[inside])]) if inside >= 0 else ""
                by_place[text, str(cause)] = by_place.get((text, str(cause)), 0) + ns
        results.append(by_place)
    return results[0], results[1]


def names(study: Study, gpus: tuple[int, ...]) -> str:
    """Return "rank 3", "ranks 2 and 5", or the GPUs' labels where ranks are not known."""
    trace = study.trace
    ranks = [trace.processes[trace.gpus[g].process].rank for g in gpus]
    if None in ranks or len(set(ranks)) < len(ranks):
        texts, word = [trace.gpu_label(g) for g in gpus], ""
    else:
        texts, word = [str(rank) for rank in ranks], "rank " if len(ranks) == 1 else "ranks "
    return word + (texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}")


def _only_waits(study: Study, family: str) -> bool:
    """Return whether the kernels of a family are of class waiting: a longer spin is no more work."""
    rule = study.rules.match(family)
    return rule >= 0 and study.rules.rules[rule].kernel_class == WAITING
