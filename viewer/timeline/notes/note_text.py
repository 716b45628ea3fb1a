"""broken: the text of a note in lines, measuring no more of it than can be shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from viewer.timeline.paint.fonts import advance, char_advances, metrics

MOST_LINES, MOST_CHARS = 12, 1200
"""How much of a text a label shows; the Notes dock and the editor show all of it."""
_CUT = "…"


def broken(text: str, width: float, pixels: float) -> tuple[str, ...]:
    """Break a text into lines at its own breaks and at spaces, and too long words anywhere.

    A text of more than `MOST_LINES` or `MOST_CHARS` is cut to that much, and ends in an ellipsis.
    """
    text = text.strip()
    return _broken(text[:MOST_CHARS], len(text) > MOST_CHARS, width, pixels, id(metrics(pixels)))


@lru_cache(maxsize=4096)
def _broken(text: str, is_cut: bool, width: float, pixels: float, _font: int) -> tuple[str, ...]:
    lines: list[str] = []
    for line in _lines(text, width, pixels):
        if len(lines) == MOST_LINES:
            is_cut = True
            break
        lines.append(line)
    if is_cut:
        begin, _ = next(_pieces(lines[-1], width - advance(_CUT, pixels), pixels))
        lines[-1] = begin.rstrip() + _CUT
    return tuple(lines)


def _lines(text: str, width: float, pixels: float) -> Iterator[str]:
    space = advance(" ", pixels)
    for paragraph in text.splitlines():
        line, used = "", 0.0
        for word in paragraph.split(" "):
            *whole, (rest, wide) = _pieces(word, width, pixels)
            if not whole and line and used + space + wide <= width:
                line, used = f"{line} {rest}", used + space + wide
                continue
            if line:
                yield line
            for piece, _ in whole:
                yield piece
            line, used = rest, wide
        yield line


def _pieces(word: str, width: float, pixels: float) -> Iterator[tuple[str, float]]:
    """Yield the parts of a word that fill a line, and the rest; each with its width."""
    start, used = 0, 0.0
    for at, wide in enumerate(char_advances(word, pixels)):
        if used + wide > width and at > start:
            yield word[start:at], used
            start, used = at, 0.0
        used += wide
    yield word[start:], used
