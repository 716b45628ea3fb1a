"""Durations and shares as text for sentences."""

from __future__ import annotations

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))


def duration_text(ns: float) -> str:
    """Return a duration with four significant digits: "16.90 ms", "845 ns"."""
    size = abs(ns)
    for unit, length in _UNITS:
        if size >= length:
            value = ns / length
            digits = max(0, 4 - len(str(int(abs(value)))))
            return f"{value:,.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def share_text(share: float) -> str:
    """Return a share as a percentage with three significant digits at most: "53.6 %", "0.97 %", "0 %"."""
    percent = 100 * share
    digits = 0 if abs(percent) >= 100 or not percent else 1 if abs(percent) >= 10 else 2
    text = f"{percent:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"
