"""Ticks of the ruler: a fixed part on the left, offsets along the axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from viewer.drawing.format import MINUS

LABEL_PX = 84
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


@dataclass(frozen=True, slots=True)
class Ticks:
    """Where the ruler has ticks.

    Attributes
    ----------
    origin : str
        The fixed part, "2 s" or "2 s 173 ms"; "" where the labels are counted from zero.
    unit : str
        Of the labels: "s", "ms", "µs" or "ns".
    major : tuple of (int, str)
        Instant and label, "+160" after an origin.
    minor : tuple of int
        Instants of the small ticks, major ones left out.
    """

    origin: str
    unit: str
    major: tuple[tuple[int, str], ...]
    minor: tuple[int, ...]


@lru_cache(maxsize=8)
def ticks(start_ns: int, end_ns: int, width_px: float, label_px: float = LABEL_PX) -> Ticks:
    """Return the ticks of the window [start_ns, end_ns) over `width_px` logical pixels."""
    step = _round_up((end_ns - start_ns) * label_px / max(width_px, 1.0))
    size, unit = next((s, u) for s, u in _UNITS if step * 10 >= s or s == 1)
    # The fixed part is whole in the next larger unit; a window over zero needs none.
    above = size * 1000
    origin_ns = 0 if unit == "s" or start_ns < 0 <= end_ns else start_ns // above * above
    decimals = 1 if step % size else 0
    first = -(-start_ns // step) * step
    major = tuple(
        (t, _label(t - origin_ns, size, decimals, bool(_origin_text(origin_ns))))
        for t in range(first, end_ns + 1, step)
    )
    minor_step = _minor_step(step)
    first_minor = -(-start_ns // minor_step) * minor_step
    minor = tuple(t for t in range(first_minor, end_ns + 1, minor_step) if t % step)
    return Ticks(_origin_text(origin_ns), unit, major, minor)


def _round_up(ns: float) -> int:
    """Return the next of 1, 2, 5, 10, 20 ... ns."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= ns:
                return digit * power
        power *= 10


def _minor_step(step: int) -> int:
    parts = 4 if str(step)[0] == "2" else 5
    return max(step // parts, 1)


def _label(offset_ns: int, size: int, decimals: int, after_origin: bool) -> str:
    text = f"{abs(offset_ns) / size:,.{decimals}f}"
    sign = MINUS if offset_ns < 0 else "+" if after_origin else ""
    return sign + text


def _origin_text(origin_ns: int) -> str:
    if not origin_ns:
        return ""
    parts, rest = [], abs(origin_ns)
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count:,} {unit}")
    return (MINUS if origin_ns < 0 else "") + " ".join(parts)
