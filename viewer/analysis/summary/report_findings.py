"""The report's keys `findings` and `findings_summary` (docs/definitions.md, section 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.findings.finding import Finding
from viewer.analysis.summary.report_locations import location_fact

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def finding_facts(study: Study) -> dict[str, Any]:
    """Return the keys `findings`, most worth first, and `findings_summary`."""
    findings = study.findings()
    return {
        "findings": [_finding(study, finding) for finding in findings],
        "findings_summary": {
            "verdict": findings.verdict,
            "heading": findings.heading,
            "recorded_ns": findings.recorded_ns,
            "together_ns": findings.together_ns,
            "more": findings.more,
            "other_limits": list(findings.other_limits),
            "cannot_tell": list(findings.doubts),
        },
    }


def _finding(study: Study, finding: Finding) -> dict[str, Any]:
    gpus = [study.trace.gpus[gpu] for gpu in finding.gpus]
    return {
        "id": finding.id,
        "title": finding.title,
        "what": finding.what,
        "ranks": [study.trace.processes[gpu.process].rank for gpu in gpus],
        "location": location_fact(study, finding.location),
        "time_ns": finding.time_ns,
        "win_ns": finding.win_ns,
        "win_range_ns": list(finding.win_range_ns) if finding.win_range_ns else None,
        "share": finding.share,
        "grade": finding.grade,
        "evidence": finding.evidence,
        "next_step": finding.next_step,
    }
