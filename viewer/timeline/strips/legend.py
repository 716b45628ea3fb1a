"""The legend: the state colours, the overlays, and the classes of work that this trace holds."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.study import Study
from viewer.drawing.palette import Palette
from viewer.drawing.theme import LIGHT, Theme
from viewer.state import ViewState
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import metrics
from viewer.timeline.strip import guard

HEIGHT = 22
_TEXT, _SWATCH, _GAP = 10.5, 9, 14
_IDLE = "idle"
_STATES = ("compute", "hidden communication", "exposed communication", "copy", _IDLE)


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
        self._classes = study.classes.present if study else ()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint as many entries as there is room for."""
        painter = QPainter(self)
        try:
            with guard("painting the legend"):
                paint_legend(painter, self.rect(), self.theme, self._palette, self._classes)
        finally:
            painter.end()


def paint_legend(
    painter: QPainter, rect: QRect, theme: Theme, palette: Palette | None, classes: Sequence[str]
) -> None:
    """Paint as many entries into `rect` as there is room for; logical pixels."""
    painter.fillRect(rect, QColor(theme.panel))
    painter.fillRect(rect.left(), rect.top(), rect.width(), 1, QColor(theme.line))
    x = _paint_heading(painter, rect, rect.left() + 12.0, theme, "GPU state")
    for name, argb in zip(_STATES, theme.parts, strict=True):
        x = _paint_entry(painter, rect, x, theme, name, argb)
    if palette is not None and classes:
        x = _paint_heading(painter, rect, x + _GAP, theme, "Kernels")
        for name in classes:
            x = _paint_entry(
                painter, rect, x, theme, CLASS_LABELS.get(name, name), palette.class_colour(name, theme)
            )


def _paint_heading(painter: QPainter, rect: QRect, x: float, theme: Theme, text: str) -> float:
    base = marks.text_baseline(rect.top(), rect.height(), _TEXT)
    marks.paint_text(painter, text, x, base, _TEXT, theme.text_faint)
    return x + metrics(_TEXT).horizontalAdvance(text) + 10


def _paint_entry(painter: QPainter, rect: QRect, x: float, theme: Theme, name: str, argb: int) -> float:
    """Paint a swatch with its name, and return where the next one goes: outside once the room is used up."""
    width = _SWATCH + 5 + metrics(_TEXT).horizontalAdvance(name)
    if x + width > rect.right() - 7:
        return float(rect.right() + 1)
    box = QRectF(x, rect.top() + (rect.height() - _SWATCH) / 2, _SWATCH, _SWATCH)
    painter.fillRect(box, QColor(argb))
    if name == _IDLE:
        painter.setBrushOrigin(QPointF(0, 0))
        painter.fillRect(box, QBrush(QColor(theme.text_faint), Qt.BrushStyle.BDiagPattern))
    base = marks.text_baseline(rect.top(), rect.height(), _TEXT)
    marks.paint_text(painter, name, x + _SWATCH + 5, base, _TEXT, theme.text_soft)
    return x + width + _GAP
