"""The key sheet: all keys from the table of actions, and the gestures of mouse and wheel."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from viewer.app.actions import COMMANDS, MENUS, key_text
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import PlainLabel

GESTURES: tuple[tuple[str, str], ...] = (
    ("Drag", "Select a range and measure it"),
    ("Click GPU state, an iteration", "Select the bar, the iteration"),
    ("Ctrl + drag, Ctrl + click", "Add to the selection, take away"),
    ("Shift while dragging", "No snapping"),
    ("Drag an edge, or the length", "Change or move the selection"),
    ("Double-click the selection", "Zoom into it and deselect"),
    ("Ctrl + wheel", "Zoom at the pointer"),
    ("Wheel", "Move the rows"),
    ("Shift + wheel", "Move along the time"),
    ("Middle drag, Space + drag", "Move time and rows"),
    ("Ctrl + double-click", "Fit an event"),
    ("Right-click a row", "Pin, list its events, hide, expand"),
    ("Right-click an event", "Zoom to it, all its instances, what if"),
    ("Drag a note's label", "Move it"),
    ("Double-click a note", "Rewrite it"),
    ("Drag a pinned row", "Change the order"),
)
PLACES: tuple[tuple[str, str], ...] = (
    ("W, S", "Zoom in, out at the pointer"),
    ("A, D", "Move left, right along the time"),
    ("Shift + W, A, S, D", "The same, faster"),
    ("← →", "Nudge the selection's edge, else pan"),
    ("Shift + ← →", "Nudge to the next event or iteration"),
    ("↑ ↓, Page up, Page down", "Move the rows"),
    ("Tab", "Go on to tree, docks, tool bar"),
    ("↑ ↓, Alt + ↑ ↓, Del", "Pinned rows: choose, move, unpin"),
)
NUMBERED = {
    "Go/Bookmarks": ("1 … 9", "Go to a bookmark"),
    "Go/Set bookmark": ("Ctrl+1 … Ctrl+9", "Set a bookmark"),
}
"""Menus whose commands differ only by a number."""
MOST_COLUMNS = 4
_BESIDE = 64
"""What the margins and a scroll bar take of the width."""
SHARE_OF_SCREEN = 0.94


def key_groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (heading, [(key, command)]) of all commands with a key."""
    groups = [("Mouse", list(GESTURES)), ("In the timeline", list(PLACES))]
    for menu in MENUS:
        paths = dict.fromkeys(c.menu for c in COMMANDS if c.menu.split("/")[0] == menu)
        for path in (p for p in paths if p not in NUMBERED):
            keyed = [(key_text(c), c.title.rstrip("…")) for c in COMMANDS if c.keys and c.menu == path]
            keyed += [line for below, line in NUMBERED.items() if below.rpartition("/")[0] == path]
            groups.append((path.rpartition("/")[2], keyed))
    return groups


class KeySheet(QDialog):
    """Shows the page of keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys and gestures")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        room = self.screen().availableSize() * SHARE_OF_SCREEN
        for count in range(MOST_COLUMNS, 0, -1):
            page = _page(count)
            if page.sizeHint().width() + _BESIDE <= room.width():
                break
        scroll = QScrollArea(widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(page)
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        whole_page = QVBoxLayout(self)
        whole_page.setContentsMargins(24, 20, 24, 16)
        whole_page.addWidget(scroll)
        whole_page.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        bar = scroll.verticalScrollBar().sizeHint().width()
        wanted = page.sizeHint() + QSize(_BESIDE + bar, 52 + bar + close.sizeHint().height())
        self.resize(wanted.boundedTo(room))


def _page(count: int) -> QWidget:
    """Return the page of all keys, in so many columns of about the same height."""
    page = QWidget()
    columns = QHBoxLayout(page)
    columns.setContentsMargins(0, 0, 0, 0)
    columns.setSpacing(24)
    groups = key_groups()
    whole = sum(len(keys) + 2 for _, keys in groups)
    column, filled = QVBoxLayout(), 0
    for heading, keys in groups:
        if filled + (len(keys) + 2) / 2 > whole / count and columns.count() < count - 1:
            column.addStretch()
            columns.addLayout(column)
            column, filled = QVBoxLayout(), 0
        column.addLayout(_table(heading, keys))
        filled += len(keys) + 2
    column.addStretch()
    columns.addLayout(column)
    return page


def _table(heading: str, keys: list[tuple[str, str]]) -> QGridLayout:
    table = QGridLayout()
    table.setHorizontalSpacing(18)
    table.setVerticalSpacing(3)
    table.setContentsMargins(0, 0, 0, 12)
    title = PlainLabel(heading)
    title.setFont(font(QGuiApplication.font().pixelSize(), STRONG))
    table.addWidget(title, 0, 0, 1, 2)
    for row, (key, what) in enumerate(keys, 1):
        cap = PlainLabel(key)
        cap.setObjectName("soft")
        table.addWidget(cap, row, 0, Qt.AlignmentFlag.AlignLeft)
        table.addWidget(PlainLabel(what), row, 1)
    table.setColumnStretch(1, 1)
    return table
