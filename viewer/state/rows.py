"""Which rows are shown, unfolded and pinned."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Signal

from viewer.rows import Row


class RowState(QObject):
    """Owner of what is unfolded, hidden, pinned and filtered, by `Row.key`.

    Signals
    -------
    changed()
        The rows that are shown, or their order, are others.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.roots: tuple[Row, ...] = ()
        self.expanded: set[str] = set()
        self.hidden: set[str] = set()
        self.pinned: list[str] = []
        self.filter_text = ""
        self.preset: str = "lanes"
        self._by_key: dict[str, Row] = {}

    def reset(self, roots: tuple[Row, ...]) -> None:
        """Take the rows of another trace, in the first view."""
        self.roots = roots
        self._by_key = {row.key: row for root in roots for row in root.walk()}
        self.expanded.clear()
        self.hidden.clear()
        self.pinned.clear()
        self.filter_text = ""
        self.changed.emit()

    def row(self, key: str) -> Row | None:
        """Return the row of a key, None if this trace has none."""
        return self._by_key.get(key)

    def update(self, change: Callable[[RowState], None]) -> None:
        """Apply several changes to the public attributes, with one `changed` signal."""
        change(self)
        self.changed.emit()

    def set_expanded(self, keys: Iterable[str], expanded: bool) -> None:
        """Unfold or fold rows."""
        before = set(self.expanded)
        (self.expanded.update if expanded else self.expanded.difference_update)(keys)
        if self.expanded != before:
            self.changed.emit()

    def set_hidden(self, keys: Iterable[str], hidden: bool) -> None:
        """Hide rows, with what is under them, or show them again."""
        before = set(self.hidden)
        (self.hidden.update if hidden else self.hidden.difference_update)(keys)
        if self.hidden != before:
            self.changed.emit()

    def set_pinned(self, key: str, pinned: bool) -> None:
        """Pin a row below the ruler, or take it off."""
        if pinned and key not in self.pinned:
            self.pinned.append(key)
        elif not pinned and key in self.pinned:
            self.pinned.remove(key)
        else:
            return
        self.changed.emit()

    def move_pinned(self, key: str, position: int) -> None:
        """Move a pinned row to `position` among the pinned ones."""
        if key in self.pinned:
            self.pinned.remove(key)
            self.pinned.insert(position, key)
            self.changed.emit()

    def set_filter(self, text: str) -> None:
        """Show only rows whose path holds `text` (any case), their ancestors and descendants."""
        if text != self.filter_text:
            self.filter_text = text
            self.changed.emit()

    def is_shown(self, row: Row) -> bool:
        """Whether a row passes hiding and filter (folding apart)."""
        if any(r.key in self.hidden for r in row.path()):
            return False
        if not self.filter_text:
            return True
        words = self.filter_text.casefold().split()
        return any(all(w in r.text_path.casefold() for w in words) for r in row.walk())
