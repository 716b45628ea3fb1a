"""The timeline: overview, ruler, pinned rows, headers and canvas, all on one time axis."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QScrollBar, QWidget

from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT, Theme, on_ground
from viewer.rows import Row
from viewer.state import Hover, ViewState, Window
from viewer.state.navigation import go_to_iteration
from viewer.timeline.axis_place import SPLITTER, AxisPlace, Splitter
from viewer.timeline.background_results import BackgroundResults
from viewer.timeline.cards.cards import Cards
from viewer.timeline.cards.clicks import select_clicked
from viewer.timeline.gestures import Gestures
from viewer.timeline.headers.pinned import EDGE_GAP, EDGE_SHADOW, PinnedEdge, PinnedHeaders
from viewer.timeline.headers.row_headers import RowHeaders
from viewer.timeline.notes.controller import NoteController
from viewer.timeline.plain_text import PlainLabel
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.spoken import Spoken
from viewer.timeline.strip import TimeStrip
from viewer.timeline.strip_snapping import Snapping
from viewer.timeline.strips import overview, ruler
from viewer.timeline.strips.canvas import Canvas
from viewer.timeline.strips.empty_text import no_gpu_text, no_row_text
from viewer.timeline.strips.gl_canvas import GlCanvas, Renderer, made_canvas
from viewer.timeline.strips.legend import HEIGHT as LEGEND_HEIGHT
from viewer.timeline.strips.legend import Legend
from viewer.timeline.strips.overview import Overview, OverviewCorner
from viewer.timeline.strips.prediction_pane import PredictionPane
from viewer.timeline.strips.ruler import Ruler, RulerCorner
from viewer.timeline.strips.sticky import StickyRank

_GRIP = 6
_MARK = 8
"""How far a mark reaches to each side of its instant, logical pixels."""


class Timeline(QWidget):
    """Composes the strips; owns the scene of the open trace, and no other state.

    Parameters
    ----------
    renderer : {"auto", "gl", "raster"}
        "auto" uses OpenGL where a GPU draws it.
    place : AxisPlace, optional
        That of another timeline in the window, so that both axes share their pixels; by default its own.

    Attributes
    ----------
    prepared : Scene or None
        The scene of the next study, made in another thread; the code that opens the study sets it.
    """

    def __init__(
        self,
        state: ViewState,
        renderer: Renderer = "auto",
        parent: QWidget | None = None,
        place: AxisPlace | None = None,
    ) -> None:
        super().__init__(parent)
        self.state = state
        self.place = place or AxisPlace(self)
        self.theme: Theme = LIGHT
        self.scene: Scene | None = None
        self.prepared: Scene | None = None
        self._pointed: Hover | None = None
        self._selected: tuple[Window, ...] = ()
        self.gestures = Gestures(state, Snapping(state, self), self)
        self.background_results = BackgroundResults(state, self)
        self.links = SelectionLinks(state, self.background_results, self)
        self.overview_corner, self.overview = OverviewCorner(state, self), Overview(state, self.place, self)
        self.ruler_corner, self.ruler = RulerCorner(state, self.place, self), Ruler(state, self.place, self)
        self.pinned_headers, self.pinned = PinnedHeaders(state, self), Canvas(state, self.place, self)
        self.headers = RowHeaders(state, self)
        self.canvas: Canvas | GlCanvas = made_canvas(
            renderer, state, self.place, lambda: QTimer.singleShot(0, self, self._fall_back), self
        )
        self.sticky = StickyRank(state, self.place, self)
        self.prediction = PredictionPane(state, self.place, self)
        self.legend = Legend(state, self)
        self._legend_wanted = True
        self.no_gpu = PlainLabel(parent=self)
        self.no_gpu.setObjectName("emptyState")
        self.no_gpu.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.no_gpu.setWordWrap(True)
        self.no_gpu.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._pinned_edge = PinnedEdge(self)
        self.scroll_bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.scroll_bar.setMaximum(0)
        self._splitter = Splitter(self.place, self)
        self.cards = Cards(state, self, self.background_results, self.links, self)
        self.pinned.is_labelled = False
        self.notes = NoteController(state, lambda: self.canvas, self)
        self.cards.above = self.notes.editor
        self.notes.gestures.key_place = self.cards.place_of_event
        self.ruler_corner.rows_in_view = lambda: [placed.row for placed in self.canvas.placed]
        self.spoken = Spoken(state, self, self)
        self._connect()
        QWidget.setTabOrder(self.headers, self.canvas)
        self.headers.follow()
        self._take_study()

    # Content

    @property
    def _strips(self) -> tuple[Ruler, Canvas, Canvas, Canvas | GlCanvas]:
        return self.ruler, self.pinned, self.sticky.strip, self.canvas

    @property
    def renderer(self) -> str:
        """The paint path in use: "gl" or "raster"."""
        return "gl" if isinstance(self.canvas, GlCanvas) else "raster"

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        frame = (self.overview_corner, self.overview, self.ruler_corner, self.ruler, self.legend)
        rows = (self.pinned_headers, self.pinned, self.sticky, self.headers, self.canvas, self.prediction)
        self._pinned_edge.theme = theme
        for part in (*frame, *rows, self.cards.selection, self.cards.hover, self.notes.editor):
            part.set_theme(theme)
        self.pinned.set_theme(on_ground(theme, theme.line_soft))
        self.update()

    def pointed_row(self) -> Row | None:
        """Return the row under the pointer: on its header, or on its lanes."""
        return self.pinned_headers.pointed_row or self.headers.pointed_row

    def set_legend_shown(self, shown: bool) -> None:
        """Show or hide the legend; a trace without a GPU has none."""
        self._legend_wanted = shown
        self._show_legend()

    def _show_legend(self) -> None:
        study = self.state.study
        self.legend.setVisible(self._legend_wanted and (study is None or bool(study.trace.gpus)))
        self._lay_out()

    def _fall_back(self) -> None:
        """Replace the OpenGL canvas by the raster canvas after an error of OpenGL."""
        failed, self.canvas = self.canvas, Canvas(self.state, self.place, self)
        self.canvas.links = self.links
        self.gestures.watch(self.canvas, Qt.FocusPolicy.StrongFocus)
        self.notes.gestures.watch(self.canvas)
        self.canvas.set_theme(self.theme)
        self.canvas.set_scene(self.scene)
        self.canvas.stackUnder(self.sticky.header)
        self.canvas.show()
        failed.hide()
        failed.deleteLater()
        self._lay_out()
        self._follow_rows()

    def _connect(self) -> None:
        state, gestures = self.state, self.gestures
        self.place.changed.connect(self._lay_out)
        self.headers.set_links(self.links)
        self.pinned_headers.set_links(self.links)
        self.sticky.set_links(self.links)
        self.pinned.links = self.canvas.links = self.links
        self.background_results.changed.connect(self._follow_results)
        self.links.changed.connect(self._update_marks)
        for watched in (self.ruler, self.pinned, self.sticky.strip, self.prediction.strip):
            gestures.watch(watched)
        gestures.watch(self.canvas, Qt.FocusPolicy.StrongFocus)
        self.sticky.header.clicked.connect(self.headers.go_to)
        for strip in (self.pinned, self.canvas):
            self.notes.gestures.watch(strip)
        self.notes.gestures.entered.connect(self.cards.leave)
        self.notes.opened.connect(self.cards.leave)
        state.notes.changed.connect(self._update_marks)
        state.notes.chosen_changed.connect(self._update_marks)
        for flagged in (state.notes.changed, state.bookmarks.changed):
            flagged.connect(self.overview.update)
        gestures.scrolled.connect(self._scroll)
        gestures.pointed.connect(self.cards.point)
        gestures.left.connect(self.cards.leave)
        gestures.double_clicked.connect(self._open)
        gestures.clicked.connect(self._click)
        state.study_changed.connect(self._take_study)
        state.axis.changed.connect(self._follow_axis)
        state.hover_changed.connect(self._follow_hover)
        state.event_changed.connect(self._update_marks)
        state.wait.changed.connect(self._update_marks)
        state.stall_changed.connect(self.cards.place_selection)
        state.measurements.changed.connect(self._update_marks)
        state.selection_changed.connect(self._follow_selection)
        state.overlays_changed.connect(self._refresh_rows)
        state.path.changed.connect(self._refresh_rows)
        state.what_if.changed.connect(self._lay_out)
        state.iterations_changed.connect(self._follow_iterations)
        state.loading_changed.connect(self._follow_loading)
        state.filter_changed.connect(self._follow_iterations)
        self.headers.moved.connect(self._follow_rows)
        self.pinned_headers.moved.connect(self._follow_pinned)
        mirrored = self.headers.verticalScrollBar()
        mirrored.rangeChanged.connect(self._follow_range)
        mirrored.valueChanged.connect(self.scroll_bar.setValue)
        self.scroll_bar.valueChanged.connect(mirrored.setValue)

    # Following the state

    def _take_study(self) -> None:
        study = self.state.study
        prepared, self.prepared = self.prepared, None
        if prepared is not None and prepared.study is study:
            self.scene = prepared
        else:
            self.scene = Scene(study) if study else None
        if self.scene is not None:
            self.scene.collectives = self.background_results.collectives
        self.cards.dismiss()
        for canvas in (self.canvas, self.pinned, self.sticky, self.overview, self.prediction):
            canvas.set_scene(self.scene)
        self.legend.set_palette(self.scene.palette if self.scene else None, study)
        self._follow_pinned()
        self._show_legend()
        self._follow_iterations()

    def _follow_axis(self) -> None:
        for strip in self._strips:
            strip.refresh()
        self.ruler_corner.follow()
        self.overview.update()
        self.cards.place_selection()
        self.gestures.point_again()

    def _follow_results(self) -> None:
        if self.scene is not None and self.scene.study is self.state.study:
            self.scene.collectives = self.background_results.collectives
        self._refresh_rows()
        self.overview.refresh()
        for headers in (self.headers.viewport(), self.pinned_headers, self.sticky.header):
            headers.update()
        self.cards.place_selection()

    def _refresh_rows(self) -> None:
        for strip in self._strips[1:]:
            strip.refresh()

    def _follow_iterations(self) -> None:
        self._refresh_rows()
        self.ruler.refresh()
        self.ruler_corner.follow()
        self.overview.refresh()
        self.overview_corner.update()
        self.cards.place_selection()

    def _follow_loading(self) -> None:
        self.cards.dismiss()
        self.cards.place_selection()

    def _follow_rows(self) -> None:
        placed = self.headers.visible_rows()
        self.canvas.set_rows(placed)
        self.headers.covered_px = self.sticky.follow(placed, self.headers.y(), self.place)
        self.ruler_corner.follow()
        study = self.state.study
        self.no_gpu.setText(no_row_text(self.state.rows) or no_gpu_text(study.trace if study else None))
        self.no_gpu.setGeometry(self.cards.below_rows())
        self.no_gpu.setVisible(bool(self.no_gpu.text()))
        self.gestures.point_again()

    def _follow_pinned(self) -> None:
        """Show the pinned rows; the row under the pointer stays where it is."""
        pointed = self.headers.pointed_row
        in_view = pointed is not None and any(p.row is pointed for p in self.headers.visible_rows())
        y = self.headers.y() + self.headers.label_y(pointed) if pointed is not None else 0
        self.pinned.set_rows(self.pinned_headers.visible_rows())
        self._lay_out()
        if pointed is not None and in_view:
            self.headers.hold(pointed, y - self.headers.y())

    def _follow_hover(self) -> None:
        before, self._pointed = self._pointed, self.state.hover
        self.ruler.update()
        self.headers.update_values(self.canvas.placed)
        self.pinned_headers.update_values(self.pinned.placed)
        for hover in (before, self._pointed):
            if hover is not None:
                self._update_between(hover.time_ns, hover.time_ns)

    def _follow_selection(self) -> None:
        before, after = self._selected, self.state.selections.items
        self._selected = after
        if not before or not after or before[:-1] != after[:-1] or before == after:
            self._update_marks()
        else:
            ends = zip(before[-1], after[-1], strict=True)
            moved = [t for pair in ends if pair[0] != pair[1] for t in pair]
            self.ruler.update()
            self._update_between(min(moved), max(moved))
        self.overview.update()
        self.cards.place_selection()

    def _update_marks(self) -> None:
        for strip in self._strips:
            strip.update()

    def _update_between(self, start_ns: int, end_ns: int) -> None:
        """Repaint the marks of the rows in a range of time, its ends included."""
        for strip in self._strips[1:]:
            left, right = (int(min(max(strip.x_of(t), 0), strip.width())) for t in (start_ns, end_ns))
            strip.update(left - _MARK, 0, right - left + 2 * _MARK, strip.height())

    def _follow_range(self, low: int, high: int) -> None:
        mirrored = self.headers.verticalScrollBar()
        self.scroll_bar.setRange(low, high)
        self.scroll_bar.setPageStep(mirrored.pageStep())
        self.scroll_bar.setSingleStep(mirrored.singleStep())
        self.scroll_bar.setVisible(high > low)

    def _scroll(self, pixels: int) -> None:
        bar = self.headers.verticalScrollBar()
        bar.setValue(bar.value() + pixels)

    # Clicks

    def _open(self, strip: TimeStrip, pos: QPointF) -> None:
        if (iteration := strip.iteration_at(pos)) is not None:
            self.state.select(None)
            go_to_iteration(self.state, iteration)

    def _click(self, strip: TimeStrip, pos: QPointF, add: bool) -> None:
        stalls, number = self.background_results.stalls, self.cards.stall_at(strip, pos)
        select_clicked(self.state, strip, pos, self.canvas.scale(), stalls, number, add)

    # Geometry

    def _lay_out(self) -> None:
        """Place all widgets: two columns with a movable border, and room for the scroll bar."""
        width, height, place = self.width(), self.height(), self.place
        y = 0
        foot = LEGEND_HEIGHT if not self.legend.isHidden() else 0
        gap = EDGE_GAP if self.pinned_headers.height() else 0
        shown = self.prediction.height
        rest = height - overview.HEIGHT - ruler.HEIGHT - self.pinned_headers.height() - gap - foot - shown
        for header, strip, high in (
            (self.overview_corner, self.overview, overview.HEIGHT),
            (self.ruler_corner, self.ruler, ruler.HEIGHT),
            (self.pinned_headers, self.pinned, self.pinned_headers.height()),
            (self.headers, self.canvas, max(1, rest)),
            (self.prediction.head, self.prediction.strip, shown),
        ):
            header.setGeometry(0, y, place.headers, high)
            strip.setGeometry(place.left, y, place.width, high)
            strip.setVisible(high > 0)
            header.setVisible(high > 0)
            y += high + (gap if strip is self.pinned else 0)
        top = overview.HEIGHT
        right = place.left + place.width
        self.scroll_bar.setGeometry(right, top, place.bar, max(1, height - top - foot))
        self._pinned_edge.setGeometry(0, self.headers.y() - EDGE_GAP, right, EDGE_GAP + EDGE_SHADOW)
        self._pinned_edge.setVisible(gap > 0)
        self._pinned_edge.raise_()
        self.legend.setGeometry(0, height - LEGEND_HEIGHT, width, LEGEND_HEIGHT)
        # Beside the headers, not over them: a widget on top keeps Qt from scrolling painted pixels.
        self._splitter.setGeometry(place.headers, 0, _GRIP, height - foot)
        self._splitter.raise_()
        self.ruler_corner.follow()
        self.cards.place_selection()
        self._follow_rows()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place all widgets again."""
        self._fit()
        self._lay_out()

    def event(self, event: QEvent) -> bool:
        """Fit the axis to the pixels of another screen."""
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._fit()
        return super().event(event)

    def _fit(self) -> None:
        if self.place.host is self:
            self.place.fit(self.scroll_bar.sizeHint().width())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the parts that no strip covers: the border, and the area beside the scroll bar."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.theme.panel))
        painter.fillRect(self.place.headers, 0, SPLITTER, self.height(), QColor(self.theme.line))
        painter.end()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop the pending jobs."""
        self.cards.leave()
