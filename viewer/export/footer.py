"""The blocks at the foot of a picture: scale bar and caption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QPainter

from viewer import __version__
from viewer.drawing.format import NS_UNITS, format_instant, format_ns
from viewer.drawing.scale import AxisPixels
from viewer.export.blocks import MARGIN, Block, paint_rule
from viewer.export.picture_view import View
from viewer.printable import counted, visible
from viewer.state import Window
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, metrics, wrapped
from viewer.trace.model import GUESSED_RANK

_TEXT = 11
_MOST_LINES, _MOST_DOUBTS = 12, 3
_CAPTION, _CAPTION_LINE, _CAPTION_PAD = 10.5, 1.43, 0.67
_BAR_PX, _BAR_HEIGHT = 150, 26
_MEAN = "mean over the GPUs"

BUSY = (
    "busy: anything runs on the GPU, on any stream; exposed: it communicates and computes nothing; both "
    "of the time shown"
)
SHARES = "percentages of other rows: share of the durations of siblings"
STATES = (
    "GPU state, its height the share of the time: compute kernels alone, communication hidden by compute, "
    "communication exposed, copy only, idle (nothing on any stream)"
)


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


def caption_block(
    view: View,
    width: int,
    definitions: Sequence[str],
    pixels: float = _CAPTION,
    margin: int = MARGIN,
) -> Block:
    """Return the caption: the source of the picture, what is not sure of it, what its numbers mean."""
    theme = view.theme
    texts = [("  ·  ".join(caption(view)), theme.text), ("; ".join(definitions) + ".", theme.text_soft)]
    if messages := list(doubts(view)):
        texts.insert(1, (f"Not sure: {' '.join(messages)}", theme.warning))
    lines = [
        (line, ink)
        for text, ink in texts
        for line in wrapped(text, width - 2 * margin, pixels, most=_MOST_LINES)
    ]
    high, pad = pixels * _CAPTION_LINE, round(pixels * _CAPTION_PAD)

    def paint(painter: QPainter, rect: QRect) -> None:
        paint_rule(painter, rect.adjusted(margin, 0, -margin, 0), theme)
        y = float(rect.top() + pad)
        for line, ink in lines:
            base = marks.text_baseline(y, high, pixels)
            marks.paint_text(painter, line, rect.left() + margin, base, pixels, ink)
            y += high

    return Block(2 * pad + ceil(high * len(lines)), paint)


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
    shown = _processes(view)
    if any(p.index in shown and p.rank_from == GUESSED_RANK for p in trace.processes):
        yield "ranks guessed from pids"
    yield f"kernel classes {view.study.rules.hash}"
    yield f"Lightbox {__version__}"


def doubts(view: View) -> Iterator[str]:
    """Yield what makes the picture's numbers unsure, a sentence each, as the report's `unreliable` has it.

    Recordings that lost rows or whose clocks are off, times that are bounds, and iterations that nothing in
    the file names.
    """
    study, shown = view.study, _processes(view)
    gpus = {gpu.index for gpu in study.trace.gpus if gpu.process in shown}
    errors = [
        f.title for f in study.diagnostics if f.severity == "error" and (f.gpu is None or f.gpu in gpus)
    ]
    yield from (f"{title.rstrip('.')}." for title in errors[:_MOST_DOUBTS])
    if (more := len(errors) - _MOST_DOUBTS) > 0:
        yield f"Diagnostics has {counted(more, 'more error')}."
    yield from study.bounds.texts
    if view.iterations is not None and view.iterations.doubt_text:
        yield view.iterations.doubt_text


def _processes(view: View) -> set[int | None]:
    return {row.process for row, _ in view.rows}


def definitions(view: View) -> Iterator[str]:
    """Yield what the numbers of a picture mean, and over what they are counted."""
    if view.extras.headers:
        yield BUSY
        if any(row.share is not None for row, _ in view.rows):
            yield f"{SHARES}, {'whole trace' if view.scope is None else view.scope.what}"
    yield from state_definitions(view)
    if view.extras.card and view.selections:
        selected = ", ".join(window_text(selection) for selection in sorted(view.selections))
        yield f"no kernel running: idle or copy only; selected {selected}"
    if view.extras.table and view.measured:
        yield f"measurements: {_MEAN}; exposed: communication that no compute kernel hides"


def state_definitions(view: View) -> Iterator[str]:
    """Yield what the state lanes mean, and which of the time shown was not recorded."""
    yield STATES
    low, high = view.study.trace.span_ns
    if view.window_ns[0] < low or view.window_ns[1] > high:
        yield f"the recording runs from {window_text((low, high))}: time outside it counts nowhere"


def window_text(window: Window) -> str:
    """Return a range of time in the words of a caption."""
    # A step finer than a pixel of the widest picture, so that both ends can be found again.
    start, end = window
    step = (end - start) / 10_000
    return f"{format_instant(start, step)} to {format_instant(end, step)} ({format_ns(end - start)})"
