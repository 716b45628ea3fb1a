"""EventModel: some events in some order as a Qt model, without an object per event."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from viewer.panels.event_columns import EventColumn
from viewer.panels.event_set import EventSet, Positions
from viewer.timeline.plain_text import tip

PAGE = 128
_Index = QModelIndex | QPersistentModelIndex
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_DISPLAY, _ALIGNMENT, _DECORATION, _TIP, _FIRST_ORDER = (
    int(role)
    for role in (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.TextAlignmentRole,
        Qt.ItemDataRole.DecorationRole,
        Qt.ItemDataRole.ToolTipRole,
        Qt.ItemDataRole.InitialSortOrderRole,
    )
)


class EventModel(QAbstractTableModel):
    """Events in some order; texts are formatted one page of `PAGE` rows at a time.

    Signals
    -------
    paged(int, int)
        A page of a column was formatted: the column, and the row of the page with the longest text.
    """

    paged = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.events: EventSet | None = None
        self.columns: tuple[EventColumn, ...] = ()
        self.order: Positions = np.empty(0, np.int32)
        self._colours: npt.NDArray[np.uint32] | None = None
        self._pages: dict[tuple[int, int], list[str]] = {}

    def show(self, events: EventSet | None, columns: tuple[EventColumn, ...], order: Positions) -> None:
        """List these events in this order."""
        self.beginResetModel()
        self.events, self.columns, self.order = events, columns, order
        self._pages.clear()
        self.endResetModel()

    def set_colours(self, colours: npt.NDArray[np.uint32] | None) -> None:
        """Set the ARGB colour of every name of the trace, shape (names,), for the swatch beside it."""
        self._colours = colours

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        # Qt calls this some six times per cell while scrolling: compare ints, and do no work for other roles.
        if role == _DISPLAY:
            return self._text(index.row(), index.column())
        if role == _ALIGNMENT:
            return _RIGHT if self.columns[index.column()].number else _LEFT
        if role == _DECORATION and index.column() == 0:
            return self._colour(index.row())
        if role == _TIP and index.column() == 0 and self.events is not None:
            return tip(
                self.events.study.trace.names[int(self.events.events.name_id[self.order[index.row()]])]
            )
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        if role == _DISPLAY:
            return column.title
        if role == _ALIGNMENT:
            return _RIGHT if column.number else _LEFT
        if role == _FIRST_ORDER:
            return Qt.SortOrder.DescendingOrder if column.largest_first else Qt.SortOrder.AscendingOrder
        return tip(column.tip or column.title) if role == _TIP else None

    def _text(self, row: int, column: int) -> str:
        # Keyed by column and page, not by cell: one vectorised `values` call then serves 128 rows.
        key = (column, row // PAGE)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = self._page(column, row // PAGE)
        return page[row % PAGE]

    def _page(self, column: int, page: int) -> list[str]:
        assert self.events is not None
        positions = self.order[page * PAGE : (page + 1) * PAGE]
        shown = self.columns[column]
        texts = [shown.text(self.events, value) for value in shown.values(self.events, positions)]
        self.paged.emit(column, page * PAGE + max(range(len(texts)), key=lambda row: len(texts[row])))
        return texts

    def longest(self, column: int, page: int) -> int:
        """Return the row with the longest text of a page of a column."""
        rows = range(page * PAGE, min((page + 1) * PAGE, len(self.order)))
        return max(rows, key=lambda row: len(self._text(row, column)))

    def _colour(self, row: int) -> QColor | None:
        if self.events is None or self._colours is None:
            return None
        position = self.order[row]
        # A range's own colour wins; 0 means that it has none. Alpha is forced: a range may lack it.
        own = self.events.events.argb
        argb = int(own[position]) | 0xFF000000 if own is not None and own[position] else None
        return QColor.fromRgba(argb or int(self._colours[self.events.events.name_id[position]]))
