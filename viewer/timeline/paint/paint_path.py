"""Painting of the critical path over the state lanes, in device pixels, on any QPainter."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter

from viewer.drawing.band_drawer import BandBox
from viewer.drawing.bands import StateBand
from viewer.drawing.critical_line import Stretches, lane_middles, line_segments, widened
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.theme import Theme
from viewer.timeline.paint.rects import corners, draw_rects

PATH_PX, CASING_PX = 2, 5


def paint_path(
    painter: QPainter,
    path: Stretches,
    states: Sequence[BandBox[StateBand]],
    scale: Scale,
    height: int,
    theme: Theme,
    dpr: float,
) -> None:
    """Draw the path in a casing of the ground's colour: on bars as dark as itself it would not be seen."""
    middles = lane_middles((box.band.gpu, box.top, box.bottom) for box in states)
    ink, casing = snap_px(PATH_PX * dpr), snap_px(CASING_PX * dpr)
    ground = QColor(theme.background)
    layers = [(casing, ground), (ink, QColor(theme.event))]
    if (casing - ink) % 2:
        # Half a pixel on each side: a whole one in half the strength.
        soft = QColor(ground)
        soft.setAlpha(128)
        layers[:1] = [(casing + 1, soft), (casing - 1, ground)]
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    # All casings before all ink: where the path turns, no casing may cut the line that was drawn before.
    segments = line_segments(path, scale, middles, height)
    for width, colour in layers:
        painter.setBrush(colour)
        draw_rects(painter, corners(widened(segments, width)))
