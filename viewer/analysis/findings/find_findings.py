"""Finds what to mend first: asks every kind of finding, ranks what they propose by what it wins.

See docs/definitions.md, section 14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from viewer.analysis.findings.communication_findings import blocking_text, exposed_proposals, tax_proposals
from viewer.analysis.findings.copy_findings import copy_proposals
from viewer.analysis.findings.finding import MOST, Findings
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.host_findings import host_proposals
from viewer.analysis.findings.missing import missing
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.findings.rank_findings import rank_proposals
from viewer.analysis.findings.ranking import ranked
from viewer.analysis.findings.wait_findings import wait_proposals

if TYPE_CHECKING:
    from viewer.analysis.study import Study

KINDS: tuple[Callable[[FindingInputs], Iterable[Proposal]], ...] = (
    rank_proposals,
    host_proposals,
    copy_proposals,
    wait_proposals,
    tax_proposals,
    exposed_proposals,
)
"""The kinds of findings: each is a function of the inputs that yields what it proposes."""


def find_findings(study: Study, candidate: int = 0) -> Findings:
    """Return what to mend first, by one of the candidates for the marker of the iterations."""
    inputs = FindingInputs(study, candidate)
    if not study.trace.gpus:
        return Findings((), None, None, missing=missing(inputs))
    least = inputs.least_ns
    proposals = [p for kind in KINDS for p in kind(inputs) if p.time_ns >= least]
    found = ranked(inputs, proposals)
    return replace(
        found,
        items=found.items[:MOST],
        more=len(found.items[MOST:]),
        other_limits=blocking_text(inputs),
        missing=missing(inputs),
    )
