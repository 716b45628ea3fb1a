"""Painting of rows: pure functions in device pixels, on a widget, an image, an SVG or a PDF alike.

A `Frame` is everything that a window shows, computed; the functions below only put it down. Only the
rectangles have a second way (`gl_bars`): all else is this code on both paint paths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.band_drawer import BandBox
from viewer.drawing.bands import CounterBand, EventBand, StateBand
from viewer.drawing.critical_line import CriticalLine, Stretches
from viewer.drawing.drawlist import DrawList
from viewer.drawing.labels import PAD_PX, Label, telling
from viewer.drawing.layout import PlacedRow
from viewer.drawing.palette import SPINNING, WAITING
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.scene import Scene
from viewer.drawing.states import hatch, overlay_tile
from viewer.drawing.theme import Theme
from viewer.rows import Row, RowKind
from viewer.rows.row import Role
from viewer.state.shown_path import OVERLAY
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import cropped, font, metrics
from viewer.timeline.paint.paint_path import paint_path
from viewer.timeline.paint.rects import corners, draw_rects
from viewer.trace import Trace

LOST = "rows lost"
"""What stands in the state lane of a GPU whose rows were lost while recording."""
_WITH_STATES = (RowKind.PROCESS, RowKind.GPU)
_LABEL_PX, _SMALL_LABEL_PX, _TALL_PX = 10.5, 9.5, 13


@dataclass(frozen=True, slots=True)
class GpuSpan:
    """Neighbouring rows that concern one GPU, device rows."""

    gpu: int
    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class MarkedSpan(GpuSpan):
    """Such rows with the overlay under them."""

    tile: QImage


@dataclass(frozen=True, slots=True)
class Frame:
    """What a window shows, in device pixels from the area's top left corner.

    Attributes
    ----------
    rows : tuple of (Row, int, int)
        The rows with top and bottom.
    argb, ink : ndarray of uint32
        `Palette.argb` and `Palette.ink` of the theme.
    kept : tuple of Intervals
        What the filter holds, for each of `rows`; () without a filter.
    overlays : frozenset of str
        What is marked: "idle", "exposed", "waiting", "path".
    states, counters : tuple of BandBox
        Where state lanes and the curves of counter rows lie.
    grounds : tuple of (int, int)
        Top and bottom of the lanes of streams that communicate.
    doubtful : frozenset of int
        GPUs whose picture is not to be trusted: their lanes carry a warning.
    lost : frozenset of int
        GPUs whose rows were lost while recording: where they show nothing, they may have worked.
    recorded : (int, int)
        The columns from and to which there is a recording; elsewhere nothing is known to be idle.
    path : Stretches or None
        The critical path where it is shown, as it is drawn at this zoom.
    """

    scale: Scale
    height: int
    dpr: float
    theme: Theme
    rows: tuple[tuple[Row, int, int], ...]
    spans: tuple[GpuSpan, ...]
    marked: tuple[MarkedSpan, ...]
    states: tuple[BandBox[StateBand], ...]
    counters: tuple[BandBox[CounterBand], ...]
    grounds: tuple[tuple[int, int], ...]
    overlays: frozenset[str]
    draw: DrawList
    labels: tuple[Label, ...]
    argb: npt.NDArray[np.uint32]
    ink: npt.NDArray[np.uint32]
    iterations: Iterations | None
    kept: tuple[Intervals, ...]
    doubtful: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    recorded: tuple[int, int] = (0, 0)
    path: Stretches | None = None


def make_frame(
    scene: Scene,
    placed: Sequence[PlacedRow],
    scale: Scale,
    height: int,
    theme: Theme,
    *,
    dpr: float = 1.0,
    origin_y: float = 0.0,
    overlays: Collection[str] = (),
    iterations: Iterations | None = None,
    scope: Scope | None = None,
    doubtful: frozenset[int] = frozenset(),
    lost: frozenset[int] = frozenset(),
    line: CriticalLine | None = None,
) -> Frame:
    """Compute a window.

    Parameters
    ----------
    placed : sequence of PlacedRow
        The rows in view, logical pixels from the area's top.
    height : int
        Of the area, device pixels; its width is the scale's.
    origin_y : float
        The area's top in its window, logical pixels (see `Scene`).
    scope : Scope, optional
        The filter: time outside it is veiled.
    doubtful : frozenset of int
        GPUs whose clock is shifted, or whose rows are lost.
    lost : frozenset of int
        Those whose rows are lost: no time of theirs is drawn as idle.
    line : CriticalLine, optional
        The critical path, where it is shown.
    """
    origin = snap_px(origin_y * dpr)
    # Both edges are rounded in the window's pixels, then shifted: a row and its header meet at every scale.
    rows = tuple(
        (p.row, snap_px((origin_y + p.y) * dpr) - origin, snap_px((origin_y + p.y + p.height) * dpr) - origin)
        for p in placed
    )
    spans = gpu_spans(scene.study.trace, rows)
    marked: tuple[MarkedSpan, ...] = ()
    shading = frozenset(overlays) - {OVERLAY}
    if shading:
        # The state lanes carry the marks themselves: the overlays lie under the rows below them.
        below = gpu_spans(scene.study.trace, (row for row in rows if row[0].kind not in _WITH_STATES))
        # Where rows were lost nothing is known to be idle: the hatch would claim it.
        known = {s.gpu: shading - {"idle"} if s.gpu in lost else shading for s in below}
        # One tile for each GPU, however many spans its rows are torn into.
        tiles = {gpu: _tile(scene, gpu, scale, theme, shown, dpr) for gpu, shown in known.items()}
        marked = tuple(MarkedSpan(s.gpu, s.top, s.bottom, tiles[s.gpu]) for s in below)
    return Frame(
        scale,
        height,
        dpr,
        theme,
        rows,
        tuple(spans),
        marked,
        tuple(scene.boxes(StateBand, placed, dpr, origin_y)),
        tuple(scene.boxes(CounterBand, placed, dpr, origin_y)),
        tuple(
            (box.top, box.bottom)
            for box in scene.boxes(EventBand, placed, dpr, origin_y)
            if box.band.row.role is Role.COMMUNICATION
        ),
        frozenset(overlays),
        scene.draw_list(placed, scale, dpr, origin_y),
        tuple(scene.labels(placed, scale, dpr, origin_y)),
        scene.palette.shown(theme, overlays),
        scene.palette.ink(theme),
        iterations,
        tuple(scope.of(gpu_of(scene.study.trace, row)) for row, _, _ in rows) if scope else (),
        doubtful,
        lost,
        _recorded(scene.study.trace, scale),
        line.at(scale.ns_per_px * dpr) if line is not None else None,
    )


def _recorded(trace: Trace, scale: Scale) -> tuple[int, int]:
    first, last = (min(max(marks.column_of(scale, t), 0), scale.width) for t in trace.span_ns)
    return first, last


def gpu_of(trace: Trace, row: Row) -> int | None:
    """Return the GPU that a row concerns: its own, or the only one of its process."""
    if row.gpu is not None or row.process is None:
        return row.gpu
    own = trace.gpus_of(row.process)
    return own[0].index if len(own) == 1 else None


def gpu_spans(trace: Trace, rows: Iterable[tuple[Row, int, int]]) -> list[GpuSpan]:
    """Join neighbouring rows of one GPU."""
    spans: list[GpuSpan] = []
    for row, top, bottom in rows:
        gpu = gpu_of(trace, row)
        if gpu is None:
            continue
        if spans and spans[-1].gpu == gpu and spans[-1].bottom == top:
            top = spans.pop().top
        spans.append(GpuSpan(gpu, top, bottom))
    return spans


def paint_frame(painter: QPainter, frame: Frame) -> None:
    """Paint a window whole."""
    paint_ground(painter, frame)
    paint_rects(painter, frame.draw, frame.argb)
    paint_over(painter, frame)


def paint_ground(painter: QPainter, frame: Frame) -> None:
    """Paint what lies under the bars: rows, overlays, and the hatch of the state lanes."""
    theme, width = frame.theme, frame.scale.width
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    background, alternate = map(QColor.fromRgba, (theme.background, theme.background_alternate))
    painter.fillRect(0, 0, width, frame.height, background)
    line = marks.line_width(frame.dpr)
    for row, top, bottom in frame.rows:
        # By process, not by row: the alternation shows where what belongs together ends.
        if (row.process or 0) % 2:
            painter.fillRect(0, top, width, bottom - top, alternate)
    for span in frame.marked:
        painter.setBrushOrigin(0, 0)
        painter.fillRect(0, span.top, width, span.bottom - span.top, QBrush(span.tile))
    strong, soft = map(QColor.fromRgba, (theme.line, theme.line_soft))
    for row, top, _ in frame.rows:
        painter.fillRect(0, top, width, line, strong if row.kind is RowKind.PROCESS else soft)
    if frame.rows:
        painter.fillRect(0, frame.rows[-1][2], width, line, strong)
    idle, unknown = QBrush(hatch_image(theme, frame.dpr)), QBrush(_dots(theme, frame.dpr))
    first, last = frame.recorded
    painter.setBrushOrigin(0, 0)
    for top, bottom in frame.grounds:
        painter.fillRect(0, top, width, bottom - top, QColor(theme.lane))
    ground = QColor(theme.parts[IDLE])
    for box in frame.states:
        lane = QRect(first, box.top, last - first, box.bottom - box.top)
        painter.fillRect(lane, ground)
        if box.band.gpu in frame.lost:
            painter.fillRect(lane, unknown)
        elif "idle" in frame.overlays:
            painter.fillRect(lane, idle)
    for counter in frame.counters:
        ticks = counter.band.row.scale.ticks() if counter.band.row.scale is not None else ()
        for _, share in ticks:
            # From the bottom, as the curve itself is: the lines lie on the values that they stand for.
            y = counter.bottom - round((counter.bottom - counter.top) * share)
            painter.fillRect(0, y, width, line, strong)


def paint_rects(painter: QPainter, draw: DrawList, argb: npt.NDArray[np.uint32]) -> None:
    """Paint the rectangles with the raster engine, one call per run of one colour."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    rects = corners(draw.rect)
    for colour, low, high in draw.runs():
        painter.setBrush(QColor(int(argb[colour])))
        draw_rects(painter, rects[low:high])


def paint_over(painter: QPainter, frame: Frame) -> None:
    """Paint what lies over the bars: stripes, names, the veil of the filter, each GPU's iterations."""
    _paint_stripes(painter, frame)
    paint_labels(painter, frame)
    for counter in frame.counters:
        _paint_sample_marks(painter, frame, counter)
    for box in frame.states:
        if box.band.gpu in frame.doubtful:
            why = LOST if box.band.gpu in frame.lost else ""
            marks.paint_doubt(painter, box.top, box.bottom, frame.theme, frame.dpr, why)
    # Without a filter `kept` is empty, and nothing is veiled.
    for (_, top, bottom), kept in zip(frame.rows, frame.kept, strict=False):
        marks.paint_outside(painter, frame.scale, kept, top, bottom, frame.theme.background)
    if frame.iterations is not None and frame.iterations.count:
        for span in frame.spans:
            # Each GPU's own boundaries: they differ by the skew, which one common line would hide.
            times = frame.iterations.starts[span.gpu]
            marks.paint_boundaries(painter, frame.scale, times, span.top, span.bottom, frame.theme, frame.dpr)
    if frame.path is not None:
        paint_path(painter, frame.path, frame.states, frame.scale, frame.height, frame.theme, frame.dpr)


def _paint_stripes(painter: QPainter, frame: Frame) -> None:
    """Stripe what only waits: exposed communication for a rank, compute kernels for something else."""
    theme, draw = frame.theme, frame.draw
    inks = {SPINNING: theme.spinning}
    if "waiting" in frame.overlays:
        inks[WAITING] = theme.waiting
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrushOrigin(0, 0)
    for colour, low, high in draw.runs():
        if colour in inks:
            painter.setBrush(QBrush(stripes(inks[colour], frame.dpr)))
            draw_rects(painter, corners(draw.rect[low:high]))


def _paint_sample_marks(painter: QPainter, frame: Frame, counter: BandBox[CounterBand]) -> None:
    samples = counter.band.row.samples
    if samples is not None and len(samples.marks_ns):
        low, high = np.searchsorted(samples.marks_ns, (frame.scale.start_ns, frame.scale.end_ns))
        in_view = samples.marks_ns[low:high]
        marks.paint_sample_marks(painter, frame.scale, in_view, counter.bottom, frame.theme, frame.dpr)


def paint_labels(painter: QPainter, frame: Frame) -> None:
    """Write the names into the bars; over stripes on a ground of their own."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ink, dpr = frame.ink, frame.dpr
    pens: dict[int, QColor] = {}
    sizes = {True: _LABEL_PX * dpr, False: _SMALL_LABEL_PX * dpr}
    is_striped = "waiting" in frame.overlays
    # By size: the font is set twice a frame, not once for each name.
    for tall, pixels in sizes.items():
        painter.setFont(font(pixels))
        cap = metrics(pixels).capHeight()
        for label in frame.labels:
            if (label.height >= _TALL_PX * dpr) is not tall:
                continue
            # Cut by the mean width of a letter before, it may come down to two letters here.
            if text := telling(cropped(label.text, label.width - 2 * PAD_PX * dpr, pixels)):
                if is_striped and label.colour == WAITING:
                    wide = metrics(pixels).horizontalAdvance(text) + 4 * dpr
                    ground = QRectF(label.x + (PAD_PX - 2) * dpr, label.y, wide, label.height)
                    painter.fillRect(ground, QColor(int(frame.argb[WAITING])))
                argb = int(ink[label.colour])
                if argb not in pens:
                    pens[argb] = QColor(argb)
                painter.setPen(pens[argb])
                baseline = label.y + (label.height + cap) / 2
                painter.drawText(QPointF(label.x + PAD_PX * dpr, snap_px(baseline)), text)


def _tile(
    scene: Scene, gpu: int, scale: Scale, theme: Theme, overlays: Collection[str], dpr: float
) -> QImage:
    waiting = scene.waiting_columns(gpu, scale) if "waiting" in overlays else None
    pixels = overlay_tile(scene.state_columns(gpu, scale), scale, theme, overlays, waiting, dpr)
    height, width, _ = pixels.shape
    image = QImage(pixels.tobytes(), width, height, width * 4, QImage.Format.Format_ARGB32_Premultiplied)
    # QImage does not own the bytes that it is made of: without a copy they would be freed under it.
    return image.copy()


@cache
def stripes(ink: int, dpr: float, *, thin: bool = False) -> QImage:
    """Return slanting stripes over half of the area, thin ones over a quarter, with nothing between them."""
    side = max(4, 2 * snap_px(2 * dpr))
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    for y in range(side):
        for x in range(side):
            if (x + y) % side < side // (4 if thin else 2):
                image.setPixelColor(x, y, QColor(ink))
    return image


@cache
def hatch_image(theme: Theme, dpr: float) -> QImage:
    """Return the grey hatch of idle: the same pattern as the overlay's."""
    side = len(hatch(1, dpr))
    lines = hatch(side, dpr)
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    for y, x in np.argwhere(lines).tolist():
        image.setPixelColor(QPoint(x, y), QColor(theme.hatch))
    return image


@cache
def _dots(theme: Theme, dpr: float) -> QImage:
    """Return the dotted tint of time of which nothing is known: no lines, so that it is no idle time."""
    side, dot = snap_px(6 * dpr), max(1, snap_px(1.5 * dpr))
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    tint, point = QColor(theme.text_faint), QColor(theme.text_faint)
    tint.setAlpha(30)
    image.fill(tint)
    painter = QPainter(image)
    painter.fillRect((side - dot) // 2, (side - dot) // 2, dot, dot, point)
    painter.end()
    return image
