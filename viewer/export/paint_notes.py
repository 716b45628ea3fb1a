"""Painting of a picture's notes on any QPainter, in device pixels from the rows' top left corner."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from viewer.drawing.format import format_count
from viewer.drawing.theme import Theme
from viewer.export.note_band import HEAD, LINE, PAD, Mark, NoteBand, NoteLabel, Shape
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import REGULAR

STROKE = 0.12
"""The width of a line, in units of the text's height."""
_TINT = 16


def paint_notes(painter: QPainter, band: NoteBand, theme: Theme) -> None:
    """Paint the marks in rows, then the arrows, then the labels: nothing covers a label."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    px = band.text_px
    for mark in band.marks:
        if mark.shape is not Shape.TIME:
            _paint_mark(painter, mark, theme, px)
    for label in band.labels:
        if label.text.mark.spot.note.arrow:
            _paint_arrow(painter, label, theme, px)
    for label in band.labels:
        _paint_label(painter, label, theme, px)
    if band.left_out:
        text = f"{format_count(band.left_out)} more notes are marked, not written out"
        base = marks.text_baseline(band.bottom + band.height - LINE * px, LINE * px, px)
        marks.paint_text(painter, text, band.left, base, px, theme.text_soft)


def paint_times(painter: QPainter, band: NoteBand) -> None:
    """Paint the marks that run through all rows."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for mark in band.marks:
        if mark.shape is Shape.TIME:
            _paint_time(painter, mark, QColor(mark.spot.note.colour), STROKE * band.text_px)


def _paint_mark(painter: QPainter, mark: Mark, theme: Theme, px: float) -> None:
    colour, stroke = QColor(mark.spot.note.colour), STROKE * px
    painter.setBrush(QColor(theme.panel) if mark.shape is Shape.RING else Qt.BrushStyle.NoBrush)
    style = Qt.PenStyle.SolidLine if mark.spot.is_own_row else Qt.PenStyle.DotLine
    for pen in (QPen(QColor(theme.panel), 2.4 * stroke), QPen(colour, stroke, style)):
        painter.setPen(pen)
        if mark.shape is Shape.RING:
            painter.drawEllipse(mark.box)
        else:
            painter.drawRoundedRect(mark.box, stroke, stroke)


def _paint_time(painter: QPainter, mark: Mark, colour: QColor, stroke: float) -> None:
    """Mark an instant by a line; a range by its edges, a light tint, and a bar where the arrow ends."""
    box, edges = mark.box, {mark.box.left()}
    if mark.spot.note.start_ns != mark.spot.note.end_ns:
        edges.add(box.right())
        tint = QColor(colour)
        tint.setAlpha(_TINT)
        painter.fillRect(box, tint)
        painter.fillRect(QRectF(box.left(), box.bottom() - 2 * stroke, box.width(), 2 * stroke), colour)
    for x in sorted(edges):
        painter.fillRect(QRectF(x - stroke / 2, box.top(), stroke, box.height()), colour)


def _paint_arrow(painter: QPainter, label: NoteLabel, theme: Theme, px: float) -> None:
    *path, tip = label.path
    base = tip + QPointF(0, HEAD * px)
    colour, half = QColor(label.text.mark.spot.note.colour), HEAD * px * 0.42
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for ink, width in ((QColor(theme.panel), 2.8), (colour, 1.0)):
        pen = QPen(ink, width * STROKE * px)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF([*path, base]))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawPolygon(QPolygonF([tip, base + QPointF(half, 0), base - QPointF(half, 0)]))


def _paint_label(painter: QPainter, label: NoteLabel, theme: Theme, px: float) -> None:
    box, half = label.box, STROKE * px / 2
    painter.setPen(QPen(QColor(label.text.mark.spot.note.colour), 2 * half))
    painter.setBrush(QColor(theme.panel))
    painter.drawRoundedRect(box.adjusted(half, half, -half, -half), 0.35 * px, 0.35 * px)
    for number, (line, weight) in enumerate(label.text.lines):
        top = box.top() + (0.8 * PAD + number * LINE) * px
        base = marks.text_baseline(top, LINE * px, px)
        ink = theme.text_soft if weight == REGULAR else theme.text
        marks.paint_text(painter, line, box.left() + PAD * px, base, px, ink, weight)
