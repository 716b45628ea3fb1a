"""One history of edits over everything that a person writes into a trace: notes and measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

Items = tuple[Any, ...]


class Edited(QObject):
    """Owner of a list of frozen items whose every edit can be undone.

    Signals
    -------
    changed()
        The list is another one.
    """

    changed = Signal()

    def __init__(self, history: History, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: Items = ()
        self._history = history

    def load(self, items: Items = ()) -> None:
        """Take other items as they are, not as an edit: another trace, or its session."""
        self._show(items)

    def delete(self, positions: set[int]) -> None:
        """Delete items by position."""
        self._edit(tuple(item for at, item in enumerate(self.items) if at not in positions))

    def _replace(self, position: int, item: object, run: str = "") -> None:
        self._edit((*self.items[:position], item, *self.items[position + 1 :]), run)

    def _edit(self, items: Items, run: str = "") -> None:
        if items != self.items:
            self._history.record(Edit(self, self.items, items, run))
            self._show(items)

    def _show(self, items: Items) -> None:
        if items != self.items:
            self.items = items
            self.changed.emit()

    def restore(self, items: Items) -> None:
        """Take the items of another point of the history."""
        self._show(items)


@dataclass(frozen=True, slots=True)
class Edit:
    """One step: whose list it was, before and after."""

    owner: Edited
    before: Items
    after: Items
    run: str = ""


class History(QObject):
    """The edits that can be undone and redone, whichever list they were made in."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._done: list[Edit] = []
        self._undone: list[Edit] = []

    def reset(self) -> None:
        """Forget everything: another trace."""
        self._done.clear()
        self._undone.clear()

    def record(self, edit: Edit) -> None:
        """Remember an edit; those of the same non-empty run (a label that is dragged) are one step."""
        if self.continues(edit.owner, edit.run):
            edit = Edit(edit.owner, self._done.pop().before, edit.after, edit.run)
        if edit.before != edit.after:
            self._done.append(edit)
        self._undone.clear()

    def continues(self, owner: Edited, run: str) -> bool:
        """Return whether an edit of this run would be one step with the last one."""
        last = self._done[-1] if self._done else None
        return last is not None and bool(run) and (last.owner, last.run) == (owner, run)

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is an edit to redo."""
        return bool(self._undone)

    def undo(self) -> None:
        """Undo the last edit."""
        if self._done:
            edit = self._done.pop()
            self._undone.append(edit)
            edit.owner.restore(edit.before)

    def redo(self) -> None:
        """Redo the edit undone last."""
        if self._undone:
            edit = self._undone.pop()
            self._done.append(edit)
            edit.owner.restore(edit.after)
