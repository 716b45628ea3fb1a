"""Where the time axis lies in a window: one owner for all strips that show it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QWidget

from viewer.drawing.scale import AxisPixels

HEADER_WIDTH = 360
MOST_OF_WIDTH = 3
"""Headers take at most one part in so many."""
MIN_HEADER = 140
SPLITTER = 1
_MOST_STEP = 8


class AxisPlace(QObject):
    """Owner of the left edge, the width and the pixels of the time axis.

    Ruler, overview, pinned rows and rows, those of a trace that is compared too, all read it here; none
    measures itself. A strip of the width of the scroll bar stays free on the right, whether the bar is there
    or not: the axis depends on nothing but the width of the window and that of the headers.

    Parameters
    ----------
    host : QWidget
        Over whose width headers, axis and scroll bar lie side by side.

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
        The axis lies elsewhere.
    """

    changed = Signal()

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self.host = host
        self.header_width = HEADER_WIDTH
        self.left, self.width, self.bar = 0, 1, 0

    @property
    def headers(self) -> int:
        """How wide the headers are."""
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

        Both edges are whole device pixels where the scale permits: OpenGL's picture of a widget is else
        stretched by one.
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


def _whole_step(dpr: float) -> int:
    """Return how many logical pixels are whole device pixels; 1 where few are not."""
    return next((step for step in range(1, _MOST_STEP + 1) if (step * dpr).is_integer()), 1)
