"""Layout of notes in the picture: the target and the label of each, in device pixels; paints nothing."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF

from viewer.analysis.study import Study
from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import Scale, snap_px
from viewer.state import Note
from viewer.timeline.notes.note_text import broken
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import advance
from viewer.timeline.paint.linked import event_boxes
from viewer.timeline.strip import DeviceGrid

TEXT_PX, LINE_PX = 11.5, 15
WIDEST_PX = 250
EMPTY_SIZE_PX = (WIDEST_PX, 58)
"""The room of a note without text, which the editor covers."""
PAD_X, PAD_Y, BAR = 9, 6, 3
MOST_LABELS = 100
"""The most labels in view; further notes are only marked where they begin."""
_AWAY, _MARGIN = 14, 3
_TRIES = 24
_DOT_PX, _TICK_PX = 8, 10

Standing = Callable[[str], str | None]
"""Maps a row's key to that of the row that represents it: itself or an ancestor; None where none does."""


@dataclass(frozen=True, slots=True)
class NoteSpot:
    """The place of a note in the picture, device pixels.

    Attributes
    ----------
    number : int
        Of the note, as passed in.
    place : QRect
        The target: a bar, a part of a row, or a part of the whole height.
    origin : QPointF
        The point from which the label's offset counts.
    label : QRectF
        Empty where the note is only marked.
    lines : tuple of str
        Empty while the editor is open on the note, or where it is only marked.
    is_own_row : bool
        False where the note's row is folded and an ancestor represents it.
    """

    number: int
    note: Note
    place: QRect
    origin: QPointF
    label: QRectF
    lines: tuple[str, ...]
    is_own_row: bool = True

    def offset_px(self, dpr: float) -> tuple[int, int]:
        """Return the offset of the label from the origin, in logical pixels."""
        away = self.label.topLeft() - self.origin
        return round(away.x() / dpr), round(away.y() / dpr)


@dataclass(frozen=True, slots=True)
class PlacedNotes:
    """The notes in view.

    Attributes
    ----------
    spots : list of NoteSpot
    unwritten : int
        How many more are only marked; one spot represents all that begin at the same place.
    """

    spots: list[NoteSpot]
    unwritten: int = 0


def nearest_placed(placed: Sequence[PlacedRow]) -> Standing:
    """Return a mapping from each row (a picture has all rows) to the placed row that represents it."""
    keys = {p.row.key for p in placed}
    lengths = sorted({len(key) for key in keys}, reverse=True)

    def standing(key: str) -> str | None:
        above = (key[:n] for n in lengths if n == len(key) or key[n : n + 1] == "/")
        return next((k for k in above if k in keys), None)

    return standing


def place_notes(
    notes: Iterable[tuple[int, Note]],
    study: Study,
    placed: Sequence[PlacedRow],
    scale: Scale,
    grid: DeviceGrid,
    standing: Standing | None = None,
    wanted: Container[int] = (),
) -> PlacedNotes:
    """Place the notes in view.

    Labels that the user has not moved avoid each other; all stay inside the area. The first
    `MOST_LABELS` are written out, so that time and picture have a bound, however many notes there are.

    Parameters
    ----------
    notes : iterable of (int, Note)
    placed : sequence of PlacedRow
        The rows in view, logical pixels from the area's top.
    grid : DeviceGrid
        The area: `columns` wide and `rows` high.
    standing : callable, optional
        By default `nearest_placed`.
    wanted : container of int
        Numbers of notes that always get a label.
    """
    standing = standing or nearest_placed(placed)
    by_key = {p.row.key: p for p in placed}
    free = grid.row(placed[-1].y + placed[-1].height) if placed else 0
    found: list[NoteSpot] = []
    labels: list[QRectF] = []
    marked: set[tuple[int, str]] = set()
    unwritten = 0
    for number, note in notes:
        start, end = note.span(study)
        if end < scale.start_ns or start > scale.end_ns:
            continue
        key = standing(note.row_key) if note.row_key else ""
        row = by_key.get(key) if key else None
        if key is None or (key and row is None):
            continue
        is_own_row = key == note.row_key
        if len(labels) >= MOST_LABELS and number not in wanted:
            unwritten += 1
            left = marks.column_of(scale, start)
            begin = (snap_px(left / (_DOT_PX * grid.dpr)), key)
            if begin not in marked:
                marked.add(begin)
                place = _in_rows(left, 1, row, grid)
                if row is None:
                    place.setHeight(snap_px(_TICK_PX * grid.dpr))
                found.append(NoteSpot(number, note, place, QPointF(), QRectF(), (), is_own_row))
            continue
        place = _place(note, (start, end), study, row, scale, grid)
        spot = _labelled(number, note, place, row is not None, is_own_row, grid, free, labels)
        found.append(spot)
        labels.append(spot.label)
    return PlacedNotes(found, unwritten)


def _place(
    note: Note, span: tuple[int, int], study: Study, row: PlacedRow | None, scale: Scale, grid: DeviceGrid
) -> QRect:
    left, right = (marks.column_of(scale, t) for t in span)
    if row is not None and note.event is not None:
        for box in event_boxes(study, (row,), note.event, scale, grid):
            return box
    return _in_rows(left, max(right - left, 1), row, grid)


def _in_rows(left: int, width: int, row: PlacedRow | None, grid: DeviceGrid) -> QRect:
    """Return a part of a row, or of the whole height."""
    if row is None:
        return QRect(left, 0, width, grid.rows)
    top, bottom = grid.row(row.y), grid.row(row.y + row.height)
    inset = min(snap_px(2 * grid.dpr), (bottom - top) // 3)
    return QRect(left, top + inset, width, bottom - top - 2 * inset)


def _labelled(
    number: int,
    note: Note,
    place: QRect,
    in_row: bool,
    is_own_row: bool,
    grid: DeviceGrid,
    free: int,
    others: Sequence[QRectF],
) -> NoteSpot:
    d = grid.dpr
    left, right = max(place.left(), 0), min(place.left() + place.width(), grid.columns)
    origin = QPointF((left + right) // 2, place.center().y() if in_row else 0)
    lines = broken(note.text, (WIDEST_PX - 2 * PAD_X - BAR) * d, TEXT_PX * d)
    wide, high = _label_size(lines, d)
    if note.offset is not None:
        corner = origin + QPointF(note.offset[0] * d, note.offset[1] * d)
        label = _inside(QRectF(corner.x(), corner.y(), wide, high), grid)
    else:
        label = _where_room_is(place, origin, wide, high, in_row, grid, free, others)
    return NoteSpot(number, note, place, origin, label, lines, is_own_row)


def _where_room_is(
    place: QRect,
    origin: QPointF,
    wide: float,
    high: float,
    in_row: bool,
    grid: DeviceGrid,
    free: int,
    others: Sequence[QRectF],
) -> QRectF:
    """Put a label below its bar; that of a note on all rows goes below the rows, at `free` and below.

    The label of a range ends where the range ends: the card of a selection lies right of it.
    """
    d = grid.dpr
    if in_row:
        left, top = origin.x() + _AWAY * d, place.bottom() + 1 + _AWAY * d
        if top + high > grid.rows:
            top = place.top() - _AWAY * d - high
    else:
        right = min(place.left() + place.width(), grid.columns)
        left = right - wide if place.width() > 1 else origin.x() + 8 * d
        top = (free if free + high + 14 * d <= grid.rows else 0) + 10 * d
    first = _inside(QRectF(left, top, wide, high), grid)
    for down in (True, False):
        label = QRectF(first)
        for _ in range(_TRIES):
            over = [other for other in others if other.intersects(label)]
            if not over:
                return label
            label.moveTop(
                max(o.bottom() for o in over) + 4 * d if down else min(o.top() for o in over) - 4 * d - high
            )
            if label.top() < 0 or label.bottom() > grid.rows:
                break
    return first


def _inside(label: QRectF, grid: DeviceGrid) -> QRectF:
    margin = _MARGIN * grid.dpr
    left = max(margin, min(label.left(), grid.columns - label.width() - margin))
    top = max(margin, min(label.top(), grid.rows - label.height() - margin))
    return QRectF(snap_px(left), snap_px(top), label.width(), label.height())


def _label_size(lines: tuple[str, ...], dpr: float) -> tuple[float, float]:
    if not lines:
        return EMPTY_SIZE_PX[0] * dpr, EMPTY_SIZE_PX[1] * dpr
    widest = max(advance(line, TEXT_PX * dpr) for line in lines)
    return (
        float(snap_px(widest + (2 * PAD_X + BAR) * dpr)),
        float(snap_px((len(lines) * LINE_PX + 2 * PAD_Y) * dpr)),
    )
