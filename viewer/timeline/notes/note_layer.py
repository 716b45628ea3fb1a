"""NoteLayer: places, paints and hit-tests notes and kept measurements on a canvas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPixmap

from viewer.drawing.layout import PlacedRow
from viewer.timeline.notes.measurement_lines import dimensions, paint_dimensions
from viewer.timeline.notes.note_marks import paint_notes, paint_places
from viewer.timeline.notes.note_places import NoteSpot, PlacedNotes, place_notes
from viewer.timeline.strip import DeviceGrid, OnTimeAxis

DRAFT = -1
"""The number of the note in the editor."""


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A part of a cache key that compares by identity."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class NoteLayer(OnTimeAxis):
    """The common part of both canvases.

    Attributes
    ----------
    is_labelled : bool
        False for a strip too low for labels: it only marks the targets of notes.
    """

    placed: Sequence[PlacedRow] = ()
    is_labelled = True
    _notes: tuple[object, PlacedNotes] = (None, PlacedNotes([]))
    _picture: tuple[object, QPixmap | None] = (None, None)

    def note_spots(self, grid: DeviceGrid) -> list[NoteSpot]:
        """Return the places of the notes in view and of the one in the editor."""
        return self._all_notes(grid).spots

    def _all_notes(self, grid: DeviceGrid) -> PlacedNotes:
        """Place the notes in view and the one in the editor."""
        state = self.state
        shown = (_Same(self.placed), _Same(state.study), _Same(state.rows.shown))
        notes = (_Same(state.notes.items), state.notes.draft, state.notes.chosen)
        key = (grid, self.scale(), shown, notes)
        if self._notes[0] != key:
            self._notes = (key, self._placed_notes(grid))
        return self._notes[1]

    def _placed_notes(self, grid: DeviceGrid) -> PlacedNotes:
        notes, study = self.state.notes, self.state.study
        drafts = [(DRAFT, notes.draft)] if notes.draft is not None else []
        if study is None or not (notes.items or drafts):
            return PlacedNotes([])
        numbered = [*enumerate(notes.items), *drafts]
        wanted = {number for number in (DRAFT, notes.chosen) if number is not None}
        return place_notes(numbered, study, self.placed, self.scale(), grid, self._standing, wanted)

    def note_at(self, pos: QPointF) -> NoteSpot | None:
        """Return the note whose label is under a point, the topmost."""
        if not self.is_labelled:
            return None
        grid = self.grid()
        at = QPointF(grid.axis.column(pos.x()), grid.row(pos.y()))
        spots = (s for s in reversed(self.note_spots(grid)) if s.lines and s.label.contains(at))
        return next(spots, None)

    def label_of(self, number: int) -> QRectF | None:
        """Return the rectangle of a note's label, in logical pixels, None where it is not in view."""
        grid = self.grid()
        spot = next((s for s in self.note_spots(grid) if s.number == number), None)
        if spot is None or spot.label.isEmpty():
            return None
        d, label = grid.dpr, spot.label
        return QRectF(
            grid.axis.logical_x(label.left()), label.top() / d, label.width() / d, label.height() / d
        )

    def paint_annotations(self, painter: QPainter, grid: DeviceGrid) -> None:
        """Paint notes, and kept measurements as dimension lines along the bottom.

        Their picture is cached: it does not change while the pointer moves.
        """
        state = self.state
        notes, kept = self._all_notes(grid), state.measurements.items
        key = (_Same(notes), grid, self.scale(), kept, state.notes.chosen, self.theme, self.is_labelled)
        if self._picture[0] != key:
            self._picture = (key, self._painted_annotations(grid, notes) if notes.spots or kept else None)
        if self._picture[1] is not None:
            painter.drawPixmap(0, 0, self._picture[1])

    def _painted_annotations(self, grid: DeviceGrid, notes: PlacedNotes) -> QPixmap:
        picture = QPixmap(grid.columns, grid.rows)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        try:
            self._paint_annotations(painter, grid, notes)
        finally:
            painter.end()
        return picture

    def _paint_annotations(self, painter: QPainter, grid: DeviceGrid, notes: PlacedNotes) -> None:
        if not self.is_labelled:
            paint_places(painter, notes.spots, self.theme, grid.dpr)
            return
        kept = dimensions(self.scale(), self.state.measurements.items, grid.dpr)
        paint_dimensions(painter, kept, grid.rows, self.theme, grid.dpr)
        paint_notes(painter, notes, self.theme, grid, self.state.notes.chosen)

    def _standing(self, key: str) -> str | None:
        """Return the mapping from rows to placed rows: in a strip of pinned rows, a row itself or nothing."""
        if not self.is_labelled:
            return key
        row = self.state.rows.row(key)
        shown = self.state.rows.nearest_shown(row) if row is not None else None
        return shown.key if shown is not None else None
