"""The overview: the whole trace, one thin strip a GPU, and the window in view as a handle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QWheelEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.find import SearchResult
from viewer.analysis.study import Study
from viewer.drawing.format import format_ns
from viewer.drawing.palette import EXPOSED
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.scene import Scene
from viewer.drawing.states import state_columns
from viewer.drawing.theme import LIGHT, Theme
from viewer.printable import counted
from viewer.state import ViewState
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.gestures import NOTCH
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import REGULAR, STRONG, cropped
from viewer.timeline.strip import DeviceGrid, Strip, guard

HEIGHT = 48
_PADDING = 4
_EDGE_PX = 5
_HIT_HEIGHT = 4
_MIN_HANDLE_PX = 3
_FLAG_APART_PX = 3


class Overview(Strip):
    """Five colours a GPU over the whole trace; each pixel column is the mixture of its categories.

    On every other slanting line exposed communication that waits for a rank has the colour of waiting.
    The handle is the window in view: its body moves it, its edges resize it, a press beside it
    brings it there.
    """

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget | None = None) -> None:
        super().__init__(state, place, parent)
        self.setFixedHeight(HEIGHT)
        self._scene: Scene | None = None
        self._drag: tuple[str, float, tuple[int, int]] | None = None
        self._drags = 0
        self._kept_flags: tuple[object, list[tuple[float, str]]] = (None, [])
        state.search_result_changed.connect(self.refresh)
        state.overlays_changed.connect(self.refresh)
        state.leaving.connect(self._end_drag)

    def set_scene(self, scene: Scene | None) -> None:
        """Take what knows when GPUs wait."""
        self._scene = scene

    def window_ns(self) -> tuple[int, int]:
        """Return the whole trace."""
        return self.state.axis.limits

    def paint_base(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint the strips."""
        theme, d = self.theme, grid.dpr
        painter.fillRect(0, 0, grid.columns, grid.rows, QColor(theme.panel))
        study = self.state.study
        if study is not None and study.parts:
            top, bottom = round(_PADDING * d), grid.rows - round(_PADDING * d)
            scale = self.scale()
            columns = [state_columns(p, scale) for p in study.parts]
            image = _strips(columns, self._waiting(scale), theme, bottom - top, d)
            painter.drawImage(0, top, image)
            if self.state.filter is not None:
                marks.paint_outside(painter, scale, self.state.filter.time, top, bottom, theme.panel)
        if self.state.search_result is not None:
            self._paint_hits(painter, grid, self.state.search_result)
        painter.fillRect(
            0, grid.rows - marks.line_width(d), grid.columns, marks.line_width(d), QColor(theme.line)
        )

    def _waiting(self, scale: Scale) -> list[npt.NDArray[np.float32] | None]:
        """Return the share of each column that is exposed and waits, by GPU; None where that is not shown."""
        study, scene = self.state.study, self._scene
        if study is None:
            return []
        is_shown = scene is not None and scene.study is study and "waiting" in self.state.overlays
        return [
            scene.waiting_columns(gpu, scale) if scene is not None and is_shown else None
            for gpu in range(len(study.parts))
        ]

    def _paint_hits(self, painter: QPainter, grid: DeviceGrid, hits: SearchResult) -> None:
        """Mark the pixel columns in which a hit of the search begins, at the upper edge."""
        has_hit = hits.bins(*self.window_ns(), grid.columns) > 0
        # Where the mask changes: the begins and the ends of runs of columns, in turn.
        edges = np.flatnonzero(np.diff(np.concatenate(([False], has_hit, [False])).astype(np.int8)))
        colour, height = QColor.fromRgba(self.theme.link), round(_HIT_HEIGHT * grid.dpr)
        for left, right in edges.reshape(-1, 2).tolist():
            painter.fillRect(left, 0, right - left, height, colour)

    def paint_marks(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Veil what is out of view, and paint handle, selection and kept ranges."""
        theme, d = self.theme, grid.dpr
        scale = self.scale()
        left, right = self._handle(scale)
        veil = QColor(theme.panel)
        veil.setAlpha(150)
        height = grid.rows - marks.line_width(d)
        painter.fillRect(QRectF(0, 0, left, height), veil)
        painter.fillRect(QRectF(right, 0, grid.columns - right, height), veil)
        marks.paint_measurements(painter, scale, self.state.measurements.items, height, d)
        for window in self.state.selections.items:
            a, b = (marks.column_of(scale, t) for t in window)
            painter.fillRect(a, 0, max(b - a, marks.line_width(d)), height, QColor.fromRgba(theme.selection))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.accent), max(1.0, d)))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        half = max(1.0, d) / 2
        frame = QRectF(left, 2 * d, right - left, height - 4 * d).adjusted(half, half, -half, -half)
        painter.drawRoundedRect(frame, 3 * d, 3 * d)
        if right - left > 30 * d:
            painter.setPen(QPen(QColor(theme.accent), 3 * d))
            for x in (left + 1.5 * d, right - 1.5 * d):
                painter.drawLine(QPointF(x, height / 2 - 6 * d), QPointF(x, height / 2 + 6 * d))
        self._paint_flags(painter, scale, height, d)

    def _paint_flags(self, painter: QPainter, scale: Scale, height: float, dpr: float) -> None:
        """Show along the foot where notes are, and at the head the numbers of the bookmarks."""
        state, theme = self.state, self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.panel), dpr))
        for x, colour in self._flags(scale, dpr):
            foot = [QPointF(x - 5 * dpr, height), QPointF(x + 5 * dpr, height), QPointF(x, height - 8 * dpr)]
            painter.setBrush(QColor(colour))
            painter.drawPolygon(QPolygonF(foot))
        ends = (0.0, float(scale.width))
        for number, bookmark in state.bookmarks.items.items():
            middle = scale.x(sum(bookmark.window) // 2)
            marks.paint_tag(
                painter, str(number), middle, dpr, ends, theme.cursor, theme.background, dpr, margin=4.5
            )

    def _flags(self, scale: Scale, dpr: float) -> list[tuple[float, str]]:
        """Return where notes are, in device pixels, and their colours; one of those that cover each other."""
        state = self.state
        key = (state.notes.items, state.study, scale, dpr)
        if self._kept_flags[0] != key:
            flags: dict[int, tuple[float, str]] = {}
            for note in state.notes.items:
                x = scale.x(sum(note.span(state.study)) // 2)
                flags.setdefault(int(x // (_FLAG_APART_PX * dpr)), (x, note.colour))
            self._kept_flags = key, list(flags.values())
        return self._kept_flags[1]

    def _handle(self, scale: Scale) -> tuple[float, float]:
        """Return the handle's edges in device pixels; never thinner than can be seen."""
        left, right = (float(marks.column_of(scale, t)) for t in self.state.axis.window)
        if right - left < _MIN_HANDLE_PX:
            middle = (left + right) / 2
            left, right = middle - _MIN_HANDLE_PX / 2, middle + _MIN_HANDLE_PX / 2
        return left, right

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to drag the handle; a press beside it brings it there first."""
        if self.state.study is None or event.button() != Qt.MouseButton.LeftButton:
            return
        x = event.position().x()
        part = self._part_at(x)
        self._drags += 1
        if part == "outside":
            start, end = self.state.axis.window
            middle, half = self.time_at(x), (end - start) // 2
            self.state.axis.go(middle - half, middle - half + end - start, f"overview {self._drags}")
            part = "body"
        self._drag = (part, x, self.state.axis.window)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move or resize the window in view."""
        x = event.position().x()
        if self._drag is None:
            shapes = {"left": Qt.CursorShape.SizeHorCursor, "right": Qt.CursorShape.SizeHorCursor}
            self.setCursor(shapes.get(self._part_at(x), Qt.CursorShape.ArrowCursor))
            return
        part, begin, (start, end) = self._drag
        shift = self.time_at(x) - self.time_at(begin)
        if part != "body":
            shift_start, shift_end = (shift, 0) if part == "left" else (0, shift)
            start, end = sorted((start + shift_start, end + shift_end))
        else:
            start, end = start + shift, end + shift
        self.state.axis.go(start, end, f"overview {self._drags}")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the drag."""
        self._end_drag()

    def _end_drag(self) -> None:
        self._drag = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom the window in view, about its middle or the pointer where that lies in it."""
        if self.state.study is not None:
            notches = event.angleDelta().y() / 120
            self.state.axis.zoom(NOTCH**-notches, self.time_at(event.position().x()), "wheel")
        event.accept()

    def _part_at(self, x: float) -> str:
        axis = self.place.pixels
        left, right = (axis.logical_x(edge) for edge in self._handle(self.scale()))
        if abs(x - left) <= _EDGE_PX and x < (left + right) / 2:
            return "left"
        if abs(x - right) <= _EDGE_PX and x >= (left + right) / 2:
            return "right"
        return "body" if left <= x <= right else "outside"


def _strips(
    columns: list[npt.NDArray[np.float32]],
    waiting: list[npt.NDArray[np.float32] | None],
    theme: Theme,
    height: int,
    dpr: float,
) -> QImage:
    """Mix the categories of each column, one strip a GPU, with a gap where there is room for one."""
    count, width = len(columns), columns[0].shape[1]
    inks = (*theme.parts[:4], theme.panel, theme.waiting)
    colours = np.array([[(c >> s) & 0xFF for s in (16, 8, 0)] for c in inks], np.float32)
    # The same stripes as on the state lanes, whose pixels are those of a strip.
    side = max(4, 2 * snap_px(2 * dpr))
    y, x = np.ogrid[:height, :width]
    is_stripe = (x + y) % side < side // 2
    picture = np.empty((height, width), np.uint32)
    picture[:] = theme.panel
    edges = np.linspace(0, height, count + 1)
    gap = round(dpr) if height / count >= 4 * dpr else 0
    for gpu, fractions in enumerate(columns):
        top, bottom = int(edges[gpu]), max(int(edges[gpu + 1]) - gap, int(edges[gpu]) + 1)
        picture[top:bottom] = _packed(fractions.T @ colours[:-1])
        if (waits := waiting[gpu]) is not None:
            moved = np.minimum(waits, fractions[EXPOSED])[:, None] * (colours[-1] - colours[EXPOSED])
            striped = _packed(fractions.T @ colours[:-1] + moved)
            picture[top:bottom] = np.where(is_stripe[top:bottom], striped, picture[top:bottom])
    image = QImage(picture.data, width, height, width * 4, QImage.Format.Format_RGB32)
    return image.copy()


def _packed(mixed: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Return red, green and blue of each column as one number."""
    red, green, blue = np.clip(mixed + 0.5, 0, 255).astype(np.uint32).T
    return np.uint32(0xFF000000) | (red << 16) | (green << 8) | blue


class OverviewCorner(QWidget):
    """Left of the overview: length, GPUs and iterations of the trace."""

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.theme: Theme = LIGHT
        self.setFixedHeight(HEIGHT)

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint "Whole trace, 798 ms · 8 GPUs · 5 iterations"."""
        painter = QPainter(self)
        try:
            with guard("painting the overview's corner"):
                self._paint(painter)
        finally:
            painter.end()

    def _paint(self, painter: QPainter) -> None:
        theme, rect = self.theme, self.rect()
        painter.fillRect(rect, QColor(theme.panel))
        if self.state.study is not None:
            title = "Filtered" if self.state.filter else "Whole trace"
            marks.paint_text(painter, title, 12, 21, 12, theme.text, STRONG)
            text = cropped(" · ".join(self._figures(self.state.study)), rect.width() - 24, 11)
            marks.paint_text(painter, text, 12, 37, 11, theme.text_soft, REGULAR)
        painter.fillRect(0, rect.height() - 1, rect.width(), 1, QColor(theme.line))

    def _figures(self, study: Study) -> list[str]:
        if (scope := self.state.filter) is not None:
            return [scope.what]
        # The length of what the overview shows, which the status bar counts the view against.
        low, high = self.state.axis.limits
        figures = [format_ns(high - low), counted(len(study.trace.gpus), "GPU")]
        if (iterations := self.state.iterations) is not None:
            figures.append(f"{iterations.count_text}{iterations.in_doubt}")
        return figures
