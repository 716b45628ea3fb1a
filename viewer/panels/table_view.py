"""DenseTable: the style and behaviour that all tables of the docks share."""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QContextMenuEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionHeader,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from viewer.timeline.definitions_dialog import MEANING, show_definitions

_PADDING = 8
"""Beside titles, as the style sheet says."""
_CUT = "…"
# Qt means by "up" that the largest comes first; people read a mark that points down so.
_MARKS = {
    QStyleOptionHeader.SortIndicator.SortDown: " ▴",
    QStyleOptionHeader.SortIndicator.SortUp: " ▾",
}


class _Header(QHeaderView):
    """Titles with the sort mark beside them, not over them; titles end in an ellipsis at the view's edge.

    It does not ask, per column, whether all rows are selected (minutes at millions of rows).
    """

    _seen = QRect()
    """The visible part of the section that is painted; Qt's style option does not hold it."""

    def setSelectionModel(self, model: QItemSelectionModel) -> None:
        pass

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        super().initStyleOptionForIndex(option, section)
        mark = _MARKS.get(option.sortIndicator, "")
        option.sortIndicator = QStyleOptionHeader.SortIndicator.None_
        room = self._seen.width() - 2 * _PADDING - (option.fontMetrics.horizontalAdvance(mark) if mark else 0)
        lines = option.text.split("\n")
        cut = (option.fontMetrics.elidedText(line, Qt.TextElideMode.ElideRight, room) for line in lines)
        option.text = "\n".join(cut) + mark

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        self._seen = _in_view(rect, self.viewport())
        super().paintSection(painter, self._seen, section)


class CellDelegate(QStyledItemDelegate):
    """Cuts words with an ellipsis at the view's edge, and shows a number complete or not at all."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        view = option.widget
        if option.rect.isEmpty() or not isinstance(view, QAbstractItemView):
            return
        option.rect = _in_view(option.rect, view.viewport())
        if option.displayAlignment & Qt.AlignmentFlag.AlignRight and (
            option.fontMetrics.horizontalAdvance(option.text) > text_room(option)
        ):
            option.text = _CUT

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        whole = QStyleOptionViewItem(option)
        whole.rect = QRect()
        return super().sizeHint(whole, index)


def text_room(option: QStyleOptionViewItem) -> int:
    """Return how many pixels a cell has for its text, beside its mark and margins."""
    style, view = option.widget.style(), option.widget
    room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, view).width()
    return room - 2 * (style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, view) + 1)


def _in_view(rect: QRect, viewport: QWidget) -> QRect:
    """Return the horizontally visible part of a cell."""
    return QRect(rect).intersected(QRect(0, rect.top(), viewport.width(), rect.height()))


class DenseTable(QTableView):
    """A QTableView with low rows and row selection; clicks on a title sort, one way and then the other."""

    leading = 8
    """How much higher than its text a row is."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHorizontalHeader(_Header(Qt.Orientation.Horizontal, self))
        self.setItemDelegate(CellDelegate(self))
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self._set_row_height()
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setHighlightSections(False)
        header.setTextElideMode(Qt.TextElideMode.ElideNone)
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._open_header_menu)

    def _set_row_height(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + self.leading)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._set_row_height()

    def definition_of(self, row: int, column: int) -> str:
        """Return what docs/definitions.md calls the number in a cell, in a column's head where row is -1."""
        raise NotImplementedError

    def fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        """Add actions to the context menu of a cell; the index may be invalid."""

    def fill_header_menu(self, menu: QMenu) -> None:
        """Add actions to the context menu of the header."""

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        index = self.currentIndex() if by_key else self.indexAt(event.pos())
        menu = self._menu(index.row(), index.column())
        self.fill_menu(menu, index)
        menu.popup(event.globalPos())

    def _open_header_menu(self, at: QPoint) -> None:
        header = self.horizontalHeader()
        menu = self._menu(-1, header.logicalIndexAt(at))
        if header.isSortIndicatorShown() and header.sortIndicatorSection() >= 0:
            menu.addAction("Unsort", lambda: header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder))
        self.fill_header_menu(menu)
        menu.popup(header.mapToGlobal(at))

    def _menu(self, row: int, column: int) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if column >= 0:
            menu.addAction(MEANING, lambda: show_definitions(self, self.definition_of(row, column)))
            menu.addSeparator()
        return menu

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Scroll, and repaint: other cells are cut at the edge now."""
        super().scrollContentsBy(dx, dy)
        if dx:
            self.viewport().update()
            self.horizontalHeader().viewport().update()

    def selected_ranges(self) -> list[tuple[int, int]]:
        """Return the selected rows as disjoint ranges [first, last), from the top."""
        selection = self.selectionModel().selection()
        spans = sorted(
            (selection.at(i).top(), selection.at(i).bottom() + 1) for i in range(selection.count())
        )
        joined: list[tuple[int, int]] = []
        for first, last in spans:
            if joined and first <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], last)
            else:
                joined.append((first, last))
        return joined
