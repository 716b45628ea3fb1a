"""The command palette: finds a command of the table by a few of its letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
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

SIZE = QSize(560, 420)
_COMMAND = Qt.ItemDataRole.UserRole
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
    """Lists the commands; Enter runs one.

    Parameters
    ----------
    run : callable
        Runs a command.
    is_enabled : callable
        Whether a command can be carried out now; others are greyed.
    """

    def __init__(
        self, run: Callable[[Action], None], is_enabled: Callable[[Action], bool], parent: QWidget
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Command palette")
        self._run, self._is_enabled, self._window = run, is_enabled, parent
        self.text, self.list = QLineEdit(), QListWidget()
        self.text.setPlaceholderText("Type a command")
        self.text.setAccessibleName("Find a command")
        self.list.setAccessibleName("Commands")
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
        commands = (self.list.item(i).data(_COMMAND) for i in range(self.list.count()))
        return [command for command in commands if command is not None]

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
            item.setData(_COMMAND, command)
            item.setToolTip(command.menu.replace("/", " › "))
            if not self._is_enabled(command):
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        if not self.list.count():
            nothing = QListWidgetItem("No command has this name.")
            nothing.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(nothing)
        self._place(self._window)

    def _do(self, item: QListWidgetItem | None) -> None:
        if item is None or not item.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        command = item.data(_COMMAND)
        self.close()
        self._run(command)

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
    """A command at the left; its menu and its key at the right."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, _LINE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        roomy = QStyleOptionViewItem(option)
        roomy.rect = option.rect.adjusted(_MARGIN, 0, 0, 0)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, option.palette.highlight())
        super().paint(painter, roomy, index)
        command: Action | None = index.data(_COMMAND)
        if command is None:
            return
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        group = option.palette.ColorGroup.Normal
        roles = option.palette.ColorRole
        painter.save()
        right = option.rect.adjusted(0, 0, -10, 0)
        painter.setPen(option.palette.color(group, roles.HighlightedText if selected else roles.Text))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(right, side, key_text(command))
        soft = roles.HighlightedText if selected else roles.PlaceholderText
        painter.setPen(option.palette.color(group, soft))
        painter.drawText(right.adjusted(0, 0, -130, 0), side, command.menu.replace("/", " › "))
        painter.restore()
