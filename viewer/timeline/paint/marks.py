"""Painting of marks over the picture of every strip, in device pixels, on any QPainter."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath, QPen, QPolygonF

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.theme import Theme
from viewer.state import Measurement, Selections, Window
from viewer.timeline.paint.fonts import MEDIUM, font, metrics
from viewer.trace.events import Int64

CROWDED_PX, APART_PX = 12, 30
"""Device pixels between boundaries: below the first they are not drawn; from the second on they fade."""
TEXT_PX = 11
DOUBT_PX = 9.5
VEIL = 190
"""The opacity of the veil over time outside a filter, of 255."""


def line_width(dpr: float) -> int:
    """Return the width of a thin line in device pixels."""
    return max(1, int(dpr))


def column_of(scale: Scale, time_ns: int) -> int:
    """Return the device column of an instant, clipped to just outside the strip."""
    # Clipped as a float: years away it would not fit into the 32 bits that Qt takes.
    return snap_px(min(max(scale.x(time_ns), -8.0), scale.width + 8.0))


def paint_selection(
    painter: QPainter, scale: Scale, selection: Window | None, height: int, theme: Theme, dpr: float
) -> None:
    """Tint the selected range, and draw its two edges."""
    if selection is None:
        return
    left, right = (column_of(scale, t) for t in selection)
    painter.fillRect(left, 0, max(right - left, 1), height, QColor.fromRgba(theme.selection))
    width = line_width(dpr)
    for x in (left, right):
        painter.fillRect(x - width // 2, 0, width, height, QColor(theme.selection_edge))


def paint_selections(
    painter: QPainter, scale: Scale, selections: Selections, height: int, theme: Theme, dpr: float
) -> None:
    """Paint all selected ranges; the edge that the arrow keys move is the broader one."""
    # Those out of view are left out before their edges are clipped, or all of them would crowd at the border.
    for window in selections.items:
        if window[1] >= scale.start_ns and window[0] <= scale.end_ns:
            paint_selection(painter, scale, window, height, theme, dpr)
    if selections.current is not None:
        width = 3 * line_width(dpr)
        # Over the edges that are drawn already, so that the one which the keys move is seen among several
        # ranges.
        x = column_of(scale, selections.current[selections.edge])
        painter.fillRect(x - width // 2, 0, width, height, QColor(theme.selection_edge))


def paint_measurements(
    painter: QPainter, scale: Scale, kept: Iterable[Measurement], height: int, dpr: float
) -> None:
    """Draw the kept ranges lightly, each in its colour."""
    for measurement in kept:
        if measurement.end_ns < scale.start_ns or measurement.start_ns > scale.end_ns:
            continue
        colour = QColor(measurement.colour)
        left, right = column_of(scale, measurement.start_ns), column_of(scale, measurement.end_ns)
        # So faint that bars keep their colours even where several kept ranges lie over one another.
        colour.setAlpha(22)
        painter.fillRect(left, 0, max(right - left, 1), height, colour)
        colour.setAlpha(110)
        for x in (left, right):
            painter.fillRect(x, 0, line_width(dpr), height, colour)


def paint_outside(
    painter: QPainter, scale: Scale, within: Intervals, top: int, bottom: int, ground: int
) -> None:
    """Veil the time outside a filter with the background colour."""
    # What is out of view is cut off first: a filter may have a million pieces, of which few are to be
    # painted.
    inside = within.clip(scale.start_ns, scale.end_ns)
    # What lies outside is the complement: from each end inside to the next start.
    left = np.floor(scale.to_px(np.append(scale.start_ns, inside.end_ns)) + 0.5).astype(int)
    right = np.floor(scale.to_px(np.append(inside.start_ns, scale.end_ns)) + 0.5).astype(int)
    veil = QColor(ground)
    veil.setAlpha(VEIL)
    for x in np.flatnonzero(right > left):
        painter.fillRect(int(left[x]), top, int(right[x] - left[x]), bottom - top, veil)


def paint_cut(painter: QPainter, x: int, height: int, theme: Theme, dpr: float) -> None:
    """Draw the vertical cut: a dotted line through all rows."""
    width = line_width(dpr)
    painter.setBrushOrigin(0, 0)
    painter.fillRect(x, 0, width, height, _dashes(theme.cursor, 2 * width, 2 * width))


def paint_boundaries(
    painter: QPainter, scale: Scale, times_ns: Int64, top: int, bottom: int, theme: Theme, dpr: float
) -> None:
    """Draw dashed lines at sorted instants (the iterations of one GPU), fading to none where they crowd.

    All lines are one tile as wide as the window, repeated downwards: drawn one by one they take seven
    times as long.
    """
    # One more nanosecond, so that a boundary at the very end of the view is drawn.
    first, last = np.searchsorted(times_ns, (scale.start_ns, scale.end_ns + 1))
    seen = times_ns[first:last]
    # The median of all of them, not of those in view: panning must not make the lines fade and come back.
    apart = float(np.median(np.diff(times_ns))) / scale.ns_per_px / dpr if len(times_ns) > 1 else APART_PX
    if apart < CROWDED_PX:
        return
    width = line_width(dpr)
    strength = min(1.0, 0.25 + 0.75 * (apart - CROWDED_PX) / (APART_PX - CROWDED_PX))
    colour = QColor(theme.boundary)
    # In quarters: a smooth fade would make a new tile for every step of a zoom.
    colour.setAlpha(round(strength * 4) * 255 // 4)
    if not len(seen):
        return
    # Three parts of five are drawn: the tile's height is one dash and one gap.
    tile = QImage(scale.width, 5 * width, QImage.Format.Format_ARGB32_Premultiplied)
    tile.fill(Qt.GlobalColor.transparent)
    dashing = QPainter(tile)
    for t in seen:
        dashing.fillRect(column_of(scale, int(t)), 0, width, 3 * width, colour)
    dashing.end()
    painter.setBrushOrigin(0, 0)
    painter.fillRect(0, top, scale.width, bottom - top, QBrush(tile))


@cache
def _dashes(argb: int, on: int, off: int) -> QBrush:
    """Return a brush that dashes a vertical line; a dashed pen takes twenty times as long."""
    tile = QImage(1, on + off, QImage.Format.Format_ARGB32_Premultiplied)
    tile.fill(Qt.GlobalColor.transparent)
    for y in range(on):
        tile.setPixelColor(0, y, QColor.fromRgba(argb))
    return QBrush(tile)


def tag_rect(
    text: str, middle: float, top: float, limits: tuple[float, float], dpr: float, margin: float = 7.0
) -> QRectF:
    """Return where `paint_tag` puts a label, in device pixels."""
    width = metrics(TEXT_PX * dpr, MEDIUM).horizontalAdvance(text) + 2 * margin * dpr
    # The left limit wins: of a label that fits nowhere the beginning is read.
    left = max(limits[0], min(middle - width / 2, limits[1] - width))
    return QRectF(left, top, width, 15 * dpr)


def paint_tag(
    painter: QPainter,
    text: str,
    middle: float,
    top: float,
    limits: tuple[float, float],
    fill: int,
    ink: int,
    dpr: float,
    margin: float = 7.0,
) -> QRectF:
    """Draw a filled label centred at x = `middle`, pushed inside `limits`; return where it is."""
    face = font(TEXT_PX * dpr, MEDIUM)
    rect = tag_rect(text, middle, top, limits, dpr, margin)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(fill))
    painter.drawRoundedRect(rect, 3 * dpr, 3 * dpr)
    painter.setFont(face)
    painter.setPen(QColor(ink))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
    return rect


def text_baseline(top: float, height: float, pixels: float) -> float:
    """Return the baseline that centres text of this size in a band."""
    # By the height of capitals, not of the font: with room for accents and tails the text would stand too
    # high.
    measure = metrics(pixels)
    return top + (height + measure.capHeight()) / 2


def paint_text(
    painter: QPainter, text: str, x: float, baseline: float, pixels: float, ink: int, weight: int = 400
) -> None:
    """Draw one line of text from its baseline."""
    paint_texts(painter, ((x, baseline, text),), pixels, ink, weight)


def paint_texts(
    painter: QPainter, texts: Iterable[tuple[float, float, str]], pixels: float, ink: int, weight: int = 400
) -> None:
    """Draw lines of text in one style, each from its (x, baseline)."""
    painter.setFont(font(pixels, weight))
    painter.setPen(_pen(ink))
    for x, baseline, text in texts:
        painter.drawText(QPointF(x, baseline), text)


def paint_line(
    painter: QPainter,
    text: str,
    box: QRectF,
    pixels: float,
    ink: int,
    weight: int = 400,
    is_right: bool = False,
) -> None:
    """Draw one line of text in the middle of a box's height, from its left edge or up to its right one."""
    side = Qt.AlignmentFlag.AlignRight if is_right else Qt.AlignmentFlag.AlignLeft
    painter.setFont(font(pixels, weight))
    painter.setPen(_pen(ink))
    painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, text)


@cache
def _pen(argb: int) -> QPen:
    return QPen(QColor(argb))


def iteration_edges(iterations: Iterations | None) -> Int64:
    """Return the starts of all iterations and the end of the last, shape (iterations + 1,); empty without."""
    return iterations.edges_ns if iterations is not None and iterations.count else np.empty(0, np.int64)


def paint_outline(painter: QPainter, box: QRect, colour: int, halo: int, dpr: float) -> None:
    """Draw a frame around a bar, with a line of the background's colour between it and its neighbours."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    width = line_width(dpr)
    for grown, argb in ((2 * width, halo), (width, colour)):
        # Outside of the bar: a frame inside would hide a bar that is two pixels wide.
        frame = box.adjusted(-grown, -grown, grown, grown)
        for edge in (
            QRect(frame.left(), frame.top(), frame.width(), width),
            QRect(frame.left(), frame.bottom() + 1 - width, frame.width(), width),
            QRect(frame.left(), frame.top(), width, frame.height()),
            QRect(frame.right() + 1 - width, frame.top(), width, frame.height()),
        ):
            painter.fillRect(edge, QColor(argb))


def paint_ring(painter: QPainter, width: int, height: int, theme: Theme, dpr: float) -> None:
    """Draw the frame inside the edges of a widget that has the keyboard."""
    # Four rectangles instead of a pen, whose line would lie half outside and half inside of the edge.
    thick, colour = 2 * line_width(dpr), QColor(theme.accent)
    for edge in (
        QRect(0, 0, width, thick),
        QRect(0, height - thick, width, thick),
        QRect(0, 0, thick, height),
        QRect(width - thick, 0, thick, height),
    ):
        painter.fillRect(edge, colour)


def paint_link(
    painter: QPainter, own: Sequence[QRect], others: Sequence[QRect], theme: Theme, dpr: float
) -> None:
    """Draw a curve from the start of an event to those of its other ends."""
    if not own:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colour = QColor(theme.link)
    colour.setAlpha(190)
    painter.setPen(QPen(colour, 1.25 * dpr))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for other in others:
        # An event may stand in several rows: the curve starts at the one that is nearest.
        near = min(own, key=lambda box: abs(box.center().y() - other.center().y()))
        begin = QPointF(near.left(), near.center().y())
        end = QPointF(other.left(), other.center().y())
        # It leaves and arrives upright: between rows far apart it is a line that can be followed down.
        bend = QPointF(0, (end.y() - begin.y()) / 2)
        path = QPainterPath(begin)
        path.cubicTo(begin + bend, end - bend, end)
        painter.drawPath(path)


def paint_sample_marks(
    painter: QPainter, scale: Scale, times_ns: Int64, bottom: int, theme: Theme, dpr: float
) -> None:
    """Mark instants at the bottom of a counter row, where the queue was empty; marks do not overlap."""
    side = max(3, snap_px(5 * dpr))
    # The first and the last instant of each pixel suffice: those between them land on the same pixels.
    first = times_ns.searchsorted(scale.edges())
    first, last = first[:-1], first[1:] - 1
    # A pixel without a sample has its last before its first.
    ends = np.stack((first, last), axis=1)[last >= first]
    columns = np.floor(scale.to_px(times_ns[ends.ravel()]) + 0.5).astype(int)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.error))
    mark = QPolygonF([QPointF(-side / 2, bottom), QPointF(side / 2, bottom), QPointF(0, bottom - side)])
    # Each column once; -1 lies left of all, so that the first is kept.
    columns = columns[np.flatnonzero(np.diff(columns, prepend=-1))].tolist()
    number, drawn_at = bisect_left(columns, 0), 0
    while number < len(columns):
        x = columns[number]
        mark.translate(x - drawn_at, 0)
        painter.drawPolygon(mark)
        # The next one that does not overlap: at most as many marks as fit into the width are drawn.
        number, drawn_at = bisect_left(columns, x + side), x


def paint_doubt(painter: QPainter, top: int, bottom: int, theme: Theme, dpr: float, text: str = "") -> None:
    """Put a warning and its reason at the left end of the state lane of a GPU with unreliable data."""
    # Never higher than the lane, which is folded to a few pixels where there are many GPUs.
    side = min(11 * dpr, float(bottom - top))
    box = QRectF(3 * dpr, (top + bottom - side) / 2, side, side)
    pixels = DOUBT_PX * dpr
    room = metrics(pixels, MEDIUM).horizontalAdvance(text) + 4 * dpr if text else 0.0
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    # On a ground of its own: the lane's first bars may have any colour, the sign's too.
    painter.setBrush(QColor.fromRgba(theme.background))
    painter.drawRoundedRect(box.adjusted(-2 * dpr, 0, 2 * dpr + room, 0), 2 * dpr, 2 * dpr)
    paint_warning(painter, box, theme)
    if text:
        painter.setFont(font(pixels, MEDIUM))
        painter.setPen(QColor(theme.warning))
        baseline = (top + bottom + metrics(pixels, MEDIUM).capHeight()) / 2
        painter.drawText(QPointF(box.right() + 3 * dpr, snap_px(baseline)), text)


def paint_warning(painter: QPainter, box: QRectF, theme: Theme) -> None:
    """Paint a warning triangle that fills a square."""
    side = box.width()
    sign = QPainterPath(QPointF(box.center().x(), box.top() + side * 0.06))
    sign.lineTo(box.right(), box.bottom() - side * 0.06)
    sign.lineTo(box.left(), box.bottom() - side * 0.06)
    sign.closeSubpath()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.warning))
    painter.drawPath(sign)
    painter.setBrush(QColor(theme.background))
    # The mark in it as two rectangles: at eleven pixels a letter would be a blur.
    bar = side * 0.13
    painter.drawRect(QRectF(box.center().x() - bar / 2, box.top() + side * 0.36, bar, side * 0.28))
    painter.drawRect(QRectF(box.center().x() - bar / 2, box.top() + side * 0.71, bar, bar))


def paint_state_tick(
    painter: QPainter, x: int, top: int, bottom: int, colour: int, frame: int, dpr: float
) -> None:
    """Draw a small square on the cut in the colour of a GPU's state."""
    side = snap_px(7 * dpr)
    box = QRect(x - side // 2, (top + bottom - side) // 2, side, side)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.fillRect(box, QColor(frame))
    inset = line_width(dpr)
    painter.fillRect(box.adjusted(inset, inset, -inset, -inset), QColor(colour))


def paint_sign(painter: QPainter, box: QRectF, sign: str, theme: Theme) -> None:
    """Paint the arrow to the other end: left, right, above, below or folded."""
    cx, cy, r = box.center().x(), box.center().y(), box.width() / 2 - 1
    # Below and folded both point down; folded has a bar more.
    turned = {"left": (-1, 0), "right": (1, 0), "above": (0, -1)}
    dx, dy = turned.get(sign, (0, 1))
    tip = QPointF(cx + dx * r, cy + dy * r)
    wings = [QPointF(cx - dy * r * 0.8, cy + dx * r * 0.8), QPointF(cx + dy * r * 0.8, cy - dx * r * 0.8)]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.link))
    painter.drawPolygon(QPolygonF([tip, *wings]))
    if dx:
        painter.drawRect(QRectF(min(cx, cx - dx * r), cy - r * 0.28, r, r * 0.56))
    else:
        painter.drawRect(QRectF(cx - r * 0.28, min(cy, cy - dy * r), r * 0.56, r))
    if sign == "folded":
        painter.drawRect(QRectF(cx - r, cy - r, r * 1.1, r * 0.56))
    painter.restore()
