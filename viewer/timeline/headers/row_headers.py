"""The row headers: a real tree view, whose rows the canvas follows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QContextMenuEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QStyleOptionViewItem, QTreeView, QWidget

from viewer.drawing.layout import PlacedRow, fitted_sizes
from viewer.drawing.theme import LIGHT, Theme
from viewer.rows import Row, RowKind
from viewer.state import ViewState
from viewer.timeline.headers.header_values import cursor_value, figure_style, stream_names, stream_tip
from viewer.timeline.headers.paint_header import (
    INDENT,
    HeaderStyle,
    label_line,
    paint_header,
    pin_rect,
    sign_rect,
)
from viewer.timeline.headers.row_menu import row_menu
from viewer.timeline.headers.row_model import RowModel
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.strip import guard

MANY = 16
FIGURES_MS = 120


class RowHeaders(QTreeView):
    """The tree of rows. What is unfolded is owned by the state; the view mirrors it.

    Attributes
    ----------
    pointed_row : Row or None
        The row under the pointer, here or on the canvas.
    covered_px : int
        How much of the view's upper end the header of the rank in view covers.

    Signals
    -------
    moved()
        The rows stand elsewhere: scrolled, folded, filtered, resized.
    """

    moved = Signal()

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.theme: Theme = LIGHT
        self.links: SelectionLinks | None = None
        self.pointed_row: Row | None = None
        self.covered_px = 0
        state.leaving.connect(lambda: self._set_hovered(None))
        self._unfolded: set[str] = set()
        self._is_following = False
        self._is_filtered = False
        self._before_filter: list[PlacedRow] = []
        self._beyond_px = 0
        self._rows = RowModel(state, self)
        self.setModel(self._rows)
        self.setAccessibleName("Rows of the trace")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHeaderHidden(True)
        self.setAnimated(False)
        self.setIndentation(INDENT)
        self.setUniformRowHeights(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.viewport().setMouseTracking(True)
        self.verticalScrollBar().valueChanged.connect(self._leave_beyond)
        self.expanded.connect(lambda index: self._fold(index, True))
        self.collapsed.connect(lambda index: self._fold(index, False))
        self._late = QTimer(self, singleShot=True, interval=FIGURES_MS)
        self._late.timeout.connect(self._paint_figures)
        state.axis.changed.connect(self._update_figures)
        state.filter_changed.connect(self.viewport().update)
        state.path.changed.connect(self.viewport().update)
        state.rows.changed.connect(self.follow)
        state.hover_changed.connect(self._follow_pointer)
        state.revealed.connect(self._reveal)

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.viewport().update()

    def visible_rows(self) -> list[PlacedRow]:
        """Return the rows in view, top to bottom, in logical pixels of the viewport."""
        self.executeDelayedItemsLayout()
        placed = []
        index = self.indexAt(QPoint(0, 0))
        y = self.visualRect(index).top()
        bottom = self.viewport().height()
        while index.isValid() and y < bottom:
            height = self.rowHeight(index)
            row = self._rows.row_at(index)
            placed.append(self._placed(row, y, height))
            y += height
            index = self.indexBelow(index)
        return placed

    def _placed(self, row: Row, y: int, height: int) -> PlacedRow:
        return PlacedRow(row, y, height, row.key in self._state.rows.expanded, self._rows.lane_sizes)

    def label_y(self, row: Row) -> int:
        """Return where the middle of a row's label is, in pixels of the view."""
        return self._pin_of(row).center().y()

    def hold(self, row: Row, y: int) -> None:
        """Scroll so that a row's label is at this height of the view, beyond the last row if need be."""
        if not self._rows.index_of(row.key).isValid():
            return
        self.executeDelayedItemsLayout()
        bar = self.verticalScrollBar()
        value = bar.value() + self.label_y(row) - y
        end = bar.maximum() - self._beyond_px
        self._beyond_px = max(0, value - end)
        bar.setMaximum(end + self._beyond_px)
        bar.setValue(value)

    def _leave_beyond(self, value: int) -> None:
        """Let the view end with the rows again, once they have been scrolled back to their end."""
        bar = self.verticalScrollBar()
        if self._beyond_px and value <= bar.maximum() - self._beyond_px:
            self._beyond_px = 0
            self.updateGeometries()

    def current_row(self) -> Row | None:
        """Return the keyboard's row."""
        index = self.currentIndex()
        return self._rows.row_at(index) if index.isValid() else None

    def follow(self) -> None:
        """Take over what is shown and unfolded from the state, keeping the rows in view where they are."""
        rows = self._state.rows
        in_view = self.visible_rows()
        current = self.current_row()
        filtered, self._is_filtered = self._is_filtered, bool(rows.filter_text)
        if self._is_filtered and not filtered:
            self._before_filter = in_view
        elif filtered and not self._is_filtered:
            in_view = self._before_filter
        was_reset = self._rows.refresh()
        changed = set(rows.expanded) if was_reset else self._unfolded ^ rows.expanded
        self._unfolded = set(rows.expanded)
        self._is_following = True
        self._unfold(changed)
        self._is_following = False
        fits = self._fit_lanes()
        if was_reset or not fits:
            self._restore(in_view, current)
        else:
            self._rows.resize([row for key in changed if (row := rows.row(key)) is not None])
        self.viewport().update()
        self.moved.emit()

    def _fit_lanes(self) -> bool:
        """Let the lanes fill the height of the view; return whether they were as tall before."""
        shown = self._rows.rows_shown()
        sizes = fitted_sizes(shown, self._state.rows.shown[""], self.viewport().height() - 1)
        if sizes == self._rows.lane_sizes:
            return True
        self._rows.set_lane_sizes(sizes)
        self.scheduleDelayedItemsLayout()
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        in_view = self.visible_rows() if self.verticalScrollBar().value() else []
        super().resizeEvent(event)
        if not self._fit_lanes():
            self._restore(in_view, None)
            self.moved.emit()

    def _unfold(self, changed: Iterable[str]) -> None:
        changed = [key for key in changed if self._rows.holds_rows(key)]
        if len(changed) > MANY:
            self.scheduleDelayedItemsLayout()
        for key in changed:
            self.setExpanded(self._rows.index_of(key), key in self._unfolded)

    def _restore(self, in_view: list[PlacedRow], current: Row | None) -> None:
        if current is not None and (index := self._rows.index_of(current.key)).isValid():
            self.setCurrentIndex(index)
        self.executeDelayedItemsLayout()
        for placed in in_view:
            if (index := self._rows.index_of(placed.row.key)).isValid():
                bar = self.verticalScrollBar()
                bar.setValue(bar.value() + self.visualRect(index).top() - placed.y)
                return

    def _fold(self, index: QModelIndex, unfolded: bool) -> None:
        if not self._is_following:
            key = self._rows.row_at(index).key
            (self._unfolded.add if unfolded else self._unfolded.discard)(key)
            self._state.rows.set_expanded([key], unfolded)
            self._rows.resize([self._rows.row_at(index)])
            self.moved.emit()

    def go_to(self, row: Row) -> None:
        """Bring a row to the top of the view."""
        if (index := self._rows.index_of(row.key)).isValid():
            self.executeDelayedItemsLayout()
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtTop)

    def _reveal(self, key: str) -> None:
        if (index := self._rows.index_of(key)).isValid():
            self.executeDelayedItemsLayout()
            self.scrollTo(index, QAbstractItemView.ScrollHint.EnsureVisible)
            self.setCurrentIndex(index)

    def _update_figures(self) -> None:
        """Paint the figures of the window in view a little later: a tree costs more than a zoom frame."""
        if not self._late.isActive():
            self._late.start()

    def _paint_figures(self) -> None:
        """Paint again what depends on the window in view: how busy GPUs are, and where the other end is."""
        if self._points_elsewhere:
            self.viewport().update()
            return
        for placed in self.visible_rows():
            if placed.row.kind in (RowKind.PROCESS, RowKind.GPU):
                self.viewport().update(0, placed.y, self.viewport().width(), placed.height)

    @property
    def _points_elsewhere(self) -> bool:
        return self.links is not None and self.links.ends is not None

    # Geometry

    def updateGeometries(self) -> None:
        bar = self.verticalScrollBar()
        value = bar.value()
        super().updateGeometries()
        if self._beyond_px:
            bar.setMaximum(bar.maximum() + self._beyond_px)
            bar.setValue(value)
        self.moved.emit()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Move what is painted, but for what is covered: Qt would paint all anew, as where `dy` is large."""
        view = self.viewport()
        view.scroll(0, dy, view.rect().adjusted(0, self.covered_px, 0, 0))
        if self._points_elsewhere:
            self.viewport().update()
        self.moved.emit()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        with guard("painting the row headers"):
            painter = QPainter(self.viewport())
            painter.fillRect(event.rect(), QColor.fromRgba(self.theme.panel))
            painter.end()
            super().paintEvent(event)

    def drawRow(
        self, painter: QPainter, options: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        with guard("painting a row header"):
            row = self._rows.row_at(index)
            rect = QRect(0, options.rect.top(), self.viewport().width(), options.rect.height())
            style = HeaderStyle(
                **figure_style(self._state, row),
                value=cursor_value(self._state, row),
                names=stream_names(row, self.links.background_results.stream_uses if self.links else {}),
                foldable=self._rows.hasChildren(index),
                hovered=row is self.pointed_row,
                current=index == self.currentIndex(),
                focused=self.hasFocus(),
                pinned=row.key in self._state.rows.pinned,
                note=self._note_of(row),
                **self._location_of(row),
            )
            placed = self._placed(row, rect.top(), rect.height())
            paint_header(painter, placed, rect, self.theme, style)

    def set_links(self, links: SelectionLinks) -> None:
        """Show warnings, and where both ends of what is selected are."""
        self.links = links
        self._rows.more_tip, self._rows.more_text = self._more_tip, links.note
        links.changed.connect(self.viewport().update)

    def _note_of(self, row: Row) -> str:
        return self.links.note(row) if self.links else ""

    def _more_tip(self, row: Row) -> str:
        if self.links is None:
            return ""
        guess = stream_tip(row, self.links.background_results.stream_uses)
        return "\n".join(text for text in (guess, self.links.tip_of(row)) if text)

    def _location_of(self, row: Row) -> dict[str, Any]:
        if self.links is None:
            return {}
        own, other = self.links.marks(row)
        sign = self.links.sign(row, self._standing) if own or other else ""
        return {
            "warning": bool(self.links.background_results.warning(row)),
            "own": own,
            "other": other,
            "sign": sign,
        }

    def _standing(self, row: Row) -> str:
        rect = self.visualRect(self._rows.index_of(row.key))
        if rect.bottom() < 0:
            return "above"
        return "below" if rect.top() >= self.viewport().height() else ""

    def _has_sign_at(self, row: Row, pos: QPoint) -> bool:
        if self.links is None or not self.links.sign(row, self._standing):
            return False
        rect = self._row_rect(row)
        placed = self._placed(row, rect.top(), rect.height())
        return sign_rect(placed, label_line(placed, rect), self._note_of(row)).contains(QPointF(pos))

    def drawBranches(
        self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        pass

    # Pointer

    def _row_under(self, pos: QPoint) -> Row | None:
        index = self.indexAt(pos)
        return self._rows.row_at(index) if index.isValid() else None

    def _row_rect(self, row: Row) -> QRect:
        rect = self.visualRect(self._rows.index_of(row.key))
        return QRect(0, rect.top(), self.viewport().width(), rect.height())

    def _pin_of(self, row: Row) -> QRect:
        rect = self._row_rect(row)
        placed = self._placed(row, rect.top(), rect.height())
        return pin_rect(placed, label_line(placed, rect), self._note_of(row))

    def _set_hovered(self, row: Row | None) -> None:
        if row is not self.pointed_row:
            for changed in (self.pointed_row, row):
                if changed is not None:
                    self.viewport().update(self._row_rect(changed))
            self.pointed_row = row

    def _follow_pointer(self) -> None:
        self._set_hovered(self._state.hover.row if self._state.hover else None)

    def update_values(self, placed: Iterable[PlacedRow]) -> None:
        """Paint the headers of the counter rows in view anew: the cursor is elsewhere."""
        for row in placed:
            if row.row.kind.traits.counter is not None:
                self.viewport().update(0, row.y, self.viewport().width(), row.height)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hovered(self._row_under(event.position().toPoint()))
        super().mouseMoveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        pos = event.position().toPoint()
        row = self._row_under(pos)
        if event.button() == Qt.MouseButton.LeftButton and row and self._pin_of(row).contains(pos):
            self._state.rows.set_pinned(row.key, row.key not in self._state.rows.pinned)
            return
        if event.button() == Qt.MouseButton.LeftButton and row and self._has_sign_at(row, pos):
            if self.links is not None:
                self.links.go_to_other_end()
            return
        super().mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hovered(None)
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        row = self.current_row() if by_key else self._row_under(event.pos())
        if row is not None:
            at = self._row_rect(row).center() if by_key else event.pos()
            menu = row_menu(self._state, row, self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.viewport().mapToGlobal(at))
