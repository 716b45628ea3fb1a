"""The rows as Qt's model: hiding and filtering happen here, at once, never in the view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt

from viewer.drawing.lane_sizes import USUAL, LaneSizes
from viewer.drawing.layout import row_height
from viewer.rows import Row
from viewer.state import ViewState
from viewer.timeline.headers.header_values import figures, row_tip, spoken
from viewer.timeline.headers.path_values import column_heads
from viewer.timeline.plain_text import tip

Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()


class RowModel(QAbstractItemModel):
    """A tree model over the rows that pass `ViewState.rows`; folding is the view's.

    Rows are numbered breadth first, so that siblings are neighbours: an index carries that number
    and no pointer, and answers about parents and children are array look-ups.
    """

    def __init__(self, state: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.more_tip: Callable[[Row], str] = lambda _: ""
        self.more_text: Callable[[Row], str] = lambda _: ""
        self.lane_sizes = USUAL
        self._sizes: WeakKeyDictionary[Row, dict[bool, QSize]] = WeakKeyDictionary()
        self._number_rows()

    def refresh(self) -> bool:
        """Follow hiding and filter; return whether the model was reset."""
        if self.state.rows.shown is self._shown:
            return False
        self.beginResetModel()
        self._number_rows()
        self.endResetModel()
        return True

    def resize(self, rows: list[Row]) -> None:
        """Say that the heights of some rows are others."""
        for row in rows:
            if (index := self.index_of(row.key)).isValid():
                self.dataChanged.emit(index, index, [Qt.ItemDataRole.SizeHintRole])

    def set_lane_sizes(self, sizes: LaneSizes) -> None:
        """Make the lanes of all rows as tall as this; the view has to lay them out again."""
        self.lane_sizes = sizes
        self._sizes.clear()

    def rows_shown(self) -> Iterator[tuple[Row, bool]]:
        """Yield the rows that no folded row hides, from top to bottom, each with whether it is unfolded."""
        return self._below_shown("")

    def _below_shown(self, key: str) -> Iterator[tuple[Row, bool]]:
        for row in self._shown.get(key, ()):
            is_open = row.key in self.state.rows.expanded
            yield row, is_open
            if is_open:
                yield from self._below_shown(row.key)

    def row_at(self, index: Index) -> Row:
        """Return the row behind a valid index."""
        return self._rows[index.internalId()]

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of a row, an invalid one if it is not shown."""
        number = self._numbers.get(key)
        return QModelIndex() if number is None else self._index(number)

    def holds_rows(self, key: str) -> bool:
        """Whether a row is shown and has rows below it."""
        return (number := self._numbers.get(key)) is not None and number in self._children

    def parent(self, index: Index = _NONE) -> QModelIndex:  # type: ignore[override]
        above = self._parents[index.internalId()] if index.isValid() else -1
        return self._index(above) if above >= 0 else QModelIndex()

    def index(self, row: int, column: int, parent: Index = _NONE) -> QModelIndex:
        first, count = self._below(parent)
        return (
            self.createIndex(row, column, first + row) if 0 <= row < count and column == 0 else QModelIndex()
        )

    def rowCount(self, parent: Index = _NONE) -> int:
        return self._below(parent)[1]

    def columnCount(self, parent: Index = _NONE) -> int:
        return 1

    def hasChildren(self, parent: Index = _NONE) -> bool:
        return self._below(parent)[1] > 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.row_at(index)
        if role == Qt.ItemDataRole.SizeHintRole:
            return self._size(row, row.key in self.state.rows.expanded)
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{row.label} {row.detail}".strip()
        if role == Qt.ItemDataRole.AccessibleTextRole:
            texts = (
                row.text_path,
                self.more_text(row),
                spoken(row, figures(self.state, row), column_heads(self.state.path.shown is not None)),
            )
            return ", ".join(filter(None, texts))
        if role in (Qt.ItemDataRole.AccessibleDescriptionRole, Qt.ItemDataRole.ToolTipRole):
            about = "\n".join(filter(None, (row_tip(self.state, row), self.more_tip(row))))
            return tip(about) if role == Qt.ItemDataRole.ToolTipRole else about
        return None

    def _size(self, row: Row, expanded: bool) -> QSize:
        """Return a row's size; kept, for the view asks for all rows after every change."""
        sizes = self._sizes.setdefault(row, {})
        if expanded not in sizes:
            sizes[expanded] = QSize(0, row_height(row, expanded, self.lane_sizes))
        return sizes[expanded]

    def _below(self, parent: Index) -> tuple[int, int]:
        number = parent.internalId() if parent.isValid() else -1
        return self._children.get(number, (0, 0))

    def _index(self, number: int) -> QModelIndex:
        first = self._children[self._parents[number]][0]
        return self.createIndex(number - first, 0, number)

    def _number_rows(self) -> None:
        self._shown = self.state.rows.shown
        self._rows: list[Row] = list(self._shown[""])
        self._parents: list[int] = [-1] * len(self._rows)
        self._children: dict[int, tuple[int, int]] = {-1: (0, len(self._rows))}
        number = 0
        while number < len(self._rows):
            if below := self._shown.get(self._rows[number].key):
                self._children[number] = (len(self._rows), len(below))
                self._rows.extend(below)
                self._parents.extend([number] * len(below))
            number += 1
        self._numbers = {row.key: i for i, row in enumerate(self._rows)}
