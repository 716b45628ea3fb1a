"""The context menu of a row."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from viewer.rows import Row, RowKind
from viewer.state import ALL_ROWS, ViewState
from viewer.state.places import rows_of_stream
from viewer.timeline.definitions_dialog import MEANING, show_definitions
from viewer.timeline.event_menu import add_pin_stream
from viewer.timeline.plain_text import without_key
from viewer.timeline.what_if_menu import add_what_if_menu, proposals_for
from viewer.trace import Kind
from viewer.trace.model import UNIFIED_NAME


def _definition_of(row: Row) -> str:
    """Return what docs/definitions.md calls the number in a row's header, "" where there is none."""
    if row.kind.traits.counter is not None:
        return f"row.{row.kind.traits.name}"
    if row.share is not None:
        return "row-share"
    return "busy" if row.kind in (RowKind.GPU, RowKind.PROCESS) else ""


def _one_name(state: ViewState, row: Row) -> str:
    """Return the full name of the kernels of a row that shows one name."""
    if state.study is None or row.events is None or not len(row.events):
        return ""
    return state.study.trace.names[int(row.events.name_id[0])]


def row_menu(state: ViewState, row: Row, parent: QWidget) -> QMenu:
    """Return the menu of what can be done with a row."""
    rows = state.rows
    menu = QMenu(parent)
    pinned = row.key in rows.pinned
    menu.addAction("Unpin row" if pinned else "Pin row", lambda: rows.set_pinned(row.key, not pinned))
    if row.kind is RowKind.STREAM and row.stream is not None:
        add_pin_stream(menu, state, row.stream)
    menu.addAction("Show in Events", lambda: state.list_events(row.key))
    if row.kind is RowKind.KERNEL_NAME and (name := _one_name(state, row)):
        menu.addAction("All instances on all GPUs", lambda: state.list_events(ALL_ROWS, Kind.KERNEL, name))
        menu.addAction("Copy name", lambda: QGuiApplication.clipboard().setText(name))
    if row.kind in (RowKind.PROCESS, RowKind.GPU):
        add_what_if_menu(menu, state, proposals_for(state, row=row))
    if meaning := _definition_of(row):
        menu.addAction(MEANING, lambda: show_definitions(parent, meaning))
    menu.addSeparator()
    menu.addAction("Hide row", lambda: rows.set_hidden([row.key], True))
    if row.kind == RowKind.STREAM and row.stream is not None and state.study is not None:
        stream = state.study.trace.streams[row.stream]
        what = stream.label if stream.name == UNIFIED_NAME else f"stream {stream.label}"
        menu.addAction(
            without_key(f"Hide {what} on all GPUs"),
            lambda: rows.set_hidden(rows_of_stream(state, stream.stream_id), True),
        )
    show_all = menu.addAction("Show all hidden rows", lambda: rows.set_hidden(set(rows.hidden), False))
    show_all.setEnabled(bool(rows.hidden))
    if row.children:
        below = [r.key for r in row.walk() if r.children]
        menu.addSeparator()
        menu.addAction("Expand all below", lambda: rows.set_expanded(below, True))
        menu.addAction("Collapse all below", lambda: rows.set_expanded(below, False))
    return menu
