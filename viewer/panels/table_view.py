"""The look and the habits of every table of the docks."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget


class _Header(QHeaderView):
    """A header that does not ask, per column, whether all rows are selected (minutes at millions of rows)."""

    def setSelectionModel(self, model: QItemSelectionModel) -> None:
        pass


class DenseTable(QTableView):
    """A QTableView of low rows that are selected whole, sorted by a click on a header and again by none."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHorizontalHeader(_Header(Qt.Orientation.Horizontal, self))
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setSortIndicatorClearable(True)
        header.setHighlightSections(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)

    def selected_ranges(self) -> list[tuple[int, int]]:
        """Return the selected rows as disjoint ranges [first, last), from the top."""
        held = self.selectionModel().selection()
        spans = sorted((held.at(i).top(), held.at(i).bottom() + 1) for i in range(held.count()))
        joined: list[tuple[int, int]] = []
        for first, last in spans:
            if joined and first <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], last)
            else:
                joined.append((first, last))
        return joined
