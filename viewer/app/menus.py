"""The menu bar, from the table of actions, and the menus whose entries depend on the trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from viewer.app.actions import COMMANDS, MENUS
from viewer.timeline.headers.row_menu import rows_of_stream, stream_ids
from viewer.timeline.plain_text import without_key

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow

RECENT_PLACE, STREAMS_PLACE = "demo", "pin"


def build_menus(window: MainWindow, actions: dict[str, QAction]) -> None:
    """Fill the menu bar of a window."""
    menus: dict[str, QMenu] = {title: window.menuBar().addMenu(f"&{title}") for title in MENUS}
    groups: dict[str, str] = {}
    for command in COMMANDS:
        top = command.menu.split("/")[0]
        if command.id == RECENT_PLACE:
            _add_filled(menus[top], "Open recent", partial(_fill_recent, window))
        elif command.id == STREAMS_PLACE:
            _add_filled(menus[top], "Streams", partial(_fill_streams, window))
        menu = _menu(menus, command.menu)
        if groups.setdefault(command.menu, command.group) != command.group:
            menu.addSeparator()
            groups[command.menu] = command.group
        menu.addAction(actions[command.id])


def _menu(menus: dict[str, QMenu], path: str) -> QMenu:
    if path not in menus:
        top, _, title = path.partition("/")
        menus[path] = menus[top].addMenu(title)
    return menus[path]


def _add_filled(menu: QMenu, title: str, fill: Callable[[QMenu], None]) -> None:
    below = menu.addMenu(title)
    below.aboutToShow.connect(lambda: fill(below))


def _fill_recent(window: MainWindow, menu: QMenu) -> None:
    menu.clear()
    for path in window.settings.recent():
        menu.addAction(without_key(str(path)), partial(window.open, path))
    if menu.isEmpty():
        menu.addAction("No files yet").setEnabled(False)


def _fill_streams(window: MainWindow, menu: QMenu) -> None:
    menu.clear()
    for number in stream_ids(window.state):
        keys = rows_of_stream(window.state, number)
        action = menu.addAction(f"Stream {number} on all GPUs")
        action.setCheckable(True)
        action.setChecked(not set(keys) <= window.state.rows.hidden)
        action.toggled.connect(partial(_show_rows, window, keys))
    if menu.isEmpty():
        menu.addAction("No streams").setEnabled(False)


def _show_rows(window: MainWindow, keys: list[str], shown: bool) -> None:
    window.state.rows.set_hidden(keys, not shown)
