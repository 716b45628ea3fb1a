"""The ranges that were measured and kept, with their undo history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal


@dataclass(frozen=True, slots=True)
class Measurement:
    """A kept range [start, end) in ns from the trace's zero."""

    start_ns: int
    end_ns: int
    name: str
    colour: str = "#2563eb"
    note: str = ""

    @property
    def length_ns(self) -> int:
        """The range's length."""
        return self.end_ns - self.start_ns


class Measurements(QObject):
    """Owner of the kept measurements; every edit can be undone.

    Signals
    -------
    changed()
        The list is another one.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: tuple[Measurement, ...] = ()
        self._undo: list[tuple[Measurement, ...]] = []
        self._redo: list[tuple[Measurement, ...]] = []

    def reset(self) -> None:
        """Forget everything: another trace."""
        self.items = ()
        self._undo.clear()
        self._redo.clear()
        self.changed.emit()

    def keep(self, start_ns: int, end_ns: int, name: str = "") -> None:
        """Keep a range; without a name it is "Range 3"."""
        name = name or f"Range {len(self.items) + 1}"
        self._edit(lambda items: (*items, Measurement(start_ns, end_ns, name)))

    def change(self, position: int, **fields: str) -> None:
        """Change name, colour or note of one measurement."""
        changed = replace(self.items[position], **fields)  # type: ignore[arg-type]
        self._edit(lambda items: (*items[:position], changed, *items[position + 1 :]))

    def delete(self, positions: set[int]) -> None:
        """Delete measurements by position."""
        self._edit(lambda items: tuple(m for i, m in enumerate(items) if i not in positions))

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """Whether there is an edit to redo."""
        return bool(self._redo)

    def undo(self) -> None:
        """Undo the last edit."""
        self._step(self._undo, self._redo)

    def redo(self) -> None:
        """Redo the edit undone last."""
        self._step(self._redo, self._undo)

    def _edit(self, change: Callable[[tuple[Measurement, ...]], tuple[Measurement, ...]]) -> None:
        items = change(self.items)
        if items != self.items:
            self._undo.append(self.items)
            self._redo.clear()
            self.items = items
            self.changed.emit()

    def _step(self, taken: list[tuple[Measurement, ...]], kept: list[tuple[Measurement, ...]]) -> None:
        if taken:
            kept.append(self.items)
            self.items = taken.pop()
            self.changed.emit()
