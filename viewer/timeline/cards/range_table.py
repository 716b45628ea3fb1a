"""The table of a measured range: the five categories on every GPU, for the selection card and pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil

import numpy as np
from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QColor, QPainter

from viewer.analysis.core.intervals import union
from viewer.analysis.dependencies.stall_reasons import ReasonSums
from viewer.analysis.dependencies.stall_words import reasons_text
from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.measure import RangeNumbers
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.format import format_count, format_ns, format_share, share_of_iterations
from viewer.drawing.theme import Theme
from viewer.state import Window
from viewer.state.navigation import ranges_text
from viewer.timeline.cards.card_text import gpu_names
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, advance, cropped, wrapped
from viewer.trace.lazy import cached_property
from viewer.trace.names import short_name

HEADINGS = ("compute", "hidden", "exposed", "copy", "idle")
_TEXT, _SMALL, _SHARE_TEXT, _LINE = 11, 10, 9.5, 17
_COLUMN, _SHARE, _GAP, _COUNT, _MAX_LABEL = 76, 34, 4, 56, 110
_NARROW = 54
_NO_KERNEL = (("no kernel running", 100), ("no kernel", _COUNT))
"""The heading of the column and its width, then both for little room."""
_NOTE, _MIN_WIDTH, _ABOUT_WIDTH = 132, 380, 450
_PENDING = "…"
_KEPT = "\u00a0"
"""A space at which no line ends."""
_MAX_GPUS = 16
_MOST_PIECES = 200_000
"""Over more pieces of time without compute their reasons take too long for a card; Details has them."""
_TITLE_HEIGHT, _RULE = 24, 9

_Texts = defaultdict[tuple[float, int, int], list[tuple[float, float, str]]]
"""Texts with their (x, baseline), by their style: pixels, ink, weight."""


class RangeTable:
    """The numbers of a range, or of several together, and their layout; sizes are in logical pixels.

    Categories that no GPU has are left out, and so is "no kernel running" where that is the idle time.

    Parameters
    ----------
    most_gpus : int
        GPUs beyond are counted, not listed.
    details : bool
        False: the categories only, which are computed at once; the rest is shown as pending.
    most_lines : int
        How many lines the text beside a label below the GPUs takes at most.
    about : sequence of (str, str)
        Labels and values to show below the GPUs instead of the range's kernels and stream gaps.

    Raises
    ------
    ValueError
        If nothing of the range lies inside the recording.
    """

    def __init__(
        self,
        study: Study,
        ranges: Sequence[Window],
        iterations: Iterations | None,
        most_gpus: int = _MAX_GPUS,
        *,
        details: bool = True,
        about: Sequence[tuple[str, str]] = (),
        most_lines: int = 2,
    ) -> None:
        self.numbers = study.measure_all(ranges, iterations, details=details)
        self.title = ranges_text(self.numbers.windows)
        self.where = _where(self.numbers, iterations)
        self.about = tuple(about)
        bounds = [("Bounds", " ".join(texts))] if (texts := study.known_bounds.texts) else []
        self._notes = list(about) or [
            *_spinning(self.numbers),
            *bounds,
            *(_absent(study, self.numbers) if details else ()),
            *_notes(self.numbers, details),
        ]
        self.unknown = "–" if study.loading.is_cancelled else _PENDING
        self._labels = gpu_names(study.trace)
        self._most = most_gpus
        self._hint = True
        self._widest, self._most_lines = _ABOUT_WIDTH, most_lines
        self._column, self._share, self._is_narrow = _COLUMN, _SHARE, False
        self._columns = [part for part, ns in enumerate(self.numbers.all_ns.tolist()) if ns or part == IDLE]
        self._no_kernel = int(self.numbers.no_kernel_ns.sum()) != int(self.numbers.all_ns[IDLE])

    def fit(self, width: int, height: int, at_side: int | None = None) -> None:
        """Leave out shares, second lines, the lines below the GPUs, then GPUs, until the table fits.

        Shares go too where only without them it fits `at_side`, the width that covers no selection.
        """
        self._widest = width
        wide = self.size().width()
        if wide > width or (at_side is not None and wide > at_side):
            whole = self._column, self._share, self._is_narrow
            self._column, self._share, self._is_narrow = _NARROW, 0, True
            if wide <= width and at_side is not None and self.size().width() > at_side:
                self._column, self._share, self._is_narrow = whole
        if self.size("?").height() > height:
            self._hint = False
        if self.size().height() > height:
            self._most_lines = 1
        while self._notes and self.size().height() > height:
            self._notes.pop()
        while self._most > 1 and self.size().height() > height:
            self._most = min(self._most, len(self.numbers.parts_ns)) - 1

    def size(self, hint: str = "") -> QSize:
        """Return the size of the table; `hint` is the line at its foot."""
        numbers = self.numbers
        gpus = len(numbers.parts_ns)
        rows = min(gpus, self._most) + (gpus > self._most)
        lines = 2 * bool(gpus) + len(self._note_lines) + bool((hint and self._hint) or numbers.clipped)
        return QSize(self._width, _TITLE_HEIGHT + _LINE * (rows + lines) + _RULE)

    @property
    def _width(self) -> int:
        width = self._label_width + self._column * len(self._columns) + sum(self._count_widths)
        head = self._head_width + advance(self.where, _TEXT)
        head = min(ceil(head) + 2, _ABOUT_WIDTH, self._widest)
        return max(width, _ABOUT_WIDTH if self.about else _MIN_WIDTH, head)

    @property
    def _count_widths(self) -> tuple[int, ...]:
        return (_NO_KERNEL[self._is_narrow][1],) * self._no_kernel + (_COUNT, _COUNT)

    @property
    def _head_width(self) -> float:
        """The offset from the left edge at which the text beside the length begins."""
        return advance(self.title, 14, STRONG) + 18

    @property
    def _note_lines(self) -> list[tuple[str, str]]:
        """The lines below the GPUs: a label, "" where a text goes on, and a line of text."""
        room = self._width - _NOTE
        return [
            (label if not number else "", line)
            for label, value in self._notes
            for number, line in enumerate(wrapped(value, room, _TEXT, MEDIUM, self._most_lines))
        ]

    def _all_label(self) -> str:
        gpus = len(self.numbers.parts_ns)
        return f"Sum of {gpus}" if gpus > 1 else "In all"

    @cached_property
    def _label_width(self) -> int:
        labels = [*self._labels, self._all_label()]
        return min(_MAX_LABEL, round(max((advance(t, _TEXT) for t in labels), default=0)) + 6)

    def paint(self, painter: QPainter, rect: QRect, theme: Theme, hint: str = "") -> None:
        """Paint the table into `rect`, which is as large as `size` says."""
        numbers = self.numbers
        self._paint_head(painter, rect, theme)
        y = rect.top() + _TITLE_HEIGHT
        if len(numbers.parts_ns):
            y = self._paint_gpus(painter, rect, y, theme)
        painter.fillRect(rect.left(), y + 4, rect.width(), 1, QColor(theme.line))
        y += _RULE
        for label, line in self._note_lines:
            base = marks.text_baseline(y, _LINE, _TEXT)
            marks.paint_text(painter, label, rect.left(), base, _TEXT, theme.text_soft)
            marks.paint_text(painter, line, rect.left() + _NOTE, base, _TEXT, theme.text, MEDIUM)
            y += _LINE
        if not self._hint:
            hint = ""
        if numbers.clipped:
            hint = " · ".join(filter(None, ("Clipped to the recording", hint)))
        base = marks.text_baseline(y, _LINE, _SMALL)
        marks.paint_text(painter, hint, rect.left(), base, _SMALL, theme.text_faint)

    @property
    def brief(self) -> str:
        """The categories over all GPUs, those without time left out: "idle 64.2 % · compute 35.8 %"."""
        numbers = self.numbers
        whole = max(numbers.length_ns * len(numbers.parts_ns), 1)
        by_time = sorted(enumerate(numbers.all_ns.tolist()), key=lambda item: -item[1])
        return " · ".join(f"{HEADINGS[part]} {format_share(ns / whole)}" for part, ns in by_time if ns)

    def short_size(self) -> QSize:
        """Return the size of the two lines of `paint_short`."""
        head = self._head_width + advance(self.where, _TEXT)
        wide = ceil(max(head, advance(self.brief, _TEXT))) + 2
        return QSize(min(wide, self._widest), _TITLE_HEIGHT + _LINE)

    def paint_short(self, painter: QPainter, rect: QRect, theme: Theme) -> None:
        """Paint the length with its share of the iteration, and the categories over all GPUs."""
        self._paint_head(painter, rect, theme)
        base = marks.text_baseline(rect.top() + _TITLE_HEIGHT, _LINE, _TEXT)
        brief = self.brief
        if advance(brief, _TEXT) > rect.width():
            brief = cropped(brief, rect.width(), _TEXT)
        marks.paint_text(painter, brief, rect.left(), base, _TEXT, theme.text)

    def _paint_head(self, painter: QPainter, rect: QRect, theme: Theme) -> None:
        base = rect.top() + 12.0
        marks.paint_text(painter, self.title, rect.left(), base, 14, theme.text, STRONG)
        x = rect.left() + self._head_width
        where = cropped(self.where, rect.right() - x, _TEXT)
        marks.paint_text(painter, where, x, base, _TEXT, theme.text_soft)

    def _paint_gpus(self, painter: QPainter, rect: QRect, y: int, theme: Theme) -> int:
        numbers, texts = self.numbers, _Texts(list)
        unit, size = unit_of(numbers.length_ns)
        headings = [(HEADINGS[part], "") for part in self._columns]
        counted = (_NO_KERNEL[self._is_narrow][0],) * self._no_kernel + ("kernels", "launches")
        self._lay_line(texts, rect, theme, y, unit, headings, counted, soft=True)
        y += _LINE
        gpus = len(numbers.parts_ns)
        for gpu in range(min(gpus, self._most)):
            details = numbers.gpus[gpu] if numbers.gpus else None
            counts = _counts(details.kernels, details.launches) if details else (self.unknown,) * 2
            cells, counts = self._cells(
                numbers.parts_ns[gpu].tolist(),
                int(numbers.no_kernel_ns[gpu]),
                numbers.length_ns,
                size,
                counts,
            )
            self._lay_line(texts, rect, theme, y, self._labels[gpu], cells, counts)
            y += _LINE
        if (more := gpus - self._most) > 0:
            base = marks.text_baseline(y, _LINE, _TEXT)
            texts[_TEXT, theme.text_soft, REGULAR].append((rect.left(), base, f"and {more} more"))
            y += _LINE
        counts = _counts(numbers.kernels, numbers.launches) if numbers.gpus else (self.unknown,) * 2
        cells, counts = self._cells(
            numbers.all_ns.tolist(),
            int(numbers.no_kernel_ns.sum()),
            numbers.length_ns * gpus,
            size,
            counts,
        )
        tint = QColor(theme.accent)
        tint.setAlpha(20)
        painter.fillRect(rect.left() - 4, y, rect.width() + 8, _LINE, tint)
        self._lay_line(texts, rect, theme, y, self._all_label(), cells, counts)
        for style, alike in texts.items():
            marks.paint_texts(painter, alike, *style)
        return y + _LINE

    def _cells(
        self, parts_ns: list[int], no_kernel_ns: int, length_ns: int, size: int, counts: tuple[str, ...]
    ) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
        """Return the texts of a line: values with shares, then counts."""
        cells = [
            (
                value_text(parts_ns[part], size),
                short_share(parts_ns[part] / length_ns) if parts_ns[part] else "",
            )
            for part in self._columns
        ]
        return cells, ((value_text(no_kernel_ns, size),) if self._no_kernel else ()) + counts

    def _lay_line(
        self,
        texts: _Texts,
        rect: QRect,
        theme: Theme,
        y: int,
        label: str,
        cells: list[tuple[str, str]],
        counts: tuple[str, ...],
        soft: bool = False,
    ) -> None:
        """Add the texts of a line to those of the same style: a change of style costs as much as a text."""
        base = marks.text_baseline(y, _LINE, _TEXT)
        ink, weight = (theme.text_soft, REGULAR) if soft else (theme.text, MEDIUM)
        room = self._label_width
        texts[_TEXT, ink, REGULAR].append((rect.left(), base, cropped(label, room, _TEXT)))
        right = rect.left() + room
        for value, share in cells:
            right += self._column
            if share and self._share:
                x = right - self._share + _GAP
                texts[_SHARE_TEXT, theme.text_faint, REGULAR].append((x, base, share))
            style = _TEXT, theme.text_faint if value == "–" else ink, weight
            texts[style].append((right - self._share - advance(value, _TEXT, weight), base, value))
        for count, width in zip(counts, self._count_widths, strict=True):
            right += width
            texts[_TEXT, ink, REGULAR].append((right - advance(count, _TEXT), base, count))


def unit_of(length_ns: int) -> tuple[str, int]:
    """Return a single unit for a table, so that its columns compare."""
    return ("µs", 1_000) if length_ns < 1_000_000 else ("ms", 1_000_000)


def value_text(ns: float, size: int) -> str:
    """Return a part of a range in units of `size` ns, without the unit; none is a dash."""
    value = ns / size
    decimals = next((d for limit, d in ((9.9995, 3), (99.995, 2), (999.95, 1)) if value < limit), 0)
    return f"{value:,.{decimals}f}" if ns else "–"


def short_share(share: float) -> str:
    """Return a share beside its exact value: "89 %", "9.4 %"."""
    return f"{share * 100:.0f} %" if share >= 0.0995 else format_share(share)


def _counts(kernels: int, launches: int) -> tuple[str, ...]:
    return format_count(kernels), format_count(launches)


def _spinning(numbers: RangeNumbers) -> list[tuple[str, str]]:
    """Return the line about compute kernels that only wait, where there are any."""
    spinning, compute = int(numbers.spinning_ns.sum()), int(numbers.all_ns[:2].sum())
    if not spinning:
        return []
    return [("Compute, of it spinning", f"{format_ns(spinning)}{_KEPT}{format_share(spinning / compute)}")]


def _absent(study: Study, numbers: RangeNumbers) -> list[tuple[str, str]]:
    """Return the line about why no compute kernel runs, where that is known and some time is without one."""
    reasons = study.known_stall_reasons
    if reasons is None:
        return []
    within = union(*np.array(numbers.windows, np.int64).T)
    gpus = range(len(numbers.parts_ns))
    if sum(len(reasons.pieces(gpu).of(within)) for gpu in gpus) > _MOST_PIECES:
        return []
    sums = sum((reasons.sums(gpu, within) for gpu in gpus), ReasonSums())
    if not sums.compute_absent_ns:
        return []
    return [("Compute absent", reasons_text(sums))]


def _notes(numbers: RangeNumbers, details: bool) -> list[tuple[str, str]]:
    if not details:
        return [("Most kernel time", _PENDING), ("Compute stream idle", _PENDING)]
    notes = []
    if numbers.families:
        most = "   ".join(f"{short_name(f.name)}{_KEPT}{format_share(f.share)}" for f in numbers.families)
        notes.append(("Most kernel time", most))
    gaps = [gpu.stream_gaps for gpu in numbers.gpus if gpu.gap_stream is not None]
    if empty := sum(gap.empty_ns for gap in gaps):
        filled = (
            ("compute elsewhere", sum(gap.compute_ns for gap in gaps)),
            ("communication", sum(gap.communication_ns for gap in gaps)),
            ("copy", sum(gap.copy_ns for gap in gaps)),
            ("idle", sum(gap.idle_ns for gap in gaps)),
        )
        made_of = ", ".join(f"{what} {format_ns(ns)}" for what, ns in filled if ns)
        notes.append(("Compute stream idle", f"{format_ns(empty)}: {made_of}"))
    return notes


def between(numbers: RangeNumbers, iterations: Iterations) -> tuple[int, int] | None:
    """Return the two iterations that a range lies between, None if it does not.

    It holds the first instant of an iteration on some GPU, or ends with it, and no kernel runs in most of it.
    """
    if (
        2 * int(numbers.no_kernel_ns.sum()) < numbers.length_ns * len(numbers.parts_ns)
        or iterations.count < 2
    ):
        return None
    inner = iterations.starts[:, 1 : iterations.count]
    is_inside = (inner >= numbers.start_ns) & (inner <= numbers.end_ns)
    # `inner` begins with iteration 1: column k is the boundary between iterations k and k + 1.
    boundaries = np.flatnonzero(is_inside.any(axis=0))
    return (int(boundaries[0]), int(boundaries[0]) + 1) if len(boundaries) == 1 else None


def _where(numbers: RangeNumbers, iterations: Iterations | None) -> str:
    share = numbers.iteration
    if share is None or iterations is None:
        return "outside the iterations" if iterations else ""
    text = share_of_iterations(share, iterations)
    if len(numbers.windows) > 1:
        return text
    if (pair := between(numbers, iterations)) is not None:
        text += f" · between iterations {pair[0]} and {pair[1]}"
    elif len(share.iterations) > 1:
        text += f" · touches iterations {share.iterations[0]} to {share.iterations[-1]}"
    return text
