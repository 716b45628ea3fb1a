"""Two runs side by side: the numbers of their summaries, made comparable, and their differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewer.analysis.summary.metric import Metric, Unit
from viewer.analysis.summary.summary import Summary

PER_ITERATION = "per iteration and GPU"


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of two runs.

    Attributes
    ----------
    name, section, definition : str
        As the metric's.
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
    """Return the numbers of two summaries in their order, each once; those of one alone, too.

    Sums over all GPUs and iterations are divided by both where both sheets are over iterations; medians,
    shares and ratios stand as they are.
    """
    by_iteration = bool(first.scope.iterations and second.scope.iterations)
    of_second = {v.key: v for v in second.numbers}
    held = [(v, of_second.pop(v.key, None)) for v in first.numbers]
    rest = [(None, v) for v in second.numbers if v.key in of_second]
    return tuple(_compared(a, b, first, second, by_iteration) for a, b in [*held, *rest])


def _compared(
    a: Metric | None, b: Metric | None, first: Summary, second: Summary, by_iteration: bool
) -> Compared:
    known = a or b
    assert known is not None
    divided = by_iteration and _is_sum(known)
    x = _value(a, first, divided)
    y = _value(b, second, divided)
    difference = None if isinstance(x, str | None) or isinstance(y, str | None) else y - x
    change = difference / x if difference is not None and x and not isinstance(x, str) else None
    return Compared(
        known.section, known.name, PER_ITERATION if divided else "", known.unit, x, y, difference, change,
        a.share if a else None, b.share if b else None, known.definition,
    )  # fmt: skip


def _is_sum(metric: Metric) -> bool:
    """Whether a number grows with the iterations and the GPUs that it is taken over."""
    return metric.unit == "count" or (metric.unit == "ns" and metric.share is not None)


def _value(metric: Metric | None, sheet: Summary, divided: bool) -> int | float | str | None:
    if metric is None or not divided or isinstance(metric.value, str | None):
        return metric.value if metric else None
    over = len(sheet.scope.iterations) * len(sheet.gpus)
    whole: Callable[[float], int | float] = round if metric.unit == "ns" else float
    return whole(metric.value / over) if over else None
