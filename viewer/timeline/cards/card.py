"""Card: a small panel that floats over the timeline and is never in the pointer's way."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from viewer.drawing.theme import LIGHT, Theme
from viewer.timeline.strip import guard

PADDING = 12
SHADOW = 6
RADIUS = 6
AWAY_PX = 16


MARGIN = 2 * (PADDING + SHADOW)
"""What a card adds to its content, in both directions."""
_SHADE = {False: 7, True: 26}
"""How dark a step of the shadow is, of 255; on a dark ground it must be darker to be seen."""


def beside(size: QSize, span: QRect, bounds: QRect, free: QRect | None = None) -> QRect:
    """Return where a card of a size lies, always inside `bounds`.

    In `free` where it fits there, since nothing is covered; else right of `span`, else left of it, else
    in that corner where it covers least of the span's columns.

    Parameters
    ----------
    span : QRect
        What the card is about; with `free`, all rows above that are in its columns.
    free : QRect, optional
        The part of `bounds` below the rows.
    """
    wide, high = size.width(), size.height()
    top = span.top() + AWAY_PX - SHADOW
    if free is not None and free.height() >= high:
        bounds, top = free, free.top()
    right = span.right() + AWAY_PX - SHADOW
    left = span.left() - AWAY_PX + SHADOW - wide
    end = bounds.right() + 1 - wide
    y = max(bounds.top(), min(top, bounds.bottom() + 1 - high))
    if right <= end:
        return QRect(QPoint(right, y), size)
    if left >= bounds.left():
        return QRect(QPoint(left, y), size)
    if free is None or bounds == free:
        return QRect(QPoint(max(bounds.left(), min(right, end)), y), size)
    rows = QRect(QPoint(span.left(), bounds.top()), QPoint(span.right(), free.top()))
    corners = [
        QRect(QPoint(max(x, bounds.left()), max(y, bounds.top())), size)
        for y in (bounds.bottom() + 1 - high, bounds.top())
        for x in (end, bounds.left())
    ]
    return min(corners, key=lambda corner: _area(corner & rows))


def _area(rect: QRect) -> int:
    return max(rect.width(), 0) * max(rect.height(), 0)


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
        """Show the card where `beside` says; over the headers rather than over what it is about."""
        place = beside(self.outer_size(), span, bounds, free)
        covers = place.left() <= span.right() and span.left() <= place.right()
        left = span.left() - AWAY_PX + SHADOW - place.width()
        if covers and left >= 0 and not (free is not None and free.contains(place)):
            place.moveLeft(left)
        self.show_at(place)

    def outer_size(self) -> QSize:
        """Return the card's size, with its shadow."""
        return self.content_size() + QSize(MARGIN, MARGIN)

    def show_at(self, place: QRect) -> None:
        """Show the card in front of the other widgets, there."""
        self.setGeometry(place)
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint shadow, panel and content."""
        painter = QPainter(self)
        try:
            with guard(f"painting {type(self).__name__}"):
                key = (self.size(), self.devicePixelRatioF(), self.theme)
                if self._panel is None or self._panel[0] != key:
                    self._panel = (key, self._painted_panel())
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
        painter.setBrush(QColor(0, 0, 0, _SHADE[self.theme.is_dark]))
        for step in range(SHADOW, 0, -1):
            painter.drawRoundedRect(
                panel.adjusted(-step, -step + 2, step, step), RADIUS + step, RADIUS + step
            )
        painter.setBrush(QColor(self.theme.panel))
        painter.setPen(QPen(QColor(self.theme.text_faint if self.theme.is_dark else self.theme.line), 1))
        painter.drawRoundedRect(panel.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        painter.end()
        return picture
