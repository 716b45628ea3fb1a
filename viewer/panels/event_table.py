"""EventTable: the table of the Events dock, over an array of positions, without an object per event."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from viewer.panels.event_columns import EventColumn
from viewer.panels.event_model import PAGE, EventModel
from viewer.panels.event_set import EventSet, Positions
from viewer.panels.name_cell import NameCell
from viewer.panels.table_view import DenseTable

LEAST_NAME = 200
"""How many pixels the names have at least, also where the other columns then do not fit."""
_WIDEST_WORDS = 220
_GAP = 6
_SORT_MARK = 16
"""Room beside a title for the mark of the order."""


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
        The user wants other columns: they are shown with the next list, once they have been read.
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
        self.setItemDelegateForColumn(0, NameCell(self))
        self._shown_keys: dict[str, bool] = {}
        self._is_following = self._is_fitted = self._is_fitting = False
        self._set_by_hand: set[int] = set()
        self.fill_event_menu: Callable[[QMenu, int], None] = lambda _menu, _position: None
        self.selectionModel().currentRowChanged.connect(self._step)
        header = self.horizontalHeader()
        header.sortIndicatorChanged.connect(self._ask_to_sort)
        header.sectionResized.connect(self._note_width)
        # Queued: a page is formatted while the view paints, when no column may change its width.
        self.event_model.paged.connect(self._widen, Qt.ConnectionType.QueuedConnection)
        self.doubleClicked.connect(lambda index: self.opened.emit(self.position(index.row())))

    def list_events(
        self, events: EventSet | None, columns: tuple[EventColumn, ...], order: Positions
    ) -> None:
        """List these events; keep widths and sort mark while the columns are the same."""
        same = columns == self.event_model.columns
        self._is_fitted = self._is_fitted and same
        if not same:
            self._set_by_hand.clear()
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

    def follow(self, position: int | None, scroll: bool = True) -> None:
        """Select the row of an event, if it is listed, and scroll to it or stay."""
        # -1 matches no position, so None selects nothing.
        rows = np.flatnonzero(self.event_model.order == (-1 if position is None else position))
        if not len(rows):
            return
        index = self.event_model.index(int(rows[0]), 0)
        if index.row() == self.currentIndex().row():
            return
        # `_step` must not answer this change: the selection would move the timeline that it follows.
        self._is_following = True
        self.setAutoScroll(scroll)
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(index, flags)
        self.setAutoScroll(True)
        self._is_following = False

    def selected(self) -> Positions:
        """Return the positions in the set of the selected rows, in the order shown."""
        # Ranges, not single indexes: a selection of a million rows is one slice of `order`.
        order = self.event_model.order
        pieces = [order[first:last] for first, last in self.selected_ranges()]
        return np.concatenate(pieces) if pieces else order[:0]

    def shown_columns(self) -> tuple[EventColumn, ...]:
        """Return the columns that the user wants to see."""
        return self.shown_of(self.event_model.columns)

    def shown_of(self, columns: tuple[EventColumn, ...]) -> tuple[EventColumn, ...]:
        """Return those of some columns that the user wants to see."""
        return tuple(c for c in columns if self._shown_keys.get(c.key, c.shown))

    def definition_of(self, row: int, column: int) -> str:
        return f"events.{self.event_model.columns[column].key}"

    def fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        if index.isValid():
            position = self.position(index.row())
            menu.addAction("Go to it", lambda: self.opened.emit(position))
            self.fill_event_menu(menu, position)
            menu.addSeparator()
        menu.addAction("Copy rows", self.copy_requested.emit)

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
            action.setChecked(column in self.shown_columns())
            action.setEnabled(number > 0)
            action.toggled.connect(lambda on, key=column.key: self.set_column_shown(key, on))

    def set_column_shown(self, key: str, shown: bool) -> None:
        """Want a column shown or hidden, from the next list on that has it."""
        self._shown_keys[key] = shown
        self._is_fitted = False
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
        shown = self.shown_columns()
        self._is_fitting = True
        for number, column in enumerate(self.event_model.columns):
            self.setColumnHidden(number, column not in shown)
        self._is_fitting = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the names the room that is left."""
        super().resizeEvent(event)
        self._stretch_names()

    def _fit(self) -> None:
        """Make each column as wide as its title and the texts of the first and the last page."""
        model, header = self.event_model, self.horizontalHeader()
        self._is_fitting = True
        for number in range(1, len(model.columns)):
            if not self.isColumnHidden(number) and number not in self._set_by_hand:
                self.setColumnWidth(number, header.sectionSizeHint(number) + _SORT_MARK)
        self._is_fitting = False
        last = model.rowCount() - 1
        for number in range(1, len(model.columns)):
            if last >= 0 and not self.isColumnHidden(number):
                for page in {0, last // PAGE}:
                    self._widen(number, model.longest(number, page))
        self._stretch_names()

    def _widen(self, number: int, row: int) -> None:
        """Make a column as wide as the text in a row; words are cut beyond some width."""
        model = self.event_model
        if number == 0 or number in self._set_by_hand or self.isColumnHidden(number):
            return
        if number >= len(model.columns) or row >= model.rowCount():
            # Another list is shown by now.
            return
        width = self.sizeHintForIndex(model.index(row, number)).width() + _GAP
        if not model.columns[number].number:
            width = min(width, _WIDEST_WORDS)
        if width > self.columnWidth(number):
            self._is_fitting = True
            self.setColumnWidth(number, width)
            self._is_fitting = False
            self._stretch_names()

    def _stretch_names(self) -> None:
        """Give the names the width that the other columns leave."""
        if self.event_model.columns and 0 not in self._set_by_hand:
            others = self.horizontalHeader().length() - self.columnWidth(0)
            self._is_fitting = True
            self.setColumnWidth(0, max(LEAST_NAME, self.viewport().width() - others))
            self._is_fitting = False

    def _note_width(self, number: int, _before: int, width: int) -> None:
        """Keep the width that the user gave a column."""
        if not self._is_fitting and width:
            self._set_by_hand.add(number)
            self._stretch_names()
