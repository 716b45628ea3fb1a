"""The legend: the state colours, the overlays, and the classes of work that this trace holds."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.classify import CLASSES
from viewer.analysis.study import Study
from viewer.drawing.palette import Palette
from viewer.drawing.theme import LIGHT, Theme
from viewer.state import ViewState
from viewer.timeline import marks
from viewer.timeline.fonts import metrics
from viewer.timeline.strip import guard

HEIGHT = 22
_TEXT, _SWATCH, _GAP = 10.5, 9, 14
_STATES = ("compute", "hidden communication", "exposed communication", "copy", "idle")


class Legend(QWidget):
    """One line at the foot of the timeline."""

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self._state = state
        self._palette: Palette | None = None
        self._classes: tuple[str, ...] = ()
        self.setFixedHeight(HEIGHT)

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    def set_palette(self, palette: Palette | None, study: Study | None) -> None:
        """Show the classes of another trace."""
        self._palette = palette
        self._classes = _classes_of(study) if study else ()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint as many entries as there is room for."""
        painter = QPainter(self)
        try:
            with guard("painting the legend"):
                self._paint(painter)
        finally:
            painter.end()

    def _paint(self, painter: QPainter) -> None:
        theme = self.theme
        painter.fillRect(self.rect(), QColor(theme.panel))
        painter.fillRect(0, 0, self.width(), 1, QColor(theme.line))
        x = self._paint_heading(painter, 12, "GPU state")
        for name, argb in zip(_STATES, theme.parts, strict=True):
            x = self._paint_entry(painter, x, name, argb, hatched=name == "idle")
        if self._palette is not None and self._classes:
            x = self._paint_heading(painter, x + _GAP, "Kernels")
            for name in self._classes:
                if x < self.width():
                    x = self._paint_entry(painter, x, name, self._palette.class_colour(name, theme))

    def _paint_heading(self, painter: QPainter, x: float, text: str) -> float:
        base = marks.text_baseline(0, self.height(), _TEXT)
        marks.paint_text(painter, text, x, base, _TEXT, self.theme.text_faint)
        return x + metrics(_TEXT).horizontalAdvance(text) + 10

    def _paint_entry(self, painter: QPainter, x: float, name: str, argb: int, hatched: bool = False) -> float:
        width = _SWATCH + 5 + metrics(_TEXT).horizontalAdvance(name)
        if x + width > self.width() - 8:
            return float(self.width())
        box = QRectF(x, (self.height() - _SWATCH) / 2, _SWATCH, _SWATCH)
        painter.fillRect(box, QColor(argb))
        if hatched:
            painter.setBrushOrigin(QPointF(0, 0))
            painter.fillRect(box, QBrush(QColor(self.theme.text_faint), Qt.BrushStyle.BDiagPattern))
        base = marks.text_baseline(0, self.height(), _TEXT)
        marks.paint_text(painter, name, x + _SWATCH + 5, base, _TEXT, self.theme.text_soft)
        return x + width + _GAP


def _classes_of(study: Study) -> tuple[str, ...]:
    held = np.unique(study.classes.class_of[np.unique(study.trace.kernels.name_id)])
    return tuple(CLASSES[c] for c in held)
