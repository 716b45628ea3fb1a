"""Painting of notes: targets, arrows and labels, on any QPainter, in device pixels."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from viewer.drawing.format import format_count
from viewer.drawing.scale import snap_px
from viewer.drawing.theme import Theme
from viewer.timeline.notes.note_places import BAR, LINE_PX, PAD_X, PAD_Y, TEXT_PX, NoteSpot, PlacedNotes
from viewer.timeline.paint import marks
from viewer.timeline.strip import DeviceGrid

_NEAR = 12
"""Shorter arrows are left out."""


def paint_places(painter: QPainter, spots: Iterable[NoteSpot], theme: Theme, dpr: float) -> None:
    """Mark the targets of notes, without labels."""
    for spot in spots:
        if spot.note.row_key:
            _paint_in_row(painter, spot, theme, dpr)
        else:
            _paint_over_all(painter, spot, dpr)


def paint_notes(
    painter: QPainter, notes: PlacedNotes, theme: Theme, grid: DeviceGrid, chosen: int | None = None
) -> None:
    """Paint notes: targets, arrows, labels; the selected one with a stronger frame.

    The lower right corner counts the notes that are only marked.
    """
    spots, dpr = notes.spots, grid.dpr
    paint_places(painter, spots, theme, dpr)
    labelled = [spot for spot in spots if spot.lines]
    for spot in labelled:
        if spot.note.arrow:
            _paint_arrow(painter, spot, theme, dpr)
    for spot in labelled:
        _paint_label(painter, spot, theme, dpr, spot.number == chosen)
    if notes.unwritten:
        text = f"{format_count(notes.unwritten)} more notes are marked, not written out: too many in view"
        top, ends = grid.rows - 19 * dpr, (0.0, grid.columns - 4 * dpr)
        marks.paint_tag(painter, text, ends[1], top, ends, theme.cursor, theme.background, dpr)


def _paint_over_all(painter: QPainter, spot: NoteSpot, dpr: float) -> None:
    """Draw a line at an instant; a range with its two edges under a bar."""
    colour, place, width = QColor(spot.note.colour), spot.place, marks.line_width(dpr)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    if spot.note.start_ns < spot.note.end_ns:
        colour.setAlpha(16)
        painter.fillRect(place, colour)
        colour.setAlpha(235)
        painter.fillRect(place.left(), 0, place.width(), snap_px(3 * dpr), colour)
        colour.setAlpha(120)
        painter.fillRect(place.left() + place.width() - width, 0, width, place.height(), colour)
    else:
        colour.setAlpha(190)
    painter.fillRect(place.left(), 0, width, place.height(), colour)


def _paint_in_row(painter: QPainter, spot: NoteSpot, theme: Theme, dpr: float) -> None:
    """Frame a bar or a part of a row; a dot where that is too narrow for a frame."""
    colour, place = QColor(spot.note.colour), spot.place
    if place.width() >= 5 * dpr:
        grown = round(1.5 * dpr)
        frame = QRectF(place).adjusted(-grown, -grown, grown, grown)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        halo = QPen(QColor(theme.background), 4 * dpr)
        line = QPen(colour, 2 * dpr, Qt.PenStyle.SolidLine if spot.is_own_row else Qt.PenStyle.DotLine)
        for pen in (halo, line):
            painter.setPen(pen)
            painter.drawRoundedRect(frame, 2 * dpr, 2 * dpr)
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.background), 1.5 * dpr))
    painter.setBrush(colour)
    painter.drawEllipse(QRectF(place).center(), 4 * dpr, 4 * dpr)


def _paint_arrow(painter: QPainter, spot: NoteSpot, theme: Theme, dpr: float) -> None:
    label, place = spot.label, QRectF(spot.place)
    middle = label.center()
    narrow = place.width() < 5 * dpr and bool(spot.note.row_key)
    tip = place.center() if narrow else _nearest(place, middle)
    start = _nearest(label, tip)
    away = tip - start
    length = (away.x() ** 2 + away.y() ** 2) ** 0.5
    if length < _NEAR * dpr:
        return
    along = away / length
    if narrow:
        tip -= along * 5 * dpr
    across = QPointF(-along.y(), along.x())
    head = tip - along * 8 * dpr
    path = QPainterPath(start)
    path.lineTo(head)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for ink, width in ((QColor(theme.background), 4.5), (QColor(spot.note.colour), 2.0)):
        painter.setPen(QPen(ink, width * dpr))
        painter.drawPath(path)
    painter.setPen(QPen(QColor(theme.background), 1.0 * dpr))
    painter.setBrush(QColor(spot.note.colour))
    painter.drawPolygon(QPolygonF([tip, head + across * 4.5 * dpr, head - across * 4.5 * dpr]))


def _nearest(box: QRectF, point: QPointF) -> QPointF:
    return QPointF(min(max(point.x(), box.left()), box.right()), min(max(point.y(), box.top()), box.bottom()))


def _paint_label(painter: QPainter, spot: NoteSpot, theme: Theme, dpr: float, is_chosen: bool) -> None:
    label, colour = spot.label, QColor(spot.note.colour)
    frame = label.adjusted(0.5 * dpr, 0.5 * dpr, -0.5 * dpr, -0.5 * dpr)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.background))
    painter.drawRoundedRect(label.adjusted(-1.5 * dpr, -1.5 * dpr, 1.5 * dpr, 1.5 * dpr), 5 * dpr, 5 * dpr)
    painter.setPen(QPen(colour, (2.0 if is_chosen else 1.0) * dpr))
    painter.setBrush(QColor(theme.panel))
    painter.drawRoundedRect(frame, 4 * dpr, 4 * dpr)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    bar = QRectF(label.left(), label.top(), (BAR + 2) * dpr, label.height())
    painter.drawRoundedRect(bar, 2.5 * dpr, 2.5 * dpr)
    x = label.left() + (PAD_X + BAR) * dpr
    for number, line in enumerate(spot.lines):
        top = label.top() + (PAD_Y + number * LINE_PX) * dpr
        base = marks.text_baseline(top, LINE_PX * dpr, TEXT_PX * dpr)
        marks.paint_text(painter, line, x, base, TEXT_PX * dpr, theme.text)
