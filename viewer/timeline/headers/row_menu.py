"""The context menu of a row."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QWidget

from viewer.rows import Row, RowKind
from viewer.state import ViewState
from viewer.timeline.definitions_dialog import MEANING, show_definitions
from viewer.trace.model import UNIFIED_NAME


def stream_ids(state: ViewState) -> list[int]:
    """Return the stream numbers that occur on any GPU, in order; unified memory has none."""
    trace = state.study.trace if state.study else None
    streams = [trace.streams[r.stream] for r in _stream_rows(state)] if trace else []  # type: ignore[index]
    return sorted({stream.stream_id for stream in streams if stream.name != UNIFIED_NAME})


def rows_of_stream(state: ViewState, stream_id: int) -> list[str]:
    """Return the keys of the rows of a stream number over all GPUs."""
    if state.study is None:
        return []
    streams = state.study.trace.streams
    return [r.key for r in _stream_rows(state) if streams[r.stream].stream_id == stream_id]  # type: ignore[index]


def _stream_rows(state: ViewState) -> list[Row]:
    rows = (row for root in state.rows.roots for row in root.walk())
    return [row for row in rows if row.kind == RowKind.STREAM and row.stream is not None]


def _definition_of(row: Row) -> str:
    """Return what docs/definitions.md calls the number in a row's header, "" where there is none."""
    if row.kind.traits.counter is not None:
        return f"row.{row.kind.traits.name}"
    if row.share is not None:
        return "row-share"
    return "busy" if row.kind in (RowKind.GPU, RowKind.PROCESS) else ""


def row_menu(state: ViewState, row: Row, parent: QWidget) -> QMenu:
    """Return the menu of what can be done with a row."""
    rows = state.rows
    menu = QMenu(parent)
    pinned = row.key in rows.pinned
    menu.addAction("Unpin row" if pinned else "Pin row", lambda: rows.set_pinned(row.key, not pinned))
    menu.addAction("Show in Events", lambda: state.list_events(row.key))
    if name := _definition_of(row):
        menu.addAction(MEANING, lambda: show_definitions(parent, name))
    menu.addSeparator()
    menu.addAction("Hide row", lambda: rows.set_hidden([row.key], True))
    if row.kind == RowKind.STREAM and row.stream is not None and state.study is not None:
        stream = state.study.trace.streams[row.stream]
        what = stream.label if stream.name == UNIFIED_NAME else f"stream {stream.label}"
        menu.addAction(
            f"Hide {what} on all GPUs",
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
