"""The legend: the state colours, the overlays, and the classes of work that this trace holds."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.core.classify import CLASS_LABELS, CLASSES, COMMUNICATION
from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import CATEGORIES, IDLE
from viewer.drawing.palette import Palette
from viewer.drawing.theme import LIGHT, Theme
from viewer.state import ViewState
from viewer.state.shown_path import OVERLAY
from viewer.timeline.paint import marks, paint_rows
from viewer.timeline.paint.fonts import MEDIUM, metrics
from viewer.timeline.strip import guard

HEIGHT = 24
PATH = "critical path"
_TEXT, _SWATCH, _GAP = 11, 10, 14


class Legend(QWidget):
    """One line at the foot of the timeline."""

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self._state = state
        self._palette: Palette | None = None
        self._study: Study | None = None
        self.setFixedHeight(HEIGHT)
        state.overlays_changed.connect(self.update)

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    def set_palette(self, palette: Palette | None, study: Study | None) -> None:
        """Show the classes of another trace."""
        self._palette = palette
        self._study = study
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint as many entries as there is room for."""
        painter = QPainter(self)
        try:
            with guard("painting the legend"):
                overlays = self._state.overlays
                paint_legend(painter, self.rect(), self.theme, self._palette, self._study, overlays)
        finally:
            painter.end()


Entry = tuple[str, int, QImage | None]
"""What an entry is called, its colour, and a pattern over that."""


def states_shown(
    theme: Theme,
    overlays: Collection[str],
    study: Study | None,
    parts: Collection[int] = range(len(CATEGORIES)),
) -> list[Entry]:
    """Return the entries of the state lanes, as they are drawn with these overlays.

    Parameters
    ----------
    parts : collection of int
        The categories that are shown, positions in `CATEGORIES`.
    """
    compute, hidden, exposed, copy, idle = theme.parts
    is_marked, waits = "exposed" in overlays, "waiting" in overlays
    entries: list[tuple[int, Entry]] = [(0, ("compute", compute, None))]
    if study is not None and any(len(part.spinning) for part in study.parts):
        spins = paint_rows.stripes(theme.spinning, 1.0)
        entries.append((0, ("compute that only waits", compute, spins)))
    entries.append((1, ("communication hidden" if is_marked else "communication", hidden, None)))
    if is_marked:
        entries.append((2, ("exposed", exposed, None)))
    elif 1 not in parts:
        entries.append((2, ("communication", hidden, None)))
    if waits and (study is None or len(study.trace.gpus) > 1):
        name, ground = (
            ("exposed, waiting for a rank", exposed) if is_marked else ("waiting for a rank", hidden)
        )
        entries.append((2, (name, ground, paint_rows.stripes(theme.waiting, 1.0))))
    # Stronger than the hatch of the lanes, of which a swatch would hold a single pale line.
    hatch = paint_rows.stripes(theme.text_faint, 1.0, thin=True) if "idle" in overlays else None
    entries += [(3, ("copy only", copy, None)), (4, ("idle", idle, hatch))]
    return [entry for part, entry in entries if part in parts]


def _present(study: Study | None) -> list[int]:
    """Return the categories that a trace has anywhere; every trace may be idle."""
    everything = range(len(CATEGORIES))
    if study is None or not study.parts:
        return list(everything)
    return [p for p in everything if p == IDLE or any(len(gpu.busy[p]) for gpu in study.parts)]


def classes_shown(study: Study) -> list[str]:
    """Return the classes of kernels with a colour of their own: that of communication is what it costs."""
    return [name for name in study.classes.present if name != CLASSES[COMMUNICATION]]


def paint_legend(
    painter: QPainter,
    rect: QRect,
    theme: Theme,
    palette: Palette | None,
    study: Study | None,
    overlays: Collection[str],
) -> None:
    """Paint as many entries into `rect` as there is room for; logical pixels."""
    painter.fillRect(rect, QColor(theme.panel))
    painter.fillRect(rect.left(), rect.top(), rect.width(), 1, QColor(theme.line))
    x = _paint_heading(painter, rect, rect.left() + 12.0, theme, "GPU state")
    for name, argb, pattern in states_shown(theme, overlays, study, _present(study)):
        x = _paint_entry(painter, rect, x, theme, name, argb, pattern)
    if OVERLAY in overlays:
        x = _paint_entry(painter, rect, x, theme, PATH, theme.event, is_line=True)
    classes = classes_shown(study) if study else []
    if palette is not None and classes:
        x = _paint_heading(painter, rect, x + _GAP, theme, "Kernels")
        for name in classes:
            x = _paint_entry(
                painter, rect, x, theme, CLASS_LABELS.get(name, name), palette.class_colour(name, theme)
            )


def line_in(box: QRect) -> QRect:
    """Return the line that stands in place of a swatch for what is drawn as a line."""
    thick = max(2, box.height() // 5)
    return QRect(box.left(), box.center().y() - thick // 2 + 1, box.width(), thick)


def _paint_heading(painter: QPainter, rect: QRect, x: float, theme: Theme, text: str) -> float:
    base = marks.text_baseline(rect.top() + 1, rect.height(), _TEXT)
    marks.paint_text(painter, text, x, base, _TEXT, theme.text_soft, MEDIUM)
    return x + metrics(_TEXT).horizontalAdvance(text) + 10


def _paint_entry(
    painter: QPainter,
    rect: QRect,
    x: float,
    theme: Theme,
    name: str,
    argb: int,
    pattern: QImage | None = None,
    *,
    is_line: bool = False,
) -> float:
    """Paint a swatch with its name, and return where the next one goes: outside once the room is used up."""
    width = _SWATCH + 6 + metrics(_TEXT).horizontalAdvance(name)
    if x + width > rect.right() - 7:
        return float(rect.right() + 1)
    box = QRect(round(x), rect.top() + (rect.height() - _SWATCH) // 2 + 1, _SWATCH, _SWATCH)
    painter.fillRect(line_in(box) if is_line else box, QColor(argb))
    if pattern is not None:
        painter.setBrushOrigin(QPointF(box.topLeft()))
        painter.fillRect(box, QBrush(pattern))
    if argb == theme.parts[IDLE]:
        # As pale as the ground: a line shows where it is.
        painter.setPen(QColor(theme.text_faint))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(0, 0, -1, -1))
    base = marks.text_baseline(rect.top() + 1, rect.height(), _TEXT)
    marks.paint_text(painter, name, x + _SWATCH + 6, base, _TEXT, theme.text_soft)
    return x + width + _GAP
