"""The program's icon, and small swatches of colour."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap

from viewer.assets import asset


def app_icon() -> QIcon:
    """Return the program's icon."""
    return QIcon(str(asset("icons/lightbox.svg")))


def swatch(argb: int, size: int = 12) -> QIcon:
    """Return a rounded square of a colour."""
    icon = QIcon()
    for ratio in (1, 2):
        pixmap = QPixmap(size * ratio, size * ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor.fromRgba(argb))
        painter.drawRoundedRect(QRectF(0, 0, size * ratio, size * ratio), 3 * ratio, 3 * ratio)
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        icon.addPixmap(pixmap)
    return icon
