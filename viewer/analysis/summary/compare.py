"""Two runs side by side: the numbers of their case sheets, made comparable, and their differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewer.analysis.summary.metric import Unit, Vital
from viewer.analysis.summary.summary import Vitals

PER_LAP = "per iteration and GPU"


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of two runs.

    Attributes
    ----------
    name, section, definition : str
        As the vital's.
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


def compare(first: Vitals, second: Vitals) -> tuple[Compared, ...]:
    """Return the numbers of two case sheets in their order, each once; those of one alone, too.

    Sums over all GPUs and iterations are divided by both where both sheets are over iterations; medians,
    shares and ratios stand as they are.
    """
    by_lap = bool(first.scope.laps and second.scope.laps)
    of_second = {v.key: v for v in second.numbers}
    held = [(v, of_second.pop(v.key, None)) for v in first.numbers]
    rest = [(None, v) for v in second.numbers if v.key in of_second]
    return tuple(_compared(a, b, first, second, by_lap) for a, b in [*held, *rest])


def _compared(a: Vital | None, b: Vital | None, first: Vitals, second: Vitals, by_lap: bool) -> Compared:
    known = a or b
    assert known is not None
    divided = by_lap and _is_sum(known)
    x = _value(a, first, divided)
    y = _value(b, second, divided)
    difference = None if isinstance(x, str | None) or isinstance(y, str | None) else y - x
    change = difference / x if difference is not None and x and not isinstance(x, str) else None
    return Compared(
        known.section, known.name, PER_LAP if divided else "", known.unit, x, y, difference, change,
        a.share if a else None, b.share if b else None, known.definition,
    )  # fmt: skip


def _is_sum(vital: Vital) -> bool:
    """Whether a number grows with the iterations and the GPUs that it is taken over."""
    return vital.unit == "count" or (vital.unit == "ns" and vital.share is not None)


def _value(vital: Vital | None, sheet: Vitals, divided: bool) -> int | float | str | None:
    if vital is None or not divided or isinstance(vital.value, str | None):
        return vital.value if vital else None
    over = len(sheet.scope.laps) * len(sheet.gpus)
    whole: Callable[[float], int | float] = round if vital.unit == "ns" else float
    return whole(vital.value / over) if over else None
