"""What the hover card says about a band under the pointer: one function a kind of band."""

from __future__ import annotations

from collections.abc import Callable

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.study import Study
from viewer.drawing.bands import Band, CounterBand, EventBand
from viewer.drawing.format import format_count, format_instant, format_ns, format_share, format_value
from viewer.drawing.hit import ColumnFacts, HitResult
from viewer.printable import counted
from viewer.timeline.cards.card_text import CardText, event_facts
from viewer.trace.names import short_name


def has_text(hit: HitResult | None) -> bool:
    """Return whether the band under the pointer has a text; over others stands a stall, or the cut."""
    return hit is not None and type(hit.band) in _TEXT_OF


def hit_text(study: Study, hit: HitResult, collectives: Collectives | None = None) -> CardText:
    """Return the text of a hit that has one (`has_text`)."""
    if hit.band is None:
        raise ValueError("no band was hit")
    return _TEXT_OF[type(hit.band)](study, hit, collectives)


def _event_text(study: Study, hit: HitResult, collectives: Collectives | None) -> CardText:
    if hit.event is not None:
        return event_facts(study, hit.event, collectives)
    if hit.column is None:
        raise ValueError("a lane was hit where it has no event")
    return _column_text(study, hit.column)


def _column_text(study: Study, facts: ColumnFacts) -> CardText:
    name = study.trace.names[facts.commonest] or "(no name)"
    lines = (
        ("Mean", format_ns(facts.mean_ns)),
        ("Commonest", f"{short_name(name)}  ({format_count(facts.commonest_count)})"),
        ("Covered", f"{format_share(facts.busy)} of the column"),
        ("From", format_instant(facts.start_ns)),
        ("To", f"{format_instant(facts.end_ns)}  (+{format_ns(facts.end_ns - facts.start_ns)})"),
    )
    brief = f"mean {format_ns(facts.mean_ns)} · {format_share(facts.busy)} of the column"
    subtitle = "In one pixel column: zoom in to see them apart"
    return CardText(counted(facts.count, "event"), subtitle, lines, brief)


def _counter_text(study: Study, hit: HitResult, _collectives: Collectives | None) -> CardText:
    row, facts = hit.row, hit.counter
    counter = row.kind.traits.counter
    if counter is None or facts is None:
        raise ValueError(f"{row.key} is no counter row")
    trace = study.trace
    owner = trace.gpu_label(row.gpu) if row.gpu is not None else trace.process_label(row.process or 0)
    lines = [("Value", counter.meaning)]
    if facts.count > 1:
        low, high = (format_value(value, counter.unit) for value in (facts.low, facts.high))
        lines.append(("In this column", f"{format_count(facts.count)} values, {low} to {high}"))
    value = "no value" if facts.value is None else format_value(facts.value, counter.unit)
    title = " ".join(filter(None, (value, row.detail if facts.value is not None else "")))
    return CardText(title, f"{row.label} of {owner}", tuple(lines))


_TEXT_OF: dict[type[Band], Callable[[Study, HitResult, Collectives | None], CardText]] = {
    EventBand: _event_text,
    CounterBand: _counter_text,
}
