"""The menu bar, built from the table of actions, with menus whose entries depend on the trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

from viewer.app.actions import COMMANDS, MENUS
from viewer.app.settings import Settings
from viewer.state import ViewState
from viewer.state.places import rows_of_stream, stream_ids
from viewer.timeline.plain_text import without_key

RECENT_PLACE, STREAMS_PLACE = "demo", "pin"


def build_menus(
    bar: QMenuBar,
    actions: dict[str, QAction],
    state: ViewState,
    settings: Settings,
    open_trace: Callable[[Path], None],
) -> None:
    """Fill a menu bar; `open_trace` opens one of the recent files."""
    menus: dict[str, QMenu] = {title: bar.addMenu(f"&{title}") for title in MENUS}
    groups: dict[str, str] = {}
    for command in COMMANDS:
        top = command.menu.split("/")[0]
        if command.id == RECENT_PLACE:
            _add_filled(menus[top], "Open recent", partial(_fill_recent, settings, open_trace))
        elif command.id == STREAMS_PLACE:
            _add_filled(menus[top], "Streams", partial(_fill_streams, state))
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


def _fill_recent(settings: Settings, open_trace: Callable[[Path], None], menu: QMenu) -> None:
    menu.clear()
    for path in settings.recent():
        # Qt shows what stands after the tab at the right, where keys stand.
        menu.addAction(
            f"{without_key(str(path))}\t{settings.shape_of(path)}".rstrip(), partial(open_trace, path)
        )
    if menu.isEmpty():
        menu.addAction("No files yet").setEnabled(False)


def _fill_streams(state: ViewState, menu: QMenu) -> None:
    menu.clear()
    for number in stream_ids(state):
        keys = rows_of_stream(state, number)
        action = menu.addAction(f"Stream {number} on all GPUs")
        action.setCheckable(True)
        action.setChecked(not set(keys) <= state.rows.hidden)
        action.toggled.connect(partial(_show_rows, state, keys))
    if menu.isEmpty():
        menu.addAction("No streams").setEnabled(False)


def _show_rows(state: ViewState, keys: list[str], shown: bool) -> None:
    state.rows.set_hidden(keys, not shown)
