"""Durations as text for sentences."""

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
