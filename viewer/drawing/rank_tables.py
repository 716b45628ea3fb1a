"""Tables of late ranks: the verdicts, who makes others wait, and what is longer where it computes longer."""

from __future__ import annotations

import pandas as pd

from viewer.analysis.collectives.differences import Difference
from viewer.analysis.core.location import Location
from viewer.analysis.late_ranks.late_verdicts import Verdict
from viewer.analysis.summary.summary import Summary
from viewer.drawing.format import format_count, format_ns, format_share
from viewer.drawing.spec_table import Cell, Head, SpecTable, Tone

_WORDS = {"ranks": "computes longer", "stage": "heaviest stage", "host": "host late", "unsure": "unsure"}
_MOST = 8
_ARRIVAL = (
    "Exposed waiting of the other GPUs that began with this one: a rank that is late because it waited "
    "itself hands it on to whom it waited for"
)
_DIFFERENCE = "What takes longer per iteration and GPU than on the lower half of those that do the same work"


def verdict_table(summary: Summary) -> SpecTable:
    """Return what late ranks cost, what costs most first; one row that says "none" where there are none."""
    late = summary.late_ranks
    heads = (
        Head("Late ranks", "Who makes others wait, or computes longer", number=False, key="late_ranks"),
        Head("GPUs", number=False),
        Head("cost per iteration", "What all other GPUs together wait for them, per iteration"),
        Head("of the time", "Share of the time of all GPUs"),
        Head("Why", number=False),
    )
    rows = [_verdict_row(summary, verdict) for verdict in late.verdicts]
    if not rows and len(summary.gpus) > 1:
        rows = [[Cell("none", late.why, tone="strong"), Cell(), Cell(), Cell(), Cell(_sentence(late.why))]]
    frame = pd.DataFrame(
        [
            {
                "verdict": v.kind,
                "gpus": _gpus(summary, v),
                "cost_ns": v.cost_ns,
                "share": v.share,
                "why": v.why,
            }
            for v in late.verdicts
        ]
    )
    return SpecTable("Late ranks", heads, rows, frame)


def arrival_table(summary: Summary) -> SpecTable:
    """Return who made others wait, and why; those with most of it."""
    heads = (
        Head("GPU", number=False),
        Head("arrives last", "In how many of its matched sets"),
        Head("of"),
        Head("wait caused", "Exposed waiting of others that began with it, in the iterations used"),
        Head("of the time", "Share of the time of all GPUs"),
        Head("Why it was late", number=False),
    )
    arrivals = [a for a in summary.late_ranks.arrivals if a.caused_ns > 0][:_MOST]
    location = summary["caused_wait"].where if arrivals and _has(summary, "caused_wait") else None
    rows = []
    for arrival in arrivals:
        where = location(arrival.gpu) if location else None
        texts = (
            summary.gpus[arrival.gpu],
            format_count(arrival.last),
            format_count(arrival.sets),
            format_ns(arrival.caused_ns),
            format_share(arrival.share),
            _sentence(arrival.cause),
        )
        rows.append([Cell(text, _ARRIVAL, where) for text in texts])
    frame = pd.DataFrame([vars(a) for a in arrivals])
    return SpecTable("Who makes others wait", heads, rows, frame)


def difference_table(summary: Summary) -> SpecTable:
    """Return the kernel families and NVTX ranges that are longer on ranks that compute longer."""
    heads = (
        Head("Longer", "Kernel families, then the innermost NVTX ranges that launched them", number=False),
        Head("", number=False),
        Head("by", "Per iteration and GPU, above the lower half; of ranges the longest less the mean"),
        Head("of it", "Share of all that is longer"),
        Head("kernels", "Per iteration and GPU"),
        Head("elsewhere", "Kernels per iteration on the lower half"),
    )
    found = summary.late_ranks.differences
    if found is None:
        return SpecTable("What is longer", heads, [])
    rows = [_difference_row(d, "kernel") for d in found.kernels]
    rows += [_difference_row(d, "range") for d in found.ranges]
    frame = pd.DataFrame(
        [
            {
                "name": d.name,
                "more_ns": d.more_ns,
                "share": d.share,
                "count": d.count,
                "usual_count": d.usual_count,
            }
            for d in (*found.kernels, *found.ranges)
        ]
    )
    return SpecTable("What is longer", heads, rows, frame)


def late_word(summary: Summary, gpu: int) -> str:
    """Return in a word what a GPU stands out with, "" where it does not."""
    kinds = [verdict.kind for verdict in summary.late_ranks.verdicts if gpu in verdict.gpus]
    return _WORDS[kinds[0]] if kinds else ""


def _verdict_row(summary: Summary, verdict: Verdict) -> list[Cell]:
    tone: Tone = "plain" if verdict.kind == "unsure" else "bad"
    where = _where(summary, verdict)
    cost = "" if verdict.cost_ns is None else format_ns(verdict.cost_ns)
    share = "" if verdict.share is None else format_share(verdict.share)
    texts = (_WORDS[verdict.kind], _gpus(summary, verdict), cost, share)
    cells = [Cell(text, verdict.why, where, tone) for text in texts]
    return [*cells, Cell(_sentence(verdict.why), verdict.why, where)]


def _difference_row(difference: Difference, what: str) -> list[Cell]:
    return [
        Cell(difference.name, _DIFFERENCE),
        Cell(what, tone="soft"),
        Cell(format_ns(difference.more_ns)),
        Cell(format_share(difference.share)),
        Cell(format_count(difference.count)),
        Cell(format_count(difference.usual_count)),
    ]


def _gpus(summary: Summary, verdict: Verdict) -> str:
    return ", ".join(summary.gpus[gpu] for gpu in verdict.gpus)


def _where(summary: Summary, verdict: Verdict) -> Location | None:
    if not verdict.gpus or not _has(summary, "caused_wait"):
        return None
    return summary["caused_wait"].where(verdict.gpus[0])


def _has(summary: Summary, key: str) -> bool:
    return any(number.key == key for number in summary.numbers)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
