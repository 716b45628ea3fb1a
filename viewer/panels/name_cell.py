"""NameCell: paints names in a table, cut in the middle, but never where a collective's name stands."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtWidgets import QStyleOptionViewItem

from viewer.panels.table_view import CellDelegate, text_room
from viewer.trace.names import collective_in

_CUT = "…"


class NameCell(CellDelegate):
    """Kernels differ at the ends of their names, and collectives by the word in the middle."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        if not option.rect.isEmpty() and option.widget is not None:
            room, advance = text_room(option), option.fontMetrics.horizontalAdvance
            option.text = without_middle(option.text, lambda text: advance(text) <= room)


def without_middle(text: str, fits: Callable[[str], bool]) -> str:
    """Return a name, or as much of both its ends as fits, with the name of a collective kept whole.

    Parameters
    ----------
    fits : callable
        Whether a text has room.
    """
    if fits(text):
        return text
    word = collective_in(text)
    # Longer cuts are wider: search for the most characters that fit.
    low, high = 0, len(text) - 1
    while low < high:
        kept = (low + high + 1) // 2
        if fits(_kept(text, kept, word)):
            low = kept
        else:
            high = kept - 1
    return _kept(text, low, word)


def _kept(text: str, kept: int, word: tuple[int, int] | None) -> str:
    """Return `kept` characters of a text: from both ends, or so that `word` stays where there is room."""
    count = len(text)
    head, tail = kept - kept // 2, kept // 2
    if word is not None and head < word[1] and count - tail > word[0]:
        first, last = word
        if kept >= last:
            head, tail = last, kept - last
        elif kept >= count - first:
            head, tail = kept - (count - first), count - first
        elif kept >= last - first:
            before = min(kept - (last - first), first)
            return f"{text[:before]}{_CUT if before < first else ''}{text[first:last]}{_CUT}"
        else:
            return f"{_CUT}{text[first : first + kept]}{_CUT}"
    return f"{text[:head]}{_CUT}{text[count - tail :]}"
