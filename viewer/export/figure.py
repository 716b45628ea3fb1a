"""FigurePage: a slide or a figure for a paper, with the GPUs' numbers beside their lanes.

Lanes, marks and numbers are those of `viewer.export.page.PicturePage`; fewer and larger texts stand around
them, and a page of fixed ratio is filled.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil

from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QColor, QPainter

from viewer.drawing.layout import PlacedRow, place
from viewer.drawing.scale import AxisPixels, snap_px
from viewer.drawing.scene import Scene
from viewer.drawing.theme import without_ground
from viewer.drawing.ticks import ticks
from viewer.export import footer
from viewer.export.blocks import Block
from viewer.export.figure_rows import (
    figure_rows,
    lane_middles,
    least_scale,
    names_width,
    note_standing,
    paint_names,
)
from viewer.export.figure_style import STYLES
from viewer.export.heading import heading_block
from viewer.export.lane_table import lane_table
from viewer.export.lanes import paint_lanes, paint_lengths
from viewer.export.legend_block import entries, entry_width, legend_block
from viewer.export.note_band import TOP, NoteBand
from viewer.export.page import check_size
from viewer.export.paint_notes import paint_notes
from viewer.export.picture_view import PictureError, View
from viewer.printable import counted
from viewer.timeline.background_results import doubts_of
from viewer.timeline.notes.measurement_lines import dimensions, dimensions_height, paint_dimensions
from viewer.timeline.notes.note_places import NoteSpot, place_notes
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import font
from viewer.timeline.paint.paint_rows import Frame, make_frame
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.strips import ruler

_WINDOW_TEXT_PX, _TAG_HEIGHT, _TALL_PX = 10.5, 17, 13
"""The text of the window's ruler and bars, its tags, and the lowest bar with a text of that size."""
_LEAST_WIDTH, _LEAST_HEIGHT, _MOST_WANTED = 160, 120, 320
_MOST_NOTE_ROWS, _FEW_NOTE_ROWS = 8, 1
_MOST_LANE_SCALE = 5.0
_NAME_SHARE = 0.22
_LINES_APART = 1.15


class FigurePage:
    """A view laid out as a figure; its parameters are those of `viewer.export.page.PicturePage`.

    A page of fixed ratio is laid out at its own width and scaled as a whole to `width`. Rows for which it
    has no room are left out, and counted in its caption.

    Raises
    ------
    PictureError
        If it is too narrow or too low for its content.
    """

    def __init__(self, view: View, width: int, dpr: float = 1.0, scene: Scene | None = None) -> None:
        self.view, self.style = view, STYLES[view.preset]
        style = self.style
        self.dpr = dpr * width / style.width if style.ratio else dpr
        self._width = style.width if style.ratio else width
        self.scene = scene or Scene(view.study)
        self.scene.collectives = view.study.collectives
        self._doubts = doubts_of(view.study)
        self._text_scale = style.small / _WINDOW_TEXT_PX
        self._own, self._cut = figure_rows(view), 0
        if not self._own:
            raise PictureError("no row that is chosen shows anything")
        self._place_columns()
        self._place_lines()
        check_size(self.size, len(self._own))
        self.frame = self._frame()

    @property
    def size(self) -> QSize:
        """The size in device pixels."""
        return QSize(snap_px(self._width * self.dpr), snap_px(self._height * self.dpr))

    @property
    def dots_per_inch(self) -> int:
        """Logical pixels per inch of paper."""
        return self.style.dots_per_inch

    @property
    def caption(self) -> str:
        """The line that names the trace, the range and the versions behind the picture."""
        return "  ·  ".join(footer.caption(self.view))

    def _place_columns(self) -> None:
        """Divide the width: names, lanes, numbers."""
        view, style, extras = self.view, self.style, self.view.extras
        gpus = lane_middles(view, self._placed(), 0, 1)
        self._table = lane_table(view, style, tuple(gpus)) if extras.card else None
        self._right = self._width - style.margin
        lanes_right = self._right - (self._table.width + style.gap if self._table else 0)
        names = names_width(self._own, style, _NAME_SHARE * self._width) if extras.headers else 0
        left = style.margin + names
        if lanes_right - left < _LEAST_WIDTH:
            needed = self._width + _LEAST_WIDTH - lanes_right + left
            raise PictureError(f"a figure with these numbers is at least {needed} pixels wide")
        self._axis = AxisPixels(left, lanes_right - left, self.dpr)
        self._scale = self._axis.scale(view.window_ns)

    def _place_lines(self) -> None:
        """Divide the height: heading, ruler, rows, notes, legend, caption."""
        view, style = self.view, self.style
        self._heading = heading_block(
            view, self._width, style.title, style.body, style.margin, style.margin // 2
        )
        head = self._heading.height if self._heading else style.margin
        self._ruler = ceil(ruler.HEIGHT * self._text_scale) if view.extras.ruler else 0
        above = max(self._ruler, self._table.head_height if self._table else 0)
        self._top = head + above
        d = self.dpr * self._text_scale
        self._dimensions = dimensions(self._scale, view.measurements, d)
        self._dimension_px = ceil(dimensions_height(self._dimensions) * self._text_scale)
        mean = self._table.mean_height if self._table else 0
        self._foot = self._caption()
        for self._note_rows in range(_MOST_NOTE_ROWS, -1, -1):
            notes = self._note_band(self._spots(1.0, 0), 0)
            self._legend, legend_y, notes_px = self._fitted_legend(notes)
            below = max(self._dimension_px + notes_px, mean) + style.small
            if style.ratio is None or self._room(below) >= self._needed(self._note_rows):
                break
        self._lane_scale = style.lane_scale or self._filling(self._room(below))
        self._rows_px = ceil(self._natural * self._lane_scale)
        self._notes = self._note_band(
            self._spots(self._lane_scale, self._rows_px), self._rows_px + self._dimension_px
        )
        self._legend_top = self._top + self._rows_px + self._dimension_px + legend_y
        self._height = self._top + self._rows_px + below + self._foot.height
        if style.ratio:
            self._height = round(self._width / style.ratio)

    def _fitted_legend(self, notes: NoteBand) -> tuple[Block | None, int, int]:
        """Return the legend, its y below the rows, and the height of notes and legend together.

        It stands beside the notes where that takes less height than below them.
        """
        view, style, axis = self.view, self.style, self._axis
        found = entries(view, self.scene, self._placed()) if view.extras.legend else []
        left, right, band = float(axis.left), float(axis.left + axis.width), ceil(notes.height / self.dpr)
        below = legend_block(found, view.theme, right, style.small, left, has_rule=False)
        if below is None:
            return None, band, band
        if style.ratio is None:
            # Below the table too, where it has the whole width.
            wide = legend_block(found, view.theme, self._right, style.small, style.margin, has_rule=False)
            assert wide
            mean = self._table.mean_height - self._dimension_px if self._table else 0
            top = max(band, mean) + style.small // 2
            return wide, top, top + wide.height
        stacked = below, band + style.small // 2, band + style.small // 2 + below.height
        if len({label.box.top() for label in notes.labels}) != 1:
            return stacked
        before = left, axis.left + notes.labels[0].box.left() / self.dpr - style.body
        after = axis.left + notes.labels[-1].box.right() / self.dpr + style.body, right
        start, end = max(before, after, key=lambda room: room[1] - room[0])
        if end - start < max(entry_width(entry, style.small) for entry in found):
            return stacked
        beside = legend_block(found, view.theme, end, style.small, start, has_rule=False)
        top = round(TOP * style.small)
        return min(stacked, (beside, top, max(band, top + beside.height)), key=lambda option: option[2])

    def _room(self, below: int) -> int:
        """Return the height that is left for the rows, above `below`."""
        height = round(self._width / (self.style.ratio or 1.0))
        return height - self._top - below - self._foot.height

    def _needed(self, note_rows: int) -> float:
        """Return the height that the rows need; the labels of notes, but for a few, give way to the rows."""
        heights = [placed.height for placed in self._placed()]
        wanted = sum(heights) * least_scale(heights, self.style) if note_rows > _FEW_NOTE_ROWS else 0.0
        return max(min(wanted, _MOST_WANTED), _LEAST_HEIGHT)

    def _filling(self, room: int) -> float:
        """Return the scale at which the rows fill the page, after leaving out those without room.

        Raises
        ------
        PictureError
            If there is no room for rows.
        """
        if room < _LEAST_HEIGHT:
            raise PictureError("heading and measurements leave no room for the rows; choose fewer")
        heights = [placed.height for placed in self._placed()]
        while len(heights) > 1 and room < sum(heights) * least_scale(heights, self.style):
            heights.pop()
        if cut := len(self._own) - len(heights):
            del self._own[len(heights) :]
            self._cut += cut
            self._foot = self._caption()
        return min(room / self._natural, _MOST_LANE_SCALE)

    @property
    def _natural(self) -> int:
        """The height of the rows in the window."""
        last = self._placed()[-1]
        return last.y + last.height

    def _placed(self) -> list[PlacedRow]:
        return place((own.row, own.is_unfolded) for own in self._own)

    def _caption(self) -> Block:
        view, style = self.view, self.style
        told = list(footer.state_definitions(view))
        if self._table and self._table.left_out:
            told.append(f"in no column, mean: {self._table.left_out}")
        if self._cut:
            told.append(f"not shown: {counted(self._cut, 'more row')}")
        return footer.caption_block(view, self._width, told, style.small, style.margin)

    def _spots(self, lane_scale: float, rows_px: int) -> list[NoteSpot]:
        d = self.dpr * lane_scale
        axis = AxisPixels(0, ceil(self._scale.width / d), d)
        grid = DeviceGrid(axis, 0, snap_px(rows_px * self.dpr))
        placed, study = self._placed(), self.view.study
        notes = enumerate(self.view.notes)
        return place_notes(notes, study, placed, self._scale, grid, note_standing(placed)).spots

    def _note_band(self, spots: list[NoteSpot], rows_px: int) -> NoteBand:
        d, axis = self.dpr, self._axis
        room = (self.style.margin - axis.left) * d, axis.width * d
        size = self._scale.width, snap_px(rows_px * d)
        return NoteBand(spots, size, room, self.style.small * d, self._note_rows)

    def _frame(self) -> Frame:
        view, d = self.view, self.dpr
        height = snap_px((self._rows_px + self._dimension_px) * d)
        frame = make_frame(
            self.scene, self._placed(), self._scale, height, view.theme, dpr=d * self._lane_scale,
            overlays=view.overlays, iterations=view.iterations, scope=view.scope,
            doubtful=frozenset(self._doubts.gpus), lost=self._doubts.lost,
        )  # fmt: skip
        # Lanes are stretched, lines and hatches are not; texts are of one size, or left out.
        d *= self._text_scale
        labels = tuple(label for label in frame.labels if label.height >= _TALL_PX * d)
        return replace(frame, dpr=d, labels=labels)

    def paint(self, painter: QPainter) -> None:
        """Paint the whole page in device pixels."""
        view, style = self.view, self.style
        painter.setFont(font(style.small))
        if not view.is_transparent:
            painter.fillRect(0, 0, self.size.width(), self.size.height(), QColor(view.theme.panel))
        self._paint_time(painter)
        painter.save()
        painter.scale(self.dpr, self.dpr)
        if self._heading:
            self._heading.paint(painter, QRect(0, 0, self._width, self._heading.height))
        placed = self._placed()
        if view.extras.headers:
            column = QRectF(style.margin, self._top, self._axis.left - style.margin, self._rows_px)
            rows = list(zip(self._own, placed, strict=True))
            paint_names(painter, rows, column, self._lane_scale, view, style, self._doubts)
        self._paint_origin(painter)
        if self._table:
            self._paint_table(painter, placed)
        if self._legend:
            self._legend.paint(painter, QRect(0, self._legend_top, self._width, self._legend.height))
        foot = self._foot.height
        self._foot.paint(painter, QRect(0, self._height - foot, self._width, foot))
        painter.restore()

    def _paint_table(self, painter: QPainter, placed: list[PlacedRow]) -> None:
        """Paint a line per GPU where they stand far enough apart, and the means."""
        assert self._table
        middles = lane_middles(self.view, placed, self._top, self._lane_scale)
        apart = min((below - above for above, below in pairwise(sorted(middles.values()))), default=1e9)
        if apart < _LINES_APART * self.style.body:
            middles = {}
        rect = QRectF(self._right - self._table.width, 0, self._table.width, self._top)
        self._table.paint_head(painter, rect, self.view)
        self._table.paint_lines(painter, rect, middles, self._top + self._rows_px, self.view)

    def _paint_origin(self, painter: QPainter) -> None:
        """Write what the ruler's labels count from, left of it."""
        if not self._ruler or not self.view.extras.headers:
            return
        style, marked = self.style, ticks(*self.view.window_ns, self._axis.width_px / self._text_scale)
        text = f"{marked.origin} + {marked.unit}" if marked.origin else marked.unit
        base = self._top - 0.4 * style.small
        marks.paint_text(painter, text, style.margin, base, style.small, self.view.theme.text_soft)

    def _paint_time(self, painter: QPainter) -> None:
        """Paint ruler, lanes and notes, in device pixels."""
        view, frame = self.view, self.frame
        left, top, high = (snap_px(v * self.dpr) for v in (self._axis.left, self._top, self._ruler))
        bare = without_ground(view.theme, has_lines=False)
        painter.save()
        painter.translate(left, top - high)
        if high:
            painter.setClipRect(0, 0, frame.scale.width, high)
            ruler.paint_ruler(
                painter, frame.scale, high, view.ground, frame.dpr, view.iterations, view.iteration
            )
            tag_top = high - _TAG_HEIGHT * frame.dpr
            paint_lengths(painter, frame.scale, view.selections, tag_top, view.theme, frame.dpr)
        painter.translate(0, high)
        painter.setClipRect(0, 0, frame.scale.width, frame.height)
        paint_lanes(painter, frame, view, bare, self._notes)
        paint_dimensions(painter, self._dimensions, frame.height, view.theme, frame.dpr)
        painter.setClipping(False)
        paint_notes(painter, self._notes, view.theme)
        painter.restore()
