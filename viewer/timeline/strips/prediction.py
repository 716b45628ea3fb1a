"""The prediction under the rows: the lanes of all GPUs as they would have been, on the same time axis."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF
from PySide6.QtGui import QBrush, QColor, QPainter
from PySide6.QtWidgets import QWidget

from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.band_drawer import BandBox
from viewer.drawing.bands import StateBand
from viewer.drawing.drawlist import draw_list
from viewer.drawing.format import MINUS, format_ns
from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.palette import WAITING, Palette
from viewer.drawing.prediction import Prediction
from viewer.drawing.scale import Scale, snap_px
from viewer.rows import Row
from viewer.state import ViewState, Window
from viewer.state.navigation import iteration_to_fit
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, metrics
from viewer.timeline.paint.paint_rows import hatch_image, paint_rects, stripes
from viewer.timeline.paint.rects import corners, draw_rects
from viewer.timeline.strip import DeviceGrid, Strip

PREDICTION_PX, HEAD_PX, PAD_PX, TEXT_PX = 124, 22, 6, 11
MOST_LANE_PX = 13
SAME_AXIS = "Predicted, same axis, one lane a rank"
_BAND_ALPHA = 46
_TEXT_GAP = 6


class PredictionStrip(Strip):
    """Shows the prediction of `ViewState.what_if`; the iteration in view begins where it was recorded."""

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget | None = None) -> None:
        super().__init__(state, place, parent)
        self.colours: Palette | None = None
        self.setAccessibleName("Prediction")
        for changed in (
            state.axis.changed,
            state.what_if.changed,
            state.overlays_changed,
            state.iterations_changed,
        ):
            changed.connect(self._follow)

    def _follow(self) -> None:
        if not self.isHidden():
            self.refresh()

    def row_at(self, y: float) -> Row | None:
        """There are no rows: what is predicted cannot be selected."""
        return None

    def hit(self, pos: QPointF) -> HitResult | None:
        """There are no events."""
        return None

    def placed_at(self, y: float) -> PlacedRow | None:
        """There are no rows."""
        return None

    def tag_at(self, pos: QPointF) -> Window | None:
        """There is no tag."""
        return None

    def iteration_at(self, pos: QPointF) -> int | None:
        """There is no label of an iteration."""
        return None

    def paint_base(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint lanes, the predicted end and the time that is won."""
        theme, d, scale = self.theme, grid.dpr, self.scale()
        painter.fillRect(0, 0, grid.columns, grid.rows, QColor(theme.background))
        painter.fillRect(0, 0, grid.columns, marks.line_width(d), QColor(theme.line))
        prediction = self.state.what_if.prediction
        iteration = iteration_to_fit(self.state) or 0
        base = marks.text_baseline(0, HEAD_PX * d, TEXT_PX * d)
        if prediction is None:
            return
        marks.paint_text(painter, SAME_AXIS, 4 * d, base, TEXT_PX * d, theme.text_soft)
        shift = prediction.shift_ns(iteration)
        self._paint_lanes(painter, prediction, _shifted(scale, -shift), grid)
        self._paint_end(painter, prediction, iteration, scale, grid, base)

    def _paint_lanes(self, painter: QPainter, prediction: Prediction, scale: Scale, grid: DeviceGrid) -> None:
        theme, d, state = self.theme, grid.dpr, self.state
        boxes = lane_boxes(len(prediction.study.trace.gpus), grid)
        painter.setBrushOrigin(0, 0)
        for box in boxes:
            lane = (0, box.top, grid.columns, box.bottom - box.top)
            painter.fillRect(*lane, QColor(theme.parts[IDLE]))
            if "idle" in state.overlays:
                painter.fillRect(*lane, QBrush(hatch_image(theme, d)))
        draw = draw_list(prediction.states.layers(boxes, scale))
        if self.colours is None:
            return
        paint_rects(painter, draw, self.colours.shown(theme, state.overlays))
        if "waiting" in state.overlays:
            painter.setBrushOrigin(0, 0)
            painter.setBrush(QBrush(stripes(theme.waiting, d)))
            for colour, low, high in draw.runs():
                if colour == WAITING:
                    draw_rects(painter, corners(draw.rect[low:high]))

    def _paint_end(
        self,
        painter: QPainter,
        prediction: Prediction,
        iteration: int,
        scale: Scale,
        grid: DeviceGrid,
        base: float,
    ) -> None:
        """Mark the predicted and the recorded end of the iteration, and what lies between."""
        theme, d = self.theme, grid.dpr
        recorded_ns, predicted_ns = prediction.lengths_ns(iteration)
        begin = prediction.iterations.start_ns(iteration)
        recorded, predicted = (marks.column_of(scale, begin + ns) for ns in (recorded_ns, predicted_ns))
        won = predicted_ns <= recorded_ns
        ink = theme.good if won else theme.error
        left, right = min(recorded, predicted), max(recorded, predicted)
        band = QColor(ink)
        band.setAlpha(_BAND_ALPHA)
        painter.fillRect(left, 0, right - left, grid.rows, band)
        width = marks.line_width(d)
        painter.fillRect(recorded, 0, width, grid.rows, QColor(theme.boundary))
        painter.fillRect(predicted, 0, width, grid.rows, QColor(ink))
        if not 0 <= predicted <= scale.width:
            return
        text, pixels = f"predicted end {format_ns(predicted_ns)}", TEXT_PX * d
        wide = metrics(pixels, MEDIUM).horizontalAdvance(text)
        x = left - _TEXT_GAP * d - wide
        taken = 4 * d + metrics(pixels).horizontalAdvance(SAME_AXIS) + 2 * _TEXT_GAP * d
        if x < taken:
            x = right + _TEXT_GAP * d
        marks.paint_text(painter, text, x, base, pixels, ink, MEDIUM)
        number, _, unit = format_ns(abs(recorded_ns - predicted_ns)).rpartition(" ")
        sign = MINUS if won else "+"
        # The numbers stand beside: where there is little room, fewer digits do here.
        for apart in (
            f"{sign}{number} {unit}",
            f"{sign}{float(number.replace(',', '')):.1f} {unit}",
            f"{sign}{float(number.replace(',', '')):.1f}",
        ):
            room = metrics(pixels, MEDIUM).horizontalAdvance(apart)
            if room + 2 * d <= right - left:
                marks.paint_text(painter, apart, (left + right - room) / 2, base, pixels, ink, MEDIUM)
                break


def _shifted(scale: Scale, by_ns: int) -> Scale:
    return Scale(scale.start_ns + by_ns, scale.end_ns + by_ns, scale.width)


def lane_boxes(gpus: int, grid: DeviceGrid) -> Sequence[BandBox[StateBand]]:
    """Return where the lane of each GPU is: they fill the strip below its head, with a pixel between."""
    top, bottom = HEAD_PX * grid.dpr, grid.rows - PAD_PX * grid.dpr
    high = min((bottom - top) / max(gpus, 1), MOST_LANE_PX * grid.dpr)
    gap = marks.line_width(grid.dpr) if high >= 3 * grid.dpr else 0
    boxes = []
    for gpu in range(gpus):
        first, last = snap_px(top + gpu * high), snap_px(top + (gpu + 1) * high)
        boxes.append(BandBox(StateBand(gpu), first, max(last - gap, first + 1)))
    return boxes
