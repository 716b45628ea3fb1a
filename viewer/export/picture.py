"""PicturePage: timeline, headers, ruler, legend, numbers and caption, painted without a window.

`PicturePage.paint` works on any painter, in device pixels; an image, an SVG, a PDF and a preview show the
same.
"""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter

from viewer import __version__
from viewer.analysis.core.intervals import window
from viewer.analysis.time.scope import Scope
from viewer.drawing.layout import place
from viewer.drawing.scale import AxisPixels, snap_px
from viewer.drawing.scene import Scene
from viewer.export import footer
from viewer.export.picture_view import PictureError, View
from viewer.timeline.background_results import doubts_of
from viewer.timeline.headers.header_values import figures_in, shares_basis
from viewer.timeline.headers.paint_header import HeaderStyle, paint_header
from viewer.timeline.notes.measurement_lines import dimensions, dimensions_height, paint_dimensions
from viewer.timeline.notes.note_marks import paint_notes
from viewer.timeline.notes.note_places import place_notes
from viewer.timeline.paint.fonts import font
from viewer.timeline.paint.paint_rows import Frame, make_frame, paint_timeline
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.strips import legend, ruler

HEADER_WIDTH = 360
MAX_PX, MAX_AREA = 30_000, 400_000_000
_DOTS_PER_METER = 3780
_TEXT_PX = 11


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
        extras = view.extras
        self._placed = place(view.rows)
        left = min(HEADER_WIDTH, width * 2 // 5) if extras.headers else 0
        self._axis = AxisPixels(left, width - left, dpr)
        self._top = ruler.HEIGHT if extras.ruler else 0
        self._rows = self._placed[-1].y + self._placed[-1].height + 1 if self._placed else 1
        self._scale = self._axis.scale(view.window_ns)
        self._dimensions = dimensions(self._scale, view.measurements, dpr)
        self._body = self._rows + dimensions_height(self._dimensions)
        self._width = width
        self._foot = self._blocks()
        self._height = self._top + self._body + sum(block.height for block in self._foot)
        size = self.size
        if max(size.width(), size.height()) > MAX_PX or size.width() * size.height() > MAX_AREA:
            raise PictureError(
                f"{len(self._placed):,} rows are too many for one picture of {size.width():,} x "
                f"{size.height():,} pixels; choose some of them, or a smaller scale"
            )
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
        painter.fillRect(0, 0, self.size.width(), self.size.height(), QColor(self.view.theme.panel))
        self._paint_time(painter)
        painter.save()
        painter.scale(self.dpr, self.dpr)
        if self._axis.left:
            self._paint_headers(painter)
        y = self._top + self._body
        for block in self._foot:
            painter.save()
            block.paint(painter, QRect(0, y, self._width, block.height))
            painter.restore()
            y += block.height
        painter.restore()

    def _blocks(self) -> list[footer.Block]:
        view, extras = self.view, self.view.extras
        blocks = [
            footer.scale_bar_block(view, self._axis) if extras.scale_bar else None,
            self._legend() if extras.legend else None,
            footer.card_block(view, self._width) if extras.card else None,
            footer.measurements_block(view, self._width) if extras.table else None,
            footer.caption_block(view, self._width),
        ]
        return [block for block in blocks if block is not None]

    def _legend(self) -> footer.Block:
        theme, palette = self.view.theme, self.scene.palette
        classes = self.view.study.classes.present

        def paint(painter: QPainter, rect: QRect) -> None:
            legend.paint_legend(painter, rect, theme, palette, classes)

        return footer.Block(legend.HEIGHT, paint)

    def _frame(self) -> Frame:
        view, d = self.view, self.dpr
        top = snap_px(self._top * d)
        height = snap_px((self._top + self._body) * d) - top
        return make_frame(
            self.scene, self._placed, self._scale, height, view.theme, dpr=d, origin_y=self._top,
            overlays=view.overlays, iterations=view.iterations, scope=view.scope,
            doubtful=frozenset(self._doubts.gpus), lost=self._doubts.lost,
        )  # fmt: skip

    def _paint_time(self, painter: QPainter) -> None:
        """Paint ruler and rows, in device pixels."""
        view, frame, d = self.view, self.frame, self.dpr
        left, top = snap_px(self._axis.left * d), snap_px(self._top * d)
        if top:
            painter.save()
            painter.translate(left, 0)
            painter.setClipRect(0, 0, frame.scale.width, top)
            ruler.paint_ruler(painter, frame.scale, top, view.theme, d, view.iterations, view.iteration)
            ruler.paint_length(painter, frame.scale, view.selection, view.theme, d)
            painter.restore()
        painter.save()
        painter.translate(left, top)
        painter.setClipRect(0, 0, frame.scale.width, frame.height)
        paint_timeline(painter, frame, selection=view.selection, measurements=view.measurements)
        paint_dimensions(painter, self._dimensions, frame.height, view.theme, d)
        grid = DeviceGrid(self._axis, self._top, frame.height)
        notes = place_notes(enumerate(view.notes), view.study, self._placed, frame.scale, grid)
        paint_notes(painter, notes, view.theme, grid)
        painter.restore()

    def _paint_headers(self, painter: QPainter) -> None:
        """Paint the corner of the ruler and the headers, in logical pixels."""
        view, width, top = self.view, self._axis.left, self._top
        painter.fillRect(0, 0, width, top + self._body, QColor(view.theme.panel))
        if top:
            painter.save()
            painter.setClipRect(0, 0, width, top)
            corner = QRect(0, 0, width, top)
            has_gpus = bool(view.study.trace.gpus)
            has_shares = any(placed.row.share is not None for placed in self._placed)
            basis = shares_basis(view.scope) if view.scope else "below: shares of the time shown"
            time_px = self._axis.width_px
            heads = ruler.Heads(has_gpus, basis if has_shares else "")
            ruler.paint_corner(painter, corner, view.window_ns, time_px, view.theme, heads)
            painter.restore()
        shown = window(*view.window_ns)
        scope = view.scope or Scope("", (shown,) * len(view.study.trace.gpus), shown)
        above: set[str] = set()
        for placed in self._placed:
            row = placed.row
            rect = QRect(0, top + placed.y, width, placed.height)
            painter.save()
            painter.setClipRect(rect)
            style = HeaderStyle(
                figures_in(view.study, row, view.window_ns, scope),
                foldable=bool(row.children),
                warning=bool(self._doubts.of(row)),
                as_path=row.parent is not None and row.parent.key not in above,
            )
            paint_header(painter, placed, rect, view.theme, style)
            painter.restore()
            above.add(row.key)
        if self._placed:
            painter.fillRect(0, top + self._rows - 1, width, 1, QColor(view.theme.line))


def picture(view: View, width: int = 1600, scale: float = 1.0, scene: Scene | None = None) -> QImage:
    """Paint a view. Needs a QGuiApplication; the same view gives the same bytes on every screen.

    Parameters
    ----------
    width : int
        In logical pixels, headers included; the height follows from the rows.
    scale : float
        Pixels of the image per logical pixel.
    scene : Scene, optional
        A scene that has already prepared these rows.

    Raises
    ------
    PictureError
        As `PicturePage`.
    """
    return image_of(PicturePage(view, width, scale, scene))


def image_of(sheet: PicturePage) -> QImage:
    """Paint a page into an image; its size on paper is the same at every scale."""
    image = QImage(sheet.size, QImage.Format.Format_RGB32)
    if image.isNull():
        raise PictureError("the picture needs more memory than this machine has; choose a smaller scale")
    image.setDotsPerMeterX(round(_DOTS_PER_METER * sheet.dpr))
    image.setDotsPerMeterY(round(_DOTS_PER_METER * sheet.dpr))
    image.setText("Software", f"Lightbox {__version__}")
    image.setText("Description", sheet.caption)
    painter = QPainter(image)
    try:
        sheet.paint(painter)
    finally:
        painter.end()
    return image


def png_bytes(image: QImage) -> bytes:
    """Return an image as the bytes of a PNG file."""
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(content.data())
