"""Ranks proposals by what they win, so that no two win the same milliseconds."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.core.intervals import EMPTY, Intervals
from viewer.analysis.findings.finding import LEAST_SHARE, Finding
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.proposal import Proposal


def ranked(inputs: FindingInputs, proposals: Sequence[Proposal]) -> tuple[tuple[Finding, ...], int]:
    """Return the findings, most worth first, and the median iteration with all of them mended, ns.

    The best is taken first, and the others are judged with what it wins already won.
    """
    rest, taken = list(proposals), dict[int, Intervals]()
    findings: list[Finding] = []
    length = inputs.length_ns
    while rest:
        wins = [round(p.time_ns * p.outside(taken)) for p in rest]
        best = max(range(len(rest)), key=lambda i: wins[i])
        win, proposal = min(wins[best], length), rest.pop(best)
        if win < LEAST_SHARE * inputs.length_ns:
            break
        findings.append(_finding(inputs, proposal, win))
        length -= win
        for gpu, spans in proposal.spans.items():
            taken[gpu] = taken.get(gpu, EMPTY) | spans
    return tuple(findings), length


def _finding(inputs: FindingInputs, proposal: Proposal, win_ns: int) -> Finding:
    has_win = bool(inputs.used)
    span = (int(proposal.ceiling_ns.min()), int(proposal.ceiling_ns.max()))
    return Finding(
        proposal.id,
        proposal.title,
        proposal.what,
        proposal.gpus,
        proposal.location,
        proposal.time_ns,
        win_ns if has_win else None,
        span if has_win else None,
        "ceiling" if has_win else "measured",
        proposal.evidence,
        proposal.next_step,
        win_ns / inputs.length_ns,
    )
