"""The small chart of the Iterations dock: length over lap."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.time.iteration_bounds import Laps
from viewer.drawing.theme import Theme

BAR_WIDTH = 0.8


class LapChart(pg.PlotWidget):
    """A bar per lap: steady ones strong, others pale, the one in hand in the accent colour.

    Signals
    -------
    lap_clicked(int)
        A bar was clicked.
    """

    lap_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Length of each iteration")
        self.setMenuEnabled(False)
        self.setMouseEnabled(False, False)
        self.hideButtons()
        self._count = 0
        self._bars = pg.BarGraphItem(x=[], height=[], width=BAR_WIDTH)
        self._median = pg.InfiniteLine(angle=0, movable=False)
        self.addItem(self._bars)
        self.addItem(self._median)
        for side in ("left", "bottom"):
            self.getAxis(side).setStyle(tickLength=-4)
        self.setLabel("left", "ms")

    def show_laps(self, laps: Laps, steady: tuple[int, ...], in_hand: int | None, theme: Theme) -> None:
        """Draw the laps' lengths."""
        self._count = laps.count
        colours = [QColor.fromRgba(theme.text_faint)] * laps.count
        for lap in steady:
            colours[lap] = QColor.fromRgba(theme.parts[0])
        if in_hand is not None and in_hand < laps.count:
            colours[in_hand] = QColor.fromRgba(theme.accent)
        heights = laps.duration_ns / 1e6
        brushes = [pg.mkBrush(c) for c in colours]
        numbers = np.arange(laps.count)
        self._bars.setOpts(x=numbers, height=heights, width=BAR_WIDTH, brushes=brushes, pen=None)
        self._median.setValue(laps.median_ns / 1e6)
        self._median.setPen(pg.mkPen(QColor.fromRgba(theme.text_soft), style=Qt.PenStyle.DashLine))
        self.setBackground(QColor.fromRgba(theme.background))
        for side in ("left", "bottom"):
            self.getAxis(side).setPen(QColor.fromRgba(theme.line))
            self.getAxis(side).setTextPen(QColor.fromRgba(theme.text_soft))
        self.setXRange(-0.6, laps.count - 0.4, padding=0)
        self.setYRange(0, float(heights.max()) * 1.08 if laps.count else 1, padding=0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self.getPlotItem().vb.mapSceneToView(self.mapToScene(event.position().toPoint())).x()
        lap = round(at)
        if event.button() == Qt.MouseButton.LeftButton and 0 <= lap < self._count:
            self.lap_clicked.emit(lap)
