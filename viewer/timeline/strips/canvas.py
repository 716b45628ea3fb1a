"""The canvas: rows painted by the raster engine."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFocusEvent, QPainter
from PySide6.QtWidgets import QWidget

from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.bands import StateBand
from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.scene import Scene
from viewer.rows import Row
from viewer.state import ViewState, Window
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.notes.note_layer import NoteLayer
from viewer.timeline.paint import marks
from viewer.timeline.paint.paint_links import paint_ends
from viewer.timeline.paint.paint_rows import Frame, make_frame, paint_frame
from viewer.timeline.paint.paint_waits import paint_wait
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.strip import DeviceGrid, Strip

_BY_KEYBOARD = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class RowLayer(NoteLayer):
    """What both canvases have: rows that stand somewhere, a frame, and the marks over it."""

    scene: Scene | None = None
    has_ring = False
    links: SelectionLinks | None = None

    def set_scene(self, scene: Scene | None) -> None:
        """Show another trace."""
        self.scene = scene
        self.refresh()

    def set_rows(self, placed: Sequence[PlacedRow]) -> None:
        """Show these rows, logical pixels from the widget's top."""
        if placed != self.placed:
            self.placed = placed
            self.refresh()

    def placed_at(self, y: float) -> PlacedRow | None:
        """Return the row at a logical y, with its place."""
        return next((p for p in self.placed if p.y <= y < p.y + p.height), None)

    def row_at(self, y: float) -> Row | None:
        """Return the row at a logical y."""
        placed = self.placed_at(y)
        return placed.row if placed else None

    def hit(self, pos: QPointF) -> HitResult | None:
        """Return what lies under a point."""
        if self.scene is None:
            return None
        x = self.place.pixels.device_x(pos.x())
        return self.scene.hit(self.placed, x, pos.y(), self.scale())

    def tag_at(self, pos: QPointF) -> Window | None:
        """Return None: a drag on rows always begins another selection."""
        return None

    def iteration_at(self, pos: QPointF) -> int | None:
        """Return None: iterations have their labels on the ruler."""
        return None

    def frame(self, grid: DeviceGrid) -> Frame | None:
        """Compute what the window shows."""
        if self.scene is None:
            return None
        state = self.state
        return make_frame(
            self.scene,
            self.placed,
            self.scale(),
            grid.rows,
            self.theme,
            dpr=grid.dpr,
            origin_y=grid.y,
            overlays=state.overlays,
            iterations=state.iterations,
            scope=state.filter,
            doubtful=self.links.doubtful if self.links else frozenset(),
            lost=self.links.lost if self.links else frozenset(),
            line=state.path.shown,
        )

    def paint_marks_of_rows(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint kept ranges, selection, the selected event with its other end, and the cut."""
        state, theme, scale, d = self.state, self.theme, self.scale(), grid.dpr
        marks.paint_measurements(painter, scale, state.measurements.items, grid.rows, d)
        marks.paint_selections(painter, scale, state.selections, grid.rows, theme, d)
        ends = self.links.ends if self.links else None
        if ends is not None and state.study is not None:
            paint_ends(painter, state.study, ends, self.placed, scale, grid, theme)
        if state.wait.wait is not None and state.study is not None:
            paint_wait(painter, state.study, state.wait.wait, self.placed, scale, grid, theme)
        if state.hover is not None:
            x = marks.column_of(scale, state.hover.time_ns)
            marks.paint_cut(painter, x, grid.rows, theme, d)
            self._paint_states_at_cut(painter, grid, x)
        self.paint_annotations(painter, grid)
        if self.has_ring:
            marks.paint_ring(painter, grid.columns, grid.rows, theme, d)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show that the keyboard is here, where it came by the keyboard."""
        self.has_ring = event.reason() in _BY_KEYBOARD
        self.update()  # type: ignore[attr-defined]

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.has_ring = False
        self.update()  # type: ignore[attr-defined]

    def _paint_states_at_cut(self, painter: QPainter, grid: DeviceGrid, x: int) -> None:
        """Show at the cut, in every state lane, the colour of what its GPU does there."""
        study, hover = self.state.study, self.state.hover
        if study is None or hover is None:
            return
        for placed, band in bands_in(self.placed, StateBand):
            part = study.parts[band.gpu].part_at(hover.time_ns)
            top, bottom = (grid.row(placed.y + band.y + h) for h in (0, band.height))
            colour = self.theme.background if part == IDLE else self.theme.parts[part]
            marks.paint_state_tick(painter, x, top, bottom, colour, self.theme.cursor, grid.dpr)


class Canvas(RowLayer, Strip):
    """Rows on a plain widget: the base picture is kept, marks are painted over it."""

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget | None = None) -> None:
        super().__init__(state, place, parent)
        self.setAccessibleName("Timeline")

    def paint_base(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint the rows."""
        frame = self.frame(grid)
        if frame is not None:
            paint_frame(painter, frame)

    def paint_marks(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint the marks."""
        self.paint_marks_of_rows(painter, grid)
