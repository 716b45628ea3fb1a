"""GlCanvas: the canvas on OpenGL; one draw for all rectangles, the raster canvas's code for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget

from viewer.state import ViewState
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.paint.paint_rows import Frame, paint_ground, paint_over
from viewer.timeline.strip import DeviceGrid, guard, log
from viewer.timeline.strips.canvas import Canvas, RowLayer
from viewer.timeline.strips.gl_bars import GlBars, is_hardware, renderer_name, surface_format

Renderer = Literal["auto", "gl", "raster"]


def made_canvas(
    renderer: Renderer, state: ViewState, place: AxisPlace, cancel: Callable[[], None], parent: QWidget
) -> Canvas | GlCanvas:
    """Return a canvas; "auto" is OpenGL where a graphics card draws it.

    Parameters
    ----------
    cancel : callable
        Called once OpenGL has failed.
    """
    found = renderer_name() if renderer != "raster" else ""
    if renderer == "gl" and not found:
        log.warning("this display has no OpenGL 3.3; painting without it")
    if found and (renderer == "gl" or is_hardware(found)):
        return GlCanvas(state, place, cancel, parent)
    return Canvas(state, place, parent)


class GlCanvas(RowLayer, QOpenGLWidget):
    """Rows on an OpenGL widget.

    Parameters
    ----------
    cancel : callable
        Called, once, when OpenGL fails: put a raster canvas in this one's place.
    """

    def __init__(
        self, state: ViewState, place: AxisPlace, cancel: Callable[[], None], parent: QWidget | None = None
    ) -> None:
        QOpenGLWidget.__init__(self, parent)
        self.state, self.place = state, place
        self._cancel: Callable[[], None] | None = cancel
        self._bars: GlBars | None = None
        self._kept: tuple[DeviceGrid, Frame] | None = None
        self._is_loaded = False
        self.setFormat(surface_format())
        self.setMouseTracking(True)
        self.setAccessibleName("Timeline")

    def grid(self) -> DeviceGrid:
        """Return the widget's device pixels."""
        return DeviceGrid.of(self, self.place.pixels)

    def refresh(self) -> None:
        """Compute and paint everything again at the next paint."""
        self._kept = None
        self._is_loaded = False
        self.update()

    def initializeGL(self) -> None:
        """Set up the context; Qt calls this again after the widget moves to another window."""
        with guard("starting OpenGL", self._fail):
            self._bars = GlBars()
            self._is_loaded = False
            self.context().aboutToBeDestroyed.connect(self._release, Qt.ConnectionType.DirectConnection)

    def paintGL(self) -> None:
        """Paint ground, bars, names and marks."""
        grid = self.grid()
        if self._bars is None or grid.rows < 1:
            return
        painter = QPainter(self)
        try:
            with guard("painting with OpenGL", self._fail):
                self._paint(painter, grid, self._bars)
        finally:
            painter.end()

    def _paint(self, painter: QPainter, grid: DeviceGrid, bars: GlBars) -> None:
        painter.scale(1 / grid.dpr, 1 / grid.dpr)
        if self._kept is None or self._kept[0] != grid:
            frame = self.frame(grid)
            if frame is None:
                painter.fillRect(0, 0, grid.columns, grid.rows, self._background())
                return
            self._kept = (grid, frame)
            self._is_loaded = False
        frame = self._kept[1]
        paint_ground(painter, frame)
        painter.beginNativePainting()
        if not self._is_loaded:
            bars.load(frame.draw.rect, frame.argb[frame.draw.colour])
            self._is_loaded = True
        bars.draw(*self._viewport(grid))
        painter.endNativePainting()
        paint_over(painter, frame)
        self.paint_marks_of_rows(painter, grid)

    def _background(self) -> Qt.GlobalColor:
        return Qt.GlobalColor.black if self.theme.is_dark else Qt.GlobalColor.white

    def _viewport(self, grid: DeviceGrid) -> tuple[int, int]:
        """Return the framebuffer's size: Qt rounds it from the widget's size alone."""
        return round(self.width() * grid.dpr), round(self.height() * grid.dpr)

    def _release(self) -> None:
        bars, self._bars = self._bars, None
        if bars is not None:
            self.makeCurrent()
            bars.release()
            self.doneCurrent()

    def _fail(self) -> None:
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            cancel()
