"""The program's icon, and small swatches of colour."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QImage, QPainter, QPen, QPixmap

from viewer.assets import asset

SWATCH = QSize(16, 12)


def app_icon() -> QIcon:
    """Return the program's icon."""
    return QIcon(str(asset("icons/lightbox.svg")))


def swatch(argb: int, pattern: QImage | None = None, edge: int | None = None) -> QIcon:
    """Return a square of a colour, with room to the text beside it (`SWATCH` logical pixels).

    Parameters
    ----------
    pattern : QImage, optional
        Laid over it.
    edge : int, optional
        A line around it, ARGB.
    """
    icon = QIcon()
    for ratio in (1, 2):
        pixmap = QPixmap(SWATCH * ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.scale(ratio, ratio)
        box = QRect(0, 1, SWATCH.height() - 1, SWATCH.height() - 1)
        painter.fillRect(box, QColor.fromRgba(argb))
        if pattern is not None:
            painter.fillRect(box, QBrush(pattern))
        if edge is not None:
            painter.setPen(QColor.fromRgba(edge))
            painter.drawRect(box.adjusted(0, 0, -1, -1))
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        icon.addPixmap(pixmap)
    return icon


def more(argb: int) -> QIcon:
    """Return two small angles to the right, in a colour (`SWATCH` logical pixels)."""
    icon = QIcon()
    for ratio in (1, 2):
        pixmap = QPixmap(SWATCH * ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(ratio, ratio)
        painter.setPen(QPen(QColor.fromRgba(argb), 1.5))
        for left in (3, 8):
            painter.drawPolyline([QPointF(left, 2), QPointF(left + 4, 6), QPointF(left, 10)])
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        icon.addPixmap(pixmap)
    return icon
