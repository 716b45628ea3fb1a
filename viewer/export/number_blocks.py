"""The tables of numbers below the rows of a picture: the selected range, and the measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter

from viewer.drawing.format import format_instant, format_iteration_share, format_ns
from viewer.drawing.theme import Theme
from viewer.export.blocks import GAP, MARGIN, Block
from viewer.export.picture_view import PictureError, View
from viewer.state.measurement_table import measurement_frame, part_text
from viewer.timeline.cards.range_table import RangeTable
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, STRONG, advance, cropped

_TEXT, _TITLE, _LINE = 11, 12, 18
_MOST_GPUS, _MOST_LINES = 64, 12
_NAME_WIDTH, _MOST_NOTE, _APART = 150, 300, 16


def card_block(view: View, width: int) -> Block | None:
    """Return the table of the selected ranges, None without a selection.

    Raises
    ------
    PictureError
        If the picture is too narrow, or the range lies outside the recording.
    """
    if not view.selections:
        return None
    try:
        table = RangeTable(view.study, view.selections, view.iterations, _MOST_GPUS, most_lines=_MOST_LINES)
    except ValueError as error:
        raise PictureError(str(error)) from error
    # Refuse rather than crop: a picture without some of its numbers would look complete.
    size = table.size()
    needed = size.width() + 2 * MARGIN
    if needed > width:
        raise PictureError(f"the selection's numbers need a picture {needed} pixels wide")

    def paint(painter: QPainter, rect: QRect) -> None:
        box = QRect(rect.left() + MARGIN, rect.top() + GAP, size.width(), size.height())
        table.paint(painter, box, view.theme)

    return Block(size.height() + GAP, paint, needed)


@dataclass(frozen=True)
class _Column:
    key: str
    title: str
    width: int
    text: Callable[[Any], str]


def _begin(ns: int) -> str:
    return format_instant(ns, 1000)


_COLUMNS = (
    _Column("start_ns", "begin", 112, _begin),
    _Column("length_ns", "length", 84, format_ns),
    _Column("lap_share", "of iteration", 84, format_iteration_share),
    _Column("idle_ns", "idle", 70, part_text),
    _Column("copy_only_ns", "copy", 70, part_text),
    _Column("no_kernel_ns", "no kernel running", 112, part_text),
    _Column("exposed_comm_ns", "exposed", 84, part_text),
)


def measurements_block(view: View, width: int) -> Block | None:
    """Return the table of the measurements in the picture, None if there are none.

    Raises
    ------
    PictureError
        If the picture is too narrow.
    """
    if not view.measured:
        return None
    needed = 2 * MARGIN + _NAME_WIDTH + sum(c.width for c in _COLUMNS)
    if needed > width:
        raise PictureError(f"the measurements' numbers need a picture {needed} pixels wide")
    frame = measurement_frame(view.study, view.measured, view.iterations)
    notes = [advance(str(note), _TEXT) for note in frame["note"] if note]
    wide = needed + (min(ceil(max(notes)), _MOST_NOTE) + _APART if notes else 0)

    def paint(painter: QPainter, rect: QRect) -> None:
        theme = view.theme
        left, y = rect.left() + MARGIN, rect.top() + GAP
        base = marks.text_baseline(y, _LINE, _TITLE)
        marks.paint_text(painter, "Measurements", left, base, _TITLE, theme.text, STRONG)
        _paint_cells(painter, left, y, theme, [c.title for c in _COLUMNS], soft=True)
        # A line per measurement: dot, name, numbers, and the note in the width that is left.
        for row in frame.to_dict("records"):
            y += _LINE
            _paint_dot(painter, left + 4, y + _LINE / 2, str(row["colour"]))
            base = marks.text_baseline(y, _LINE, _TEXT)
            name = cropped(str(row["name"]), _NAME_WIDTH - 16, _TEXT, MEDIUM)
            marks.paint_text(painter, name, left + 16, base, _TEXT, theme.text, MEDIUM)
            right = _paint_cells(painter, left, y, theme, [c.text(row[c.key]) for c in _COLUMNS])
            note = cropped(str(row["note"]), rect.right() - MARGIN - right - _APART, _TEXT)
            marks.paint_text(painter, note, right + _APART, base, _TEXT, theme.text_soft)

    return Block(GAP + _LINE * (1 + len(frame)) + 4, paint, min(wide, width))


def _paint_cells(
    painter: QPainter, left: int, y: int, theme: Theme, texts: Sequence[str], soft: bool = False
) -> int:
    """Paint the numbers of a line, right-aligned per column; return the x at which the last column ends."""
    right, base = left + _NAME_WIDTH, marks.text_baseline(y, _LINE, _TEXT)
    for column, text in zip(_COLUMNS, texts, strict=True):
        right += column.width
        x = right - advance(text, _TEXT)
        marks.paint_text(painter, text, x, base, _TEXT, theme.text_soft if soft else theme.text)
    return right


def _paint_dot(painter: QPainter, x: float, y: float, colour: str) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawEllipse(QPointF(x, y), 4, 4)
