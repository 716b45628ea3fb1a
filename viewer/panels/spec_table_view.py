"""SpecTableView: a small table of numbers, each with its definition and its location in the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QBrush,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
)
from PySide6.QtWidgets import QFrame, QMenu, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from viewer.definitions import slug
from viewer.drawing.spec_table import Cell, Head, SpecTable
from viewer.drawing.spreadsheet import harmless
from viewer.drawing.theme import LIGHT, Theme
from viewer.panels.table_view import DenseTable
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import wrapped_tip

_Index = QModelIndex | QPersistentModelIndex
_BAR_WIDTH, _BAR_HEIGHT = 260, 10
_LEAST_BAR, _LEAST_TEXT = 120, 140
_TITLE_GAP = 18
_WIDEST, _SENTENCE = 460, 720
_DOT = 10
_LEADING = 5


class SpecTableModel(QAbstractTableModel):
    """The cells of a SpecTable."""

    def __init__(self, spec: SpecTable, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec, self.theme = spec, theme
        self.is_folded = False

    def fold(self, folded: bool) -> None:
        """Write titles of numbers in two lines, or in one."""
        if folded != self.is_folded:
            self.is_folded = folded
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.spec.heads) - 1)

    def cell(self, index: _Index) -> Cell:
        """Return a cell."""
        return self.spec.rows[index.row()][index.column()]

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.spec.rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.spec.heads)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.cell(index)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.ToolTipRole:
                return wrapped_tip(cell.tip) if cell.tip else None
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return cell.tip
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(self.spec.heads[index.column()])
            case Qt.ItemDataRole.ForegroundRole:
                argb = {"bad": self.theme.error, "soft": self.theme.text_soft}.get(cell.tone)
                return None if argb is None else QColor.fromRgba(argb)
            case Qt.ItemDataRole.FontRole if cell.tone in ("bad", "strong"):
                return font(QGuiApplication.font().pixelSize(), STRONG)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        head = self.spec.heads[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _folded(head) if self.is_folded else head.title
            case Qt.ItemDataRole.ToolTipRole:
                return wrapped_tip(head.tip or head.title)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(head)
        return None


class SpecTableView(DenseTable):
    """Shows a SpecTable as high as its rows; the page around it scrolls.

    Signals
    -------
    looked(Location)
        The user clicked a cell that has a location.
    save_requested(DataFrame)
        The user wants the numbers as a file.
    """

    looked = Signal(object)
    save_requested = Signal(object)
    leading = _LEADING

    def __init__(self, spec: SpecTable, theme: Theme = LIGHT, parent: QWidget | None = None) -> None:
        super().__init__(spec.name, parent)
        self.spec = spec
        self._model = SpecTableModel(spec, theme, self)
        self.setModel(self._model)
        self.setItemDelegate(_CellDelegate(spec, theme, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._look)
        header = self.horizontalHeader()
        header.setSectionsClickable(False)
        header.setSortIndicatorShown(False)
        self.resizeColumnsToContents()
        columns = range(len(spec.heads))
        most = [_SENTENCE if head.is_sentence else _WIDEST for head in spec.heads]
        self._full = [min(self.columnWidth(column) + 4, most[column]) for column in columns]
        self._least = [self._least_width(column) for column in columns]
        self._fit()

    def sizeHint(self) -> QSize:
        """Return the size that shows all text."""
        return QSize(sum(self._full) + 2, self._height())

    def minimumSizeHint(self) -> QSize:
        """Return the size at which bars are complete and words begin; below it, the page around scrolls."""
        return QSize(sum(self._least) + 2, self._height())

    def _least_width(self, column: int) -> int:
        head, full = self.spec.heads[column], self._full[column]
        if any(row[column].bar for row in self.spec.rows):
            return min(full, _LEAST_BAR)
        # The names of the rows, which have no title: cut, nobody knows what the numbers beside them are.
        if not column and not head.title:
            return full
        if not head.number:
            return min(full, _LEAST_TEXT)
        title = max(map(self.fontMetrics().horizontalAdvance, _folded(head).split("\n"))) + _TITLE_GAP
        return min(full, max(self.sizeHintForColumn(column), title))

    def _fit(self) -> None:
        """Share the width among bars and words; the last of them takes the rest."""
        if not self._full:
            return
        widths, room = list(self._full), self.viewport().width()
        # Titles fold into two lines where columns of numbers, unfolded, leave the others too little room.
        least = [
            self._full[column] if head.number else self._least[column]
            for column, head in enumerate(self.spec.heads)
        ]
        self._model.fold(sum(least) > room)
        self.updateGeometry()
        least = self._least if self._model.is_folded else least
        while (over := sum(widths) - room) > 0:
            # The column with the most spare room shrinks first.
            widest = max(range(len(widths)), key=lambda column: widths[column] - least[column])
            if widths[widest] <= least[widest]:
                break
            widths[widest] -= min(over, widths[widest] - least[widest])
        if not self.spec.heads[-1].number:
            widths[-1] += max(room - sum(widths), 0)
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)

    def copy(self) -> None:
        """Copy the selected rows (or all), as shown, with a header."""
        chosen = [r for low, high in self.selected_ranges() for r in range(low, high)]
        rows = [self.spec.rows[r] for r in chosen or range(len(self.spec.rows))]
        heads = self.spec.heads
        lines = [[head.title for head in heads]]
        lines += [
            [cell.text if head.number else harmless(cell.text) for head, cell in zip(heads, row, strict=True)]
            for row in rows
        ]
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._look(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        leads = index.isValid() and self._cell(index).location is not None
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
        super().mouseMoveEvent(event)

    def _height(self) -> int:
        return self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + 2

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._fit()

    def _cell(self, index: _Index) -> Cell:
        return self.spec.rows[index.row()][index.column()]

    def _look(self, index: _Index) -> None:
        if (location := self._cell(index).location) is not None:
            self.looked.emit(location)

    def definition_of(self, row: int, column: int) -> str:
        frame = self.spec.frame
        if row >= 0 and "key" in frame:
            return str(frame["key"].iloc[row])
        head = self.spec.heads[column]
        return head.key or ".".join(filter(None, (slug(self.spec.name), slug(head.title))))

    def fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        if index.isValid() and self._cell(index).location is not None:
            menu.addAction("Show in the timeline", lambda: self._look(index))
        menu.addAction("Copy", self.copy)
        menu.addAction("Save as…", lambda: self.save_requested.emit(self.spec.frame))


class _CellDelegate(QStyledItemDelegate):
    """Paints the stacked bar of the five categories, and the colour beside a name."""

    def __init__(self, spec: SpecTable, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._spec, self._theme = spec, theme
        self._tint = QColor.fromRgba(theme.accent)
        self._tint.setAlphaF(0.14)

    def _cell(self, index: _Index) -> Cell:
        return self._spec.rows[index.row()][index.column()]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        cell = self._cell(index)
        inner = QStyleOptionViewItem(option)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, self._tint)
            inner.state &= ~QStyle.StateFlag.State_Selected
        inner.rect = option.rect.adjusted(0 if cell.swatch is None else _DOT + 3, 0, 0, 0)
        super().paint(painter, inner, index)
        if cell.swatch is not None:
            _paint_dot(painter, option.rect, cell.swatch)
        if cell.bar:
            _paint_bar(painter, option.rect, cell.bar, self._theme)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        size = super().sizeHint(option, index)
        cell = self._cell(index)
        if cell.bar:
            return QSize(_BAR_WIDTH, size.height())
        return size + QSize(0 if cell.swatch is None else _DOT + 3, 0)


def _paint_dot(painter: QPainter, rect: QRect, argb: int) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor.fromRgba(argb))
    top = rect.center().y() - _DOT / 2 + 0.5
    painter.drawRoundedRect(QRectF(rect.left() + 8, top, _DOT, _DOT), 2.5, 2.5)
    painter.restore()


def _paint_bar(painter: QPainter, rect: QRect, shares: Sequence[float], theme: Theme) -> None:
    """Paint the categories from left to right; idle is the hatched rest."""
    width, top = rect.width() - 16, rect.center().y() - _BAR_HEIGHT // 2
    painter.save()
    ground = QRect(rect.left() + 8, top, width, _BAR_HEIGHT)
    painter.fillRect(ground, QBrush(QColor.fromRgba(theme.hatch), Qt.BrushStyle.BDiagPattern))
    x = float(ground.left())
    for share, colour in zip(shares[:-1], theme.parts, strict=False):
        painter.fillRect(QRectF(x, top, share * width, _BAR_HEIGHT), QColor.fromRgba(colour))
        x += share * width
    painter.restore()


def _folded(head: Head) -> str:
    return head.title.replace(" ", "\n", 1) if head.number and ":" not in head.title else head.title


def _side(head: Head) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if head.number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
