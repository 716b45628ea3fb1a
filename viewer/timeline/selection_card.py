"""The selection card: the five parts of the selected range on every GPU, exactly."""

from __future__ import annotations

import time

from PySide6.QtCore import QRect, QSize, QTimer
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from viewer.analysis.laps import Laps
from viewer.analysis.measure import RangeNumbers, measure
from viewer.analysis.study import Study
from viewer.drawing.format import format_count, format_ns, format_share
from viewer.state import Window
from viewer.timeline import marks
from viewer.timeline.card import Card
from viewer.timeline.facts import gpu_names
from viewer.timeline.fonts import MEDIUM, REGULAR, STRONG, cropped, metrics
from viewer.trace.names import short_name

_HEADINGS = ("compute", "hidden", "exposed", "copy", "idle", "no kernel")
_TEXT, _SMALL, _LINE = 11, 10, 17
_COLUMN, _SHARE, _GAP, _COUNT, _MAX_LABEL = 88, 44, 4, 58, 110
_MAX_GPUS = 16
_TITLE_HEIGHT, _RULE = 24, 9
_SLOW_S, _PAUSE_MS = 0.008, 60


class SelectionCard(Card):
    """Measures the selection. While it is dragged on a trace so large that it costs frames, after a pause."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.numbers: RangeNumbers | None = None
        self.where = ""
        self._labels: tuple[str, ...] = ()
        self._cost_s = 0.0
        self._asked: tuple[Study, Window, Laps | None] | None = None
        self._place: tuple[QRect, QRect, QRect | None] = (QRect(), QRect(), None)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._measure)

    def show_range(
        self,
        study: Study,
        window: Window,
        laps: Laps | None,
        span: QRect,
        bounds: QRect,
        free: QRect | None = None,
    ) -> None:
        """Show the numbers of a range beside the place where it is selected (`show_beside`)."""
        known = self._asked == (study, window, laps)
        self._asked, self._place = (study, window, laps), (span, bounds, free)
        if known and self.numbers is not None:
            self.show_beside(*self._place)
        elif self._cost_s > _SLOW_S and self.isVisible():
            self._pause.start()
        else:
            self._measure()

    def dismiss(self) -> None:
        """Hide the card; there is no selection."""
        self._pause.stop()
        self._asked = self.numbers = None
        self.hide()

    def _measure(self) -> None:
        if self._asked is None:
            return
        study, window, laps = self._asked
        began = time.perf_counter()
        try:
            self.numbers = measure(study, *window, laps)
        except ValueError:
            self.dismiss()
            return
        self._cost_s = time.perf_counter() - began
        self.where = _where(self.numbers, laps)
        self._labels = gpu_names(study.trace)
        self.show_beside(*self._place)

    def content_size(self) -> QSize:
        """Return the size of the table."""
        numbers = self.numbers
        if numbers is None:
            return QSize(0, 0)
        rows = min(len(numbers.gpus), _MAX_GPUS) + (len(numbers.gpus) > _MAX_GPUS)
        lines = 2 * bool(numbers.gpus) + len(_notes(numbers)) + 1
        width = self._label_width() + _COLUMN * (len(_HEADINGS) - 1) + 3 * _COUNT
        return QSize(width, _TITLE_HEIGHT + _LINE * (rows + lines) + _RULE)

    def _label_width(self) -> int:
        labels = self._labels
        return min(
            _MAX_LABEL, round(max((metrics(_TEXT).horizontalAdvance(t) for t in labels), default=0)) + 6
        )

    def paint_content(self, painter: QPainter, rect: QRect) -> None:
        """Paint the table."""
        numbers, theme = self.numbers, self.theme
        if numbers is None:
            return
        title = format_ns(numbers.length_ns)
        base = rect.top() + 12.0
        marks.paint_text(painter, title, rect.left(), base, 14, theme.text, STRONG)
        x = rect.left() + metrics(14, STRONG).horizontalAdvance(title) + 18
        where = cropped(self.where, rect.right() - x, _TEXT)
        marks.paint_text(painter, where, x, base, _TEXT, theme.text_soft)
        y = rect.top() + _TITLE_HEIGHT
        if numbers.gpus:
            y = self._paint_table(painter, rect, y, numbers)
        painter.fillRect(rect.left(), y + 4, rect.width(), 1, QColor(theme.line))
        y += _RULE
        for label, value in _notes(numbers):
            base = marks.text_baseline(y, _LINE, _TEXT)
            marks.paint_text(painter, label, rect.left(), base, _TEXT, theme.text_soft)
            left = rect.left() + 140
            marks.paint_text(
                painter,
                cropped(value, rect.right() - left, _TEXT, MEDIUM),
                left,
                base,
                _TEXT,
                theme.text,
                MEDIUM,
            )
            y += _LINE
        hint = "Enter keeps the measurement · Shift while dragging: no snapping"
        if numbers.clipped:
            hint = f"Clipped to the recording · {hint}"
        base = marks.text_baseline(y, _LINE, _SMALL)
        marks.paint_text(painter, hint, rect.left(), base, _SMALL, theme.text_faint)

    def _paint_table(self, painter: QPainter, rect: QRect, y: int, numbers: RangeNumbers) -> int:
        theme = self.theme
        unit, size = _unit(numbers.length_ns)
        self._paint_line(
            painter, rect, y, unit, [(h, "") for h in _HEADINGS], ("kernels", "launches"), soft=True
        )
        y += _LINE
        for gpu in numbers.gpus[:_MAX_GPUS]:
            parts = [*numbers.parts_ns[gpu.gpu].tolist(), int(numbers.no_kernel_ns[gpu.gpu])]
            cells = _cells(parts, numbers.length_ns, size)
            label = self._labels[gpu.gpu]
            counts = (format_count(gpu.kernels), format_count(gpu.launches))
            self._paint_line(painter, rect, y, label, cells, counts)
            y += _LINE
        if (more := len(numbers.gpus) - _MAX_GPUS) > 0:
            base = marks.text_baseline(y, _LINE, _TEXT)
            marks.paint_text(painter, f"and {more} more", rect.left(), base, _TEXT, theme.text_soft)
            y += _LINE
        everything = [*numbers.all_ns.tolist(), int(numbers.no_kernel_ns.sum())]
        cells = _cells(everything, numbers.length_ns * len(numbers.gpus), size)
        counts = (format_count(numbers.kernels), format_count(numbers.launches))
        tint = QColor(theme.accent)
        tint.setAlpha(20)
        painter.fillRect(rect.left() - 4, y, rect.width() + 8, _LINE, tint)
        self._paint_line(painter, rect, y, "In all", cells, counts)
        return y + _LINE

    def _paint_line(
        self,
        painter: QPainter,
        rect: QRect,
        y: int,
        label: str,
        cells: list[tuple[str, str]],
        counts: tuple[str, str],
        soft: bool = False,
    ) -> None:
        theme = self.theme
        base = marks.text_baseline(y, _LINE, _TEXT)
        ink, weight = (theme.text_soft, REGULAR) if soft else (theme.text, MEDIUM)
        room = self._label_width()
        marks.paint_text(painter, cropped(label, room, _TEXT), rect.left(), base, _TEXT, ink)
        right = rect.left() + room
        for value, share in cells[:-1]:
            right += _COLUMN
            if share:
                beside = right - _SHARE + _GAP
                marks.paint_text(painter, share, beside, base, _SMALL, theme.text_faint)
            cell_ink = theme.text_faint if value == "–" else ink
            _paint_right(painter, value, right - _SHARE, base, _TEXT, cell_ink, weight)
        right += _COUNT
        _paint_right(painter, cells[-1][0], right, base, _TEXT, ink, weight)
        for count in counts:
            right += _COUNT
            _paint_right(painter, count, right, base, _TEXT, ink, REGULAR)


def _paint_right(
    painter: QPainter, text: str, right: float, base: float, pixels: float, ink: int, weight: int
) -> None:
    if text:
        x = right - metrics(pixels, weight).horizontalAdvance(text)
        marks.paint_text(painter, text, x, base, pixels, ink, weight)


def _unit(length_ns: int) -> tuple[str, int]:
    """Return the one unit of a table, so that its columns compare."""
    return ("µs", 1_000) if length_ns < 1_000_000 else ("ms", 1_000_000)


def _cells(parts_ns: list[int], whole_ns: int, size: int) -> list[tuple[str, str]]:
    cells = []
    for ns in parts_ns:
        value = ns / size
        decimals = next((d for limit, d in ((9.9995, 3), (99.995, 2), (999.95, 1)) if value < limit), 0)
        cells.append((f"{value:,.{decimals}f}", format_share(ns / whole_ns)) if ns else ("–", ""))
    return cells


def _notes(numbers: RangeNumbers) -> list[tuple[str, str]]:
    notes = []
    if numbers.families:
        most = "   ".join(f"{short_name(f.name)} {format_share(f.share)}" for f in numbers.families)
        notes.append(("Most kernel time", most))
    held = [g.holes for g in numbers.gpus if g.hole_stream is not None]
    if empty := sum(h.empty_ns for h in held):
        filled = (
            ("compute elsewhere", sum(h.compute_ns for h in held)),
            ("communication", sum(h.communication_ns for h in held)),
            ("copy", sum(h.copy_ns for h in held)),
            ("idle", sum(h.idle_ns for h in held)),
        )
        made_of = ", ".join(f"{what} {format_ns(ns)}" for what, ns in filled if ns)
        notes.append(("Compute stream empty", f"{format_ns(empty)}: {made_of}"))
    return notes


def _where(numbers: RangeNumbers, laps: Laps | None) -> str:
    share = numbers.lap
    if share is None or laps is None:
        return "outside the iterations" if laps else ""
    text = f"{format_share(share.share)} of iteration {share.lap}"
    if len(share.laps) > 1:
        text += f" · touches iterations {share.laps[0]} to {share.laps[-1]}"
    return text
