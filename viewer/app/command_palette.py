"""The command palette: finds a command of the table, or a thing of the trace, by a few of its letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from viewer.app.actions import COMMANDS, Action, key_text
from viewer.app.trace_index import Found, TraceIndex
from viewer.printable import visible
from viewer.timeline.plain_text import tip

SIZE = QSize(640, 460)
_ENTRY = Qt.ItemDataRole.UserRole
_KEY_ROOM, _GAP = 130, 16
_LINE, _MARGIN = 30, 8
_Index = QModelIndex | QPersistentModelIndex
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}


def rank(command: Action, text: str) -> int | None:
    """Return how well a command matches the typed text, 0 for best; None where it does not."""
    where = f"{command.title} {command.menu} {command.short}".casefold()
    title = command.title.casefold()
    words = text.casefold().split()
    if not all(word in where for word in words):
        return None
    if not words:
        return 0
    starts = all(any(part.startswith(word) for part in title.split()) for word in words)
    return 0 if title.startswith(words[0]) else 1 if starts else 2 if words[0] in title else 3


def matching(text: str) -> list[Action]:
    """Return the commands that match, the best first, else in the table's order."""
    ranked = [(found, command) for command in COMMANDS if (found := rank(command, text)) is not None]
    return [command for _, command in sorted(ranked, key=lambda pair: pair[0])]


class CommandPalette(QDialog):
    """Lists the commands, and what the trace holds under the typed text; Enter runs or shows one.

    Parameters
    ----------
    run : callable
        Runs a command.
    is_enabled : callable
        Whether a command can be carried out now; others are greyed.

    Signals
    -------
    found(Found)
        The user chose a thing of the trace.
    """

    found = Signal(object)

    def __init__(
        self, run: Callable[[Action], None], is_enabled: Callable[[Action], bool], parent: QWidget
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Command palette")
        self._index: TraceIndex | None = None
        self._run, self._is_enabled, self._window = run, is_enabled, parent
        self.text, self.list = QLineEdit(), QListWidget()
        self.text.setPlaceholderText("Type a command, a row, a kernel or an iteration")
        self.text.setAccessibleName("Find a command, a row, a kernel or an iteration")
        self.list.setAccessibleName("Commands, and what the trace holds")
        self.list.setUniformItemSizes(True)
        self.list.setItemDelegate(_KeyedItem(self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setMinimumHeight(_LINE)
        self.setStyleSheet("CommandPalette { border: 1px solid palette(dark); }")
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.addWidget(self.text)
        column.addWidget(self.list, 1)
        self.text.textChanged.connect(self._fill)
        self.text.installEventFilter(self)
        self.list.itemClicked.connect(self._do)
        self._fill("")

    def commands(self) -> Sequence[Action]:
        """Return the listed commands, the best match first."""
        return [entry for entry in self._entries() if isinstance(entry, Action)]

    def things(self) -> Sequence[Found]:
        """Return the listed things of the trace: iterations, then rows, then kernels."""
        return [entry for entry in self._entries() if isinstance(entry, Found)]

    def _entries(self) -> Iterator[Action | Found]:
        entries = (self.list.item(i).data(_ENTRY) for i in range(self.list.count()))
        return (entry for entry in entries if entry is not None)

    def set_index(self, index: TraceIndex) -> None:
        """Find in a trace too, from now on."""
        self._index = index
        row = self.list.currentRow()
        self._fill(self.text.text())
        self.list.setCurrentRow(row)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        if step := _STEPS.get(Qt.Key(event.key())):
            last = self.list.count() - 1
            self.list.setCurrentRow(min(max(self.list.currentRow() + step, 0), last))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._do(self.list.currentItem())
        else:
            return False
        return True

    def _fill(self, text: str) -> None:
        self.list.clear()
        for command in matching(text):
            item = QListWidgetItem(command.title.rstrip("…"))
            item.setData(_ENTRY, command)
            item.setToolTip(command.menu.replace("/", " › "))
            if not self._is_enabled(command):
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(item)
        for thing in self._index.find(text) if self._index is not None else ():
            item = QListWidgetItem(visible(thing.title))
            item.setData(_ENTRY, thing)
            item.setToolTip(tip(thing.title))
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        if not self.list.count():
            nothing = QListWidgetItem("Nothing has this name.")
            nothing.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(nothing)
        self._place(self._window)

    def _do(self, item: QListWidgetItem | None) -> None:
        if item is None or not item.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        entry = item.data(_ENTRY)
        self.close()
        if isinstance(entry, Found):
            self.found.emit(entry)
        else:
            self._run(entry)

    def _place(self, window: QWidget) -> None:
        """Move to the top centre of the window, as high as the list."""
        margins = self.layout().contentsMargins()
        around = margins.top() + margins.bottom() + self.layout().spacing() + self.text.sizeHint().height()
        needed = around + self.list.count() * _LINE + 2
        width = min(SIZE.width(), window.width() - 40)
        height = min(SIZE.height(), window.height() - 120, needed)
        at = window.mapToGlobal(window.rect().topLeft())
        self.setGeometry(QRect(at.x() + (window.width() - width) // 2, at.y() + 64, width, height))


class _KeyedItem(QStyledItemDelegate):
    """A command at the left, its menu and its key at the right; a thing with what it is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, _LINE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        entry: Action | Found | None = index.data(_ENTRY)
        place = entry.menu.replace("/", " › ") if isinstance(entry, Action) else entry.place if entry else ""
        key = key_text(entry) if isinstance(entry, Action) else ""
        taken = option.fontMetrics.horizontalAdvance(place) + _GAP
        taken += _KEY_ROOM if isinstance(entry, Action) else 0
        roomy = QStyleOptionViewItem(option)
        roomy.textElideMode = Qt.TextElideMode.ElideMiddle
        roomy.rect = option.rect.adjusted(_MARGIN, 0, -taken, 0)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, option.palette.highlight())
        super().paint(painter, roomy, index)
        if entry is None:
            return
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        group = option.palette.ColorGroup.Normal
        roles = option.palette.ColorRole
        painter.save()
        right = option.rect.adjusted(0, 0, -10, 0)
        painter.setPen(option.palette.color(group, roles.HighlightedText if selected else roles.Text))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(right, side, key)
        soft = roles.HighlightedText if selected else roles.PlaceholderText
        painter.setPen(option.palette.color(group, soft))
        room = _KEY_ROOM if isinstance(entry, Action) else 0
        painter.drawText(right.adjusted(0, 0, -room, 0), side, place)
        painter.restore()
