"""Ranks proposals by what they win, so that no two win the same milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.analysis.core.intervals import EMPTY, Intervals
from viewer.analysis.findings.finding import Finding, Findings, WinGrade
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.findings.replayed_wins import ReplayedWins
from viewer.analysis.replay.changes import Change
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class Win:
    """What a proposal wins in each unit, shape (units,), and how long these last then, where replayed."""

    each_ns: Int64
    grade: WinGrade
    lengths_ns: Int64 | None = None

    @property
    def median_ns(self) -> int:
        """The median over the units, ns."""
        return int(np.median(self.each_ns))


def ranked(inputs: FindingInputs, proposals: Sequence[Proposal]) -> Findings:
    """Return the findings among some proposals, most worth first, and what all of them win.

    The best is taken first, and the others are judged with what it wins already won: those that can be
    replayed by a replay with both, the others by their time that is not in what has been taken.
    """
    ranking = _Ranking(inputs)
    proposals = [ranking.believed(proposal) for proposal in proposals]
    rest = {i: ranking.first_win_of(proposal) for i, proposal in enumerate(proposals)}
    # How much had been taken when a win was computed; what has been taken since may have changed it.
    taken_then = dict.fromkeys(rest, 0 if ranking.is_quick else -1)
    findings: list[Finding] = []
    while rest:
        best = max(rest, key=lambda i: rest[i].median_ns)
        if taken_then[best] != len(findings):
            rest[best], taken_then[best] = ranking.win_of(proposals[best]), len(findings)
            continue
        win = rest.pop(best)
        if win.median_ns < inputs.least_ns * proposals[best].times_least:
            continue
        ranking.take(proposals[best], win)
        findings.append(_finding(inputs, proposals[best], win))
    # What has been mended since may make room for another one to win more.
    findings.sort(key=lambda finding: -finding.share)
    return Findings(
        tuple(findings),
        inputs.length_ns if inputs.used else None,
        ranking.length_ns if inputs.used else None,
        why_ceilings=ranking.why_ceilings,
    )


class _Ranking:
    """What has been taken so far: changes, milliseconds, and how long the units last with them."""

    def __init__(self, inputs: FindingInputs) -> None:
        self._replayed = ReplayedWins(inputs)
        self._has_units = bool(inputs.used)
        self._changes: tuple[Change, ...] = ()
        self._taken: dict[int, Intervals] = {}
        self._lengths_ns = self._replayed.recorded_ns
        self._by_ceilings_ns = 0
        self._unit_ns = inputs.length_ns
        self._least_ns = inputs.least_ns

    @property
    def length_ns(self) -> int:
        """The median length of a unit with all that has been taken, ns."""
        saved = int(np.median(self._replayed.recorded_ns - self._lengths_ns)) if self._has_units else 0
        return max(self._unit_ns - saved - self._by_ceilings_ns, 0)

    @property
    def why_ceilings(self) -> str:
        """Why nothing is replayed, "" where it is."""
        return self._replayed.why_not

    def believed(self, proposal: Proposal) -> Proposal:
        """Return a proposal, without changes where ranks wait for it and a replay does not know of that."""
        if not proposal.is_waited_for or self.win_of(proposal).median_ns >= self._least_ns:
            return proposal
        return replace(proposal, changes=())

    @property
    def is_quick(self) -> bool:
        """Whether a replay takes so little time that each proposal is replayed once more than need be."""
        return self._replayed.is_quick

    def first_win_of(self, proposal: Proposal) -> Win:
        """Return what a proposal wins alone, or where replays take long its ceiling to begin with."""
        if self.is_quick:
            return self.win_of(proposal)
        return Win(proposal.ceiling_ns, "ceiling")

    def win_of(self, proposal: Proposal) -> Win:
        """Return what a proposal wins after what has been taken."""
        lengths = None
        if proposal.changes:
            lengths = self._replayed.lengths_ns((*self._changes, *proposal.changes))
        if lengths is not None:
            return Win(self._lengths_ns - lengths, "replayed", lengths)
        rest = np.rint(proposal.ceiling_ns * proposal.outside(self._taken)).astype(np.int64)
        return Win(np.minimum(rest, self.length_ns), "ceiling" if self._has_units else "measured")

    def take(self, proposal: Proposal, win: Win) -> None:
        """Count a proposal as mended."""
        if win.lengths_ns is not None:
            self._changes = (*self._changes, *proposal.changes)
            self._lengths_ns = win.lengths_ns
        else:
            self._by_ceilings_ns += win.median_ns
        for gpu, spans in proposal.spans.items():
            self._taken[gpu] = self._taken.get(gpu, EMPTY) | spans


def _finding(inputs: FindingInputs, proposal: Proposal, win: Win) -> Finding:
    is_measured = win.grade == "measured"
    return Finding(
        proposal.id,
        proposal.title,
        proposal.what,
        proposal.gpus,
        proposal.location,
        proposal.time_ns,
        None if is_measured else win.median_ns,
        None if is_measured else (int(win.each_ns.min()), int(win.each_ns.max())),
        win.grade,
        proposal.evidence,
        proposal.next_step,
        win.median_ns / inputs.length_ns,
        proposal.changes,
    )
