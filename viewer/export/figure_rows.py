"""The rows of a figure: the same lanes as in the window, each with one short name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from viewer.analysis.collectives.stream_uses import StreamUse, stream_uses
from viewer.drawing.bands import StateBand
from viewer.drawing.layout import PlacedRow, bands_in, row_bands
from viewer.export.figure_style import FigureStyle
from viewer.export.picture_view import View
from viewer.rows import Row, RowKind
from viewer.timeline.background_results import Doubts
from viewer.timeline.cards.card_text import gpu_names
from viewer.timeline.headers.header_values import stream_names
from viewer.timeline.notes.note_places import nearest_placed
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, advance, cropped, squeezed
from viewer.timeline.paint.paint_rows import gpu_of

_ROOMY, _TIGHT = 1.15, 0.88
"""How high a row is at least for a name in the larger text, and in the smaller; in units of the text.
Ranks and GPUs have the larger one where it has room."""
_HALF_LANE = 16
"""Rows that are lower in the window, half lanes of communication, may go without a name."""
_INDENT, _WARNING, _BESIDE = 0.8, 0.8, 1.4
"""The room before a child's name, the size of a warning, both in units of the text; and its own room."""
_MAIN = (RowKind.PROCESS, RowKind.GPU)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of a figure and its name; `depth` counts from the outermost row that is shown."""

    row: Row
    is_unfolded: bool
    name: str
    depth: int


def figure_rows(view: View) -> list[FigureRow]:
    """Return the rows that show something.

    A folded process is represented by the state lanes of its GPUs, without its NVTX ranges: their names
    could not be read. An unfolded row that draws nothing itself is left out; its children name it.
    """
    labels, uses = gpu_names(view.study.trace), stream_uses(view.study.collectives)
    shown: list[FigureRow] = []
    keys: set[str] = set()
    for row, is_unfolded in view.rows:
        gpus = [child for child in row.children if child.kind is RowKind.GPU]
        if row.kind is RowKind.PROCESS and gpus and not is_unfolded:
            pairs = [(gpu, False) for gpu in gpus]
        elif row_bands(row, is_unfolded):
            pairs = [(row, is_unfolded)]
        else:
            continue
        for own, unfolded in pairs:
            if own.key not in keys:
                keys.add(own.key)
                above = sum(up.key in keys for up in own.path()[:-1])
                shown.append(FigureRow(own, unfolded, _name(own, labels, uses, bool(above)), above))
    return shown


def note_standing(placed: Sequence[PlacedRow]) -> Callable[[str], str | None]:
    """Return a mapping from each row to the placed row that represents it; a GPU represents its process."""
    nearest = nearest_placed(placed)
    stand_ins: dict[str, str] = {}
    for shown in placed:
        for above in shown.row.path()[:-1]:
            stand_ins.setdefault(above.key, shown.row.key)

    def standing(key: str) -> str | None:
        parts = key.split("/")
        above = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
        return nearest(key) or next((stand_ins[k] for k in above if k in stand_ins), None)

    return standing


def _name(row: Row, labels: Sequence[str], uses: Mapping[int, StreamUse], has_parent: bool) -> str:
    if row.kind is RowKind.GPU and row.gpu is not None:
        return labels[row.gpu]
    if row.parent is None:
        return row.label
    does, which = _own_name(row, uses)
    is_one_of_several = sum(_own_name(sibling, uses)[0] == does for sibling in row.parent.children) > 1
    label = f"{does}, {which}" if is_one_of_several and which else does
    return label if has_parent else f"{row.path()[0].label} › {label}"


def _own_name(row: Row, uses: Mapping[int, StreamUse]) -> tuple[str, str]:
    """Return what a row is called, of a stream what it does, and what tells it from others of that name."""
    does, which = stream_names(row, uses)
    return does or row.label, which.partition(" · ")[0] or row.detail


def names_width(rows: Sequence[FigureRow], style: FigureStyle, most: float, doubts: Doubts) -> int:
    """Return how wide the column of names is, with the warnings beside them, logical pixels."""
    widths = [
        advance(row.name, style.body if row.row.kind in _MAIN else style.small, MEDIUM)
        + (row.depth * _INDENT + bool(doubts.of(row.row)) * _WARNING * _BESIDE) * style.body
        for row in rows
    ]
    return round(min(max(widths, default=0.0), most) + style.body)


def least_scale(heights: Iterable[int], style: FigureStyle) -> float:
    """Return how many times the window's height rows need for names that can be read."""
    return (
        _TIGHT * style.small / min((height for height in heights if height >= _HALF_LANE), default=_HALF_LANE)
    )


def count_that_fits(heights: Sequence[int], room: int, style: FigureStyle) -> int:
    """Return how many of the first rows have room at their `least_scale`, one at least."""
    fits, total, lowest = 1, 0, max(heights, default=1)
    for count, height in enumerate(heights, 1):
        total += height
        lowest = min(lowest, height) if height >= _HALF_LANE else lowest
        if total * least_scale((lowest,), style) <= room:
            fits = count
    return fits


def paint_names(
    painter: QPainter,
    rows: Sequence[tuple[FigureRow, PlacedRow]],
    rect: QRectF,
    scale: float,
    view: View,
    style: FigureStyle,
    doubts: Doubts,
) -> None:
    """Paint the names beside the rows.

    Parameters
    ----------
    rect : QRectF
        The column: from the top of the first row.
    scale : float
        Logical pixels of the page per pixel of the rows' layout.
    """
    for own, placed in rows:
        is_main = own.row.kind in _MAIN
        is_roomy = placed.height * scale >= _ROOMY * style.body
        pixels = style.body if is_main and is_roomy else style.small
        if placed.height * scale < _TIGHT * style.small:
            continue
        drawn = placed.bands
        middle = drawn[0].y + drawn[0].height / 2 if drawn else placed.height / 2
        y = rect.top() + (placed.y + middle) * scale
        x, right = rect.left() + own.depth * _INDENT * style.body, rect.right() - 0.6 * style.body
        if doubts.of(own.row):
            side = _WARNING * pixels
            marks.paint_warning(painter, QRectF(right - side, y - side / 2, side, side), view.theme)
            right -= _BESIDE * side
        weight, ink = (MEDIUM, view.theme.text) if is_main else (REGULAR, view.theme.text_soft)
        short = squeezed if own.row.kind.traits.is_kernel else cropped
        text = short(own.name, right - x, pixels, weight)
        marks.paint_text(painter, text, x, marks.text_baseline(y, 0, pixels), pixels, ink, weight)


def lane_middles(view: View, placed: Sequence[PlacedRow], top: float, scale: float) -> dict[int, float]:
    """Return the y of the middle of each GPU's state lane, else of the first of its rows, by GPU."""
    middles: dict[int, float] = {}
    for row, band in bands_in(placed, StateBand):
        middles.setdefault(band.gpu, top + (row.y + band.y + band.height / 2) * scale)
    for gpu, row in _first_rows(view, placed):
        middles.setdefault(gpu, top + (row.y + row.height / 2) * scale)
    return dict(sorted(middles.items()))


def _first_rows(view: View, placed: Sequence[PlacedRow]) -> Iterator[tuple[int, PlacedRow]]:
    for row in placed:
        gpu = gpu_of(view.study.trace, row.row)
        if gpu is not None:
            yield gpu, row
