"""The layout of a picture's notes: marks on the rows, labels in a band below them, arrows between the two.

In the window a label may lie over the rows, as it can be moved; on paper it would hide what lies under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import QPointF, QRectF

from viewer.timeline.notes.note_places import NoteSpot
from viewer.timeline.notes.note_text import broken
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, advance

WIDEST, PAD, LINE, GAP, TOP = 24.0, 0.75, 1.4, 0.9, 1.3
"""In units of the text's height: the widest text, the room around it, a line, the room between labels, and
that between the rows and the first of them."""
RING, HEAD = 0.7, 0.7
"""The width of a ring, the length of an arrow's head."""
_NARROW = 0.6
_MOST_ROWS = 8
_STRONG_IS_WIDER = 0.92


class Shape(Enum):
    """How a note's place is marked."""

    TIME = auto()
    """An instant or a range of all rows."""
    FRAME = auto()
    RING = auto()


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a note, device pixels from the top left corner of the rows.

    Attributes
    ----------
    box : QRectF
        What is framed or ringed: an event, a part of a row, or the whole height of the rows.
    tip : QPointF
        Where the arrow ends: on the outline of the mark.
    """

    spot: NoteSpot
    shape: Shape
    box: QRectF

    @property
    def tip(self) -> QPointF:
        """Where the arrow ends: the lowest point of the mark's outline, at the middle of its time."""
        return QPointF(self.box.center().x(), self.box.bottom())


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a note: its lines, each with its weight, and the size of its label in device pixels."""

    mark: Mark
    lines: tuple[tuple[str, int], ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class NoteLabel:
    """A label and where it stands; its arrow leads to the tip of its mark over `path`."""

    text: Text
    box: QRectF
    path: tuple[QPointF, ...]


class NoteBand:
    """The notes in view, laid out below the rows.

    Parameters
    ----------
    spots : sequence of NoteSpot
        As `viewer.timeline.notes.note_places.place_notes` finds them; only their places are taken.
    size : (int, int)
        Of the rows, device pixels.
    room : (float, float)
        The columns between which labels may stand, device pixels from the left edge of the rows.
    text_px : float
        The height of the text, device pixels.
    most_rows : int
        Labels for which that many rows have no room are left out and counted in `left_out`.

    Attributes
    ----------
    marks, labels : list
    height : int
        Of the band, device pixels; 0 without labels. Its last line counts the labels left out.
    """

    def __init__(
        self,
        spots: Sequence[NoteSpot],
        size: tuple[int, int],
        room: tuple[float, float],
        text_px: float,
        most_rows: int = _MOST_ROWS,
    ) -> None:
        self.text_px, (self._columns, self.bottom), (self.left, self._right) = text_px, size, room
        self.marks = sorted((self._mark(spot) for spot in spots), key=lambda mark: mark.tip.x())
        rows = self._rows([self._text(mark) for mark in self.marks if mark.spot.note.text.strip()])
        self.left_out = sum(len(row) for row in rows[most_rows:])
        self.labels: list[NoteLabel] = []
        top = self.bottom + TOP * text_px
        for row in rows[:most_rows]:
            self.labels += self._placed(row, top)
            top += max(text.height for text in row) + GAP * text_px
        top += LINE * text_px if self.left_out else 0.0
        self.height = round(top - self.bottom) if self.labels or self.left_out else 0

    @property
    def is_plain(self) -> bool:
        """Whether all labels stand in one row, each below its mark."""
        tops = {label.box.top() for label in self.labels}
        return len(tops) == 1 and not self.left_out and all(len(label.path) == 2 for label in self.labels)

    def _mark(self, spot: NoteSpot) -> Mark:
        place = QRectF(spot.place)
        left, right = (min(max(x, 0.0), float(self._columns)) for x in (place.left(), place.right()))
        if not spot.note.row_key:
            return Mark(spot, Shape.TIME, QRectF(left, 0, right - left, self.bottom))
        if right - left < _NARROW * self.text_px:
            ring, middle = RING * self.text_px, place.center().y()
            corner = QPointF((left + right - ring) / 2, middle - ring / 2)
            return Mark(spot, Shape.RING, QRectF(corner.x(), corner.y(), ring, ring))
        return Mark(spot, Shape.FRAME, QRectF(left, place.top(), right - left, place.height()))

    def _text(self, mark: Mark) -> Text:
        room, pad = self._right - self.left, PAD * self.text_px
        lines = tuple(self._lines(mark.spot.note.text, min(WIDEST * self.text_px, room - 2 * pad)))
        width = max(advance(line, self.text_px, weight) for line, weight in lines) + 2 * pad
        return Text(mark, lines, min(width, room), len(lines) * LINE * self.text_px + 2 * 0.8 * pad)

    def _lines(self, text: str, width: float) -> Iterator[tuple[str, int]]:
        """Yield the lines of a text: of several paragraphs the first is a heading."""
        heading, newline, rest = text.strip().partition("\n")
        weight = STRONG if newline else MEDIUM
        yield from ((line, weight) for line in broken(heading, width * _STRONG_IS_WIDER, self.text_px))
        if newline:
            yield from ((line, REGULAR) for line in broken(rest, width, self.text_px))

    def _rows(self, texts: Sequence[Text]) -> list[Sequence[Text]]:
        """Deal the labels to as few rows as hold them, neighbours to different rows."""
        room, gap = self._right - self.left, GAP * self.text_px
        for count in range(1, len(texts) + 1):
            rows = [texts[first::count] for first in range(count)]
            if all(sum(text.width + gap for text in row) - gap <= room for row in rows):
                return rows
        return []

    def _placed(self, row: Sequence[Text], top: float) -> Iterator[NoteLabel]:
        """Put labels beside each other, each as near below its mark as its neighbours let it."""
        gap, lefts, edge = GAP * self.text_px, [], self.left
        for text in row:
            edge = max(edge, text.mark.tip.x() - text.width / 2)
            lefts.append(edge)
            edge += text.width + gap
        edge = self._right
        for number in reversed(range(len(row))):
            lefts[number] = min(lefts[number], edge - row[number].width)
            edge = lefts[number] - gap
        for text, left in zip(row, lefts, strict=True):
            box = QRectF(left, top, text.width, text.height)
            yield NoteLabel(text, box, self._path(text.mark.tip, box))

    def _path(self, tip: QPointF, box: QRectF) -> tuple[QPointF, ...]:
        """Return an arrow that crosses the rows straight up, at the time of its mark, and so hides least."""
        inset = min(box.width() / 2, self.text_px)
        x = min(max(tip.x(), box.left() + inset), box.right() - inset)
        elbow = QPointF(tip.x(), max(tip.y() + HEAD * self.text_px, self.bottom + TOP * self.text_px / 2))
        start = QPointF(x, box.top())
        return (start, tip) if x == tip.x() else (start, elbow, tip)
