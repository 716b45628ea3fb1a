"""Two runs side by side: the metrics of their summaries, made comparable, and their differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewer.analysis.summary.metric import MetricValue, Unit
from viewer.analysis.summary.summary import Summary

PER_ITERATION = "per iteration and GPU"


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of two runs.

    Attributes
    ----------
    key, section, name, definition : str
        The metric's key, section, title and definition.
    how : str
        "per iteration and GPU" where totals were divided so that runs of another length compare, else "".
    first, second : int, float, str or None
        None where a run does not have the number.
    difference : int, float or None
        Second less first, where both are numbers.
    change : float or None
        The difference over the first, where that is not zero.
    first_share, second_share : float or None
        Of the time of all GPUs.
    """

    key: str
    section: str
    name: str
    how: str
    unit: Unit
    first: int | float | str | None
    second: int | float | str | None
    difference: int | float | None
    change: float | None
    first_share: float | None
    second_share: float | None
    definition: str


def compare(first: Summary, second: Summary) -> tuple[Compared, ...]:
    """Return the numbers of two summaries in their order, each once; those of only one of them, too.

    Sums over all GPUs and iterations are divided by both where both summaries are over iterations; medians,
    shares and ratios stand as they are.
    """
    by_iteration = bool(first.scope.iterations and second.scope.iterations)
    others = {number.key: number for number in second.numbers}
    pairs: list[tuple[MetricValue | None, MetricValue | None]]
    pairs = [(number, others.pop(number.key, None)) for number in first.numbers]
    pairs += [(None, number) for number in others.values()]
    return tuple(_compared(a, b, first, second, by_iteration) for a, b in pairs)


def _compared(
    a: MetricValue | None, b: MetricValue | None, first: Summary, second: Summary, by_iteration: bool
) -> Compared:
    known = a or b
    assert known is not None
    divided = by_iteration and known.result.is_sum
    x, y = _value(a, first, divided), _value(b, second, divided)
    difference = None if isinstance(x, str | None) or isinstance(y, str | None) else y - x
    change = difference / x if difference is not None and x and not isinstance(x, str) else None
    return Compared(
        key=known.key,
        section=known.section.key,
        name=known.title,
        how=PER_ITERATION if divided else "",
        unit=known.unit,
        first=x,
        second=y,
        difference=difference,
        change=change,
        first_share=a.share if a else None,
        second_share=b.share if b else None,
        definition=known.definition,
    )


def _value(number: MetricValue | None, summary: Summary, divided: bool) -> int | float | str | None:
    if number is None or not divided or isinstance(number.value, str | None):
        return number.value if number else None
    parts = len(summary.scope.iterations) * len(summary.gpus)
    rounded: Callable[[float], int | float] = round if number.unit == "ns" else float
    return rounded(number.value / parts) if parts else None
