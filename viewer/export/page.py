"""PicturePage: heading, timeline, headers, ruler, legend, numbers and caption, painted without a window.

`PicturePage.paint` works on any painter, in device pixels; an image, an SVG, a PDF and a preview show the
same.
"""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QColor, QPainter

from viewer.analysis.collectives.stream_uses import stream_uses
from viewer.drawing.layout import place
from viewer.drawing.scale import AxisPixels, snap_px
from viewer.drawing.scene import Scene
from viewer.export import footer
from viewer.export.blocks import MARGIN, Block, beside
from viewer.export.heading import heading_block
from viewer.export.legend_block import entries, legend_block
from viewer.export.note_band import NoteBand
from viewer.export.number_blocks import card_block, measurements_block
from viewer.export.paint_notes import paint_notes
from viewer.export.picture_lanes import paint_lanes, paint_lengths
from viewer.export.picture_view import PictureError, View
from viewer.timeline.background_results import doubts_of
from viewer.timeline.headers.header_values import figures_in, shares_basis, stream_names
from viewer.timeline.headers.paint_header import HeaderStyle, paint_header
from viewer.timeline.headers.path_values import MOSTLY, column_heads, path_share
from viewer.timeline.notes.measurement_lines import dimensions, dimensions_height, paint_dimensions
from viewer.timeline.notes.note_places import place_notes
from viewer.timeline.paint.fonts import font
from viewer.timeline.paint.paint_rows import Frame, make_frame
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.strips import ruler

HEADER_WIDTH = 360
DOTS_PER_INCH = 96
MAX_PX, MAX_AREA = 30_000, 400_000_000
_TEXT_PX, _NOTE_PX, _LEGEND_PX = 11, 12, 11
_TAG_HEIGHT = 17


class PicturePage:
    """A view laid out on a page.

    Parameters
    ----------
    width : int
        In logical pixels, headers included; the height follows from the rows.
    dpr : float
        Device pixels per logical pixel.
    scene : Scene, optional
        A scene that has already prepared these rows.

    Raises
    ------
    PictureError
        If the rows are too many for one picture, or it is too narrow for its content.
    """

    def __init__(self, view: View, width: int, dpr: float = 1.0, scene: Scene | None = None) -> None:
        self.view, self.dpr = view, dpr
        self.scene = scene or Scene(view.study)
        self.scene.collectives = view.study.collectives
        self._doubts = doubts_of(view.study)
        self._uses = stream_uses(view.study.collectives)
        extras = view.extras
        self._placed = place(view.rows)
        left = min(HEADER_WIDTH, width * 2 // 5) if extras.headers else 0
        self._axis = AxisPixels(left, width - left, dpr)
        self._heading = heading_block(view, width)
        self._head = self._heading.height if self._heading else 0
        self._top = self._head + (ruler.HEIGHT if extras.ruler else 0)
        self._rows = self._placed[-1].y + self._placed[-1].height + 1 if self._placed else 1
        self._scale = self._axis.scale(view.window_ns)
        self._dimensions = dimensions(self._scale, view.measurements, dpr)
        self._body = self._rows + dimensions_height(self._dimensions)
        self._width = width
        self._notes = self._note_band()
        self._below = self._top + self._body + ceil(self._notes.height / dpr)
        self._foot = self._blocks()
        self._height = self._below + sum(block.height for block in self._foot)
        check_size(self.size, len(self._placed))
        self.frame = self._frame()

    @property
    def size(self) -> QSize:
        """The size in device pixels."""
        return QSize(snap_px(self._width * self.dpr), snap_px(self._height * self.dpr))

    @property
    def caption(self) -> str:
        """The line that names the trace, the range and the versions behind the picture."""
        return "  ·  ".join(footer.caption(self.view))

    def paint(self, painter: QPainter) -> None:
        """Paint the whole page in device pixels."""
        # An SVG names the painter's font even where no text uses it; the application's differs per machine.
        painter.setFont(font(_TEXT_PX))
        if not self.view.is_transparent:
            size = self.size
            painter.fillRect(0, 0, size.width(), size.height(), QColor(self.view.theme.panel))
        self._paint_time(painter)
        painter.save()
        painter.scale(self.dpr, self.dpr)
        if self._heading:
            self._heading.paint(painter, QRect(0, 0, self._width, self._head))
        if self._axis.left:
            self._paint_headers(painter)
        y = self._below
        for block in self._foot:
            painter.save()
            block.paint(painter, QRect(0, y, self._width, block.height))
            painter.restore()
            y += block.height
        painter.restore()

    @property
    def dots_per_inch(self) -> int:
        """Logical pixels per inch of paper."""
        return DOTS_PER_INCH

    def _blocks(self) -> list[Block]:
        view, extras = self.view, self.view.extras
        blocks = [
            footer.scale_bar_block(view, self._axis) if extras.scale_bar else None,
            self._legend() if extras.legend else None,
            *beside(self._tables(), self._width, view.theme),
            footer.caption_block(view, self._width, list(footer.definitions(view))),
        ]
        return [block for block in blocks if block is not None]

    def _tables(self) -> list[Block]:
        view, extras = self.view, self.view.extras
        tables = (
            card_block(view, self._width) if extras.card else None,
            measurements_block(view, self._width) if extras.table else None,
        )
        return [table for table in tables if table is not None]

    def _legend(self) -> Block | None:
        found = entries(self.view, self.scene, self._placed)
        return legend_block(found, self.view.theme, self._width - MARGIN, _LEGEND_PX, MARGIN)

    def _note_band(self) -> NoteBand:
        view, d, left = self.view, self.dpr, self._axis.left
        bottom = snap_px((self._top + self._body) * d) - snap_px(self._top * d)
        grid = DeviceGrid(self._axis, self._top, bottom)
        found = place_notes(enumerate(view.notes), view.study, self._placed, self._scale, grid)
        room = (MARGIN - left) * d, (self._width - left - MARGIN) * d
        return NoteBand(found.spots, (self._scale.width, bottom), room, _NOTE_PX * d)

    def _frame(self) -> Frame:
        view, d = self.view, self.dpr
        top = snap_px(self._top * d)
        height = snap_px((self._top + self._body) * d) - top
        return make_frame(
            self.scene, self._placed, self._scale, height, view.theme, dpr=d, origin_y=self._top,
            overlays=view.overlays, iterations=view.iterations, scope=view.scope,
            doubtful=frozenset(self._doubts.gpus), lost=self._doubts.lost,
            line=view.line,
        )  # fmt: skip

    def _paint_time(self, painter: QPainter) -> None:
        """Paint ruler and rows, in device pixels."""
        view, frame, d = self.view, self.frame, self.dpr
        left, head, top = (snap_px(v * d) for v in (self._axis.left, self._head, self._top))
        if top > head:
            painter.save()
            painter.translate(left, head)
            high = top - head
            painter.setClipRect(0, 0, frame.scale.width, high)
            ruler.paint_ruler(painter, frame.scale, high, view.ground, d, view.iterations, view.iteration)
            paint_lengths(painter, frame.scale, view.selections, high - _TAG_HEIGHT * d, view.theme, d)
            painter.restore()
        painter.save()
        painter.translate(left, top)
        painter.setClipRect(0, 0, frame.scale.width, frame.height)
        paint_lanes(painter, frame, view, view.ground, self._notes)
        paint_dimensions(painter, self._dimensions, frame.height, view.theme, d)
        painter.setClipping(False)
        paint_notes(painter, self._notes, view.theme)
        painter.restore()

    def _paint_headers(self, painter: QPainter) -> None:
        """Paint the corner of the ruler and the headers, in logical pixels."""
        view, width, head, top = self.view, self._axis.left, self._head, self._top
        if top > head:
            painter.save()
            painter.translate(0, head)
            painter.setClipRect(0, 0, width, top - head)
            corner = QRect(0, 0, width, top - head)
            time_px = self._axis.width_px
            has_shares = any(placed.row.share is not None for placed in self._placed)
            columns = column_heads(view.line is not None) if view.study.trace.gpus else ()
            heads = ruler.Heads(columns, shares_basis(view.scope) if has_shares else "")
            ruler.paint_corner(painter, corner, view.window_ns, time_px, view.ground, heads)
            painter.restore()
        above: set[str] = set()
        for placed in self._placed:
            row = placed.row
            parent = row.parent.parent if row.parent is not None and row.parent.is_merged else row.parent
            rect = QRect(0, top + placed.y, width, placed.height)
            painter.save()
            painter.setClipRect(rect)
            on_path = path_share(view.study, row, view.line, view.path_window)
            style = HeaderStyle(
                figures_in(view.study, row, view.window_ns, view.scope, on_path),
                is_on_path=on_path is not None and on_path > MOSTLY,
                names=stream_names(row, self._uses),
                foldable=bool(row.children),
                warning=bool(self._doubts.of(row)),
                as_path=parent is not None and parent.key not in above,
            )
            paint_header(painter, placed, rect, view.ground, style)
            painter.restore()
            above.add(row.key)
        if self._placed:
            painter.fillRect(0, top + self._rows - 1, width, 1, QColor(view.theme.line))


def check_size(size: QSize, rows: int) -> None:
    """Refuse a page that is too large for an image.

    Raises
    ------
    PictureError
    """
    if max(size.width(), size.height()) > MAX_PX or size.width() * size.height() > MAX_AREA:
        raise PictureError(
            f"{rows:,} rows are too many for one picture of {size.width():,} x {size.height():,} pixels; "
            "choose some of them, or a smaller scale"
        )
