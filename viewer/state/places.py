"""Where an event stands in the tree of rows, and how to go there."""

from __future__ import annotations

from dataclasses import replace

from viewer.rows import EventRef, Row, RowKind
from viewer.state.navigation import event_window, show_range
from viewer.state.view_state import ViewState
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.model import UNIFIED_NAME

_OF_THREAD = {table: kind for kind in RowKind if (table := kind.traits.table) is not None}
"""The kind of row that shows a table of a thread."""


def home_row(state: ViewState, kind: Kind, index: int) -> Row | None:
    """Return the row that an event belongs to: its stream's, or that of its table under its thread."""
    if state.study is None or (kind not in GPU_KINDS and kind not in _OF_THREAD):
        return None
    trace = state.study.trace
    owner = trace.events[kind].owner_of(index)
    process = trace.gpus[trace.streams[owner].gpu].process if kind in GPU_KINDS else None
    thread = trace.tracks[owner].thread if kind is Kind.NVTX else owner
    if process is None:
        process = trace.threads[thread].process
    for root in state.rows.roots:
        if root.process != process:
            continue
        for row in root.walk():
            if kind in GPU_KINDS:
                if row.kind is RowKind.STREAM and row.stream == owner:
                    return row
            elif row.kind is _OF_THREAD[kind] and row.thread == thread and _is_of_track(row, kind, index):
                return row
    return None


def go_to_event(state: ViewState, kind: Kind, index: int, row: Row | None = None) -> None:
    """Select an event, bring it into view, and unfold what hides its row (`row`, else its home)."""
    row = row or home_row(state, kind, index)
    ref = EventRef(kind, index, row.key if row else "")
    show_event(state, ref)
    show_range(state, *event_window(state, ref))


def show_event(state: ViewState, event: EventRef) -> None:
    """Select an event, and show and unfold its row: the one it names, else its home."""
    row = state.rows.row(event.row_key) or home_row(state, event.kind, event.index)
    state.select_event(replace(event, row_key=row.key if row else ""))
    if row is not None:
        state.reveal(row.key)


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


def reveal_gpu(state: ViewState, gpu: int) -> None:
    """Scroll to the row of a GPU, and unfold what hides it."""
    if (row := state.rows.gpu_row(gpu)) is not None:
        state.reveal(row.key)


def gpus_of(row: Row) -> list[int]:
    """Return the GPU of a GPU's row, those of a process's, [] of other rows."""
    rows = row.children if row.kind is RowKind.PROCESS else (row,)
    return [r.gpu for r in rows if r.kind is RowKind.GPU and r.gpu is not None]


def _is_of_track(row: Row, kind: Kind, index: int) -> bool:
    """Whether an NVTX row holds an event: a thread has one row a domain."""
    if kind is not Kind.NVTX:
        return True
    events = row.events.index if row.events is not None else slice(0, 0)
    return events.start <= index < events.stop if isinstance(events, slice) else index in events


def go_to_note(state: ViewState, number: int) -> None:
    """Select a note, bring it into view, and show and unfold its row."""
    note = state.notes.items[number]
    state.notes.choose(number)
    row = state.rows.row(note.row_key)
    if row is not None:
        state.rows.set_hidden([step.key for step in row.path()], False)
        state.reveal(row.key)
    if note.event is not None:
        state.select_event(note.event)
    start, end = note.span(state.study)
    if start == end:
        low, high = state.axis.window
        start, end = start - (high - low) // 20, end + (high - low) // 20
    show_range(state, start, end)
