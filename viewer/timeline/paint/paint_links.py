"""Painting of what belongs to the selection: outlines, the line between, marks on the rows above."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF

from viewer.analysis.study import Study
from viewer.drawing.bands import StateBand
from viewer.drawing.format import format_ns
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.scale import Scale
from viewer.drawing.theme import Theme
from viewer.timeline.paint import marks
from viewer.timeline.paint.linked import Ends, event_boxes
from viewer.timeline.strip import DeviceGrid

_MARK_PX = 5


def paint_ends(
    painter: QPainter,
    study: Study,
    ends: Ends,
    placed: Sequence[PlacedRow],
    scale: Scale,
    grid: DeviceGrid,
    theme: Theme,
) -> None:
    """Paint both ends of a launch, or a stall with what explains it, on the rows in view."""
    own = [b for e in ends.own for b in event_boxes(study, placed, e, scale, grid, ends)]
    others = [b for e in ends.others for b in event_boxes(study, placed, e, scale, grid, ends)]
    stall = _stall_boxes(ends, placed, scale, grid)
    if ends.stall_ns is not None:
        _paint_doings(painter, ends, placed, scale, grid, theme)
        _paint_line(painter, ends, stall, others[:1], theme, grid.dpr)
    else:
        _paint_line(painter, ends, own, others, theme, grid.dpr)
    for boxes, colour in ((others, theme.link), ([*own, *stall], theme.event)):
        for box in boxes:
            marks.paint_outline(painter, box, colour, theme.background, grid.dpr)
    _paint_marks(painter, study, ends, placed, [*own, *others, *stall], scale, grid, theme)


def _paint_line(
    painter: QPainter, ends: Ends, own: list[QRect], others: list[QRect], theme: Theme, dpr: float
) -> None:
    """Draw the line; where the latency is below zero, which cannot be, write it on the line."""
    marks.paint_link(painter, own, others, theme, dpr)
    if ends.latency_ns is None or ends.latency_ns >= 0 or not own or not others:
        return
    # Several rows show one event (stream, family, name): the text stands on the line from the nearest.
    near = min(own, key=lambda box: abs(box.center().y() - others[0].center().y()))
    middle = (near.left() + others[0].left()) / 2
    y = (near.center().y() + others[0].center().y()) / 2
    limits = (0.0, float(painter.device().width()))
    text = f"latency {format_ns(ends.latency_ns)}: the GPU's clock is early"
    marks.paint_tag(painter, text, middle, y, limits, theme.warning, theme.background, dpr)


def _stall_boxes(ends: Ends, placed: Sequence[PlacedRow], scale: Scale, grid: DeviceGrid) -> list[QRect]:
    """Return where the stall is on the state lanes of its GPU."""
    if ends.stall_ns is None:
        return []
    left, right = (marks.column_of(scale, t) for t in ends.stall_ns)
    # Out of view on either side there is nothing to outline, and a box of width 1 would appear at the edge.
    if right < 0 or left > scale.width:
        return []
    return [
        QRect(
            left,
            grid.row(p.y + b.y),
            # A stall of less than a pixel must be found, too.
            max(right - left, 1),
            grid.row(p.y + b.y + b.height) - grid.row(p.y + b.y),
        )
        for p, b in bands_in(placed, StateBand)
        if b.gpu == ends.stall_gpu
    ]


def _paint_doings(
    painter: QPainter, ends: Ends, placed: Sequence[PlacedRow], scale: Scale, grid: DeviceGrid, theme: Theme
) -> None:
    """Tint, above the stall, what its thread did meanwhile."""
    if ends.stall_ns is None or ends.thread is None:
        return
    left, right = (marks.column_of(scale, t) for t in ends.stall_ns)
    tint = QColor(theme.link)
    # Faint: what the thread did is read through it.
    tint.setAlpha(34)
    for row in placed:
        if row.row.thread == ends.thread:
            top, bottom = grid.row(row.y), grid.row(row.y + row.height)
            painter.fillRect(left, top, max(right - left, 1), bottom - top, tint)


def _paint_marks(
    painter: QPainter,
    study: Study,
    ends: Ends,
    placed: Sequence[PlacedRow],
    boxes: list[QRect],
    scale: Scale,
    grid: DeviceGrid,
    theme: Theme,
) -> None:
    """Mark the start on the rows above that do not show the event themselves."""
    side = _MARK_PX * grid.dpr
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    events = study.trace.events
    for rows, refs, colour in (
        (ends.own_rows, ends.own, theme.event),
        (ends.other_rows, ends.others, theme.link),
    ):
        painter.setBrush(QColor(colour))
        for row in placed:
            top, bottom = grid.row(row.y), grid.row(row.y + row.height)
            # By the boxes that were drawn, not by the kind of row: a folded one may show the event itself.
            shown = any(top <= box.center().y() < bottom for box in boxes)
            if row.row.key not in rows or shown:
                continue
            for ref in refs:
                x = marks.column_of(scale, int(events[ref.kind].start_ns[ref.index]))
                if 0 <= x <= scale.width:
                    corners = ((-side, 0), (side, 0), (0, side * 1.4))
                    painter.drawPolygon(QPolygonF([QPointF(x + dx, top + dy) for dx, dy in corners]))
