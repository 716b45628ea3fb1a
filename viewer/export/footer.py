"""The blocks below the rows of a picture: scale bar, tables of numbers, and caption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter

from viewer import __version__
from viewer.drawing.format import NS_UNITS, format_instant, format_iteration_share, format_ns
from viewer.drawing.scale import AxisPixels
from viewer.drawing.theme import Theme
from viewer.export.picture_view import PictureError, View
from viewer.printable import visible
from viewer.state import Window
from viewer.state.measurement_table import measurement_frame, part_text
from viewer.timeline.cards.range_table import RangeTable
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, cropped, metrics

MARGIN, GAP = 12, 14
_TEXT, _TITLE, _LINE = 11, 12, 18
_CAPTION, _CAPTION_LINE = 10.5, 15
_BAR_PX, _BAR_HEIGHT = 150, 26
_MOST_GPUS = 64
_MEAN = "mean over the GPUs"

BUSY = "busy: anything runs on the GPU, on any stream; other percentages: share of the durations of siblings"
STATES = (
    "GPU state: compute kernels alone, communication hidden by compute, communication exposed, copies alone, "
    "idle (nothing on any stream); the five add up to the time shown"
)


@dataclass(frozen=True)
class Block:
    """A block of the footer, as wide as the picture; logical pixels."""

    height: int
    paint: Callable[[QPainter, QRect], None]


def card_block(view: View, width: int) -> Block | None:
    """Return the table of the selected range, None without a selection.

    Raises
    ------
    PictureError
        If the picture is too narrow, or the range lies outside the recording.
    """
    if view.selection is None:
        return None
    try:
        table = RangeTable(view.study, [view.selection], view.iterations, _MOST_GPUS)
    except ValueError as error:
        raise PictureError(str(error)) from error
    # Refuse rather than crop: a picture without some of its numbers would look complete.
    size = table.size()
    if size.width() + 2 * MARGIN > width:
        raise PictureError(f"the selection's numbers need a picture {size.width() + 2 * MARGIN} pixels wide")

    def paint(painter: QPainter, rect: QRect) -> None:
        _paint_line(painter, rect, view.theme)
        box = QRect(rect.left() + MARGIN, rect.top() + GAP, size.width(), size.height())
        table.paint(painter, box, view.theme)

    return Block(size.height() + GAP, paint)


@dataclass(frozen=True)
class _Column:
    key: str
    title: str
    width: int
    text: Callable[[Any], str]


def _begin(ns: int) -> str:
    return format_instant(ns, 1000)


_COLUMNS = (
    _Column("start_ns", "begin", 130, _begin),
    _Column("length_ns", "length", 84, format_ns),
    _Column("lap_share", "of iteration", 84, format_iteration_share),
    _Column("idle_ns", "idle", 70, part_text),
    _Column("copy_only_ns", "copy", 70, part_text),
    _Column("no_kernel_ns", "no kernel running", 112, part_text),
    _Column("exposed_comm_ns", "exposed", 84, part_text),
)
_NAME_WIDTH = 150


def measurements_block(view: View, width: int) -> Block | None:
    """Return the table of the measurements in the picture, None if there are none.

    Raises
    ------
    PictureError
        If the picture is too narrow.
    """
    if not view.measured:
        return None
    needed = 2 * MARGIN + _NAME_WIDTH + sum(c.width for c in _COLUMNS)
    if needed > width:
        raise PictureError(f"the measurements' numbers need a picture {needed} pixels wide")
    frame = measurement_frame(view.study, view.measured, view.iterations)

    def paint(painter: QPainter, rect: QRect) -> None:
        theme = view.theme
        _paint_line(painter, rect, theme)
        left, y = rect.left() + MARGIN, rect.top() + GAP
        base = marks.text_baseline(y, _LINE, _TITLE)
        marks.paint_text(painter, "Measurements", left, base, _TITLE, theme.text, STRONG)
        _paint_cells(painter, left, y, theme, [c.title for c in _COLUMNS], soft=True)
        # A line per measurement: dot, name, numbers, and the note in the width that is left.
        for row in frame.to_dict("records"):
            y += _LINE
            _paint_dot(painter, left + 4, y + _LINE / 2, str(row["colour"]))
            base = marks.text_baseline(y, _LINE, _TEXT)
            name = cropped(str(row["name"]), _NAME_WIDTH - 16, _TEXT, MEDIUM)
            marks.paint_text(painter, name, left + 16, base, _TEXT, theme.text, MEDIUM)
            right = _paint_cells(painter, left, y, theme, [c.text(row[c.key]) for c in _COLUMNS])
            note = cropped(str(row["note"]), rect.right() - MARGIN - right - 16, _TEXT)
            marks.paint_text(painter, note, right + 16, base, _TEXT, theme.text_soft)

    return Block(GAP + _LINE * (1 + len(frame)) + 4, paint)


def _paint_cells(
    painter: QPainter, left: int, y: int, theme: Theme, texts: Sequence[str], soft: bool = False
) -> int:
    """Paint the numbers of a line, right-aligned per column; return the x at which the last column ends."""
    right, base = left + _NAME_WIDTH, marks.text_baseline(y, _LINE, _TEXT)
    for column, text in zip(_COLUMNS, texts, strict=True):
        right += column.width
        x = right - metrics(_TEXT, REGULAR).horizontalAdvance(text)
        marks.paint_text(painter, text, x, base, _TEXT, theme.text_soft if soft else theme.text)
    return right


def _paint_dot(painter: QPainter, x: float, y: float, colour: str) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawEllipse(QPointF(x, y), 4, 4)


def scale_bar_block(view: View, axis: AxisPixels) -> Block:
    """Return a scale bar of round length at the right end of the time axis."""
    start, end = view.window_ns
    length = round_length((end - start) * _BAR_PX / axis.width_px)
    pixels = length * axis.width_px / (end - start)

    def paint(painter: QPainter, rect: QRect) -> None:
        theme = view.theme
        right = rect.left() + axis.left + axis.width - MARGIN
        # A round length is a whole number of the largest unit that fits: "20 µs", never "0.02 ms".
        text = next((f"{length // size} {unit}" for unit, size in NS_UNITS if length >= size), f"{length} ns")
        y = rect.top() + _BAR_HEIGHT / 2
        base = marks.text_baseline(rect.top(), _BAR_HEIGHT, _TEXT)
        wide = metrics(_TEXT, MEDIUM).horizontalAdvance(text)
        marks.paint_text(painter, text, right - pixels - 8 - wide, base, _TEXT, theme.text, MEDIUM)
        # Whole pixels without antialiasing: the ends of the bar are what one measures with.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        ink = QColor(theme.text)
        painter.fillRect(QRect(round(right - pixels), round(y) - 1, round(pixels), 2), ink)
        for x in (round(right - pixels), right - 2):
            painter.fillRect(QRect(x, round(y) - 5, 2, 10), ink)

    return Block(_BAR_HEIGHT, paint)


def round_length(most_ns: float) -> int:
    """Return the longest of 1, 2, 5, 10, 20 ... ns that is at most `most_ns`, at least 1."""
    best, power = 1, 1
    while power <= most_ns:
        best = max(digit * power for digit in (1, 2, 5) if digit * power <= most_ns)
        power *= 10
    return best


def caption_block(view: View, width: int) -> Block:
    """Return the caption: the source of the picture, and the definitions of its numbers."""
    texts = ["  ·  ".join(caption(view)), "; ".join(_definitions(view)) + "."]
    lines = [
        (line, number == 0)
        for number, text in enumerate(texts)
        for line in wrapped(text, width - 2 * MARGIN, _CAPTION)
    ]

    def paint(painter: QPainter, rect: QRect) -> None:
        _paint_line(painter, rect, view.theme)
        y = rect.top() + 7
        for line, is_fact in lines:
            base = marks.text_baseline(y, _CAPTION_LINE, _CAPTION)
            ink = view.theme.text_soft if is_fact else view.theme.text_faint
            marks.paint_text(painter, line, rect.left() + MARGIN, base, _CAPTION, ink)
            y += _CAPTION_LINE

    return Block(7 + _CAPTION_LINE * len(lines) + 7, paint)


def caption(view: View) -> Iterator[str]:
    """Yield the source of a picture: trace, nsys, range, filter, iterations, rules, version."""
    trace = view.study.trace
    yield visible(trace.path.name)
    by = trace.session.recorded_version or trace.session.nsys_version
    yield f"nsys {by}" if by else "nsys version not recorded"
    yield window_text(view.window_ns)
    if view.scope is not None:
        yield f"filter: {view.scope.what}"
    yield view.steady_text
    yield f"kernel classes {view.study.rules.hash}"
    yield f"Lightbox {__version__}"


def _definitions(view: View) -> Iterator[str]:
    if view.extras.headers:
        yield BUSY
    yield STATES
    low, high = view.study.trace.span_ns
    if view.window_ns[0] < low or view.window_ns[1] > high:
        yield f"the recording runs from {window_text((low, high))}: time outside it counts nowhere"
    if view.extras.card and view.selection is not None:
        yield f"no kernel running: idle or copies alone; selected {window_text(view.selection)}"
    if view.extras.table and view.measured:
        yield f"measurements: {_MEAN}; exposed: communication that no compute kernel hides"


def window_text(window: Window) -> str:
    """Return a range of time in the words of a caption."""
    # A step finer than a pixel of the widest picture, so that both ends can be found again.
    start, end = window
    step = (end - start) / 10_000
    return f"{format_instant(start, step)} to {format_instant(end, step)} ({format_ns(end - start)})"


def wrapped(text: str, width: float, pixels: float) -> list[str]:
    """Break a text into lines at spaces."""
    measure, lines, line = metrics(pixels), [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and measure.horizontalAdvance(longer) > width:
            lines.append(line.strip())
            longer = word
        line = longer
    return [*lines, line.strip()]


def _paint_line(painter: QPainter, rect: QRect, theme: Theme) -> None:
    painter.fillRect(rect.left(), rect.top(), rect.width(), 1, QColor(theme.line_soft))
