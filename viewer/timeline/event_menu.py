"""What can be done with one event or stream: entries of the context menus of timeline and events table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from viewer.rows import EventRef, Row
from viewer.state import ALL_ROWS, ViewState
from viewer.state.places import home_row, rows_of_stream, show_event
from viewer.timeline.gestures import FIT_SHARE
from viewer.timeline.plain_text import without_key
from viewer.timeline.what_if_menu import add_what_if_menu, proposals_for
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.model import UNIFIED_NAME


def fill_event_menu(menu: QMenu, state: ViewState, event: EventRef) -> None:
    """Add the commands for an event, which need not be the selected one."""
    menu.addAction("Zoom to it", partial(zoom_to_event, state, event))
    menu.addAction("Copy name", partial(copy_name, state, event))
    what = "this kernel" if event.kind is Kind.KERNEL else "this name"
    instances = menu.addMenu(f"All instances of {what}")
    for key, where in instance_places(state, event):
        instances.addAction(without_key(where), partial(list_instances, state, event, key))
    stream = stream_of_event(state, event)
    if stream is not None:
        add_pin_stream(menu, state, stream)
    add_what_if_menu(menu, state, proposals_for(state, event))
    if (row := _row_of(state, event)) is not None:
        menu.addAction(without_key(f"Show {row.label} in Events"), partial(state.list_events, row.key))


def zoom_to_event(state: ViewState, event: EventRef) -> None:
    """Select an event and let it fill most of the width, in its row."""
    show_event(state, event)
    axis, study = state.axis, state.study
    if study is not None:
        table = study.trace.events[event.kind]
        axis.center(int(table.start_ns[event.index]), int(table.end_ns[event.index]), FIT_SHARE)


def event_name(state: ViewState, event: EventRef) -> str:
    """Return the full name of an event."""
    assert state.study is not None
    trace = state.study.trace
    return trace.names[int(trace.events[event.kind].name_id[event.index])]


def copy_name(state: ViewState, event: EventRef) -> None:
    """Put the full name of an event on the clipboard."""
    QGuiApplication.clipboard().setText(event_name(state, event))


def list_instances(state: ViewState, event: EventRef, key: str = ALL_ROWS) -> None:
    """List the events of an event's table and exact name, in a row or in all."""
    state.list_events(key, event.kind, event_name(state, event))


def instance_places(state: ViewState, event: EventRef) -> Iterator[tuple[str, str]]:
    """Yield the key and the label of where instances can be listed: its row, its GPU (or process), all."""
    assert state.study is not None
    trace = state.study.trace
    if (row := _row_of(state, event)) is not None:
        yield row.key, f"In {row.label}"
    owner = trace.events[event.kind].owner_of(event.index)
    if event.kind in GPU_KINDS:
        gpu = trace.streams[owner].gpu
        if (gpu_row := state.rows.gpu_row(gpu)) is not None:
            yield gpu_row.key, f"On {trace.gpu_label(gpu)}"
        yield ALL_ROWS, "On all GPUs"
        return
    if row is not None:
        yield row.path()[0].key, f"In {row.path()[0].label}"
    yield ALL_ROWS, "In all processes"


def stream_of_event(state: ViewState, event: EventRef) -> int | None:
    """Return the index of the stream that an event ran on; None for what runs on the host."""
    if state.study is None or event.kind not in GPU_KINDS:
        return None
    return state.study.trace.events[event.kind].owner_of(event.index)


def add_pin_stream(menu: QMenu, state: ViewState, stream: int) -> None:
    """Add the command that pins a stream's number on all GPUs, or unpins it where all are pinned."""
    assert state.study is not None
    record = state.study.trace.streams[stream]
    pinned = _are_pinned(state, rows_of_stream(state, record.stream_id))
    what = record.label if record.name == UNIFIED_NAME else f"stream {record.stream_id}"
    menu.addAction(
        without_key(f"{'Unpin' if pinned else 'Pin'} {what} on all GPUs"),
        partial(switch_stream_pins, state, record.stream_id),
    )


def switch_stream_pins(state: ViewState, stream_id: int) -> None:
    """Pin the rows of a stream's number on all GPUs, or unpin them where all are pinned."""
    keys = rows_of_stream(state, stream_id)
    state.rows.pin_all(keys, not _are_pinned(state, keys))


def _are_pinned(state: ViewState, keys: list[str]) -> bool:
    return set(keys) <= set(state.rows.pinned)


def _row_of(state: ViewState, event: EventRef) -> Row | None:
    """Return the row in which an event was pointed at, its own where that one only holds others."""
    row = state.rows.row(event.row_key)
    if row is None or row.kind.traits.holds_rows:
        return home_row(state, event.kind, event.index)
    return row
