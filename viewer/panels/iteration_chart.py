"""The chart of the Iterations dock: length over iteration."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.time.iteration_bounds import Iterations
from viewer.drawing.theme import Theme

BAR_WIDTH = 0.8


class IterationChart(pg.PlotWidget):
    """A bar per iteration: steady ones strong, others pale, the selected one in the accent colour.

    Signals
    -------
    lap_clicked(int)
        A bar was clicked.
    """

    iteration_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Length of each iteration")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the table beside it has the same by keys
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

    def show_iterations(
        self, iterations: Iterations, steady: tuple[int, ...], in_hand: int | None, theme: Theme
    ) -> None:
        """Draw the iterations' lengths."""
        self._count = iterations.count
        colours = [QColor.fromRgba(theme.text_faint)] * iterations.count
        for iteration in steady:
            colours[iteration] = QColor.fromRgba(theme.parts[0])
        if in_hand is not None and in_hand < iterations.count:
            colours[in_hand] = QColor.fromRgba(theme.accent)
        heights = iterations.duration_ns / 1e6
        brushes = [pg.mkBrush(c) for c in colours]
        numbers = np.arange(iterations.count)
        self._bars.setOpts(x=numbers, height=heights, width=BAR_WIDTH, brushes=brushes, pen=None)
        self._median.setValue(iterations.median_ns / 1e6)
        self._median.setPen(pg.mkPen(QColor.fromRgba(theme.text_soft), style=Qt.PenStyle.DashLine))
        self.setBackground(QColor.fromRgba(theme.background))
        for side in ("left", "bottom"):
            self.getAxis(side).setPen(QColor.fromRgba(theme.line))
            self.getAxis(side).setTextPen(QColor.fromRgba(theme.text_soft))
        self.setXRange(-0.6, iterations.count - 0.4, padding=0)
        self.setYRange(0, float(heights.max()) * 1.08 if iterations.count else 1, padding=0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self.getPlotItem().vb.mapSceneToView(self.mapToScene(event.position().toPoint())).x()
        iteration = round(at)
        if event.button() == Qt.MouseButton.LeftButton and 0 <= iteration < self._count:
            self.iteration_clicked.emit(iteration)
