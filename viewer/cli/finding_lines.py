"""What to mend first, as the first lines of `lightbox report`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from viewer.analysis.findings.finding import Finding, Findings
from viewer.drawing.format import format_share


def finding_lines(findings: Findings) -> Iterator[Text]:
    """Yield the heading, what the recording cannot tell, and three lines a finding."""
    yield Text("\nWhat to mend first", style="bold")
    yield Text(findings.heading)
    yield from (Text(f"! {text}", style="yellow") for text in findings.doubts)
    for number, finding in enumerate(findings, 1):
        yield _line(number, finding)
        yield Text(f"     {finding.evidence}", style="dim")
        yield Text(f"     Next: {finding.next_step}", style="dim")
    yield from (Text(text, style="dim") for text in findings.other_limits)


def _line(number: int, finding: Finding) -> Text:
    of = "of the iteration" if finding.win_ns is not None else "of the recording"
    win = f"{finding.win_text}, {format_share(finding.share)} {of}, {finding.grade}"
    return Text.assemble(f"{number:3}. ", (finding.title, "bold"), f": {win}")
