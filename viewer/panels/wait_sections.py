"""What the selected event waited for, as sections of the Details dock."""

from __future__ import annotations

from viewer.analysis.dependencies.graph import EdgeKind
from viewer.drawing.event_waits import EventWait
from viewer.drawing.format import format_ns
from viewer.panels.selection_details import Badge, Bar, DetailSection, Step


def wait_sections(wait: EventWait) -> tuple[DetailSection, ...]:
    """Return the sections on a wait: how it is split, how it is known, and the chain that led to it."""
    is_return = wait.waited.kind is EdgeKind.RETURN
    waited = DetailSection(
        "Waited for",
        value=format_ns(wait.waited.length_ns),
        about="since the call began" if is_return else "while nothing else held it up",
        bars=tuple(Bar(part.fill, part.text, part.ns) for part in wait.parts),
        badge=Badge(wait.grade, wait.by),
    )
    steps = tuple(
        Step(step.fill, step.title, step.about, step.event, is_own=step is wait.steps[-1])
        for step in wait.steps
    )
    return waited, DetailSection("Chain of waits", steps=steps)
