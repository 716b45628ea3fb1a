"""Why stalls last, and what they waited for, in words (docs/definitions.md, section 11)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from viewer.analysis.core.units import duration_text, share_text
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.dependencies.operation_words import Speller
from viewer.analysis.dependencies.stall_producers import (
    AFTER_LAST,
    REASONS,
    STARVED,
    StallProducers,
)
from viewer.analysis.dependencies.stall_reasons import ReasonSums
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.stalls.words import Texts

_EDGES = {
    EdgeKind.STREAM: "before it on its stream",
    EdgeKind.EVENT: "by an event",
    EdgeKind.GRAPH: "in one CUDA graph",
    EdgeKind.QUEUE: "ahead of it in one hardware queue",
    EdgeKind.DEFAULT_STREAM: "by the default stream",
}
GRADES = {
    Grade.PROVEN: "proven",
    Grade.HANDLE: "by handle",
    Grade.TIMING: "by timing",
    Grade.UNKNOWN: "unknown",
}
"""How an edge is known, in words."""
_KEPT = "\u00a0"
"""A space at which no line ends."""
LATE = "That waits for"
"""The label of the last arrival of the collective that a stall waits for."""
_NO_LAUNCH = "unknown: the next compute kernel has no launch record"
_NO_EVENT = "unknown: of the event that it waits for no record is known"


def reasons_text(sums: ReasonSums) -> str:
    """Return "launch-starved 5.0 ms, blocked 3.0 ms (communication), unresolved 0.2 ms"."""
    by = [
        (what, ns)
        for what, ns in (
            ("communication", sums.by_communication_ns),
            ("copies", sums.by_copy_ns),
            ("another GPU's compute", sums.by_compute_ns),
        )
        if ns
    ]
    # One alone takes all of it.
    of_it = f" ({by[0][0]})" if len(by) == 1 else f" ({_listed(by)})"
    parts = (
        _listed([("launch-starved", sums.launch_starved_ns)]),
        _listed([("blocked", sums.blocked_ns)]) + (of_it if by else ""),
        _listed([("unresolved", sums.unresolved_ns), ("after the last kernel", sums.after_last_ns)]),
    )
    return ", ".join(filter(None, parts))


def _listed(parts: Iterable[tuple[str, int]]) -> str:
    """Return the parts that have any time; no line ends between a number and its unit."""
    return ", ".join(f"{what} {duration_text(ns).replace(' ', _KEPT)}" for what, ns in parts if ns)


def reason_texts(found: StallProducers, rows: Indices) -> Texts:
    """Return the main reason of some stalls."""
    return Texts.of(REASONS, found.reason[rows])


def producer_texts(found: StallProducers, rows: Indices) -> Texts:
    """Return what some stalls mainly waited for: "ReduceScatter of Rank 5, stream 20"; "" for nothing."""
    speller = Speller(found.reasons)
    texts = speller.texts(found.targets(rows), speller.of_gpu)
    distinct = dict.fromkeys(texts.tolist())
    place = {text: number for number, text in enumerate(distinct)}
    return Texts.of(distinct, np.array([place[text] for text in texts.tolist()], np.int64))


def reason_facts(found: StallProducers, number: int) -> list[tuple[str, str]]:
    """Return labels and values: the split of a stall, what it waited for, and how that is known."""
    split = found.split_ns[:, number].tolist()
    whole = max(sum(split), 1)
    parts = sorted(((ns, reason) for reason, ns in enumerate(split) if ns), reverse=True)
    texts = [f"{REASONS[reason]} {duration_text(ns)}, {share_text(ns / whole)}" for ns, reason in parts]
    facts = [("Reason", " · ".join(texts))]
    speller = Speller(found.reasons)
    producer, late = int(found.producer[number]), int(found.late[number])
    if producer >= 0:
        how = f"{edge_text(int(found.edge[number]))}, {GRADES[Grade(int(found.grade[number]))]}"
        facts.append(("Waits for operation", f"{speller.of_gpu(producer)} ({how})"))
        if late >= 0:
            facts.append((LATE, speller.of_gpu(late)))
    elif found.reason[number] not in (STARVED, AFTER_LAST):
        facts.append(("Waits for operation", why_unresolved(found, number)))
    following = int(found.following[number])
    if following >= 0:
        facts.append(("Next compute kernel", speller.of_gpu(following)))
    return facts


def edge_text(edge: int) -> str:
    """Return how an operation held up the next kernel, by the `EdgeKind` between them."""
    return _EDGES[EdgeKind(edge)]


def why_unresolved(found: StallProducers, number: int) -> str:
    """Return why it is not known what an unresolved stall waited for."""
    following, grade = int(found.following[number]), Grade(int(found.grade[number]))
    if found.reasons.graph.operations.call[following] < 0:
        return _NO_LAUNCH
    if grade is Grade.UNKNOWN:
        return _NO_EVENT
    return f"nothing that is recorded; all that was tried had ended ({GRADES[grade]})"
