"""Card: a small panel that floats over the timeline and is never in the pointer's way."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from viewer.drawing.palette import LIGHT, Theme
from viewer.timeline.strip import guard

PADDING = 12
SHADOW = 6
RADIUS = 6
AWAY_PX = 16


class Card(QWidget):
    """A rounded panel with a soft shadow. A subclass says how large its content is, and paints it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self._panel: tuple[tuple[QSize, float, Theme], QPixmap] | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    def content_size(self) -> QSize:
        """Return the content's size in logical pixels."""
        raise NotImplementedError

    def paint_content(self, painter: QPainter, rect: QRect) -> None:
        """Paint the content into `rect`."""
        raise NotImplementedError

    def show_beside(self, span: QRect, bounds: QRect, free: QRect | None = None) -> None:
        """Show the card right of `span`, left of it if there is no room, always inside `bounds`.

        Where it fits into `free`, it goes there instead: nothing is covered.
        """
        margin = 2 * (PADDING + SHADOW)
        size = self.content_size() + QSize(margin, margin)
        if free is not None and free.height() >= size.height():
            bounds, span = free, QRect(span.left(), free.top() - AWAY_PX + SHADOW, span.width(), 1)
        right = span.right() + AWAY_PX - SHADOW
        left = span.left() - AWAY_PX + SHADOW - size.width()
        x = right if right + size.width() <= bounds.right() or left < bounds.left() else left
        x = max(bounds.left(), min(x, bounds.right() - size.width()))
        y = max(bounds.top(), min(span.top() + AWAY_PX - SHADOW, bounds.bottom() - size.height()))
        self.setGeometry(QRect(QPoint(x, y), size))
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint shadow, panel and content."""
        painter = QPainter(self)
        try:
            with guard(f"painting {type(self).__name__}"):
                look = (self.size(), self.devicePixelRatioF(), self.theme)
                if self._panel is None or self._panel[0] != look:
                    self._panel = (look, self._painted_panel())
                painter.drawPixmap(0, 0, self._panel[1])
                margin = SHADOW + PADDING
                self.paint_content(painter, self.rect().adjusted(margin, margin, -margin, -margin))
        finally:
            painter.end()

    def _painted_panel(self) -> QPixmap:
        """Paint shadow and panel, which stay the same while the content changes."""
        d = self.devicePixelRatioF()
        picture = QPixmap(self.size() * d)
        picture.setDevicePixelRatio(d)
        picture.fill(Qt.GlobalColor.transparent)
        panel = QRectF(self.rect().adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW))
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(0, 0, 0, 7))
        for step in range(SHADOW, 0, -1):
            painter.drawRoundedRect(
                panel.adjusted(-step, -step + 2, step, step), RADIUS + step, RADIUS + step
            )
        painter.setBrush(QColor(self.theme.panel))
        painter.setPen(QPen(QColor(self.theme.line), 1))
        painter.drawRoundedRect(panel.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        painter.end()
        return picture
