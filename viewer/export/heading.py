"""The heading of a picture: its title and subtitle, in lines that fit."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter

from viewer.export.blocks import MARGIN, Block
from viewer.export.picture_view import View
from viewer.printable import visible
from viewer.timeline.notes.note_text import broken
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import REGULAR, STRONG

_TITLE_PX, _SUBTITLE_PX = 20, 13
_MOST_LINES = 2
_STRONG_IS_WIDER = 0.92
_LINE = 1.25


def heading_block(
    view: View,
    width: int,
    title_px: int = _TITLE_PX,
    subtitle_px: int = _SUBTITLE_PX,
    margin: int = MARGIN,
    below: int = MARGIN,
) -> Block | None:
    """Return title and subtitle, two lines of each at most; None without both.

    Parameters
    ----------
    title_px, subtitle_px : int
        The sizes of their texts.
    margin, below : int
        The room left and right of them and above, and that below.
    """
    room = width - 2 * margin
    parts = (
        (lines_of(view.title, room * _STRONG_IS_WIDER, title_px), title_px, STRONG, view.theme.text),
        (lines_of(view.subtitle, room, subtitle_px), subtitle_px, REGULAR, view.theme.text_soft),
    )
    height = sum(round(len(lines) * pixels * _LINE) for lines, pixels, _, _ in parts)
    if not height:
        return None

    def paint(painter: QPainter, rect: QRect) -> None:
        y = float(rect.top() + margin)
        for lines, pixels, weight, ink in parts:
            for line in lines:
                base = marks.text_baseline(y, pixels * _LINE, pixels)
                marks.paint_text(painter, line, rect.left() + margin, base, pixels, ink, weight)
                y += pixels * _LINE

    return Block(margin + height + below, paint)


def lines_of(text: str, width: float, pixels: int, most: int = _MOST_LINES) -> tuple[str, ...]:
    """Break a text into at most `most` lines; the last ends in an ellipsis where it is cut.

    Lines break at spaces, and where a script has none anywhere.
    """
    lines = broken(visible(text), width, pixels) if text.strip() else ()
    return lines if len(lines) <= most else (*lines[: most - 1], lines[most - 1].rstrip(" .,") + "…")
