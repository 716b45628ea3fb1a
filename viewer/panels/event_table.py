"""EventTable: the table of the Events dock, over an array of positions, without an object per event."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from viewer.panels.event_columns import EventColumn
from viewer.panels.event_set import EventSet, Positions
from viewer.panels.table_view import DenseTable
from viewer.timeline.plain_text import tip

PAGE = 128
NAME_WIDTH = 340
_MAX_WIDTH = 220
_Index = QModelIndex | QPersistentModelIndex
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_DISPLAY, _ALIGNMENT, _DECORATION, _TIP = (
    int(role)
    for role in (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.TextAlignmentRole,
        Qt.ItemDataRole.DecorationRole,
        Qt.ItemDataRole.ToolTipRole,
    )
)


class EventModel(QAbstractTableModel):
    """Events in some order; texts are formatted one page of `PAGE` rows at a time."""

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
        return [shown.text(self.events, value) for value in shown.values(self.events, positions)]

    def _colour(self, row: int) -> QColor | None:
        if self.events is None or self._colours is None:
            return None
        position = self.order[row]
        # A range's own colour wins; 0 means that it has none. Alpha is forced: a range may lack it.
        own = self.events.events.argb
        argb = int(own[position]) | 0xFF000000 if own is not None and own[position] else None
        return QColor.fromRgba(argb or int(self._colours[self.events.events.name_id[position]]))


class EventTable(DenseTable):
    """The view on an `EventModel`; it requests sorting, and the panel sorts in a background thread.

    Signals
    -------
    sort_requested(str, bool)
        The key of a column, "" for the order in time; and whether the largest comes first.
    stepped(int)
        The current row changed: the event's position in the set.
    opened(int)
        The user double-clicked a row or pressed Enter on it: the event's position in the set.
    copy_requested()
        Ctrl+C.
    columns_changed()
        The user showed or hid a column.
    """

    sort_requested = Signal(str, bool)
    stepped = Signal(int)
    opened = Signal(int)
    copy_requested = Signal()
    columns_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Events", parent)
        self.event_model = EventModel(self)
        self.setModel(self.event_model)
        self.setIconSize(QSize(9, 9))
        self._shown_keys: dict[str, bool] = {}
        self._is_following = self._is_fitted = False
        self.selectionModel().currentRowChanged.connect(self._step)
        header = self.horizontalHeader()
        header.sortIndicatorChanged.connect(self._ask_to_sort)
        self.doubleClicked.connect(lambda index: self.opened.emit(self.position(index.row())))

    def list_events(
        self, events: EventSet | None, columns: tuple[EventColumn, ...], order: Positions
    ) -> None:
        """List these events; keep widths and sort mark while the columns are the same."""
        same = columns == self.event_model.columns
        self._is_fitted = self._is_fitted and same
        self.event_model.show(events, columns, order)
        if not same:
            # Blocked: the reset of the sort mark would request a new sort, which lists the events again.
            header = self.horizontalHeader()
            header.blockSignals(True)
            header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
            header.blockSignals(False)
            self._hide_columns()
        if len(order) and not self._is_fitted:
            self._is_fitted = True
            self._fit()

    def position(self, row: int) -> int:
        """Return the position in the set of the event in a row."""
        return int(self.event_model.order[row])

    def follow(self, position: int | None) -> None:
        """Select the row of an event, if it is listed."""
        # -1 matches no position, so None selects nothing.
        rows = np.flatnonzero(self.event_model.order == (-1 if position is None else position))
        if not len(rows):
            return
        index = self.event_model.index(int(rows[0]), 0)
        if index.row() == self.currentIndex().row():
            return
        # `_step` must not answer this change: the selection would move the timeline that it follows.
        self._is_following = True
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(index, flags)
        self.scrollTo(index)
        self._is_following = False

    def selected(self) -> Positions:
        """Return the positions in the set of the selected rows, in the order shown."""
        # Ranges, not single indexes: a selection of a million rows is one slice of `order`.
        order = self.event_model.order
        pieces = [order[first:last] for first, last in self.selected_ranges()]
        return np.concatenate(pieces) if pieces else order[:0]

    def shown_columns(self) -> tuple[EventColumn, ...]:
        """Return the visible columns."""
        return tuple(c for i, c in enumerate(self.event_model.columns) if not self.isColumnHidden(i))

    def definition_of(self, row: int, column: int) -> str:
        return f"events.{self.event_model.columns[column].key}"

    def fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        menu.addAction("Copy", self.copy_requested.emit)

    def open_columns(self, at: QPoint) -> None:
        """Let the user choose the columns."""
        menu = QMenu(self)
        self.fill_header_menu(menu)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(at)

    def fill_header_menu(self, menu: QMenu) -> None:
        for number, column in enumerate(self.event_model.columns):
            action = menu.addAction(column.title)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(number))
            action.setEnabled(number > 0)
            action.toggled.connect(lambda on, key=column.key: self.set_column_shown(key, on))

    def set_column_shown(self, key: str, shown: bool) -> None:
        """Show or hide a column, also in later lists that have it."""
        self._shown_keys[key] = shown
        self._hide_columns()
        for number, column in enumerate(self.event_model.columns):
            if column.key == key and shown:
                self.resizeColumnToContents(number)
        self.columns_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.opened.emit(self.position(self.currentIndex().row()))
        else:
            super().keyPressEvent(event)

    def _step(self, current: QModelIndex, _before: QModelIndex) -> None:
        if current.isValid() and not self._is_following:
            self.stepped.emit(self.position(current.row()))

    def _ask_to_sort(self, section: int, order: Qt.SortOrder) -> None:
        columns = self.event_model.columns
        key = columns[section].key if 0 <= section < len(columns) else ""
        self.sort_requested.emit(key, order == Qt.SortOrder.DescendingOrder)

    def _hide_columns(self) -> None:
        for number, column in enumerate(self.event_model.columns):
            self.setColumnHidden(number, not self._shown_keys.get(column.key, column.shown))

    def _fit(self) -> None:
        # Measure 50 rows only: all of them may be millions.
        self.horizontalHeader().setResizeContentsPrecision(50)
        for number in range(len(self.event_model.columns)):
            self.resizeColumnToContents(number)
            widest = NAME_WIDTH if number == 0 else _MAX_WIDTH
            self.setColumnWidth(number, min(self.columnWidth(number) + 6, widest))
