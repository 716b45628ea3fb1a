"""Painting of what the selected event waited for: its wait on the own lane, a line to whom it waited for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from viewer.analysis.study import Study
from viewer.drawing.bands import StateBand
from viewer.drawing.event_waits import EventWait
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.theme import Theme
from viewer.timeline.paint import marks
from viewer.timeline.paint.linked import event_boxes
from viewer.timeline.strip import DeviceGrid

_DOT_PX, _LINE_PX, _HALO_PX = 4, 2, 4
_TAG_GAP, _TAG_HEIGHT = 5, 15


def paint_wait(
    painter: QPainter,
    study: Study,
    wait: EventWait,
    placed: Sequence[PlacedRow],
    scale: Scale,
    grid: DeviceGrid,
    theme: Theme,
) -> None:
    """Paint a wait on the state lanes in view, and outline what was waited for in its own rows."""
    lanes = _lanes(placed, grid)
    waited = wait.waited
    for step in wait.steps[:-1]:
        for box in event_boxes(study, placed, step.event, scale, grid):
            marks.paint_outline(painter, box, theme.link, theme.background, grid.dpr)
    # The steps are outlined even where the wait is out of view: the user may be looking at one of them.
    own = lanes.get(wait.gpu) if wait.gpu is not None else None
    if own is None or waited.until_ns < scale.start_ns or wait.from_ns > scale.end_ns:
        return
    left, right = (marks.column_of(scale, t) for t in (wait.from_ns, waited.until_ns))
    top, bottom = own
    box = QRect(left, top, max(right - left, 1), bottom - top)
    marks.paint_outline(painter, box, theme.link, theme.background, grid.dpr)
    other = lanes.get(wait.other_gpu) if wait.other_gpu not in (None, wait.gpu) else None
    if other is not None:
        _paint_line(painter, scale, wait.at_ns, own, other, theme, grid.dpr)
    _paint_mark(painter, wait.mark, box, scale.width, theme, grid.dpr)


def _lanes(placed: Sequence[PlacedRow], grid: DeviceGrid) -> dict[int | None, tuple[int, int]]:
    """Return the device rows of the first state lane of each GPU."""
    lanes: dict[int | None, tuple[int, int]] = {}
    for row, band in bands_in(placed, StateBand):
        edges = grid.row(row.y + band.y), grid.row(row.y + band.y + band.height)
        # The topmost: the row of a GPU and that of its process may both have its lane.
        lanes.setdefault(band.gpu, edges)
    return lanes


def _paint_line(
    painter: QPainter,
    scale: Scale,
    at_ns: int,
    own: tuple[int, int],
    other: tuple[int, int],
    theme: Theme,
    dpr: float,
) -> None:
    """Draw an upright line between two lanes at an instant, with a dot on the one that lets go."""
    x = marks.column_of(scale, at_ns)
    begin, end = ((top + bottom) // 2 for top, bottom in (own, other))
    upper, lower = min(begin, end), max(begin, end)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    # The halo first: between lanes the line crosses bars of any colour, its own too.
    for pixels, argb in ((_HALO_PX, theme.background), (_LINE_PX, theme.link)):
        width = snap_px(pixels * dpr)
        painter.fillRect(x - width // 2, upper, width, lower - upper, QColor(argb))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.background), dpr))
    painter.setBrush(QColor(theme.link))
    painter.drawEllipse(QPointF(x, end), _DOT_PX * dpr, _DOT_PX * dpr)


def _paint_mark(painter: QPainter, text: str, box: QRect, width: int, theme: Theme, dpr: float) -> None:
    """Write how long it waited, and for whom, left of the wait; right of it where there is no room."""
    size: QRectF = marks.tag_rect(text, 0, 0, (0, width), dpr)
    gap = _TAG_GAP * dpr
    left = box.left() - gap - size.width()
    # Beside the wait, never on it: the lane below says of what kind the time was.
    if left < 0:
        left = box.right() + gap
    top = box.center().y() - _TAG_HEIGHT * dpr / 2
    middle = left + size.width() / 2
    marks.paint_tag(painter, text, middle, top, (0, width), theme.link, theme.background, dpr)
