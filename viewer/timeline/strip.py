"""Strip: the base of widgets on the time axis, with device pixels, a cached picture and marks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import AxisPixels, Scale, snap_px
from viewer.drawing.theme import LIGHT, Theme
from viewer.rows import Row
from viewer.state import ViewState, Window
from viewer.timeline.axis_place import AxisPlace

log = logging.getLogger("viewer.timeline")


@dataclass(frozen=True, slots=True)
class DeviceGrid:
    """The device pixels that a strip covers.

    Qt rounds window coordinates, so a strip counts its rows and columns from there: at a fractional
    scale, two adjacent widgets then agree on every edge.

    Attributes
    ----------
    axis : AxisPixels
        Its columns: those of the time axis.
    y : int
        Its place in its window, logical pixels.
    rows : int
        Its height in device pixels.
    """

    axis: AxisPixels
    y: int
    rows: int

    @classmethod
    def of(cls, widget: QWidget, axis: AxisPixels) -> DeviceGrid:
        """Measure how high a widget on an axis is."""
        d = axis.dpr
        y = widget.mapTo(widget.window(), QPoint()).y()
        return cls(axis, y, snap_px((y + widget.height()) * d) - snap_px(y * d))

    @property
    def dpr(self) -> float:
        """Device pixels per logical pixel."""
        return self.axis.dpr

    @property
    def columns(self) -> int:
        """The width in device pixels."""
        return self.axis.columns

    def row(self, y: float) -> int:
        """Return the device row of a logical y of the widget."""
        return snap_px((self.y + y) * self.dpr) - snap_px(self.y * self.dpr)

    def enter(self, painter: QPainter) -> None:
        """Set a raster painter of the widget to the widget's device pixels."""
        painter.scale(1 / self.dpr, 1 / self.dpr)
        d, x = self.dpr, self.axis.left
        painter.translate(snap_px(x * d) - x * d, snap_px(self.y * d) - self.y * d)


class Guard:
    """Catches exceptions of paint and event handlers, which would end the program; logs each kind once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    @contextmanager
    def __call__(self, what: str, otherwise: Callable[[], None] | None = None) -> Iterator[None]:
        """Run a block; after an exception log it, and call `otherwise`."""
        try:
            yield
        except Exception as error:
            key = f"{what}: {type(error).__name__}: {error}"
            if key not in self._seen:
                self._seen.add(key)
                log.exception("%s failed", what)
            if otherwise is not None:
                otherwise()


guard = Guard()


class OnTimeAxis:
    """The common part of all strips, raster or OpenGL: the state, a theme, time across the width."""

    state: ViewState
    place: AxisPlace
    theme: Theme = LIGHT

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.refresh()

    def refresh(self) -> None:
        """Repaint everything at the next paint."""
        raise NotImplementedError

    def grid(self) -> DeviceGrid:
        """Return the widget's device pixels."""
        raise NotImplementedError

    def window_ns(self) -> tuple[int, int]:
        """Return the range of time from the left edge to the right edge."""
        return self.state.axis.window

    def scale(self) -> Scale:
        """Return the mapping between time and device columns."""
        return self.place.pixels.scale(self.window_ns())

    def time_at(self, x: float) -> int:
        """Return the instant under a logical x."""
        axis, (start, end) = self.place.pixels, self.window_ns()
        return start + round(axis.device_x(x) * (end - start) / axis.columns)

    def x_of(self, time_ns: int) -> float:
        """Return the logical x of an instant."""
        axis = self.place.pixels
        return axis.logical_x(axis.scale(self.window_ns()).x(time_ns))

    def span_ns(self, pixels: float) -> int:
        """Return the length that so many logical pixels cover."""
        start, end = self.window_ns()
        return round(pixels * (end - start) / self.place.pixels.width_px)


class TimeStrip(Protocol):
    """The interface that gestures and cards need of a strip."""

    place: AxisPlace

    def width(self) -> int: ...
    def height(self) -> int: ...
    def mapTo(self, parent: QWidget, pos: QPoint, /) -> QPoint: ...
    def mapToGlobal(self, pos: QPointF, /) -> QPointF: ...
    def mapFromGlobal(self, pos: QPointF, /) -> QPointF: ...
    def setCursor(self, cursor: Qt.CursorShape, /) -> None: ...
    def unsetCursor(self) -> None: ...
    def time_at(self, x: float) -> int: ...
    def x_of(self, time_ns: int) -> float: ...
    def span_ns(self, pixels: float) -> int: ...
    def row_at(self, y: float) -> Row | None: ...
    def hit(self, pos: QPointF) -> HitResult | None: ...
    def placed_at(self, y: float) -> PlacedRow | None: ...
    def tag_at(self, pos: QPointF) -> Window | None: ...
    def iteration_at(self, pos: QPointF) -> int | None: ...


class Strip(OnTimeAxis, QWidget):
    """A widget that caches its picture, and repaints it only after `refresh`.

    A subclass says what is kept (`paint_base`) and what is painted over it at every paint
    (`paint_marks`): pointer, selection. Both paint in device pixels.
    """

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget | None = None) -> None:
        QWidget.__init__(self, parent)
        self.state, self.place = state, place
        self._base: QPixmap | None = None
        self._base_grid: DeviceGrid | None = None
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def refresh(self) -> None:
        """Repaint the cached base at the next paint."""
        self._base = None
        self.update()

    def grid(self) -> DeviceGrid:
        """Return the widget's device pixels."""
        return DeviceGrid.of(self, self.place.pixels)

    def paint_base(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint the base, which is cached."""
        raise NotImplementedError

    def paint_marks(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint the marks that change with the pointer."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the cached base, and the marks over it."""
        grid = self.grid()
        if grid.rows < 1:
            return
        painter = QPainter(self)
        try:
            with guard(f"painting {type(self).__name__}"):
                if self._base is None or self._base_grid != grid:
                    self._base = self._painted_base(grid)
                    self._base_grid = grid
                grid.enter(painter)
                painter.drawPixmap(0, 0, self._base)
                self.paint_marks(painter, grid)
        finally:
            painter.end()

    def _painted_base(self, grid: DeviceGrid) -> QPixmap:
        base = QPixmap(grid.columns, grid.rows)
        base.fill(QColor(self.theme.background))
        painter = QPainter(base)
        try:
            self.paint_base(painter, grid)
        finally:
            painter.end()
        return base
