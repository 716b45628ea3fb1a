"""The picture: timeline, headers, ruler, legend and caption, painted into an image without a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter

from viewer import __version__
from viewer.analysis.laps import Laps
from viewer.analysis.study import Study
from viewer.drawing.format import format_instant, format_ns
from viewer.drawing.layout import PlacedRow, place, shown_rows
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT, Theme
from viewer.rows import Row
from viewer.state import Measurement, ViewState, Window
from viewer.timeline import legend, marks, ruler
from viewer.timeline.figures import figure_in
from viewer.timeline.fonts import cropped
from viewer.timeline.paint import make_frame, paint_timeline
from viewer.timeline.paint_header import Look, paint_header

HEADER_WIDTH = 340
CAPTION_HEIGHT = 24
MAX_PX = 30_000
_DOTS_PER_METER = 3780
_CAPTION_PX = 11


class PictureError(Exception):
    """A picture that cannot be made; its text is one line for people."""


@dataclass(frozen=True)
class View:
    """What a picture shows.

    Attributes
    ----------
    rows : sequence of (Row, bool)
        From top to bottom, each with whether it is unfolded.
    window_ns : (int, int)
    overlays : frozenset of str
        Of "idle" and "exposed".
    lap : int or None
        The iteration that is marked on the ruler.
    """

    study: Study
    rows: Sequence[tuple[Row, bool]]
    window_ns: Window
    theme: Theme = LIGHT
    overlays: frozenset[str] = frozenset()
    laps: Laps | None = None
    lap: int | None = None
    selection: Window | None = None
    measurements: Sequence[Measurement] = ()


def present_view(state: ViewState, theme: Theme) -> View:
    """Return what a window shows at present, all of its rows.

    Raises
    ------
    PictureError
        If nothing is open.
    """
    if state.study is None:
        raise PictureError("no trace is open")
    return View(
        state.study,
        shown_rows(state.rows),
        state.axis.window,
        theme,
        state.overlays,
        state.laps,
        state.lap,
        state.selection,
        state.measurements.items,
    )


def picture(view: View, width: int = 1600, scale: float = 1.0, scene: Scene | None = None) -> QImage:
    """Paint a view. Needs a QGuiApplication; the same view gives the same bytes on every screen.

    Parameters
    ----------
    width : int
        In logical pixels, headers included; the height follows from the rows.
    scale : float
        Pixels of the image per logical pixel.
    scene : Scene, optional
        One that has prepared these rows already.

    Raises
    ------
    PictureError
        If the rows are too many for one image.
    """
    placed = place(view.rows)
    body = placed[-1].y + placed[-1].height + 1 if placed else 1
    height = ruler.HEIGHT + body + legend.HEIGHT + CAPTION_HEIGHT
    if max(height, width) * scale > MAX_PX:
        raise PictureError(f"{len(placed):,} rows are too many for one picture; choose some of them")
    image = QImage(snap_px(width * scale), snap_px(height * scale), QImage.Format.Format_RGB32)
    image.setDotsPerMeterX(_DOTS_PER_METER)
    image.setDotsPerMeterY(_DOTS_PER_METER)
    image.setText("Software", f"Lightbox {__version__}")
    image.fill(QColor(view.theme.panel))
    scene = scene or Scene(view.study)
    painter = QPainter(image)
    try:
        _paint_time(painter, view, scene, placed, QRect(HEADER_WIDTH, 0, width - HEADER_WIDTH, body), scale)
        painter.scale(scale, scale)
        _paint_headers(painter, view, placed, width - HEADER_WIDTH)
        foot = QRect(0, ruler.HEIGHT + body, width, legend.HEIGHT)
        legend.paint_legend(painter, foot, view.theme, scene.palette, legend.classes_of(view.study))
        _paint_caption(painter, view, QRect(0, foot.bottom() + 1, width, CAPTION_HEIGHT))
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


def _paint_time(
    painter: QPainter, view: View, scene: Scene, placed: Sequence[PlacedRow], area: QRect, dpr: float
) -> None:
    """Paint ruler and rows, in device pixels."""
    left, top = snap_px(area.left() * dpr), snap_px(ruler.HEIGHT * dpr)
    columns = snap_px((area.left() + area.width()) * dpr) - left
    height = snap_px((ruler.HEIGHT + area.height()) * dpr) - top
    scale = Scale(*view.window_ns, max(1, columns))
    painter.save()
    painter.translate(left, 0)
    painter.setClipRect(0, 0, columns, top)
    ruler.paint_ruler(painter, scale, top, view.theme, dpr, view.laps, view.lap)
    painter.restore()
    frame = make_frame(
        scene,
        placed,
        scale,
        height,
        view.theme,
        dpr=dpr,
        origin_y=ruler.HEIGHT,
        overlays=view.overlays,
        laps=view.laps,
    )
    painter.save()
    painter.translate(left, top)
    painter.setClipRect(0, 0, columns, height)
    paint_timeline(painter, frame, selection=view.selection, measurements=view.measurements)
    painter.restore()


def _paint_headers(painter: QPainter, view: View, placed: Sequence[PlacedRow], ruler_width: int) -> None:
    """Paint the corner of the ruler and the headers, in logical pixels."""
    painter.save()
    painter.setClipRect(0, 0, HEADER_WIDTH, ruler.HEIGHT)
    corner = QRect(0, 0, HEADER_WIDTH, ruler.HEIGHT)
    ruler.paint_corner(painter, corner, view.window_ns, ruler_width, view.theme)
    painter.restore()
    for row in placed:
        rect = QRect(0, ruler.HEIGHT + row.y, HEADER_WIDTH, row.height)
        painter.save()
        painter.setClipRect(rect)
        look = Look(figure_in(view.study, row.row, view.window_ns), foldable=bool(row.row.children))
        paint_header(painter, row, rect, view.theme, look)
        painter.restore()
    if placed:
        bottom = ruler.HEIGHT + placed[-1].y + placed[-1].height
        painter.fillRect(0, bottom, HEADER_WIDTH, 1, QColor(view.theme.line))


def _paint_caption(painter: QPainter, view: View, rect: QRect) -> None:
    """Say below the picture what it is taken from."""
    painter.fillRect(rect, QColor(view.theme.panel))
    text = cropped("  ·  ".join(_caption(view)), rect.width() - 24, _CAPTION_PX)
    base = marks.text_baseline(rect.top(), rect.height(), _CAPTION_PX)
    marks.paint_text(painter, text, 12, base, _CAPTION_PX, view.theme.text_soft)


def _caption(view: View) -> Iterable[str]:
    trace = view.study.trace
    start, end = view.window_ns
    step = (end - start) / 10_000
    yield _printable(trace.path.name)
    if trace.session.nsys_version:
        yield f"nsys {trace.session.nsys_version}"
    yield f"{format_instant(start, step)} to {format_instant(end, step)} ({format_ns(end - start)})"
    yield f"kernel classes {view.study.rules.hash}"
    yield f"Lightbox {__version__}"


def _printable(text: str) -> str:
    """Return a file's name as it can be painted: bytes that are no text become question marks."""
    return text.encode("utf-8", "replace").decode()
