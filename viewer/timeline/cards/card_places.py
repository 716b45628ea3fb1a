"""Places of cards: beside what they are about, and never over what is hovered. Logical pixels."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRect, QSize

from viewer.drawing.hit import HitResult
from viewer.state import Window
from viewer.timeline.strip import TimeStrip

NEAR_PX = 8
"""Between a card and what is hovered."""
_POINTER_PX = 12


def hovered_rect(strip: TimeStrip, pos: QPointF, hit: HitResult | None, stall: Window | None) -> QRect:
    """Return what is hovered, in pixels of its strip: a bar, a stall, else the instant in its row."""
    if hit is None:
        return QRect(round(pos.x()) - 1, 0, 2, strip.height())
    top, height = hit.placed.y, hit.placed.height
    if hit.band is not None:
        top, height = top + hit.band.y, hit.band.height
    span = stall
    if hit.column is not None:
        span = hit.column.start_ns, hit.column.end_ns
    elif hit.position is not None and hit.row.events is not None:
        events = hit.row.events
        span = int(events.start_ns[hit.position]), int(events.end_ns[hit.position])
    left = right = pos.x()
    if span is not None:
        left, right = (min(max(strip.x_of(t), 0.0), float(strip.width())) for t in span)
    left, right = min(left, pos.x() - 1), max(right, pos.x() + 1)
    return QRect(QPoint(int(left), top), QPoint(int(right), top + height - 1))


def around(size: QSize, target: QRect, x: int, bounds: QRect, taken: Sequence[QRect] = ()) -> QRect | None:
    """Return a place below, above, right or left of a target, inside `bounds` and clear of what is taken.

    Parameters
    ----------
    x : int
        Where the pointer is: above and below, the card begins a little right of it.
    taken : sequence of QRect
        What else is not to be covered.
    """
    left = max(bounds.left(), min(x + _POINTER_PX, bounds.right() + 1 - size.width()))
    top = max(bounds.top(), min(target.top(), bounds.bottom() + 1 - size.height()))
    places = (
        QPoint(left, target.bottom() + 1 + NEAR_PX),
        QPoint(left, target.top() - NEAR_PX - size.height()),
        QPoint(target.right() + 1 + NEAR_PX, top),
        QPoint(target.left() - NEAR_PX - size.width(), top),
    )
    return _first_free([QRect(place, size) for place in places], target, bounds, taken)


def corner(size: QSize, target: QRect, bounds: QRect) -> QRect | None:
    """Return the corner of `bounds` in which a card is clear of a target, None where there is none."""
    xs = (bounds.right() + 1 - size.width(), bounds.left())
    ys = (bounds.bottom() + 1 - size.height(), bounds.top())
    corners = [QRect(QPoint(x, y), size) for x in xs for y in ys]
    return _first_free(corners, target, bounds, ())


def clear_left(wide: int, spans: Sequence[tuple[int, int]], bounds: QRect, near: int) -> int:
    """Return where a card `wide` pixels wide begins so that it covers least of some columns.

    Of several such places the one nearest to `near` is taken.

    Parameters
    ----------
    spans : sequence of (int, int)
        Columns [left, right) that are to be seen.
    """
    end = bounds.right() + 1 - wide
    places = [bounds.left(), end, near]
    for left, right in spans:
        places += (left - NEAR_PX - wide, right + NEAR_PX)

    def covered(x: int) -> int:
        return sum(max(0, min(x + wide, right) - max(x, left)) for left, right in spans)

    inside = [x for x in places if bounds.left() <= x <= end] or [bounds.left()]
    return min(inside, key=lambda x: (covered(x), abs(x - near)))


def _first_free(
    places: Sequence[QRect], target: QRect, bounds: QRect, taken: Sequence[QRect]
) -> QRect | None:
    for place in places:
        if bounds.contains(place) and not any(place.intersects(other) for other in (target, *taken)):
            return place
    return None
