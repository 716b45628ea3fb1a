"""The legend of a picture: everything that its lanes show, in as many lines as that takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QBrush, QColor, QImage, QPainter

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.drawing.bands import EventBand, StateBand
from viewer.drawing.colour import contrast
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.scene import Scene
from viewer.drawing.theme import Theme
from viewer.export.blocks import Block, paint_rule
from viewer.export.picture_view import View
from viewer.rows import RowKind
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import advance
from viewer.timeline.strips.legend import PATH, classes_shown, line_in, states_shown

_LINE, _SWATCH, _APART, _PAD = 1.8, 0.9, 1.35, 0.3
"""In units of the text's height: a line, a swatch, the room between entries, that above and below."""
_FAINT = 1.3
"""The contrast below which a swatch has an outline."""
_KERNEL_ROWS = (RowKind.KERNELS, RowKind.STREAM, RowKind.FAMILY, RowKind.KERNEL_NAME)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A colour, with a pattern over it or as a line, and what it stands for. A heading has none."""

    text: str
    argb: int | None = None
    pattern: QImage | None = None
    is_line: bool = False


def entries(view: View, scene: Scene, placed: Sequence[PlacedRow]) -> list[LegendEntry]:
    """Return what the rows show: the categories where a state lane has them, the classes where kernels stand.

    Either has a heading where both are there.
    """
    found = list(_entries(view, scene, placed))
    headings = [entry for entry in found if entry.argb is None]
    return found if len(headings) > 1 else [entry for entry in found if entry.argb is not None]


def _entries(view: View, scene: Scene, placed: Sequence[PlacedRow]) -> Iterator[LegendEntry]:
    theme = view.theme
    gpus = {band.gpu for _, band in bands_in(placed, StateBand)}
    if gpus:
        yield LegendEntry("GPU state")
        spent_ns = sum(view.study.parts[gpu].totals(*view.window_ns) for gpu in gpus)
        parts = np.flatnonzero(spent_ns).tolist()
        yield from (LegendEntry(*entry) for entry in states_shown(theme, view.overlays, view.study, parts))
        if view.line is not None:
            yield LegendEntry(PATH, theme.event, is_line=True)
    if any(band.row.kind in _KERNEL_ROWS for _, band in bands_in(placed, EventBand)):
        yield LegendEntry("Kernels")
        for name in classes_shown(view.study):
            yield LegendEntry(CLASS_LABELS.get(name, name), scene.palette.class_colour(name, theme))


def legend_block(
    found: Sequence[LegendEntry],
    theme: Theme,
    width: float,
    pixels: float,
    left: float,
    *,
    has_rule: bool = True,
) -> Block | None:
    """Return the legend in lines from `left` to `width`, None for no entries.

    Parameters
    ----------
    has_rule : bool
        Whether a line parts it from what stands above.
    """
    lines = _lines(found, pixels, width - left)
    if not lines[0]:
        return None

    def paint(painter: QPainter, rect: QRect) -> None:
        if has_rule:
            paint_rule(painter, rect, theme)
        for number, line in enumerate(lines):
            top = rect.top() + (_PAD + number * _LINE) * pixels
            for entry, at in line:
                _paint(painter, entry, QPointF(rect.left() + left + at, top), pixels, theme)

    return Block(ceil((len(lines) * _LINE + 2 * _PAD) * pixels), paint)


def _lines(found: Sequence[LegendEntry], pixels: float, room: float) -> list[list[tuple[LegendEntry, float]]]:
    """Return the entries in lines no wider than `room`, each with its x."""
    lines: list[list[tuple[LegendEntry, float]]] = [[]]
    x = 0.0
    for number, entry in enumerate(found):
        needed = entry_width(entry, pixels)
        # A heading does not stand alone at the end of a line.
        ahead = found[number + 1] if entry.argb is None and number + 1 < len(found) else None
        more = _APART * pixels + entry_width(ahead, pixels) if ahead else 0.0
        if lines[-1] and x + needed + more > room:
            lines.append([])
            x = 0.0
        lines[-1].append((entry, x))
        x += needed + _APART * pixels
    return lines


def legend_width(found: Sequence[LegendEntry], pixels: float, count: int) -> float:
    """Return how wide a legend of at most `count` lines is."""
    widths = [entry_width(entry, pixels) + _APART * pixels for entry in found]
    width = max(sum(widths) / count, max(widths, default=0.0))
    while len(_lines(found, pixels, width)) > count:
        width += pixels / 2
    lines = _lines(found, pixels, width)
    return max((x + entry_width(entry, pixels) for line in lines for entry, x in line), default=0.0)


def entry_width(entry: LegendEntry, pixels: float) -> float:
    """Return how wide an entry is, swatch and text."""
    swatch = _SWATCH * pixels * 1.5 if entry.argb is not None else 0.0
    return swatch + advance(entry.text, pixels)


def _paint(painter: QPainter, entry: LegendEntry, corner: QPointF, pixels: float, theme: Theme) -> None:
    """Paint one entry whose line begins at `corner`."""
    x, ink = corner.x(), theme.text_soft
    if entry.argb is not None:
        side = round(_SWATCH * pixels)
        box = QRectF(round(x), round(corner.y() + (_LINE * pixels - side) / 2), side, side)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        ground, own = np.array([theme.panel, entry.argb], np.uint32)
        if entry.is_line:
            box = QRectF(line_in(box.toRect()))
        elif contrast(ground, own) < _FAINT:
            painter.fillRect(box.adjusted(-1, -1, 1, 1), QColor(theme.text_faint))
        painter.fillRect(box, QColor(entry.argb))
        if entry.pattern is not None:
            painter.setBrushOrigin(box.topLeft())
            painter.fillRect(box, QBrush(entry.pattern))
        x += _SWATCH * pixels * 1.5
    base = marks.text_baseline(corner.y(), _LINE * pixels, pixels)
    marks.paint_text(painter, entry.text, x, base, pixels, ink)
