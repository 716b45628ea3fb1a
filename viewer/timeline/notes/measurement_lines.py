"""Dimension lines of kept measurements: name and length between two ends, on any QPainter, device pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF

from viewer.drawing.format import format_ns
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.theme import Theme
from viewer.state import Measurement
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, cropped, metrics

LANE_PX = 20
MOST_LANES = 5
_FOOT_PX = 4
_TEXT_PX, _PAD_PX, _WIDEST_PX = 11, 7, 320


@dataclass(frozen=True, slots=True)
class Dimension:
    """One measurement in view: its ends and its text in device columns, and its lane from below."""

    measurement: Measurement
    left: int
    right: int
    text: str
    text_left: float
    text_width: float
    lane: int


def dimensions(scale: Scale, kept: Sequence[Measurement], dpr: float) -> list[Dimension]:
    """Place the measurements in view; one that would cover another goes a lane higher."""
    ends: list[float] = []
    found = []
    for measurement in sorted(kept, key=lambda m: (m.start_ns, -m.end_ns)):
        if measurement.end_ns <= scale.start_ns or measurement.start_ns >= scale.end_ns:
            continue
        left, right = (marks.column_of(scale, t) for t in (measurement.start_ns, measurement.end_ns))
        name = cropped(measurement.name.strip(), _WIDEST_PX * dpr, _TEXT_PX * dpr, MEDIUM)
        text = "  ".join(filter(None, (name, format_ns(measurement.length_ns))))
        width = metrics(_TEXT_PX * dpr, MEDIUM).horizontalAdvance(text) + 2 * _PAD_PX * dpr
        middle = (max(left, 0) + min(right, scale.width)) / 2
        at = max(0.0, min(middle - width / 2, scale.width - width))
        begin, end = min(left, at), max(right, at + width)
        lane = next((n for n, last in enumerate(ends) if last + 4 * dpr <= begin), len(ends))
        if lane >= MOST_LANES:
            continue
        ends[lane : lane + 1] = [end]
        found.append(Dimension(measurement, left, right, text, at, width, lane))
    return found


def dimensions_height(placed: Sequence[Dimension]) -> int:
    """Return the height of the lines, logical pixels; 0 without any."""
    return (max(d.lane for d in placed) + 1) * LANE_PX + _FOOT_PX if placed else 0


def paint_dimensions(
    painter: QPainter, placed: Sequence[Dimension], bottom: int, theme: Theme, dpr: float
) -> None:
    """Paint the lines upwards from `bottom`."""
    for dimension in placed:
        colour = QColor(dimension.measurement.colour)
        middle = bottom - (_FOOT_PX + (dimension.lane + 0.5) * LANE_PX) * dpr
        _paint_line(painter, dimension, middle, colour, theme, dpr)
        height = (LANE_PX - 4) * dpr
        pill = QRectF(dimension.text_left, middle - height / 2, dimension.text_width, height)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(pill, 3 * dpr, 3 * dpr)
        base = marks.text_baseline(pill.top(), height, _TEXT_PX * dpr)
        ink = theme.accent_text
        marks.paint_text(
            painter, dimension.text, pill.left() + _PAD_PX * dpr, base, _TEXT_PX * dpr, ink, MEDIUM
        )


def _paint_line(
    painter: QPainter, dimension: Dimension, middle: float, colour: QColor, theme: Theme, dpr: float
) -> None:
    """Draw the line with an arrowhead at each end, and a halo that separates it from the bars."""
    left, right = dimension.left, dimension.right
    thick, halo = snap_px(1.5 * dpr), snap_px(1.5 * dpr)
    top = snap_px(middle - thick / 2)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.fillRect(left, top - halo, right - left, thick + 2 * halo, QColor(theme.background))
    painter.fillRect(left, top, right - left, thick, colour)
    middle = top + thick / 2
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if right - left < 14 * dpr:
        return
    for tip, along in ((left, dpr), (right, -dpr)):
        head = [QPointF(tip, middle)]
        head += [QPointF(tip + 6 * along, middle + side * 3.5 * dpr) for side in (-1, 1)]
        painter.drawPolygon(QPolygonF(head))
