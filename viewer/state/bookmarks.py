"""Bookmarks: nine places that one comes back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from viewer.state.time_axis import Window

if TYPE_CHECKING:
    from viewer.state.view_state import ViewState

NUMBERS = range(1, 10)


@dataclass(frozen=True, slots=True)
class Bookmark:
    """What was looked at: the window, the rows by key, the overlays."""

    window: Window
    expanded: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    pinned: tuple[str, ...] = ()
    filter_text: str = ""
    overlays: frozenset[str] = frozenset()
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)


class Bookmarks(QObject):
    """Owner of the bookmarks, by number.

    Signals
    -------
    changed()
        One was set.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: dict[int, Bookmark] = {}

    def load(self, items: Mapping[int, Bookmark]) -> None:
        """Take other bookmarks: another trace, or its session."""
        if items != self.items:
            self.items = dict(items)
            self.changed.emit()

    def set(self, number: int, bookmark: Bookmark) -> None:
        """Put a bookmark in the place of the one with this number."""
        self.load({**self.items, number: bookmark})


def set_bookmark(state: ViewState, number: int) -> None:
    """Keep what is looked at now under a number."""
    rows = state.rows
    state.bookmarks.set(
        number,
        Bookmark(
            state.axis.window,
            frozenset(rows.unfolded),
            frozenset(rows.hidden),
            tuple(rows.pinned),
            rows.filter_text,
            state.overlays,
        ),
    )


def go_to_bookmark(state: ViewState, number: int) -> bool:
    """Return to the bookmark of a number; return whether there is one."""
    bookmark = state.bookmarks.items.get(number)
    if bookmark is None:
        return False
    if state.filter is not None:
        low, high = state.filter.hull
        if bookmark.window[0] < low or bookmark.window[1] > high:
            state.set_filter(None)
    state.rows.restore(bookmark.expanded, bookmark.hidden, bookmark.pinned, bookmark.filter_text)
    state.set_overlays(bookmark.overlays)
    state.axis.go(*bookmark.window)
    return True
