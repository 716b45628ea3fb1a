"""Selections: the selected ranges of time, disjoint, of which the last made is the current one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.core.intervals import EMPTY, Intervals, union
from viewer.state.history import Edited
from viewer.state.time_axis import Window

START, END = 0, 1


def with_range(ranges: Sequence[Window], window: Window | None) -> tuple[Window, ...]:
    """Return ranges with one more, which takes in those that it overlaps and becomes the last.

    Ranges that only touch stay apart. An empty range, or None, changes nothing.
    """
    if window is None or window[0] == window[1]:
        return tuple(ranges)
    low, high = int(min(window)), int(max(window))
    apart = []
    for start, end in ranges:
        if start < high and low < end:
            low, high = min(low, start), max(high, end)
        else:
            apart.append((start, end))
    # The range has grown: it may reach into one that it left apart before.
    return (*apart, (low, high)) if len(apart) == len(ranges) else with_range(apart, (low, high))


class Selections(Edited):
    """Owner of the selected ranges.

    One range comes and goes as the pointer does. Several are work: every change from or to several is an
    edit that can be undone.

    Attributes
    ----------
    items : tuple of Window
        Disjoint, none empty; the last one is the current range.
    edge : int
        Which edge of the current range the arrow keys move, `START` or `END`.
    """

    items: tuple[Window, ...]
    edge: int = END

    @property
    def current(self) -> Window | None:
        """The range selected last, None without any."""
        return self.items[-1] if self.items else None

    @property
    def others(self) -> tuple[Window, ...]:
        """The ranges beside the current one."""
        return self.items[:-1]

    @property
    def time(self) -> Intervals:
        """All that is selected, as one set of time; empty without any."""
        if not self.items:
            return EMPTY
        starts, ends = np.array(self.items, np.int64).T
        return union(starts, ends)

    @property
    def hull(self) -> Window | None:
        """From the earliest start to the latest end, None without any."""
        return (min(a for a, _ in self.items), max(b for _, b in self.items)) if self.items else None

    def set(self, items: tuple[Window, ...], run: str = "") -> None:
        """Select these disjoint ranges; changes of the same non-empty `run` (a drag) are one edit."""
        self._edit(items, run)

    def toggle(self, window: Window) -> None:
        """Select a range beside the others; deselect it where it is selected already."""
        if window in self.items:
            self._edit(tuple(item for item in self.items if item != window))
        else:
            self._edit(with_range(self.items, window))

    def take(self, window: Window, edge: int) -> None:
        """Make one of the ranges the current one, and an edge of it the one that the arrow keys move."""
        if window in self.items:
            if edge != self.edge and window == self.current:
                self.edge = edge
                self.changed.emit()
            self.edge = edge
            self._show((*(item for item in self.items if item != window), window))

    def take_other_edge(self) -> None:
        """Let the arrow keys move the other edge of the current range."""
        if self.current is not None:
            self.take(self.current, END if self.edge == START else START)

    def _edit(self, items: tuple[Window, ...], run: str = "") -> None:
        if items == self.items:
            return
        if max(len(items), len(self.items)) > 1 or self._history.continues(self, run):
            super()._edit(items, run)
        else:
            self._show(items)

    def _show(self, items: tuple[Window, ...]) -> None:
        if not items:
            self.edge = END
        super()._show(items)
