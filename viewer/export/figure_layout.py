"""FigureLayout: where the parts of a slide or a figure for a paper stand; paints nothing."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from viewer.drawing.layout import PlacedRow, place
from viewer.drawing.scale import AxisPixels, snap_px
from viewer.drawing.scene import Scene
from viewer.export import footer
from viewer.export.blocks import Block
from viewer.export.figure_rows import (
    count_that_fits,
    figure_rows,
    lane_middles,
    least_scale,
    names_width,
    note_standing,
)
from viewer.export.figure_style import STYLES
from viewer.export.heading import heading_block
from viewer.export.lane_table import lane_table
from viewer.export.legend_block import entries, legend_block, legend_width
from viewer.export.note_band import TOP, NoteBand
from viewer.export.picture_view import PictureError, View
from viewer.printable import counted
from viewer.rows import RowKind
from viewer.timeline.background_results import doubts_of
from viewer.timeline.notes.measurement_lines import dimensions, dimensions_height
from viewer.timeline.notes.note_places import NoteSpot, place_notes
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.strips import ruler

_WINDOW_TEXT_PX = 10.5
"""The text of the window's ruler and bars."""
_LEAST_WIDTH, _LEAST_HEIGHT, _MOST_WANTED = 160, 120, 320
"""Of the lanes; the last: the most height for which the labels of notes give way."""
_MOST_NOTE_ROWS, _FEW_NOTE_ROWS, _MOST_LEGEND_LINES = 8, 1, 3
_MOST_LANE_SCALE = 7.5
_NAME_SHARE = 0.22


class FigureLayout:
    """The parts of a figure, in logical pixels but for `notes` and `scale`.

    A page of fixed ratio is laid out at its own width and scaled as a whole to the wanted one. Rows for which
    it has no room are left out, and counted in its caption.

    Parameters
    ----------
    width : int
        Of the page, in pixels before `dpr`.

    Attributes
    ----------
    dpr : float
        Device pixels per logical pixel.
    rows : list of FigureRow
        Those that are shown; `cut` more are not.
    lane_scale : float
        Pixels of the page per pixel of the rows' layout in the window.
    text_scale : float
        The same for texts and lines of the window that are painted larger here.
    note_right : float
        Where the labels of notes end, from the left edge of the lanes.
    top, rows_px : int
        Where the rows begin, and how high they are together.
    dimensions : list of Dimension
        The lines of measurements, `dimension_px` high, below the rows.

    Raises
    ------
    PictureError
        If the page is too narrow or too low for its content.
    """

    def __init__(self, view: View, width: int, dpr: float, scene: Scene) -> None:
        self.view, self.style, self.scene = view, STYLES[view.preset], scene
        style = self.style
        self.dpr = dpr * width / style.width if style.ratio else dpr
        self.width = style.width if style.ratio else width
        self.text_scale = style.small / _WINDOW_TEXT_PX
        self.rows, self.cut, self.doubts = figure_rows(view), 0, doubts_of(view.study)
        if not self.rows:
            raise PictureError("no row that is chosen shows anything")
        self._place_columns()
        self._place_lines()

    def _place_columns(self) -> None:
        """Divide the width: names, lanes, numbers."""
        view, style, extras = self.view, self.style, self.view.extras
        self._take_numbers()
        self.right = self.width - style.margin
        lanes_right = self.right - (self.table.width + style.gap if self.table else 0)
        names = names_width(self.rows, style, _NAME_SHARE * self.width, self.doubts) if extras.headers else 0
        left = style.margin + names
        if lanes_right - left < _LEAST_WIDTH:
            needed = self.width + _LEAST_WIDTH - lanes_right + left
            raise PictureError(f"a figure with these numbers is at least {needed} pixels wide")
        self.axis = AxisPixels(left, lanes_right - left, self.dpr)
        self.scale = self.axis.scale(view.window_ns)

    def _take_numbers(self) -> None:
        """Take the numbers of the GPUs that are shown."""
        gpus = tuple(lane_middles(self.view, self.placed(), 0, 1))
        self.table = lane_table(self.view, self.style, gpus) if self.view.extras.card and gpus else None

    def _place_lines(self) -> None:
        """Divide the height: heading, ruler, rows, notes, legend, caption."""
        view, style = self.view, self.style
        self.heading = heading_block(
            view, self.width, style.title, style.body, style.margin, style.margin // 2
        )
        head = self.heading.height if self.heading else style.margin
        self.ruler_px = ceil(ruler.HEIGHT * self.text_scale) if view.extras.ruler else 0
        above = max(self.ruler_px, self.table.head_height if self.table else 0)
        self.top = head + above
        d = self.dpr * self.text_scale
        self.dimensions = dimensions(self.scale, view.measurements, d)
        self.dimension_px = ceil(dimensions_height(self.dimensions) * self.text_scale)
        mean = self.table.mean_height if self.table else 0
        self.foot = self._caption()
        for self.note_rows in range(_MOST_NOTE_ROWS, -1, -1):
            self.note_right = float(self.axis.width)
            notes = self._note_band(self._spots(1.0, 0), 0)
            self.legend, legend_y, notes_px = self._fitted_legend(notes)
            below = max(self.dimension_px + notes_px, mean) + style.small
            if style.ratio is None or self._room(below) >= self._needed(self.note_rows):
                break
        self.lane_scale = style.lane_scale or self._filling(self._room(below))
        self.rows_px = ceil(self.natural_px * self.lane_scale)
        self.notes = self._note_band(
            self._spots(self.lane_scale, self.rows_px), self.rows_px + self.dimension_px
        )
        self.legend_top = self.top + self.rows_px + self.dimension_px + legend_y
        self.height = self.top + self.rows_px + below + self.foot.height
        if style.ratio:
            self.height = round(self.width / style.ratio)

    def _fitted_legend(self, notes: NoteBand) -> tuple[Block | None, int, int]:
        """Return the legend, its y below the rows, and the height of notes and legend together.

        It stands right of the notes, which make room for it, where that takes less height than below them.
        """
        view, style, axis = self.view, self.style, self.axis
        found = entries(view, self.scene, self.placed()) if view.extras.legend else []
        left, right, band = float(axis.left), float(axis.left + axis.width), ceil(notes.height / self.dpr)
        below = legend_block(found, view.theme, right, style.small, left, has_rule=False)
        if below is None:
            return None, band, band
        if style.ratio is None:
            # Below the table too, where it has the whole width.
            wide = legend_block(found, view.theme, self.right, style.small, style.margin, has_rule=False)
            assert wide
            mean = self.table.mean_height - self.dimension_px if self.table else 0
            top = max(band, mean) + style.small // 2
            return wide, top, top + wide.height
        top = round(TOP * style.small)
        options = [(band + style.small // 2 + below.height, self.note_right, below, band + style.small // 2)]
        for count in range(1, _MOST_LEGEND_LINES + 1 if notes.labels else 1):
            start = right - legend_width(found, style.small, count)
            self.note_right = start - left - style.body
            beside = legend_block(found, view.theme, right + 1, style.small, start, has_rule=False)
            narrow = self._note_band(self._spots(1.0, 0), 0) if self.note_right > 0 else None
            if beside and narrow and narrow.is_plain:
                height = max(ceil(narrow.height / self.dpr), top + beside.height)
                options.append((height, self.note_right, beside, top))
        height, self.note_right, legend, y = min(options, key=lambda option: option[0])
        return legend, y, height

    def _room(self, below: int) -> int:
        """Return the height that is left for the rows, above `below`."""
        height = round(self.width / (self.style.ratio or 1.0))
        return height - self.top - below - self.foot.height

    def _needed(self, note_rows: int) -> float:
        """Return the height that the rows need; the labels of notes, but for a few, give way to the rows."""
        heights = [placed.height for placed in self.placed()]
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
        kept = count_that_fits([placed.height for placed in self.placed()], room, self.style)
        if cut := len(self.rows) - kept:
            del self.rows[kept:]
            self.cut += cut
            self._take_numbers()
            before, self.foot = self.foot.height, self._caption()
            room -= self.foot.height - before
        return min(room / self.natural_px, _MOST_LANE_SCALE)

    @property
    def natural_px(self) -> int:
        """The height of the rows in the window."""
        last = self.placed()[-1]
        return last.y + last.height

    def placed(self) -> list[PlacedRow]:
        """Return the rows where they would stand in the window."""
        return place((own.row, own.is_unfolded) for own in self.rows)

    def _caption(self) -> Block:
        view, style = self.view, self.style
        notes = list(footer.state_definitions(view))
        if self.table and self.table.left_out:
            notes.append(f"in no column, mean: {self.table.left_out}")
        if self.cut:
            notes.append(f"not shown: {counted(self.cut, 'more row')}")
        return footer.caption_block(view, self.width, notes, style.small, style.margin)

    def _spots(self, lane_scale: float, rows_px: int) -> list[NoteSpot]:
        d = self.dpr * lane_scale
        axis = AxisPixels(0, ceil(self.scale.width / d), d)
        grid = DeviceGrid(axis, 0, snap_px(rows_px * self.dpr))
        placed, study = self.placed(), self.view.study
        notes = enumerate(self.view.notes)
        found = place_notes(notes, study, placed, self.scale, grid, note_standing(placed)).spots
        # A GPU that represents its folded process is as good as that.
        own = {row.row.parent.key for row in self.rows if row.row.kind is RowKind.GPU and row.row.parent}
        return [replace(s, is_own_row=True) if s.note.row_key in own else s for s in found]

    def _note_band(self, spots: list[NoteSpot], rows_px: int) -> NoteBand:
        d, axis = self.dpr, self.axis
        room = (self.style.margin - axis.left) * d, self.note_right * d
        size = self.scale.width, snap_px(rows_px * d)
        return NoteBand(spots, size, room, self.style.small * d, self.note_rows)
