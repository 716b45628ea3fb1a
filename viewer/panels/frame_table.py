"""FrameTable: the table of most docks, a DataFrame shown in the order of an array of positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QPalette
from PySide6.QtWidgets import QAbstractItemView, QMenu, QStyleOptionViewItem, QWidget

from viewer.definitions import slug
from viewer.drawing.spreadsheet import csv_text
from viewer.panels.table_view import CellDelegate, DenseTable
from viewer.timeline.plain_text import tip, without_key

MARK_WIDTH = 30
"""The width of a column without a title, which shows only a mark."""
WIDEST, LEAST_WORDS = 420, 220
TITLE_GAP = 30
MEASURED_ROWS = 200
"""How many rows decide the widths of the columns."""

_PLACES = ("start_ns", "lap")
"""Columns of numbers that tell where, not how much: sorted from the smallest first."""

Index = QModelIndex | QPersistentModelIndex
RowActions = Callable[[int], Sequence[tuple[str, Callable[[], object]]]]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """How to show one column of a DataFrame.

    Attributes
    ----------
    key : str
        The column of the frame, with its unit ("duration_ns").
    title, tip : str
        The header, and the meaning of the number, shown on hover.
    text : callable
        Formats one value for people; copies and files get the value itself.
    number : bool
        Right-aligned, and sorted from the largest first.
    colour : callable or None
        Maps a value to a colour (ARGB int), None for the ordinary one.
    editable : bool
        Whether a double click edits it; the model then emits `edited`.
    widest : int
        The most that its contents may take of the table's width, px.
    """

    key: str
    title: str
    text: Callable[[Any], str] = str
    number: bool = False
    tip: str = ""
    colour: Callable[[Any], int | None] | None = None
    editable: bool = False
    widest: int = WIDEST


class FrameModel(QAbstractTableModel):
    """A DataFrame in some order; `row_tip` returns the tooltip of a position in the frame.

    Signals
    -------
    edited(int, str, str)
        The user wrote a text into a cell: position in the frame, column key, text.
    """

    edited = Signal(int, str, str)

    def __init__(self, columns: Sequence[TableColumn], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.frame = pd.DataFrame({c.key: [] for c in columns})
        self.order = np.empty(0, np.int32)
        self.row_tip: Callable[[int], str] | None = None
        self._sorted: tuple[int, bool] | None = None

    def set_frame(self, frame: pd.DataFrame, columns: Sequence[TableColumn] | None = None) -> None:
        """Show another frame in the present sort order."""
        self.beginResetModel()
        if columns is not None and tuple(columns) != self.columns:
            self.columns = tuple(columns)
            self._sorted = None
        self.frame = frame
        self.order = self._order()
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort stably by a column; a column below 0 restores the frame's own order."""
        self._sorted = (column, order == Qt.SortOrder.DescendingOrder) if column >= 0 else None
        self.layoutAboutToBeChanged.emit()
        self.order = self._order()
        self.layoutChanged.emit()

    def _order(self) -> np.ndarray:
        count = len(self.frame)
        if self._sorted is None or self._sorted[0] >= len(self.columns):
            return np.arange(count, dtype=np.int32)
        # Negated keys, not a reversed result: rows with equal values keep the order of the frame.
        column, descending = self._sorted
        values = _sortable(self.frame[self.columns[column].key])
        keys = -values.astype(np.float64 if values.dtype.kind == "f" else np.int64) if descending else values
        return np.argsort(keys, kind="stable").astype(np.int32)

    def position(self, index: Index) -> int:
        """Return the position in the frame of a cell."""
        return int(self.order[index.row()])

    def rowCount(self, parent: Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role not in _ROLES:
            return None
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        value = self.frame[column.key].iat[int(self.order[index.row()])]
        if role == Qt.ItemDataRole.ForegroundRole:
            argb = column.colour(value) if column.colour else None
            return None if argb is None else QColor.fromRgba(argb)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.row_tip(self.position(index)) if self.row_tip else column.tip) or None
        return column.text(value) if role == Qt.ItemDataRole.DisplayRole else str(value)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(column.tip or column.title)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            largest_first = column.number and column.key not in _PLACES
            return Qt.SortOrder.DescendingOrder if largest_first else Qt.SortOrder.AscendingOrder
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not self.columns[index.column()].editable:
            return False
        position, key = self.position(index), self.columns[index.column()].key
        # Later: the answer is another frame, while the view still has to close the editor.
        QTimer.singleShot(0, self, lambda: self.edited.emit(position, key, str(value)))
        return True


def _sortable(column: pd.Series) -> np.ndarray:
    """Return numbers whose order is that of a column's values."""
    # Rank the categories, then look the codes up: code -1 (no value) takes the last entry, which sorts first.
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.append(_sortable(pd.Series(column.cat.categories)), -1)[column.cat.codes]
    if column.dtype.kind in "iufb":
        return column.to_numpy()
    return pd.Series(column).astype(str).rank(method="dense").to_numpy(np.int64)


_ROLES = {
    int(Qt.ItemDataRole.DisplayRole),
    int(Qt.ItemDataRole.EditRole),
    int(Qt.ItemDataRole.ToolTipRole),
    int(Qt.ItemDataRole.TextAlignmentRole),
    int(Qt.ItemDataRole.ForegroundRole),
}


class EditableFrameModel(FrameModel):
    """A FrameModel with editable cells; a class of its own, as a Python `flags` slows large tables down."""

    def set_frame(self, frame: pd.DataFrame, columns: Sequence[TableColumn] | None = None) -> None:
        """Show another frame; one of the same rows in the same order leaves selection and editor alone."""
        count, order = len(self.frame), self.order
        if columns is not None or len(frame) != count or not count:
            super().set_frame(frame, columns)
            return
        self.frame = frame
        if np.array_equal(self._order(), order):
            self.dataChanged.emit(self.index(0, 0), self.index(len(frame) - 1, len(self.columns) - 1))
        else:
            super().set_frame(frame)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if self.columns[index.column()].editable else flags


class _Mark(CellDelegate):
    """Paints a mark in its own colour, also in a selected row."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if (colour := index.data(Qt.ItemDataRole.ForegroundRole)) is not None:
            option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)


class FrameTable(DenseTable):
    """A table on a FrameModel, with copying, saving and the behaviour that all docks share.

    Attributes
    ----------
    row_actions : callable, optional
        Returns the first entries of the menu of a row, by its position in the frame: text and action.

    Signals
    -------
    chosen(int)
        The user double-clicked a row or pressed Enter on it: its position in the frame.
    save_requested(DataFrame)
        The user wants the table (or the selected rows) as a file.
    delete_requested()
        The user pressed Del on the selected rows of an editable table.
    """

    delete_requested = Signal()
    chosen = Signal(int)
    save_requested = Signal(object)

    def __init__(
        self, columns: Sequence[TableColumn], name: str, editable: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(name, parent)
        self.frame_model = (EditableFrameModel if editable else FrameModel)(columns, self)
        self.row_actions: RowActions | None = None
        self._natural: list[int] = []
        self._mark = _Mark(self)
        self.setModel(self.frame_model)
        if editable:
            self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        self.horizontalHeader().sortIndicatorChanged.connect(self.frame_model.sort)
        self.doubleClicked.connect(self._choose)

    def set_frame(self, frame: pd.DataFrame, columns: Sequence[TableColumn] | None = None) -> None:
        """Show another frame; the widths follow the contents of its first rows."""
        other = columns is not None and tuple(columns) != self.frame_model.columns
        fit = other or self.frame_model.frame.empty
        self.frame_model.set_frame(frame, columns)
        if fit and len(frame):
            self._fit_columns()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._stretch()

    def _fit_columns(self) -> None:
        for number, column in enumerate(self.frame_model.columns):
            self.setItemDelegateForColumn(number, self.itemDelegate() if column.title else self._mark)
            width = min(self._content_width(number) + 4, column.widest) if column.title else MARK_WIDTH
            self.setColumnWidth(number, width)
        self._natural = [self.columnWidth(number) for number in range(len(self.frame_model.columns))]
        self._stretch()

    def _content_width(self, number: int) -> int:
        """Return the width that a column needs for its title and its longest text.

        Qt's own measuring calls the model seven times per cell, and each call waits for Python's lock while
        threads compute.
        """
        model = self.frame_model
        column, first = model.columns[number], model.order[:MEASURED_ROWS]
        texts = [column.text(value) for value in model.frame[column.key].iloc[first]]
        advance = self.fontMetrics().horizontalAdvance
        longest = max(range(len(texts)), key=lambda row: advance(texts[row]))
        cell = self.sizeHintForIndex(model.index(longest, number)).width() + self.showGrid()
        header = self.horizontalHeader()
        title = max(map(header.fontMetrics().horizontalAdvance, column.title.split("\n"))) + TITLE_GAP
        # Qt measures a title of two lines as if they were one.
        return max(cell, title if "\n" in column.title else header.sectionSizeHint(number))

    def _stretch(self) -> None:
        """Give the last column of words the remaining width, whether more or less than it needs."""
        columns = self.frame_model.columns
        words = [i for i, c in enumerate(columns) if c.title and not c.number]
        if words and len(self._natural) == len(columns):
            last = words[-1]
            rest = self.horizontalHeader().length() - self.columnWidth(last)
            least = min(self._natural[last], LEAST_WORDS)
            self.setColumnWidth(last, max(least, self.viewport().width() - rest))

    def selected_positions(self) -> list[int]:
        """Return the positions in the frame of the selected rows, in the order shown."""
        ranges = self.selectionModel().selection().toList()
        rows = sorted({r for s in ranges for r in range(s.top(), s.bottom() + 1)})
        return [int(self.frame_model.order[r]) for r in rows]

    def selected_frame(self) -> pd.DataFrame:
        """Return the selected rows as a frame; all rows, in the order shown, when none is selected."""
        positions = self.selected_positions() or self.frame_model.order
        return self.frame_model.frame.iloc[positions][[c.key for c in self.frame_model.columns]]

    def copy(self) -> None:
        """Copy the selected rows (or all) as tab-separated text with a header."""
        QGuiApplication.clipboard().setText(csv_text(self.selected_frame(), "\t"))

    def keyPressEvent(self, event: Any) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._choose(self.currentIndex())
        elif self._deletes(event):
            self.delete_requested.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Take Del before the window's shortcuts do."""
        if event.type() == QEvent.Type.ShortcutOverride and self._deletes(event):
            event.accept()
            return True
        return super().event(event)

    def _deletes(self, event: Any) -> bool:
        is_editable = isinstance(self.frame_model, EditableFrameModel)
        return is_editable and event.matches(QKeySequence.StandardKey.Delete)

    def _choose(self, index: Index) -> None:
        if not self.frame_model.columns[index.column()].editable:
            self.chosen.emit(self.frame_model.position(index))

    def definition_of(self, row: int, column: int) -> str:
        model = self.frame_model
        if row >= 0 and "key" in model.frame:
            return str(model.frame["key"].iat[int(model.order[row])])
        return f"{slug(self.accessibleName())}.{model.columns[column].key}"

    def fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        if index.isValid() and self.row_actions is not None:
            for text, action in self.row_actions(self.frame_model.position(index)):
                menu.addAction(without_key(text), action)
        menu.addAction("Copy", self.copy)
        menu.addAction("Save as…", lambda: self.save_requested.emit(self.selected_frame()))
