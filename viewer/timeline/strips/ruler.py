"""The ruler: ticks with a fixed part on the left, iterations, the pointer's time, the selection's length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.time.iteration_bounds import Iterations
from viewer.drawing.format import format_instant, format_ns
from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import Scale
from viewer.drawing.theme import LIGHT, Theme
from viewer.drawing.ticks import ticks
from viewer.rows import Row
from viewer.state import ViewState, Window
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.headers.header_values import shares_basis
from viewer.timeline.headers.paint_header import COLUMN, RIGHT
from viewer.timeline.headers.path_values import column_heads
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, cropped, metrics
from viewer.timeline.strip import DeviceGrid, Strip, guard

HEIGHT = 38
_CHIP_TOP, _CHIP_HEIGHT = 3, 15
_TICK, _SMALL_TICK = 6, 3
_TEXT, _CHIP_PAD, _EDGE = 11, 7, 2
_CUT_TOP = 20
"""Where the lengths of selections and the pointer's time stand: on the ticks, below the iterations."""
_LABEL_GAP, _LENGTH_MARGIN = 4, 9.0
_LABEL_ROOM, _MOST_STEP = 40, 10**9
_MARK_ROOM = 10
"""What a common iteration takes, in logical pixels, where each has its mark; else the labelled ones have."""
_HEAD, _NOTE, _NOTE_LINE = 11, 9.5, 14


def paint_ruler(
    painter: QPainter,
    scale: Scale,
    height: int,
    theme: Theme,
    dpr: float,
    iterations: Iterations | None,
    iteration: int | None,
) -> None:
    """Paint ticks and iterations in device pixels, `iteration` as the current one; no label that is cut."""
    painter.fillRect(0, 0, scale.width, height, QColor.fromRgba(theme.panel))
    marked = ticks(scale.start_ns, scale.end_ns, scale.width / dpr)
    bottom, width = height - 1, marks.line_width(dpr)
    for times, length, colour in (
        (marked.minor, _SMALL_TICK, theme.line),
        ([t for t, _ in marked.major], _TICK, theme.text_faint),
    ):
        high, ink = round(length * dpr), QColor(colour)
        for t in times:
            painter.fillRect(marks.column_of(scale, t), bottom - high, width, high, ink)
    baseline, measure = _label_baseline(height, dpr), metrics(_TEXT * dpr)
    for t, label in marked.major:
        x = scale.x(t) + _LABEL_GAP * dpr
        # What the edge leaves of a number is another number.
        if x + measure.horizontalAdvance(label) <= scale.width:
            marks.paint_text(painter, label, x, baseline, _TEXT * dpr, theme.text_soft)
    if iterations is not None:
        _paint_iterations(painter, scale, theme, dpr, iterations, iteration)
    painter.fillRect(0, height - width, scale.width, width, QColor(theme.line))


def _label_baseline(height: int, dpr: float) -> float:
    return height - 1 - 5 * dpr


def _paint_iterations(
    painter: QPainter,
    scale: Scale,
    theme: Theme,
    dpr: float,
    iterations: Iterations,
    current: int | None,
) -> None:
    edges = marks.iteration_edges(iterations)
    if not len(edges):
        return
    first = max(0, int(np.searchsorted(edges, scale.start_ns, side="right")) - 1)
    last = min(len(edges) - 1, int(np.searchsorted(edges, scale.end_ns)))
    width = marks.line_width(dpr)
    top, high = round(_CHIP_TOP * dpr), round(_CHIP_HEIGHT * dpr)
    base = marks.text_baseline(top, high, _TEXT * dpr)
    room_each = float(np.median(np.diff(edges))) / scale.ns_per_px / dpr
    step = iteration_step(room_each)
    labelled = range(-(-first // step) * step, last, step)
    text_end = -1.0
    for iteration in range(first, last) if room_each >= _MARK_ROOM else labelled:
        left, right = (
            marks.column_of(scale, int(t)) for t in edges[[iteration, min(iteration + step, len(edges) - 1)]]
        )
        if iteration not in labelled and left < text_end:
            # Iterations are of any length: the mark of a short one would cross the number before it.
            continue
        if step == 1:
            painter.fillRect(left, top, max(right - left, 1), high, QColor(theme.accent_ground))
            if iteration == current:
                line = round(_EDGE * dpr)
                painter.fillRect(left, top + high - line, max(right - left, 1), line, QColor(theme.boundary))
        edge = round(_EDGE * dpr) if iteration in labelled and step == 1 else width
        painter.fillRect(left, top, edge, high, QColor(theme.boundary))
        if iteration not in labelled:
            continue
        start, room = max(left, 0), min(right, scale.width) - max(left, 0)
        length_ns = int(edges[iteration + 1] - edges[iteration])
        is_named = step == 1
        text = (
            _iteration_text(iterations, iteration, length_ns, room - 2 * _CHIP_PAD * dpr, dpr)
            if is_named
            else _number(iterations, iteration)
        )
        measure = metrics(_TEXT * dpr, STRONG if iteration == current else MEDIUM)
        taken = _CHIP_PAD * dpr + measure.horizontalAdvance(text)
        if text and (is_named or taken <= room):
            text_end = start + taken
            x, ink = start + _CHIP_PAD * dpr, theme.boundary_text
            marks.paint_text(
                painter, text, x, base, _TEXT * dpr, ink, STRONG if iteration == current else MEDIUM
            )
    end = marks.column_of(scale, int(edges[-1]))
    painter.fillRect(end, top, width, high, QColor(theme.boundary))


def iteration_step(room_px: float) -> int:
    """Return which iterations are labelled: every one, every 2nd, 5th, 10th ... that has room for its number.

    Parameters
    ----------
    room_px : float
        What a common iteration takes, in logical pixels.
    """
    step, factors = 1, itertools.cycle((2, 2.5, 2))
    while step * room_px < _LABEL_ROOM and step < _MOST_STEP:
        step = round(step * next(factors))
    return step


def _iteration_text(iterations: Iterations, iteration: int, length_ns: int, room: float, dpr: float) -> str:
    """Return as much of an iteration's name, length and flag as has room; in doubt every form says so."""
    flag, called = iterations.flags[iteration], iterations.called(iteration)
    tail = f" · {flag}" if flag else ""
    name = f"{called[:1].upper()}{called[1:]}{iterations.in_doubt}"
    length, number = format_ns(length_ns), _number(iterations, iteration)
    choices = (
        f"{name} · {length}{tail}",
        f"{number} · {length}{tail}",
        f"{number} · {length}",
        name,
        number,
    )
    measure = metrics(_TEXT * dpr, MEDIUM)
    return next((text for text in choices if measure.horizontalAdvance(text) <= room), "")


def _number(iterations: Iterations, iteration: int) -> str:
    """Return the number of an iteration, with a question mark where they are derived or guessed."""
    return f"{iteration}{'?' if iterations.doubt else ''}"


def length_tag(scale: Scale, selection: Window, dpr: float) -> QRectF:
    """Return where the length of a selected range stands, in device pixels; empty where it is out of view."""
    if selection[1] <= scale.start_ns or selection[0] >= scale.end_ns:
        return QRectF()
    ends = (0.0, float(scale.width))
    left, right = (min(max(scale.x(t), 0.0), ends[1]) for t in selection)
    text, middle = format_ns(selection[1] - selection[0]), (left + right) / 2
    return marks.tag_rect(text, middle, _CUT_TOP * dpr, ends, dpr, _LENGTH_MARGIN)


def beside(tag: QRectF, others: Sequence[QRectF], ends: tuple[float, float]) -> QRectF:
    """Return a tag moved to the nearest place along the axis where it meets none of the others.

    It stays where it is if there is no such place inside `ends`.
    """
    met = [other for other in others if not other.isEmpty()]
    lefts = [tag.left(), *(x for other in met for x in (other.right(), other.left() - tag.width()))]
    for left in sorted(lefts, key=lambda x: abs(x - tag.left())):
        moved = QRectF(left, tag.top(), tag.width(), tag.height())
        if ends[0] <= left and moved.right() <= ends[1] and not any(moved.intersects(o) for o in met):
            return moved
    return tag


def clear_cut_labels(
    painter: QPainter, scale: Scale, height: int, theme: Theme, dpr: float, tags: Sequence[QRectF]
) -> None:
    """Remove the ticks' labels that a tag would cover in part: the rest of a number is another number."""
    measure, baseline = metrics(_TEXT * dpr), _label_baseline(height, dpr)
    for t, label in ticks(scale.start_ns, scale.end_ns, scale.width / dpr).major:
        x, width = scale.x(t) + _LABEL_GAP * dpr, measure.horizontalAdvance(label)
        box = QRectF(x - dpr, baseline - measure.ascent(), width + 2 * dpr, measure.ascent() + dpr)
        if any(tag.intersects(box) for tag in tags):
            painter.fillRect(box, QColor.fromRgba(theme.panel))


def paint_length(painter: QPainter, scale: Scale, selection: Window, theme: Theme, dpr: float) -> None:
    """Paint the length of the selected range as a tag in device pixels."""
    tag = length_tag(scale, selection, dpr)
    if not tag.isEmpty():
        text, ends = format_ns(selection[1] - selection[0]), (0.0, float(scale.width))
        marks.paint_tag(
            painter, text, tag.center().x(), tag.top(), ends, theme.accent, theme.accent_text, dpr,
            margin=_LENGTH_MARGIN,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heads:
    """What stands in the ruler's row over the figures of the headers.

    Attributes
    ----------
    columns : tuple of str
        Over the figures of GPUs, from the left; () without a GPU.
    shares : str
        What the shares of rows below GPUs are counted over; "" where none are shown.
    """

    columns: tuple[str, ...] = ()
    shares: str = ""


def paint_corner(
    painter: QPainter, rect: QRect, window: Window, ruler_width: float, theme: Theme, heads: Heads
) -> None:
    """Paint "2 s   + ms" in logical pixels, what the ruler's labels are counted from, and the heads."""
    painter.fillRect(rect, QColor.fromRgba(theme.panel))
    marked = ticks(*window, ruler_width)
    right = rect.right() + 1 - RIGHT
    end = float(right)
    lines = 2 if heads.shares else 1
    top = rect.top() + (rect.height() - lines * _NOTE_LINE) / 2
    for column, text in enumerate(reversed(heads.columns)):
        edge = right - column * COLUMN
        box = QRectF(edge - 2 * COLUMN, top, 2 * COLUMN, _NOTE_LINE)
        marks.paint_line(painter, text, box, _HEAD, theme.text_soft, is_right=True)
        end = edge - metrics(_HEAD).horizontalAdvance(text) - 16
    if heads.shares:
        text = cropped(heads.shares, rect.width() / 2, _NOTE)
        box = QRectF(rect.left(), top + (lines - 1) * _NOTE_LINE, right - rect.left(), _NOTE_LINE)
        marks.paint_line(painter, text, box, _NOTE, theme.text_faint, is_right=True)
        end = min(end, right - metrics(_NOTE).horizontalAdvance(text) - 16)
    base = marks.text_baseline(rect.top(), rect.height(), 13)
    origin = marked.origin or "Time"
    marks.paint_text(painter, origin, 12, base, 13, theme.text, STRONG)
    x = 12 + metrics(13, STRONG).horizontalAdvance(origin) + 8
    unit = cropped(f"+ {marked.unit}" if marked.origin else f"in {marked.unit}", end - x, 11)
    marks.paint_text(painter, unit, x, base, 11, theme.text_soft, REGULAR)
    painter.fillRect(0, rect.height() - 1, rect.width(), 1, QColor(theme.line))


class Ruler(Strip):
    """The strip of time above the rows."""

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget | None = None) -> None:
        super().__init__(state, place, parent)
        self.setFixedHeight(HEIGHT)
        self._tags: list[tuple[Window, QRectF]] = []

    def row_at(self, y: float) -> Row | None:
        """There are no rows on a ruler."""
        return None

    def hit(self, pos: QPointF) -> HitResult | None:
        """There are no events on a ruler."""
        return None

    def placed_at(self, y: float) -> PlacedRow | None:
        """There are no rows on a ruler."""
        return None

    def tag_at(self, pos: QPointF) -> Window | None:
        """Return the selection whose tag is under the pointer, by which it is moved as a whole."""
        return next((window for window, tag in reversed(self._tags) if tag.contains(pos)), None)

    def iteration_at(self, pos: QPointF) -> int | None:
        """Return the iteration whose label is under the pointer."""
        iterations = self.state.iterations
        if iterations is None or pos.y() > _CHIP_TOP + _CHIP_HEIGHT + 1:
            return None
        return iterations.iteration_at(self.time_at(pos.x()))

    def paint_base(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint ticks and iterations."""
        paint_ruler(
            painter,
            self.scale(),
            grid.rows,
            self.theme,
            grid.dpr,
            self.state.iterations,
            self.state.iteration,
        )

    def paint_marks(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint kept ranges, the selection with its length, and the pointer's time."""
        theme, d, scale = self.theme, grid.dpr, self.scale()
        ends = (0.0, float(grid.columns))
        lengths = [(window, length_tag(scale, window, d)) for window in self.state.selections.items]
        hover = self.state.hover
        cut = marks.column_of(scale, hover.time_ns) if hover is not None else 0
        time = format_instant(hover.time_ns, scale.ns_per_px) if hover is not None else ""
        pointed = QRectF()
        if time:
            pointed = beside(marks.tag_rect(time, cut, _CUT_TOP * d, ends, d), [r for _, r in lengths], ends)
        clear_cut_labels(painter, scale, grid.rows, theme, d, [pointed, *(rect for _, rect in lengths)])
        marks.paint_measurements(painter, scale, self.state.measurements.items, grid.rows, d)
        marks.paint_selections(painter, scale, self.state.selections, grid.rows, theme, d)
        if time:
            marks.paint_cut(painter, cut, grid.rows, theme, d)
            marks.paint_tag(
                painter, time, pointed.center().x(), pointed.top(), ends, theme.cursor, theme.background, d
            )
        for window, _ in lengths:
            paint_length(painter, scale, window, theme, d)
        self._tags = [
            (window, QRectF(grid.axis.logical_x(r.left()), r.top() / d, r.width() / d, r.height() / d))
            for window, r in lengths
        ]


class RulerCorner(QWidget):
    """Left of the ruler: the fixed part of its times, their unit, and the heads of the headers' columns.

    Attributes
    ----------
    rows_in_view : callable
        Returns the rows whose headers are seen below.
    """

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state, self._place = state, place
        self.theme: Theme = LIGHT
        self._painted: tuple[object, ...] = ()
        self.rows_in_view: Callable[[], Iterable[Row]] = tuple
        self.setFixedHeight(HEIGHT)
        state.path.changed.connect(self.follow)

    def follow(self) -> None:
        """Paint the texts anew where they are others: they rarely are while the window moves."""
        if self._texts() != self._painted:
            self.update()

    def _texts(self) -> tuple[object, ...]:
        marked = ticks(*self.state.axis.window, self._place.pixels.width_px)
        return marked.origin, marked.unit, self._heads()

    def _heads(self) -> Heads:
        study = self.state.study
        has_shares = any(row.share is not None for row in self.rows_in_view())
        basis = shares_basis(self.state.filter) if has_shares else ""
        has_gpus = study is not None and bool(study.trace.gpus)
        return Heads(column_heads(self.state.path.shown is not None) if has_gpus else (), basis)

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint "2 s   + ms"."""
        painter = QPainter(self)
        try:
            with guard("painting the ruler's corner"):
                window, heads = self.state.axis.window, self._heads()
                width = self._place.pixels.width_px
                paint_corner(painter, self.rect(), window, width, self.theme, heads)
                self._painted = self._texts()
        finally:
            painter.end()
