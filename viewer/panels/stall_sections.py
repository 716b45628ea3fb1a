"""Everything known about the selected stall, as sections of the Details dock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analysis.dependencies.graph import Grade
from viewer.analysis.dependencies.operation_words import Speller
from viewer.analysis.dependencies.pieces import BY_COMMUNICATION, BY_COMPUTE
from viewer.analysis.dependencies.stall_producers import (
    AFTER_LAST,
    BLOCKED,
    REASONS,
    STARVED,
    UNRESOLVED,
    StallProducers,
)
from viewer.analysis.dependencies.stall_words import GRADES, edge_text, why_unresolved
from viewer.analysis.stalls.stall_details import stall_facts
from viewer.analysis.study import Study
from viewer.drawing.format import format_instant, format_ns
from viewer.panels.selection_details import Badge, Bar, DetailSection, SelectionDetails, Step
from viewer.rows import EventRef
from viewer.trace import GPU_KINDS

_FILLS = {STARVED: "host", UNRESOLVED: "lag", AFTER_LAST: "lag"}


def details_of_stall(study: Study, marker: int, number: int) -> SelectionDetails:
    """Return everything known about a stall; slow, so call it off the main thread."""
    stalls = study.stalls(marker)
    row = stalls.table.iloc[number]
    when = (
        ("Begins", format_instant(int(row["start_ns"]))),
        ("Ends", f"{format_instant(int(row['end_ns']))}  (+{format_ns(int(row['duration_ns']))})"),
    )
    (_, what), *rest = stall_facts(stalls, number)
    return SelectionDetails(
        what,
        f"Stall of {rest[0][1]}" if rest else "Stall",
        (DetailSection("", (*when, *rest)), *_reasons(study.stall_producers(marker), number)),
    )


def _reasons(found: StallProducers, number: int) -> Iterator[DetailSection]:
    """Yield why no compute kernel runs in a stall, and the chain of what the next one waits for."""
    split = found.split_ns[:, number].tolist()
    producer, grade = int(found.producer[number]), Grade(int(found.grade[number]))
    badge = Badge()
    if producer >= 0:
        badge = Badge(GRADES[grade], edge_text(int(found.edge[number])))
    elif split[UNRESOLVED]:
        badge = Badge(GRADES[Grade.UNKNOWN], why_unresolved(found, number))
    yield DetailSection(
        "Why no compute kernel runs",
        value=format_ns(sum(split)),
        bars=tuple(
            Bar(_fill(found, number, reason), _text(found, number, reason), ns)
            for reason, ns in enumerate(split)
            if ns
        ),
        badge=badge,
    )
    # Where the operation after the stall is that kernel, the chain of its waits stands above.
    steps = () if _is_after(found, number) else tuple(_steps(found, number))
    if steps:
        yield DetailSection("What it waits for", steps=steps)


def _is_after(found: StallProducers, number: int) -> bool:
    """Whether the operation after a stall is the compute kernel that had to wait."""
    row, following = found.stalls.table.iloc[number], int(found.following[number])
    after = GPU_KINDS[int(row["after_kind"])], int(row["after_index"])
    return following >= 0 and found.reasons.graph.operations.event_of(following) == after


def _text(found: StallProducers, number: int, reason: int) -> str:
    if reason != BLOCKED:
        return REASONS[reason]
    return f"blocked by {Speller(found.reasons).of_gpu(int(found.producer[number]))}"


def _fill(found: StallProducers, number: int, reason: int) -> str:
    if reason != BLOCKED:
        return _FILLS[reason]
    if found.late[number] >= 0:
        return "waiting"
    return _fill_of(found, int(found.producer[number]))


def _fill_of(found: StallProducers, operation: int) -> str:
    blocker = int(found.reasons.blocker_of(np.array([operation], np.int32))[0])
    return {BY_COMMUNICATION: "exposed", BY_COMPUTE: "compute"}.get(blocker, "copy")


def _steps(found: StallProducers, number: int) -> Iterator[Step]:
    """Yield the last arrival, the operation that blocks, and the kernel that waits for it."""
    late, producer, following = (int(a[number]) for a in (found.late, found.producer, found.following))
    if producer < 0:
        return
    for operation, about in (
        (late, "the last to arrive"),
        (producer, edge_text(int(found.edge[number]))),
        (following, "the next compute kernel"),
    ):
        if operation >= 0:
            kind, index = found.reasons.graph.operations.event_of(operation)
            title = Speller(found.reasons).of_gpu(operation)
            yield Step(_fill_of(found, operation), title, about, EventRef(kind, index))
