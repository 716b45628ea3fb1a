"""The program's icon, and small swatches of colour."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap

from viewer.assets import asset

SWATCH = QSize(16, 12)


def app_icon() -> QIcon:
    """Return the program's icon."""
    return QIcon(str(asset("icons/lightbox.svg")))


def swatch(argb: int) -> QIcon:
    """Return a rounded square of a colour, with room to the text beside it (`SWATCH` logical pixels)."""
    icon = QIcon()
    for ratio in (1, 2):
        pixmap = QPixmap(SWATCH * ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.scale(ratio, ratio)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor.fromRgba(argb))
        painter.drawRoundedRect(QRectF(0, 0, SWATCH.height(), SWATCH.height()), 3, 3)
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        icon.addPixmap(pixmap)
    return icon
