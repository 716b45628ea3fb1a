"""Numbers as texts: four significant digits, units spelled, thousands separated."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.analysis.time.iteration_bounds import Iterations, IterationShare

NS_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))
_BINARY, _DECIMAL = ("KiB", "MiB", "GiB", "TiB"), ("kB", "MB", "GB", "TB")
MINUS = "\u2212"
SEVERAL = 2.0
"""From this length on a range is written as a multiple of an iteration, not as a share."""


@dataclass(frozen=True, slots=True)
class Units:
    """How the window writes times and sizes; the command line keeps to the defaults.

    Attributes
    ----------
    exact_times : bool
        Durations in whole nanoseconds, not with four significant digits.
    decimal_sizes : bool
        Sizes in kB and MB, not in KiB and MiB.
    """

    exact_times: bool = False
    decimal_sizes: bool = False


_units = Units()


def units() -> Units:
    """Return how times and sizes are written."""
    return _units


def set_units(chosen: Units) -> None:
    """Write times and sizes so from now on."""
    global _units
    _units = chosen


def format_ns(ns: float) -> str:
    """Return a duration with four significant digits: "16.90 ms", "845 ns", "1,234 s"; see `units`."""
    sign, size = (MINUS if ns < 0 else ""), abs(ns)
    if _units.exact_times:
        return f"{sign}{size:,.0f} ns"
    for unit, length in NS_UNITS:
        if size >= length * 0.99995:
            return f"{sign}{_digits(size / length)} {unit}"
    return f"{sign}{size:.0f} ns" if float(size).is_integer() else f"{sign}{_digits(size)} ns"


def _digits(value: float) -> str:
    for limit, decimals in ((9.9995, 3), (99.995, 2), (999.95, 1)):
        if value < limit:
            return f"{value:.{decimals}f}"
    return f"{value:,.0f}"


def format_instant(ns: int, resolution_ns: float = 1.0) -> str:
    """Return an instant in whole ms, µs or ns, the coarsest as fine as `resolution_ns`: "2 s 296.901 ms".

    The whole seconds stand apart, as on the ruler. Decimals come in threes: instants read at nearby zooms
    stand beside each other with as many digits.
    """
    sign, size = (MINUS if ns < 0 else ""), abs(int(ns))
    seconds, rest = divmod(size, 1_000_000_000)
    decimals = next((d for d in (0, 3) if resolution_ns >= 10 ** (6 - d)), 6)
    head = f"{seconds:,} s " if seconds else ""
    step = 10 ** (6 - decimals)
    ms, fraction = divmod(rest // step * step, 1_000_000)
    tail = f".{fraction:06d}"[: decimals + 1] if decimals else ""
    return f"{sign}{head}{ms}{tail} ms"


def format_count(count: int) -> str:
    """Return a count, thousands separated."""
    return f"{int(count):,}"


def format_share(share: float) -> str:
    """Return a fraction as a percentage with one decimal: "85.0 %"; tiny ones as "< 0.1 %"."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{share * 100:.1f} %"


def format_iteration_share(share: float) -> str:
    """Return the length of a range over that of an iteration: "18.9 %", over several "62.3 ×"; NaN a dash."""
    if math.isnan(share):
        return "–"
    return f"{share:,.1f} ×" if share >= SEVERAL else format_share(share)


def iteration_share_text(share: float, which: str) -> str:
    """Return it in words: "18.9 % of iteration 7", "62.3 × the length of iteration 343"."""
    return f"{format_iteration_share(share)} {'the length ' * (share >= SEVERAL)}of {which}"


def share_of_iterations(share: IterationShare, iterations: Iterations) -> str:
    """Return the share of one or several ranges in words, and whether the iterations are in doubt."""
    counted = len(share.counted)
    which = iterations.called(share.iteration) if counted == 1 else f"{counted} {iterations.plural}"
    return iteration_share_text(share.share, which) + iterations.in_doubt


def format_bytes(count: float) -> str:
    """Return a size with four significant digits, in binary units: "64 B", "1.500 MiB"; see `units`."""
    step, names = (1000, _DECIMAL) if _units.decimal_sizes else (1024, _BINARY)
    if abs(count) < step:
        return f"{count:.0f} B"
    for unit in names:
        count /= step
        if abs(count) < step - 0.05 or unit == names[-1]:
            return f"{_digits(count)} {unit}"
    raise AssertionError


def format_rate(byte_count: float, duration_ns: float) -> str:
    """Return a throughput in GB/s (10⁹ bytes; definitions, section 9), "" for an empty duration."""
    return f"{_digits(byte_count / duration_ns)} GB/s" if duration_ns > 0 else ""


def format_value(value: float | str | None, unit: str) -> str:
    """Return a value with its unit, by the names of units in `summary.metric`: "ns", "share", "ratio" ...

    A value that is not known is a dash.
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if value < 0 and unit != "ns":
        return f"{MINUS}{format_value(-value, unit)}"
    match unit:
        case "ns":
            return format_ns(value)
        case "share":
            return format_share(value)
        case "bytes":
            return format_bytes(value)
        case "count":
            return format_count(int(value)) if float(value).is_integer() else _digits(value)
        case "ratio":
            return f"1 : {value:.2f}"
        case _:
            return f"{_digits(value)} {unit}".rstrip()


def format_tick(value: float, unit: str) -> str:
    """Return the value of a line of a scale, without digits that say nothing: "1 ms", "50 %", "64 GiB"."""
    return re.sub(r"\.(\d*?)0+(?!\d)", lambda m: f".{m[1]}" if m[1] else "", format_value(value, unit))


def format_difference(value: float | None, unit: str) -> str:
    """Return a difference with its sign: "+1.500 ms", "−3.0 points" between shares, "" for none."""
    if value is None:
        return ""
    size = abs(value)
    if unit == "share":
        text = f"{size * 100:.1f} points"
    else:
        text = f"{size:.2f}" if unit == "ratio" else format_value(size, unit)
    return f"{_sign(value)}{text}"


def format_change(share: float | None) -> str:
    """Return a relative change with its sign: "+12.0 %", "" for none."""
    return "" if share is None else f"{_sign(share)}{abs(share) * 100:,.1f} %"


def _sign(value: float) -> str:
    return MINUS if value < 0 else "+" if value > 0 else ""


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, which ends in "…" where some are left out."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
