"""Where notes stand in the picture: what each speaks of, and its label. Device pixels; nothing is painted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QRect, QRectF

from viewer.analysis.study import Study
from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import Scale, snap_px
from viewer.state import Note
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import metrics
from viewer.timeline.paint.linked import event_boxes
from viewer.timeline.strip import DeviceGrid

TEXT_PX, LINE_PX = 11.5, 15
WIDEST_PX = 250
EMPTY_SIZE_PX = (WIDEST_PX, 58)
"""The room that a note without a text is given: it is being written there."""
PAD_X, PAD_Y, BAR = 9, 6, 3
_AWAY, _MARGIN = 14, 3
_TRIES = 24

Standing = Callable[[str], str | None]
"""Maps a row's key to that of the row which stands for it: itself, or an ancestor; None where none does."""


@dataclass(frozen=True, slots=True)
class NoteSpot:
    """Where a note is in the picture, device pixels.

    Attributes
    ----------
    number : int
        Of the note, as it was given.
    place : QRect
        What it speaks of: a bar, a part of a row, or a part of the whole height.
    origin : QPointF
        What the label's offset is counted from.
    label : QRectF
    lines : tuple of str
    is_own_row : bool
        False where the note's row is folded away and an ancestor stands for it.
    """

    number: int
    note: Note
    place: QRect
    origin: QPointF
    label: QRectF
    lines: tuple[str, ...]
    is_own_row: bool = True

    def offset_px(self, dpr: float) -> tuple[int, int]:
        """Return where the label is from the origin, in logical pixels."""
        away = self.label.topLeft() - self.origin
        return round(away.x() / dpr), round(away.y() / dpr)


def nearest_placed(placed: Sequence[PlacedRow]) -> Standing:
    """Return what lets a placed row stand for all under it that are not placed (a picture has all rows)."""
    keys = [p.row.key for p in placed]

    def standing(key: str) -> str | None:
        above = [k for k in keys if key == k or key.startswith(k + "/")]
        return max(above, key=len, default=None)

    return standing


def place_notes(
    notes: Iterable[tuple[int, Note]],
    study: Study,
    placed: Sequence[PlacedRow],
    scale: Scale,
    grid: DeviceGrid,
    standing: Standing | None = None,
) -> list[NoteSpot]:
    """Place the notes that are in view.

    Labels that nobody has moved make way for each other; all are kept inside the area.

    Parameters
    ----------
    notes : iterable of (int, Note)
    placed : sequence of PlacedRow
        The rows in view, logical pixels from the area's top.
    grid : Grid
        The area: `columns` wide and `rows` high.
    standing : callable, optional
        By default `nearest_placed`.
    """
    standing = standing or nearest_placed(placed)
    by_key = {p.row.key: p for p in placed}
    free = grid.row(placed[-1].y + placed[-1].height) if placed else 0
    found: list[NoteSpot] = []
    for number, note in notes:
        start, end = note.span(study)
        if end < scale.start_ns or start > scale.end_ns:
            continue
        key = standing(note.row_key) if note.row_key else ""
        row = by_key.get(key) if key else None
        if key is None or (key and row is None):
            continue
        place = _place(note, (start, end), study, row, scale, grid)
        is_own_row = key == note.row_key
        found.append(_labelled(number, note, place, row is not None, is_own_row, grid, free, found))
    return found


def _place(
    note: Note, span: tuple[int, int], study: Study, row: PlacedRow | None, scale: Scale, grid: DeviceGrid
) -> QRect:
    left, right = (marks.column_of(scale, t) for t in span)
    width = max(right - left, 1)
    if row is None:
        return QRect(left, 0, width, grid.rows)
    if note.event is not None and (boxes := event_boxes(study, (row,), note.event, scale, grid)):
        return boxes[0]
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
    others: Sequence[NoteSpot],
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
    others: Sequence[NoteSpot],
) -> QRectF:
    """Put a label below its bar; one that speaks of all rows where no row is, `free` and below.

    That of a range ends where the range ends: the card of a selection stands right of it.
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
            over = [o.label for o in others if o.label.intersects(label)]
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
    measure = metrics(TEXT_PX * dpr)
    widest = max(measure.horizontalAdvance(line) for line in lines)
    return (
        float(snap_px(widest + (2 * PAD_X + BAR) * dpr)),
        float(snap_px((len(lines) * LINE_PX + 2 * PAD_Y) * dpr)),
    )


def broken(text: str, width: float, pixels: float) -> tuple[str, ...]:
    """Break a text into lines at its own breaks and at spaces; what is too long alone, anywhere."""
    return _broken(text.strip(), width, pixels, id(metrics(pixels)))


@lru_cache(maxsize=1024)
def _broken(text: str, width: float, pixels: float, _font: int) -> tuple[str, ...]:
    measure = metrics(pixels)
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split(" "):
            tried = f"{line} {word}" if line else word
            if measure.horizontalAdvance(tried) <= width:
                line = tried
                continue
            if line:
                lines.append(line)
            line = word
            while len(line) > 1 and measure.horizontalAdvance(line) > width:
                fits = next(
                    n for n in range(len(line) - 1, 0, -1)
                    if n == 1 or measure.horizontalAdvance(line[:n]) <= width
                )  # fmt: skip
                lines.append(line[:fits])
                line = line[fits:]
        lines.append(line)
    return tuple(lines)
