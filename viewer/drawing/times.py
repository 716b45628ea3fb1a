"""Times and ranges as people type them, on the command line and in the window."""

from __future__ import annotations

import re
from decimal import Decimal

UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME = re.compile(r"([-+\u2212]?)(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|μs|ms|s|)")
_SEPARATORS = re.compile(r"(?<=\d)[,_\u2009\u202f](?=\d{3})")


class TimeError(ValueError):
    """A text that is no time or no range; its message is for people."""


def parse_ns(text: str, default_unit: str = "") -> int:
    """Return a time in ns: "2.1s", "-5 ms", "1,250us"; 0 needs no unit.

    Parameters
    ----------
    default_unit : str
        The unit of a number that has none; "" where it must have one.

    Raises
    ------
    TimeError
        If `text` is no time, or finer than 1 ns.
    """
    match = _TIME.fullmatch(_SEPARATORS.sub("", text.strip()))
    if match is None:
        raise TimeError(f"'{text}' is not a time; write 812ms, 2.1s, 350us or 1200ns")
    sign, digits, unit = match.groups()
    number = Decimal(digits)
    unit = unit or default_unit
    if not unit and number:
        raise TimeError(f"'{text}' has no unit; write {digits}ms or {digits}s")
    ns = number * UNITS_NS.get(unit, 1)
    if ns != int(ns):
        raise TimeError(f"'{text}' is finer than 1 ns")
    return -int(ns) if sign in ("-", "\u2212") else int(ns)


def parse_range(text: str, window_ns: tuple[int, int]) -> tuple[int, int]:
    """Return the range [start, end) in ns: "2.1s..2.35s", "812ms..", "..5ms", "2.1..2.35s".

    Parameters
    ----------
    window_ns : tuple of int
        What stands for an end that is left out.

    Raises
    ------
    TimeError
        If `text` is no range, or an empty one.
    """
    first, dots, last = text.partition("..")
    if not dots:
        raise TimeError(f"'{text}' is not a range; write 2.1s..2.35s or 812ms..")
    unit = _TIME.fullmatch(_SEPARATORS.sub("", last.strip()))
    start = parse_ns(first, unit.group(3) if unit else "") if first.strip() else window_ns[0]
    end = parse_ns(last) if last.strip() else window_ns[1]
    if end <= start:
        raise TimeError(f"the range '{text}' is empty: it ends before it starts")
    return start, end


def parse_iteration(text: str) -> int | None:
    """Return 7 for "iteration 7" or "lap 7", None for anything else."""
    match = re.fullmatch(r"\s*(?:iteration|lap)\s+(\d+)\s*", text, re.IGNORECASE)
    return int(match.group(1)) if match else None
