"""The plot of `docs/performance.md`: how opening, frames and a selection grow with the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10

from tests.benchmarks.figures import Figure

_SERIES = (
    ("#777777", "SQLite's own scan", "trace", "SQLite's own scan", 1e3),
    ("#b4433c", "first open, whole", "first open", "whole picture", 1e3),
    ("#d98f3d", "first open, GPUs", "first open", "first picture", 1e3),
    ("#2f7a5b", "second open", "second open", "first picture", 1e3),
    ("#3b6fb6", "frame, whole trace", "frames", "whole trace: frame, median", 1),
    ("#7a5aa6", "frame, 1/1000", "frames", "1/1000: frame, median", 1),
    ("#1f9bb0", "five parts of a range", "calculations", "five parts", 1),
)
"""Colour, label, beginnings of a figure's group and name, and what makes ms of it."""

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 460, 64, 190, 20, 46


def growth_picture(found: Mapping[int, Sequence[Figure]]) -> bytes:
    """Return an SVG of ms against rows, both logarithmic: what does not grow is flat."""
    rows = sorted(found)
    lines = {s: [_ms(found[n], s) for n in rows] for s in _SERIES}
    every = [value for line in lines.values() for value in line if value]
    low, high = floor(log10(min(every))), floor(log10(max(every))) + 1

    def x(n: float) -> float:
        share = (log10(n) - log10(rows[0])) / (log10(rows[-1]) - log10(rows[0]))
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(ms: float) -> float:
        return _HEIGHT - _BOTTOM - (log10(ms) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="Inter, sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for decade in range(low, high + 1):
        at = y(10.0**decade)
        out.append(
            f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}" stroke="#e2e2e2"/>'
            f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#555">{_spoken(decade)}</text>'
        )
    for n in rows:
        out.append(
            f'<path d="M{x(n):.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#e2e2e2"/><text x="{x(n):.1f}" '
            f'y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle" fill="#555">{n / 1e6:.1f} M rows</text>'
        )
    ends: list[float] = []
    for (colour, label, *_), line in sorted(lines.items(), key=lambda item: -item[1][-1]):
        path = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in zip(rows, line, strict=True) if v)
        end = y(line[-1]) + 4
        end = max(end, ends[-1] + 15) if ends else end
        ends.append(end)
        out.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text x="{_WIDTH - _RIGHT + 8}" y="{end:.1f}" fill="{colour}">{label}</text>'
        )
    return "\n".join([*out, "</svg>", ""]).encode()


def _ms(figures: Sequence[Figure], series: tuple[str, str, str, str, float]) -> float:
    _, _, group, name, factor = series
    return next(f.value * factor for f in figures if f.group.startswith(group) and f.name.startswith(name))


def _spoken(decade: int) -> str:
    return f"{10 ** (decade - 3):,} s" if decade >= 3 else f"{10.0**decade:g} ms"
