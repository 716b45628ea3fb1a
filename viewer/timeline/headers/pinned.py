"""The headers of the pinned rows: full path, and an order that is changed by dragging."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from viewer.drawing.layout import PlacedRow, row_height
from viewer.drawing.theme import LIGHT, Theme
from viewer.rows import Row
from viewer.state import ViewState
from viewer.timeline.headers.header_values import cursor_value, figure_style, row_tip, stream_names
from viewer.timeline.headers.paint_header import HeaderStyle, label_line, paint_header, pin_rect
from viewer.timeline.headers.row_menu import row_menu
from viewer.timeline.plain_text import tip
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.spoken import announce
from viewer.timeline.strip import guard

DRAG_PX = 4
EDGE_GAP, EDGE_SHADOW = 4, 7
"""Of the edge below the pinned rows, pixels: the rows after it begin after the gap, under the shadow."""


_STEPS: dict[int, int] = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}


class PinnedHeaders(QWidget):
    """The pinned area's headers; as high as the pinned rows together.

    Signals
    -------
    moved()
        The pinned rows are others, or in another order.
    """

    moved = Signal()

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.theme: Theme = LIGHT
        self.links: SelectionLinks | None = None
        self._hovered: str | None = None
        self._pressed: tuple[str, QPoint] | None = None
        self._dragged: str | None = None
        self._current: str | None = None
        self.setMouseTracking(True)
        self.setAccessibleName("Pinned rows")
        state.rows.changed.connect(self._follow)
        state.axis.changed.connect(self.update)
        state.filter_changed.connect(self.update)
        state.path.changed.connect(self.update)
        self._follow()

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    @property
    def pointed_row(self) -> Row | None:
        """The row whose header is under the pointer, else the keyboard's."""
        key = self._hovered if self._hovered is not None or not self.hasFocus() else self._current
        return self.state.rows.row(key) if key is not None else None

    def visible_rows(self) -> list[PlacedRow]:
        """Return the pinned rows, top to bottom, in logical pixels of this widget."""
        placed = []
        y = 0
        for key in self.state.rows.pinned:
            if (row := self.state.rows.row(key)) is not None:
                height = row_height(row, False)
                placed.append(PlacedRow(row, y, height, False))
                y += height
        return placed

    def _follow(self) -> None:
        rows = self.visible_rows()
        self.setFixedHeight(rows[-1].y + rows[-1].height if rows else 0)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if rows else Qt.FocusPolicy.NoFocus)
        if self._current not in self.state.rows.pinned:
            self._current = rows[0].row.key if rows else None
        paths = "; ".join(p.row.text_path for p in rows)
        self.setAccessibleDescription(paths)
        self.update()
        self.moved.emit()

    def _row_under(self, pos: QPoint) -> PlacedRow | None:
        return next((p for p in self.visible_rows() if p.y <= pos.y() < p.y + p.height), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        with guard("painting the pinned headers"):
            for placed in self.visible_rows():
                key = placed.row.key
                own, other = self._marks_of(placed.row)
                style = HeaderStyle(
                    **figure_style(self.state, placed.row),
                    value=cursor_value(self.state, placed.row),
                    names=stream_names(
                        placed.row, self.links.background_results.stream_uses if self.links else {}
                    ),
                    hovered=key == self._hovered,
                    current=key == self._dragged or (self.hasFocus() and key == self._current),
                    focused=True,
                    pinned=True,
                    as_path=True,
                    warning=bool(self.links and self.links.background_results.warning(placed.row)),
                    note=self._note_of(placed.row),
                    own=own,
                    other=other,
                )
                paint_header(painter, placed, self._rect(placed), self.theme, style)
        painter.end()

    def update_values(self, placed: Iterable[PlacedRow]) -> None:
        """Paint the headers of pinned counter rows anew: the cursor is elsewhere."""
        for row in placed:
            if row.row.kind.traits.counter is not None:
                self.update(self._rect(row))

    def set_links(self, links: SelectionLinks) -> None:
        """Show warnings, and which rows hold both ends of what is selected."""
        self.links = links
        links.changed.connect(self.update)

    def _marks_of(self, row: Row) -> tuple[bool, bool]:
        return self.links.marks(row) if self.links else (False, False)

    def _note_of(self, row: Row) -> str:
        return self.links.note(row) if self.links else ""

    def _rect(self, placed: PlacedRow) -> QRect:
        return QRect(0, placed.y, self.width(), placed.height)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        pos = event.position().toPoint()
        placed = self._row_under(pos)
        if event.button() != Qt.MouseButton.LeftButton or placed is None:
            return
        line = label_line(placed, self._rect(placed))
        if pin_rect(placed, line, self._note_of(placed.row)).contains(pos):
            self.state.rows.set_pinned(placed.row.key, False)
        else:
            self._pressed = placed.row.key, pos

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        pos = event.position().toPoint()
        placed = self._row_under(pos)
        self._hovered = placed.row.key if placed else None
        if self._pressed and (pos - self._pressed[1]).manhattanLength() >= DRAG_PX:
            self._dragged = self._pressed[0]
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        if self._dragged is not None:
            self._drag_to(self._dragged, pos.y())
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = self._dragged = None
        self.unsetCursor()
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = None
        self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        placed = self._placed_current() if by_key else self._row_under(event.pos())
        if placed is not None:
            menu = row_menu(self.state, placed.row, self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.mapToGlobal(self._rect(placed).center()) if by_key else event.globalPos())

    def _placed_current(self) -> PlacedRow | None:
        return next((p for p in self.visible_rows() if p.row.key == self._current), None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk along the rows with the arrows, move one with Alt and an arrow, unpin it with Del."""
        step = _STEPS.get(event.key())
        order = [placed.row.key for placed in self.visible_rows()]
        if self._current not in order or (step is None and event.key() != Qt.Key.Key_Delete):
            super().keyPressEvent(event)
            return
        if step is None:
            self.state.rows.set_pinned(self._current, False)
            return
        at = min(max(order.index(self._current) + step, 0), len(order) - 1)
        if event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.state.rows.move_pinned(self._current, at)
        else:
            self._current = order[at]
        self._say_current()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show which row the keys are about."""
        super().focusInEvent(event)
        self._say_current()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show no row as the current one any more."""
        super().focusOutEvent(event)
        self.update()

    def _say_current(self) -> None:
        self.update()
        if (placed := self._placed_current()) is not None:
            number = self.state.rows.pinned.index(placed.row.key) + 1
            announce(self, f"{placed.row.text_path}, pinned row {number} of {len(self.state.rows.pinned)}")

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            if (placed := self._row_under(event.pos())) is not None:
                QToolTip.showText(event.globalPos(), tip(row_tip(self.state, placed.row)), self)
            return True
        return super().event(event)

    def _drag_to(self, key: str, y: int) -> None:
        """Move the dragged row past the rows whose middle the pointer has crossed.

        Going down a row is passed below its middle, going up above it: rows of different heights
        then do not change places to and fro under a resting pointer.
        """
        order = [p.row.key for p in self.visible_rows()]
        now = order.index(key)
        target = now
        for position, placed in enumerate(self.visible_rows()):
            middle = placed.y + placed.height / 2
            if position > now and y > middle:
                target = position
            elif position < now and y < middle:
                target = min(target, position)
        if target != now:
            self.state.rows.move_pinned(key, target)


class PinnedEdge(QWidget):
    """The edge of the pinned rows, which lie over the others: a line, and the shadow below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        shade = QLinearGradient(0, EDGE_GAP, 0, self.height())
        shade.setColorAt(0, QColor(0, 0, 0, 170 if self.theme.is_dark else 60))
        shade.setColorAt(1, QColor(0, 0, 0, 0))
        painter.fillRect(self.rect(), shade)
        painter.fillRect(0, 0, self.width(), EDGE_GAP, QColor.fromRgba(self.theme.line))
        painter.fillRect(0, EDGE_GAP - 1, self.width(), 1, QColor.fromRgba(self.theme.text_faint))
        painter.end()
