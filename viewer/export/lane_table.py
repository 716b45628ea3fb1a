"""LaneTable: the numbers of the GPUs beside their lanes, a line at the height of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from viewer.analysis.core.intervals import window
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import format_ns
from viewer.export.figure_style import FigureStyle
from viewer.export.footer import window_text
from viewer.export.picture_view import PictureError, View
from viewer.timeline.cards.card_text import gpu_names
from viewer.timeline.cards.range_table import HEADINGS, short_share, unit_of, value_text
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, advance, cropped
from viewer.trace.events import Int64

_MOST_PARTS, _LEAST_SHARE, _LEAST_TOLD = 3, 0.005, 0.0005
_LINE, _WIDEST_LABEL = 1.4, 10
_SHARE = "share"


@dataclass(frozen=True)
class LaneTable:
    """The time of the GPUs in a range: three of the five categories, and the share of one of them.

    The categories are those with most time over these GPUs, but with half a percent of it at least; the
    share is that of the first of them. What is left out is named by `left_out`.

    Attributes
    ----------
    parts_ns : ndarray of int64, shape (gpus, 5)
        In order of `CATEGORIES`.
    total_ns : ndarray of int64, shape (gpus,)
        What shares are of: the range, inside the recording and the filter.
    labels : mapping of int to str
        What each GPU is called, by its index.
    texts : mapping of int to tuple of str
        The cells of each GPU.
    mean : tuple of str
        The cells of the means over these GPUs.
    """

    title: str
    span: str
    parts_ns: Int64
    total_ns: Int64
    parts: tuple[int, ...]
    share_of: int
    labels: Mapping[int, str]
    texts: Mapping[int, tuple[str, ...]]
    mean: tuple[str, ...]
    style: FigureStyle

    @property
    def heads(self) -> tuple[str, ...]:
        """The headings of the columns: categories, then the share."""
        return (*(HEADINGS[part] for part in self.parts), f"{HEADINGS[self.share_of]}, {_SHARE}")

    @property
    def left_out(self) -> str:
        """The categories that have more than 0.05 % of the time and no column, "" for none."""
        sums = self.parts_ns.sum(axis=0).tolist()
        least = _LEAST_TOLD * sum(sums)
        rest = [part for part in range(len(CATEGORIES)) if sums[part] > least and part not in self.parts]
        gpus = max(len(self.parts_ns), 1)
        return ", ".join(f"{HEADINGS[part]} {format_ns(round(sums[part] / gpus))}" for part in rest)

    @property
    def column_widths(self) -> tuple[float, ...]:
        """The widths of the columns, logical pixels."""
        style = self.style
        widths = [advance(head, style.small, MEDIUM) for head in self.heads]
        for cells in (*self.texts.values(), self.mean):
            widths = [max(w, advance(t, style.body, STRONG)) for w, t in zip(widths, cells, strict=True)]
        return tuple(width + style.body for width in widths)

    @property
    def width(self) -> int:
        """The width of the table with the labels of its own lines."""
        labels = [advance(self._mean_label, self.style.body, STRONG)]
        labels += [advance(label, self.style.body, MEDIUM) for label in self.labels.values()]
        label = max(labels)
        head = advance(self.title, self.style.body, STRONG) + advance("0,000.0 ms", self.style.body, STRONG)
        return round(max(label + sum(self.column_widths), head))

    @property
    def head_height(self) -> int:
        """The height of title, range and headings."""
        return round((self.style.body + 2 * self.style.small) * _LINE) + 4

    @property
    def mean_height(self) -> int:
        """The height of the line of means, with the room above it."""
        return round(self.style.body * (_LINE + 0.5))

    @property
    def _mean_label(self) -> str:
        return f"Mean of {len(self.texts)}"

    @property
    def _unit(self) -> str:
        return unit_of(int(self.total_ns.max(initial=0)))[0]

    def paint_head(self, painter: QPainter, rect: QRectF, view: View) -> None:
        """Paint title, range and headings; the last line stands on the bottom of `rect`."""
        style, theme = self.style, view.theme
        y = rect.bottom() - self.head_height
        length = format_ns(int(self.total_ns.max(initial=0)))
        base = marks.text_baseline(y, style.body * _LINE, style.body)
        marks.paint_text(painter, self.title, rect.left(), base, style.body, theme.text, STRONG)
        x = rect.right() - advance(length, style.body, STRONG)
        marks.paint_text(painter, length, x, base, style.body, theme.text, STRONG)
        y += style.body * _LINE
        base = marks.text_baseline(y, style.small * _LINE, style.small)
        marks.paint_text(painter, self.span, rect.left(), base, style.small, theme.text_soft)
        y += style.small * _LINE
        base = marks.text_baseline(y, style.small * _LINE, style.small)
        marks.paint_text(painter, self._unit, rect.left(), base, style.small, theme.text_soft)
        self._paint_cells(painter, rect.right(), base, self.heads, style.small, theme.text_soft, REGULAR)
        painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), QColor(theme.line))

    def paint_lines(
        self, painter: QPainter, rect: QRectF, middles: Mapping[int, float], bottom: float, view: View
    ) -> None:
        """Paint a line per GPU at the height of its lane, and the means below `bottom`.

        Parameters
        ----------
        rect : QRectF
            Left and right of the table.
        middles : mapping of int to float
            The y of the middle of each GPU's lane; none of the lines are painted where it is empty.
        """
        style, theme = self.style, view.theme
        for gpu, y in middles.items():
            base = marks.text_baseline(y - style.body, 2 * style.body, style.body)
            marks.paint_text(painter, self.labels[gpu], rect.left(), base, style.body, theme.text, MEDIUM)
            inks = [theme.text_soft] * len(self.heads)
            inks[self.parts.index(self.share_of)] = theme.text
            self._paint_cells(painter, rect.right(), base, self.texts[gpu], style.body, inks, REGULAR)
        ordered = sorted(middles.values())
        for above, below in pairwise(ordered):
            y = round((above + below) / 2)
            painter.fillRect(QRectF(rect.left(), y, rect.width(), 1), QColor(theme.line_soft))
        if len(self.texts) < 2:
            return
        high, pad = style.body * _LINE, style.body * 0.4
        box = QRectF(rect.left() - pad, bottom + style.body * 0.5, rect.width() + 2 * pad, high)
        tint = QColor(theme.accent)
        tint.setAlpha(24)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint)
        painter.drawRoundedRect(box, pad / 2, pad / 2)
        base = marks.text_baseline(box.top(), high, style.body)
        marks.paint_text(painter, self._mean_label, rect.left(), base, style.body, theme.text, STRONG)
        self._paint_cells(painter, rect.right(), base, self.mean, style.body, theme.text, STRONG)

    def _paint_cells(
        self,
        painter: QPainter,
        right: float,
        base: float,
        texts: Sequence[str],
        pixels: int,
        inks: int | Sequence[int],
        weight: int,
    ) -> None:
        """Paint right-aligned texts; the last column ends at `right`."""
        inks = [inks] * len(texts) if isinstance(inks, int) else inks
        for text, width, ink in reversed(list(zip(texts, self.column_widths, inks, strict=True))):
            marks.paint_text(painter, text, right - advance(text, pixels, weight), base, pixels, ink, weight)
            right -= width


def lane_table(view: View, style: FigureStyle, gpus: Sequence[int]) -> LaneTable | None:
    """Return the table of some GPUs over the selections, else the time shown; None without recorded time.

    See docs/definitions.md, section 1.

    Raises
    ------
    PictureError
        If the selections lie outside the recording.
    """
    study, shown = view.study, window(*view.window_ns).clip(*view.study.trace.span_ns)
    if view.selections:
        try:
            numbers = study.measure_all(view.selections, details=False)
        except ValueError as error:
            raise PictureError(str(error)) from error
        parts_ns, total = numbers.parts_ns[list(gpus)], np.full(len(gpus), numbers.length_ns)
    else:
        kept = [(view.scope.of(gpu) if view.scope else shown).clip(*view.window_ns) for gpu in gpus]
        kept = [within.clip(*study.trace.span_ns) for within in kept]
        total = np.array([within.total() for within in kept], np.int64)
        if not total.any():
            return None
        parts_ns = np.array(
            [
                # Shape (intervals, 5): a filter may hold several pieces of the time.
                study.parts[gpu].totals(within.start_ns, within.end_ns).sum(axis=0)
                for gpu, within in zip(gpus, kept, strict=True)
            ],
            np.int64,
        )
    sums = parts_ns.sum(axis=0)
    least = _LEAST_SHARE * int(sums.sum())
    most = sorted((p for p in range(len(CATEGORIES)) if sums[p] >= least), key=lambda p: -int(sums[p]))
    parts, share_of = tuple(sorted(most[:_MOST_PARTS])), most[0]
    size = unit_of(int(total.max()))[1]

    def cells(own_ns: Int64, of_ns: int, count: int = 1) -> tuple[str, ...]:
        values = [value_text(int(own_ns[part]) / count, size) for part in parts]
        return (*values, short_share(int(own_ns[share_of]) / of_ns) if of_ns else "–")

    count = len(view.selections)
    title = "Time shown" if not count else "Selected range" if count == 1 else f"{count} selections"
    texts = {gpu: cells(own, int(of)) for gpu, own, of in zip(gpus, parts_ns, total, strict=True)}
    mean = cells(sums, int(total.sum()), len(total))
    ends = [edge for selection in view.selections for edge in selection] or view.window_ns
    span = window_text((min(ends), max(ends))).partition(" (")[0]
    names = gpu_names(study.trace)
    labels = {gpu: cropped(names[gpu], _WIDEST_LABEL * style.body, style.body, MEDIUM) for gpu in gpus}
    return LaneTable(title, span, parts_ns, total, parts, share_of, labels, texts, mean, style)
