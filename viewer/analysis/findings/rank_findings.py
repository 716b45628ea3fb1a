"""Findings about ranks: they compute longer, their hosts come late, a stage is heavier than others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from viewer.analysis.core.location import Location
from viewer.analysis.core.units import share_text
from viewer.analysis.findings.finding import COUNT_WORDS
from viewer.analysis.findings.finding_inputs import FindingInputs, spans_of
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.late_ranks.late_verdicts import Verdict, names
from viewer.analysis.replay.changes import Change, CloseHole, FlattenRanks
from viewer.trace.events import Int64


def rank_proposals(inputs: FindingInputs) -> Iterator[Proposal]:
    """Yield what the verdicts on late ranks name; without iterations nothing persists, and none is sure."""
    if not inputs.used or len(inputs.trace.gpus) < 2:
        return
    for verdict in inputs.late_ranks.verdicts:
        if verdict.kind == "ranks":
            yield _longer(inputs, verdict)
        elif verdict.kind == "host":
            yield _late(inputs, verdict)
        elif verdict.kind == "stage":
            yield _stage(inputs, verdict)


def _longer(inputs: FindingInputs, verdict: Verdict) -> Proposal:
    late, gpus = inputs.late_ranks, verdict.gpus
    comparisons = [c for c in late.comparisons if c.longer]
    shares = [c.excess_share(gpu) for c in comparisons for gpu in c.longer]
    low, high = share_text(min(shares)), share_text(max(shares))
    twins = sum(len(c.gpus) - len(c.longer) for c in comparisons)
    is_one = len(gpus) == 1
    title = (
        f"{_capital(names(inputs.study, gpus))} {'computes' if is_one else 'compute'} "
        f"{low if low == high else f'{low} to {high}'} longer than {'its' if is_one else 'their'} "
        f"{COUNT_WORDS[twins] if twins < len(COUNT_WORDS) else twins} twin{'s' * (twins > 1)}"
    )
    # Twins wait for the slowest of them only: several slow ones do not add up.
    excess = max(int(c.excess_ns[c.gpus.index(gpu)]) for c in comparisons for gpu in c.longer)
    differences = late.differences
    if differences is None or differences.all_alike:
        evidence = "the same kernels, all of them longer alike"
        advice = "Look at clocks, power, temperature and neighbours; swap the GPU if it stays"
    else:
        families = ", ".join(d.name for d in differences.kernels[:3])
        evidence = f"some kernels are longer: {families}" if families else "the same work takes longer"
        advice = "Balance the work: tokens, sequence lengths or experts of these ranks"
    if differences is not None and differences.ranges:
        evidence += f"; most of it in {differences.ranges[0].name}"
    evidence += f"; in {len(inputs.used)} of {len(inputs.used)} iterations that count"
    slowest = max(gpus, key=lambda gpu: _excess_of(inputs, gpu))
    return Proposal(
        "ranks-longer",
        title,
        verdict.why,
        gpus,
        _iteration(inputs, slowest),
        evidence,
        advice,
        _each_unit(inputs, excess),
        (FlattenRanks(),),
        is_waited_for=(verdict.cost_ns or 0) >= inputs.least_ns * max(len(inputs.trace.gpus) - len(gpus), 1),
    )


def _excess_of(inputs: FindingInputs, gpu: int) -> int:
    return next(int(c.excess_ns[c.gpus.index(gpu)]) for c in inputs.late_ranks.comparisons if gpu in c.gpus)


def _late(inputs: FindingInputs, verdict: Verdict) -> Proposal:
    gpus, stalls = verdict.gpus, inputs.idle_stalls
    of_them = stalls[stalls["gpu"].isin(gpus)]
    is_one = len(gpus) == 1
    return Proposal(
        "host-late",
        f"The host of {names(inputs.study, gpus)} is late again and again"
        if is_one
        else f"The hosts of {names(inputs.study, gpus)} are late again and again",
        verdict.why,
        gpus,
        inputs.longest(of_them) if len(of_them) else _iteration(inputs, gpus[0]),
        _arrival(inputs, gpus[0]),
        "Look at what else runs on that host: data loading, logging, its cores, its disks",
        _each_unit(inputs, inputs.lateness_ns(verdict)),
        _closed(of_them),
        spans_of(of_them),
    )


def _closed(stalls: pd.DataFrame) -> tuple[Change, ...]:
    """Return the changes that close the holes of some hosts, in the iterations used alone.

    Without what only one of them waits for besides, as in saving a checkpoint: that rank would begin the next
    iteration long before the others, which makes one shorter and the other longer.
    """
    columns = (stalls[column].tolist() for column in ("gpu", "start_ns", "end_ns"))
    return tuple(CloseHole(*hole) for hole in zip(*columns, strict=True))


def _arrival(inputs: FindingInputs, gpu: int) -> str:
    arrival = next((a for a in inputs.late_ranks.arrivals if a.gpu == gpu), None)
    if arrival is None:
        return "it arrives last in collectives; its GPU is not slower"
    return f"last of {arrival.last:,} in {arrival.sets:,} sets, its GPU not slower; {arrival.cause}".rstrip(
        "; "
    )


def _stage(inputs: FindingInputs, verdict: Verdict) -> Proposal:
    stages = inputs.late_ranks.stages
    assert stages is not None
    heaviest = int(stages.compute_ns.argmax())
    # Work that leaves a stage goes to the others: at best all compute as long as their mean.
    above = int(stages.compute_ns[heaviest] - stages.compute_ns.mean())
    return Proposal(
        "heavy-stage",
        f"Stage {heaviest} of {len(stages.gpus)} computes longer than the others: it sets the pace",
        verdict.why,
        verdict.gpus,
        _iteration(inputs, verdict.gpus[0]),
        "compute of the stages: " + ", ".join(f"{ns / 1e6:,.1f}" for ns in stages.compute_ns) + " ms",
        "Move layers to the other stages; embedding and loss weigh as well",
        _each_unit(inputs, above),
    )


def _each_unit(inputs: FindingInputs, ns: int) -> Int64:
    return np.full(inputs.windows[0].shape[1], ns, np.int64)


def _iteration(inputs: FindingInputs, gpu: int) -> Location:
    """Return the middle one of the used iterations on a GPU."""
    starts, ends = inputs.windows
    middle = starts.shape[1] // 2
    return Location(int(starts[gpu, middle]), int(ends[gpu, middle]), gpu)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
