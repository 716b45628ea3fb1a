"""The histogram of the Events dock: durations by number of events and by their share of time."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QFrame, QWidget

from viewer.drawing.format import format_ns, format_share
from viewer.drawing.theme import LIGHT, Theme
from viewer.panels.event_view import Histogram
from viewer.printable import counted

_LONGEST = int(np.iinfo(np.int64).max)
_DRAG_PX = 4


class DurationAxis(pg.AxisItem):
    """An axis of powers of ten, in ns, with a label at each decade."""

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Place a tick at every decade, at every third where they are dense."""
        step = 1 if size > 60 * (high - low) else 3
        first = math.ceil(low / step) * step
        return [(float(step), [float(v) for v in range(first, math.floor(high) + 1, step)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Write "10 µs"."""
        return [_short(10.0**v) for v in values]


def _short(ns: float) -> str:
    for unit, length in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= length:
            return f"{ns / length:,.0f} {unit}"
    return f"{ns:,.0f} ns"


class DurationChart(pg.PlotWidget):
    """Bars over log duration: the share of the events and the share of their time; a drag filters.

    Signals
    -------
    brushed(object)
        (least, most) duration in ns after a drag; None for all after a click.
    """

    brushed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, axisItems={"bottom": DurationAxis("bottom")})
        self.setAccessibleName("How long the events are")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the field of durations has the same by keys
        self.setMenuEnabled(False)
        self.setMouseEnabled(False, False)
        self.hideButtons()
        self.hideAxis("left")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.theme: Theme = LIGHT
        self._histogram: Histogram | None = None
        self._pressed: float | None = None
        self._counts = pg.BarGraphItem(x=[], height=[], width=0.1)
        self._times = pg.BarGraphItem(x=[], height=[], width=0.1)
        self._brush = pg.LinearRegionItem(movable=False)
        self._brush.setZValue(-5)
        self._brush.hide()
        for item in (self._brush, self._counts, self._times):
            self.addItem(item)
        self.setMouseTracking(True)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.setBackground(QColor.fromRgba(theme.background))
        axis = self.getAxis("bottom")
        axis.setPen(QColor.fromRgba(theme.line))
        axis.setTextPen(QColor.fromRgba(theme.text_soft))
        tint = QColor.fromRgba(theme.selection)
        self._brush.setBrush(tint)
        for line in self._brush.lines:
            line.setPen(QColor.fromRgba(theme.selection_edge))
        if self._histogram is not None:
            self.show_histogram(self._histogram)

    def show_histogram(self, histogram: Histogram) -> None:
        """Draw a histogram: per bin, the share of the events at the left and of their time at the right."""
        self._histogram = histogram
        left = np.log10(histogram.edges_ns[:-1])
        width = float(left[1] - left[0]) if len(left) > 1 else 0.125
        for item, values, shift, argb in (
            (self._counts, histogram.count, 0.27, self.theme.text_faint),
            (self._times, histogram.total_ns, 0.70, self.theme.parts[0]),
        ):
            share = values / max(int(values.sum()), 1)
            brush = pg.mkBrush(QColor.fromRgba(argb))
            item.setOpts(x=left + shift * width, height=share, width=width * 0.4, brush=brush, pen=None)
        highest = max(
            float((histogram.count / max(int(histogram.count.sum()), 1)).max()),
            float((histogram.total_ns / max(int(histogram.total_ns.sum()), 1)).max()),
            1e-9,
        )
        self.setXRange(float(left[0]), float(np.log10(histogram.edges_ns[-1])), padding=0.02)
        self.setYRange(0, highest * 1.05, padding=0)

    def show_brush(self, least_ns: int, most_ns: int) -> None:
        """Mark the chosen durations."""
        is_all = least_ns <= 0 and most_ns == _LONGEST
        self._brush.setVisible(not is_all)
        if not is_all:
            self._brush.setRegion((math.log10(max(least_ns, 1)), min(math.log10(max(most_ns, 1)), 19.0)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            self._explain(event)
        elif abs(event.position().x() - self._pressed) >= _DRAG_PX:
            self._brush.setVisible(True)
            self._brush.setRegion(self._dragged(event))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        is_drag = abs(event.position().x() - self._pressed) >= _DRAG_PX
        low, high = self._dragged(event)
        self._pressed = None
        self.brushed.emit((round(10**low), round(10**high)) if is_drag else None)

    def _dragged(self, event: QMouseEvent) -> tuple[float, float]:
        assert self._pressed is not None
        ends = sorted(self._at(x) for x in (self._pressed, event.position().x()))
        return max(ends[0], 0.0), max(ends[1], 0.0)

    def _at(self, x: float) -> float:
        box = self.getPlotItem().vb
        return float(box.mapSceneToView(self.mapToScene(round(x), 0)).x())

    def _explain(self, event: QMouseEvent) -> None:
        """Show the numbers of the bin under the pointer as a tooltip."""
        histogram = self._histogram
        duration_ns = 10 ** self._at(event.position().x())
        if histogram is None or not histogram.edges_ns[0] <= duration_ns < histogram.edges_ns[-1]:
            self.setToolTip("")
            return
        bin_at = int(np.searchsorted(histogram.edges_ns, duration_ns, side="right")) - 1
        count, total = int(histogram.count[bin_at]), int(histogram.total_ns[bin_at])
        low, high = (format_ns(round(histogram.edges_ns[bin_at + i])) for i in (0, 1))
        of_all = format_share(count / max(int(histogram.count.sum()), 1))
        of_time = format_share(total / max(int(histogram.total_ns.sum()), 1))
        self.setToolTip(
            f"{low} to {high}\n{counted(count, 'event')}, {of_all} of all (grey)\n"
            f"{format_ns(total)} together, {of_time} of their time (blue)\n"
            "Drag to choose durations, or type them (Ctrl+D); click for all"
        )
