"""Ranges of time as people type them: ``2.1s..2.35s``, ``812ms..``, ``iteration 7``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from viewer.trace import Trace

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_TIME = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*(ns|us|µs|μs|ms|s)?\s*")
_LAP = re.compile(r"\s*iteration\s+(\d+)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range as it was typed: an iteration, or a start and an end in ns, None where it is open."""

    start_ns: int | None = None
    end_ns: int | None = None
    lap: int | None = None


def parse_range(text: str) -> TimeRange:
    """Read a range.

    A time is a number with ns, us, ms or s; without a unit it takes that of the other end, or ns. Either end may
    be left out, and may be negative.

    Raises
    ------
    ValueError
        If it is no range; the text is one line for people.
    """
    if match := _LAP.fullmatch(text):
        return TimeRange(lap=int(match[1]))
    low, dots, high = text.partition("..")
    ends = [_TIME.fullmatch(end) if end.strip() else None for end in (low, high)]
    if not dots or any(match is None and end.strip() for match, end in zip(ends, (low, high), strict=True)):
        raise ValueError(f"{text!r} is no range; write 2.1s..2.35s, 812ms.. or iteration 7")
    unit = next((match[2] for match in reversed(ends) if match and match[2]), "ns")
    start, end = (_to_ns(match[1], match[2] or unit) if match else None for match in ends)
    if start is not None and end is not None and end <= start:
        raise ValueError(f"{text!r} ends before it starts")
    return TimeRange(start, end)


def clip_window(trace: Trace, start_ns: int, end_ns: int) -> tuple[int, int, bool]:
    """Clip a window to the recording; the third value says whether that changed it (definitions, section 1).

    Raises
    ------
    ValueError
        If nothing of it lies inside, or it is empty.
    """
    low, high = trace.span_ns
    start, end = max(start_ns, low), min(end_ns, high)
    if end <= start:
        raise ValueError(
            f"nothing was recorded from {start_ns} to {end_ns} ns; the recording runs from {low} to {high} ns"
        )
    return start, end, (start, end) != (start_ns, end_ns)


def _to_ns(number: str, unit: str) -> int:
    return int((Decimal(number) * _UNITS[unit]).to_integral_value(ROUND_HALF_UP))
