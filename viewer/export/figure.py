"""FigurePage: a slide or a figure for a paper, with the GPUs' numbers beside their lanes.

Lanes, marks and numbers are those of `viewer.export.page.PicturePage`; fewer and larger texts stand around
them, and a page of fixed ratio is filled.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QColor, QPainter

from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import snap_px
from viewer.drawing.scene import Scene
from viewer.drawing.theme import on_paper, without_ground
from viewer.drawing.ticks import ticks
from viewer.export import footer
from viewer.export.figure_layout import FigureLayout
from viewer.export.figure_rows import lane_middles, paint_names
from viewer.export.page import check_size
from viewer.export.paint_notes import paint_notes
from viewer.export.picture_lanes import paint_lanes, paint_lengths
from viewer.export.picture_view import View
from viewer.timeline.notes.measurement_lines import paint_dimensions
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import font
from viewer.timeline.paint.paint_rows import Frame, make_frame
from viewer.timeline.strips import ruler

_TAG_HEIGHT, _TALL_PX = 17, 13
"""Of the window: the height of a tag, and the lowest bar with a text of the usual size."""
_LINES_APART = 1.15
"""How far apart the lines of a table are at least, in units of their text."""


class FigurePage:
    """A view as a figure; its parameters are those of `viewer.export.page.PicturePage`.

    Raises
    ------
    PictureError
        As `FigureLayout`, or if the page is too large for an image.
    """

    def __init__(self, view: View, width: int, dpr: float = 1.0, scene: Scene | None = None) -> None:
        view = replace(view, theme=on_paper(view.theme))
        self.view, self.scene = view, scene or Scene(view.study)
        self.scene.collectives = view.study.collectives
        self.layout = FigureLayout(view, width, dpr, self.scene)
        self.dpr = self.layout.dpr
        check_size(self.size, len(self.layout.rows))
        self.frame = self._frame()

    @property
    def size(self) -> QSize:
        """The size in device pixels."""
        at = self.layout
        return QSize(snap_px(at.width * self.dpr), snap_px(at.height * self.dpr))

    @property
    def dots_per_inch(self) -> int:
        """Logical pixels per inch of paper."""
        return self.layout.style.dots_per_inch

    @property
    def caption(self) -> str:
        """The line that names the trace, the range and the versions behind the picture."""
        return "  ·  ".join(footer.caption(self.view))

    def _frame(self) -> Frame:
        view, at, d = self.view, self.layout, self.dpr
        height = snap_px((at.rows_px + at.dimension_px) * d)
        frame = make_frame(
            self.scene, at.placed(), at.scale, height, view.theme, dpr=d * at.lane_scale,
            overlays=view.overlays, iterations=view.iterations, scope=view.scope,
            doubtful=frozenset(self.layout.doubts.gpus), lost=self.layout.doubts.lost,
            line=view.line,
        )  # fmt: skip
        # Lanes are stretched, lines and hatches are not; texts are of one size, or left out.
        d *= at.text_scale
        labels = tuple(label for label in frame.labels if label.height >= _TALL_PX * d)
        return replace(frame, dpr=d, labels=labels)

    def paint(self, painter: QPainter) -> None:
        """Paint the whole page in device pixels."""
        view, at = self.view, self.layout
        style = at.style
        painter.setFont(font(style.small))
        if not view.is_transparent:
            painter.fillRect(0, 0, self.size.width(), self.size.height(), QColor(view.theme.panel))
        self._paint_time(painter)
        painter.save()
        painter.scale(at.dpr, at.dpr)
        if at.heading:
            at.heading.paint(painter, QRect(0, 0, at.width, at.heading.height))
        placed = at.placed()
        if view.extras.headers:
            column = QRectF(style.margin, at.top, at.axis.left - style.margin, at.rows_px)
            rows = list(zip(at.rows, placed, strict=True))
            paint_names(painter, rows, column, at.lane_scale, view, style, self.layout.doubts)
        self._paint_origin(painter)
        if at.table:
            self._paint_table(painter, placed)
        if at.legend:
            at.legend.paint(painter, QRect(0, at.legend_top, at.width, at.legend.height))
        foot = at.foot.height
        at.foot.paint(painter, QRect(0, at.height - foot, at.width, foot))
        painter.restore()

    def _paint_table(self, painter: QPainter, placed: list[PlacedRow]) -> None:
        """Paint a line per GPU where they stand far enough apart, and the means."""
        at = self.layout
        assert at.table
        middles = lane_middles(self.view, placed, at.top, at.lane_scale)
        apart = min((below - above for above, below in pairwise(sorted(middles.values()))), default=1e9)
        if apart < _LINES_APART * at.style.body:
            middles = {}
        rect = QRectF(at.right - at.table.width, 0, at.table.width, at.top - at.style.small // 4)
        at.table.paint_head(painter, rect, self.view)
        at.table.paint_lines(painter, rect, middles, at.top + at.rows_px, self.view)

    def _paint_origin(self, painter: QPainter) -> None:
        """Write what the ruler's labels count from, left of it."""
        at = self.layout
        if not at.ruler_px or not self.view.extras.headers:
            return
        style, marked = at.style, ticks(*self.view.window_ns, at.axis.width_px / at.text_scale)
        text = f"{marked.origin} + {marked.unit}" if marked.origin else marked.unit
        base = at.top - 0.4 * style.small
        marks.paint_text(painter, text, style.margin, base, style.small, self.view.theme.text_soft)

    def _paint_time(self, painter: QPainter) -> None:
        """Paint ruler, lanes and notes, in device pixels."""
        view, frame, at = self.view, self.frame, self.layout
        left, top, high = (snap_px(v * at.dpr) for v in (at.axis.left, at.top, at.ruler_px))
        bare = without_ground(view.theme, has_lines=False)
        painter.save()
        painter.translate(left, top - high)
        if high:
            painter.setClipRect(0, 0, frame.scale.width, high)
            ruler.paint_ruler(
                painter, frame.scale, high, view.ground, frame.dpr, view.iterations, view.iteration
            )
            tag_top = high - _TAG_HEIGHT * frame.dpr
            paint_lengths(painter, frame.scale, view.selections, tag_top, view.theme, frame.dpr)
        painter.translate(0, high)
        painter.setClipRect(0, 0, frame.scale.width, frame.height)
        paint_lanes(painter, frame, view, bare, at.notes)
        paint_dimensions(painter, at.dimensions, frame.height, view.theme, frame.dpr)
        painter.setClipping(False)
        paint_notes(painter, at.notes, view.theme)
        painter.restore()
