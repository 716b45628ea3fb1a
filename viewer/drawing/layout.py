"""Layout: how high a row is and where it stands. Pure, so that headers, canvas and export agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from viewer.drawing.bands import Band, RowShape, shape_of
from viewer.drawing.lane_sizes import LEAST, MOST, USUAL, LaneSizes, largest_that_fits
from viewer.rows.matching import Word, missing, words_of
from viewer.rows.row import Row

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row and where it stands.

    Attributes
    ----------
    y, height : int
        Logical pixels; `y` from the top of the area that shows it, negative when scrolled above it.
    sizes : LaneSizes
        Of its lanes.
    """

    row: Row
    y: int
    height: int
    expanded: bool
    sizes: LaneSizes = USUAL

    @property
    def bands(self) -> tuple[Band, ...]:
        """What the row draws."""
        return row_bands(self.row, self.expanded, self.sizes)


class ShownState(Protocol):
    """What decides on the rows that are shown; `viewer.state.rows.RowState` is one."""

    roots: tuple[Row, ...]
    expanded: set[str]
    hidden: set[str]
    filter_text: str


def row_shape(row: Row, expanded: bool) -> RowShape:
    """Return what a row draws at any sizes; an unfolded row without children draws what a folded one does."""
    unfolded = expanded and bool(row.children)
    if unfolded not in row.drawn:
        row.drawn[unfolded] = shape_of(row, unfolded)
    known: RowShape = row.drawn[unfolded]
    return known


def row_bands(row: Row, expanded: bool, sizes: LaneSizes = USUAL) -> tuple[Band, ...]:
    """Return what a row draws, where it lies."""
    unfolded = expanded and bool(row.children)
    known: tuple[LaneSizes, tuple[Band, ...]] | None = row.drawn.get(("placed", unfolded))
    # The sizes change rarely; each frame and each step of the pointer asks for the bands of all rows in view.
    if known is None or known[0] != sizes:
        known = row.drawn["placed", unfolded] = (sizes, row_shape(row, expanded).placed(sizes))
    return known[1]


def bands_in(placed: Iterable[PlacedRow], kind: type[B]) -> Iterator[tuple[PlacedRow, B]]:
    """Yield the bands of one kind with the rows that draw them, from top to bottom."""
    for row in placed:
        for band in row.bands:
            if isinstance(band, kind):
                yield row, band


def row_height(row: Row, expanded: bool, sizes: LaneSizes = USUAL) -> int:
    """Return the height of a row in logical pixels; loads its events where lanes must be counted."""
    return row_shape(row, expanded).height(sizes)


def fitted_sizes(shown: Iterable[tuple[Row, bool]], roots: Iterable[Row], room: int) -> LaneSizes:
    """Return how tall lanes are in an area `room` logical pixels high.

    The rows that are shown fill it where they can. Otherwise the area scrolls, and lanes are as tall as all
    processes would have them if they were folded, so that unfolding one does not change the others; no
    taller than usual.
    """
    heights = _Heights(shown)
    fits = largest_that_fits(heights, room)
    if fits is not None and fits != MOST and heights.filling:
        return replace(fits, extra=(room - heights(fits)) // heights.filling)
    if fits is None:
        fits = largest_that_fits(_Heights((root, False) for root in roots), room, USUAL)
    return fits if fits is not None else LEAST


class _Heights:
    """How high rows are together, at any sizes; rows of one shape are counted, not walked again.

    Attributes
    ----------
    filling : int
        How many lanes take what is left of the room.
    """

    def __init__(self, rows: Iterable[tuple[Row, bool]]) -> None:
        shapes = (row_shape(row, expanded) for row, expanded in rows)
        self._counts = Counter((shape.sizes, shape.least) for shape in shapes)
        self.filling = sum(count * sum(s.fills for s in lanes) for (lanes, _), count in self._counts.items())

    def __call__(self, sizes: LaneSizes) -> int:
        return sum(
            count * max(sum(map(sizes.of, lanes)), sizes.of(least))
            for (lanes, least), count in self._counts.items()
        )


def shown_rows(state: ShownState) -> list[tuple[Row, bool]]:
    """Return the rows that are shown, from top to bottom, each with whether it is unfolded.

    A filter shows the rows whose path holds all its words, with their ancestors.
    """
    words = words_of(state.filter_text)
    kept = _matching(state.roots, words) if words else None
    shown: list[tuple[Row, bool]] = []
    for root in state.roots:
        shown.extend(_shown(root, state.expanded, state.hidden, kept))
    return shown


def place(rows: Iterable[tuple[Row, bool]], top: int = 0, sizes: LaneSizes = USUAL) -> list[PlacedRow]:
    """Stack rows from `top` downwards."""
    placed = []
    for row, expanded in rows:
        height = row_height(row, expanded, sizes)
        placed.append(PlacedRow(row, top, height, expanded, sizes))
        top += height
    return placed


def _shown(
    row: Row, expanded: Set[str], hidden: Set[str], kept: Set[str] | None
) -> Iterator[tuple[Row, bool]]:
    if row.key in hidden or (kept is not None and row.key not in kept):
        return
    is_open = row.key in expanded
    if not row.is_merged:
        yield row, is_open
    if is_open or row.is_merged:
        for child in row.children:
            yield from _shown(child, expanded, hidden, kept)


def _matching(roots: tuple[Row, ...], words: list[Word]) -> set[str]:
    kept: set[str] = set()
    for root in roots:
        for row in root.walk():
            if not missing(row, words):
                kept.update(r.key for r in row.path())
    return kept
