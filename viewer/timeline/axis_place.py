"""AxisPlace: the place of the time axis in a window, shared by all strips."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from viewer.drawing.scale import AxisPixels

HEADER_WIDTH = 280
MOST_OF_WIDTH = 3
"""Headers take at most this fraction of the width, as a divisor."""
MIN_HEADER = 140
SPLITTER = 1
_MOST_STEP = 8


class AxisPlace(QObject):
    """Owns the left edge, the width and the pixels of the time axis.

    Ruler, overview, pinned rows and rows, those of a trace that is compared too, all read it here; none
    measures itself. Room for the scroll bar stays free on the right, also without the bar: the axis depends
    only on the widths of the window and of the headers.

    Parameters
    ----------
    host : QWidget
        The widget across which headers, axis and scroll bar lie side by side.

    Attributes
    ----------
    header_width : int
        How wide the user wants the headers.
    left, width : int
        Of the axis, logical pixels of the host.
    bar : int
        How wide the room for the scroll bar is.

    Signals
    -------
    changed()
        The place of the axis changed.
    """

    changed = Signal()

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self.host = host
        self.header_width = HEADER_WIDTH
        self.left, self.width, self.bar = 0, 1, 0

    @property
    def headers(self) -> int:
        """The width of the headers."""
        return self.left - SPLITTER

    @property
    def pixels(self) -> AxisPixels:
        """The axis in the pixels of the host's window."""
        left = self.host.mapTo(self.host.window(), QPoint(self.left, 0)).x()
        return AxisPixels(left, self.width, self.host.devicePixelRatioF())

    def set_header_width(self, width: int) -> None:
        """Move the border between headers and axis."""
        self.header_width = max(width, MIN_HEADER)
        self.fit(self.bar)

    def fit(self, bar: int) -> None:
        """Lay the axis over the host as wide as it is now, beside a scroll bar of this width.

        Both edges are whole device pixels where the scale permits: otherwise Qt stretches OpenGL's picture
        of a widget by one.
        """
        host = self.host
        room, step = host.width(), _whole_step(host.devicePixelRatioF())
        left = min(self.header_width, max(MIN_HEADER, room // MOST_OF_WIDTH)) + SPLITTER
        left -= (host.mapTo(host.window(), QPoint()).x() + left) % step
        width = room - left - bar
        placed = left, max(1, width - width % step), bar
        if placed != (self.left, self.width, self.bar):
            self.left, self.width, self.bar = placed
            self.changed.emit()


class Splitter(QWidget):
    """The border between headers and canvas, a little wider than it looks."""

    def __init__(self, place: AxisPlace, parent: QWidget) -> None:
        super().__init__(parent)
        self._place = place
        self.setCursor(Qt.CursorShape.SplitHCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the border."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            at = self.mapToParent(event.position().toPoint())
            self._place.set_header_width(at.x())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Restore the border's default place."""
        self._place.set_header_width(HEADER_WIDTH)


def _whole_step(dpr: float) -> int:
    """Return the least number of logical pixels that are whole device pixels; 1 if there is no small one."""
    return next((step for step in range(1, _MOST_STEP + 1) if (step * dpr).is_integer()), 1)
