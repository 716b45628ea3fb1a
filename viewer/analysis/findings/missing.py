"""What a recording lacks, or has wrong, so that it cannot tell all that there is to mend."""

from __future__ import annotations

from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.time.steadiness import LEAST_STEADY


def missing(inputs: FindingInputs) -> tuple[str, ...]:
    """Return what is missing, a sentence each, worst first; () where the recording can tell."""
    trace = inputs.trace
    if not trace.gpus:
        return ("No GPU operation was recorded.",)
    messages = [f.title for f in inputs.study.diagnostics if f.severity == "error"]
    if inputs.iterations is None:
        messages.append("No iterations were found: what a change wins per iteration is not known")
    elif len(inputs.used) < LEAST_STEADY:
        count = len(inputs.used)
        messages.append(
            f"Only {count} iteration{'s' * (count != 1)} can be used: whether anything persists is not known"
        )
    if len(trace.gpus) > 1 and inputs.late_ranks.doubt:
        doubt = inputs.late_ranks.doubt
        messages.append(f"Late ranks are not sure: {doubt}")
    # A message of nsys may end as it likes.
    return tuple(m if m.endswith((".", "!", "?")) else f"{m}." for m in dict.fromkeys(messages))
