"""Blocks: the parts above and below the rows of a picture, and how they share its width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QPainter

from viewer.drawing.theme import Theme

MARGIN, GAP = 12, 14


@dataclass(frozen=True)
class Block:
    """A part above or below the rows; logical pixels.

    Attributes
    ----------
    width : int
        What it needs where blocks stand beside each other; 0 takes the whole width.
    """

    height: int
    paint: Callable[[QPainter, QRect], None]
    width: int = 0


def beside(blocks: Sequence[Block], width: int, theme: Theme) -> list[Block]:
    """Return blocks in lines of `width`, each under a rule: those that fit stand beside each other."""
    lines: list[list[Block]] = []
    for block in blocks:
        used = sum(other.width for other in lines[-1]) if lines else width
        if lines and used + block.width <= width:
            lines[-1].append(block)
        else:
            lines.append([block])
    return [_line(line, theme) for line in lines]


def _line(blocks: Sequence[Block], theme: Theme) -> Block:
    height = max(block.height for block in blocks)
    *first, last = blocks

    def paint(painter: QPainter, rect: QRect) -> None:
        paint_rule(painter, rect, theme)
        left = rect.left()
        for block in first:
            block.paint(painter, QRect(left, rect.top(), block.width, height))
            left += block.width
        last.paint(painter, QRect(left, rect.top(), rect.right() + 1 - left, height))

    return Block(height, paint)


def paint_rule(painter: QPainter, rect: QRect, theme: Theme) -> None:
    """Draw a line along the top of a block."""
    painter.fillRect(rect.left(), rect.top(), rect.width(), 1, QColor(theme.line_soft))
