"""Two runs side by side: the metrics of their summaries, made comparable, and their differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewer.analysis.summary.metric import MetricValue, Unit
from viewer.analysis.summary.summary import Summary
from viewer.analysis.time.iteration_bounds import Iterations

PER_ITERATION = "per iteration and GPU"
PER_SECOND = "per second of a GPU"
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of two runs.

    Attributes
    ----------
    key, section, name, definition : str
        The metric's key, section, title and definition.
    how : str
        "per iteration and GPU" where totals were divided so that runs of another length compare, "per second
        of a GPU" where one of them has no iterations, else "".
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


def marker_notes(first: Summary, second: Summary) -> tuple[str, ...]:
    """Return what has to be said of the two markers before any number, () where they are one and certain."""
    a, b = first.iterations, second.iterations
    if a is None or b is None:
        if a is b:
            return ()
        return (
            f"Only {'B' if a is None else 'A'} has iterations, marked by {_marker(a or b)}: totals are "
            f"{PER_SECOND}, and cover other parts of the runs.",
        )
    doubts = tuple(f"{key}: {i.doubt_text}" for key, i in (("A", a), ("B", b)) if i.doubt)
    # One name may be an NVTX text in one run and the name of a guessed kernel in the other.
    if (a.by.name, a.by.kind) == (b.by.name, b.by.kind):
        return doubts
    return (
        f"The iterations are marked differently, by {_marker(a)} in A and by {_marker(b)} in B: what is per "
        "iteration compares only if both mean the same.",
        *doubts,
    )


def _marker(iterations: Iterations | None) -> str:
    assert iterations is not None
    return f"“{iterations.by.name}”{iterations.in_doubt}"


def compare(first: Summary, second: Summary) -> tuple[Compared, ...]:
    """Return the numbers of two summaries in their order, each once; those of only one of them, too.

    Sums over all GPUs and iterations are divided by both where both summaries are over iterations, else by
    the time of the GPUs; medians, shares and ratios stand as they are.
    """
    # Both or none: a total per iteration beside one per second would compare nothing.
    by_iteration = bool(first.scope.iterations and second.scope.iterations)
    others = {number.key: number for number in second.numbers}
    pairs: list[tuple[MetricValue | None, MetricValue | None]]
    pairs = [(number, others.pop(number.key, None)) for number in first.numbers]
    # What the second run alone has stands last: it has no place in the order of the first.
    pairs += [(None, number) for number in others.values()]
    return tuple(_compared(a, b, first, second, by_iteration) for a, b in pairs)


def _compared(
    a: MetricValue | None, b: MetricValue | None, first: Summary, second: Summary, by_iteration: bool
) -> Compared:
    known = a or b
    assert known is not None
    how = (PER_ITERATION if by_iteration else PER_SECOND) if known.result.is_sum else ""
    x, y = _value(a, first, how), _value(b, second, how)
    difference = None if isinstance(x, str | None) or isinstance(y, str | None) else y - x
    # Against 0 any change is without end, which says less than the difference.
    change = difference / x if difference is not None and x and not isinstance(x, str) else None
    return Compared(
        key=known.key,
        section=known.section.key,
        name=known.title,
        how=how,
        unit=known.unit,
        first=x,
        second=y,
        difference=difference,
        change=change,
        first_share=a.share if a else None,
        second_share=b.share if b else None,
        definition=known.definition,
    )


def _value(number: MetricValue | None, summary: Summary, how: str) -> int | float | str | None:
    if number is None or not how or isinstance(number.value, str | None):
        return number.value if number else None
    if how == PER_ITERATION:
        parts: float = len(summary.scope.iterations) * len(summary.gpus)
    else:
        parts = summary.scope.total_ns / _SECOND_NS
    # Times stay whole nanoseconds; counts per iteration may be fractions.
    rounded: Callable[[float], int | float] = round if number.unit == "ns" else float
    return rounded(number.value / parts) if parts else None
