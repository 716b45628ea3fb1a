"""The first section of the report page: what to mend first."""

from __future__ import annotations

from viewer.analysis.findings.finding import Finding, Findings
from viewer.drawing.format import format_share
from viewer.export import html


def findings_section(findings: Findings, doubts: list[str]) -> str:
    """Return the section.

    Parameters
    ----------
    doubts : list of str
        `Findings.doubts`, without names of people and machines.
    """
    most = max((finding.share for finding in findings), default=1.0)
    rows = "".join(_row(number, finding, most) for number, finding in enumerate(findings, 1))
    table = f'<div class="scroll"><table class="findings">{rows}</table></div>' if rows else ""
    return html.section(
        "What to mend first",
        "findings",
        f"<p>{html.escaped(findings.heading)}</p>",
        *(f'<p class="warning diagnostic">{html.escaped(text)}</p>' for text in doubts),
        table,
        *(f'<p class="soft">{html.escaped(text)}</p>' for text in findings.other_limits),
    )


def _row(number: int, finding: Finding, most: float) -> str:
    texts = (
        f"<b>{html.escaped(finding.title)}</b><br>"
        f'<span class="soft">{html.escaped(finding.evidence)}<br>'
        f"<b>Next:</b> {html.escaped(finding.next_step)}</span>"
    )
    width = max(round(100 * finding.share / most), 1) if most else 1
    return (
        f'<tr><td class="n soft">{number}</td><td class="t">{texts}</td>'
        f'<td><div class="win"><i style="width:{width}%"></i></div></td>'
        f'<td class="n"><b>{html.escaped(finding.win_text)}</b></td>'
        f'<td class="n">{format_share(finding.share)}</td><td class="soft">{finding.grade}</td></tr>'
    )
