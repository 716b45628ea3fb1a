"""Pictures of a view as images: `picture` paints a page, in a window, a file or a preview alike."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter

from viewer import __version__
from viewer.drawing.scene import Scene
from viewer.export.figure import FigurePage
from viewer.export.figure_style import STYLES
from viewer.export.page import PicturePage
from viewer.export.picture_view import PictureError, View

_INCHES_PER_METER = 39.3701
_WIDTH = 1600


Page = PicturePage | FigurePage


def page_of(
    view: View, width: int | None = None, scale: float | None = None, scene: Scene | None = None
) -> Page:
    """Lay out a view as its preset says; parameters and errors as `picture`."""
    style = STYLES.get(view.preset)
    if style is None:
        return PicturePage(view, width or _WIDTH, scale or 1.0, scene)
    return FigurePage(view, width or style.width, scale or style.scale, scene)


def picture(
    view: View, width: int | None = None, scale: float | None = None, scene: Scene | None = None
) -> QImage:
    """Paint a view. Needs a QGuiApplication; the same view gives the same bytes on every screen.

    Parameters
    ----------
    width : int, optional
        In logical pixels, headers included; by default that of the preset. The height follows from the rows,
        that of a slide from its width.
    scale : float, optional
        Pixels of the image per logical pixel; by default that of the preset.
    scene : Scene, optional
        A scene that has already prepared these rows.

    Raises
    ------
    PictureError
        As `PicturePage`.
    """
    return image_of(page_of(view, width, scale, scene))


def image_of(page: Page) -> QImage:
    """Paint a page into an image; its size on paper is the same at every scale."""
    clear = page.view.is_transparent
    form = QImage.Format.Format_ARGB32_Premultiplied if clear else QImage.Format.Format_RGB32
    image = QImage(page.size, form)
    if image.isNull():
        raise PictureError("the picture needs more memory than this machine has; choose a smaller scale")
    dots = round(page.dots_per_inch * _INCHES_PER_METER * page.dpr)
    image.setDotsPerMeterX(dots)
    image.setDotsPerMeterY(dots)
    image.setText("Software", f"Lightbox {__version__}")
    image.setText("Description", page.caption)
    if clear:
        image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    try:
        page.paint(painter)
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
