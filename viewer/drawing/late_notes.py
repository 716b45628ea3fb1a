"""What stands in the headers of ranks that are late, or compute longer (docs/definitions.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.late_ranks.late_ranks import LateRanks
from viewer.analysis.study import Study
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.time.scope import iteration_scope
from viewer.drawing.format import format_share


@dataclass(frozen=True, slots=True)
class LateNote:
    """The note on one GPU: its text, and the whole verdict in a sentence."""

    text: str
    why: str


def late_notes_of(study: Study, marker: int, steady: frozenset[int] | None) -> dict[int, LateNote]:
    """Return the notes on the GPUs that the summary's verdict names; takes long, so not in a frame.

    Parameters
    ----------
    marker : int
        Which of the candidates marks the iterations.
    steady : frozenset of int or None
        The steady iterations by hand, None for those of the rule.
    """
    if len(study.trace.gpus) < 2:
        return {}
    iterations = study.iterations(marker)
    by_hand = iteration_scope(iterations, steady) if iterations is not None and steady else None
    return late_notes(MetricInputs(study, by_hand or study.default_scope(iterations), iterations).late_ranks)


def late_notes(late: LateRanks) -> dict[int, LateNote]:
    """Return the notes by GPU: of several verdicts on one the costliest; none where they are unsure."""
    notes: dict[int, LateNote] = {}
    for verdict in late.verdicts:
        for gpu in verdict.gpus:
            text = {"ranks": "", "stage": "heavy stage", "host": "host late", "unsure": ""}[verdict.kind]
            if verdict.kind == "ranks":
                word = "slowest" if len(verdict.gpus) == 1 else "slow"
                by = next(c.excess_share(gpu) for c in late.comparisons if gpu in c.longer)
                text = f"{word}, +{format_share(by)}"
            if text:
                notes.setdefault(gpu, LateNote(text, verdict.why))
    return notes
