"""Layout: how high a row is and where it stands. Pure, so that headers, canvas and export agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Protocol, TypeVar

from viewer.drawing.bands import Band, bands, height_of
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
    """

    row: Row
    y: int
    height: int
    expanded: bool


class ShownState(Protocol):
    """What decides on the rows that are shown; `viewer.state.rows.RowState` is one."""

    roots: tuple[Row, ...]
    expanded: set[str]
    hidden: set[str]
    filter_text: str


def row_bands(row: Row, expanded: bool) -> tuple[Band, ...]:
    """Return what a row draws; an unfolded row without children draws what a folded one does."""
    unfolded = expanded and bool(row.children)
    if unfolded not in row.drawn:
        row.drawn[unfolded] = bands(row, unfolded)
    known: tuple[Band, ...] = row.drawn[unfolded]
    return known


def bands_in(placed: Iterable[PlacedRow], kind: type[B]) -> Iterator[tuple[PlacedRow, B]]:
    """Yield the bands of one kind with the rows that draw them, from top to bottom."""
    for row in placed:
        for band in row_bands(row.row, row.expanded):
            if isinstance(band, kind):
                yield row, band


def row_height(row: Row, expanded: bool) -> int:
    """Return the height of a row in logical pixels; loads its events where lanes must be counted."""
    return height_of(row, row_bands(row, expanded))


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


def place(rows: Iterable[tuple[Row, bool]], top: int = 0) -> list[PlacedRow]:
    """Stack rows from `top` downwards."""
    placed = []
    for row, expanded in rows:
        height = row_height(row, expanded)
        placed.append(PlacedRow(row, top, height, expanded))
        top += height
    return placed


def _shown(
    row: Row, expanded: Set[str], hidden: Set[str], kept: Set[str] | None
) -> Iterator[tuple[Row, bool]]:
    if row.key in hidden or (kept is not None and row.key not in kept):
        return
    is_open = row.key in expanded
    yield row, is_open
    if is_open:
        for child in row.children:
            yield from _shown(child, expanded, hidden, kept)


def _matching(roots: tuple[Row, ...], words: list[Word]) -> set[str]:
    kept: set[str] = set()
    for root in roots:
        for row in root.walk():
            if not missing(row, words):
                kept.update(r.key for r in row.path())
    return kept
