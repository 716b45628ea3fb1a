"""The rows of a process's threads: on the CPU, NVTX by domain, CUDA API, OS runtime, profiler overhead."""

from __future__ import annotations

from functools import partial

from viewer.rows.model import Row, RowKind
from viewer.rows.tables import of_slice
from viewer.trace import Kind, Thread, Trace

_TABLES = (
    (Kind.API, RowKind.API, "api", "CUDA API"),
    (Kind.OSRT, RowKind.OSRT, "osrt", "OS runtime"),
    (Kind.OVERHEAD, RowKind.OVERHEAD, "overhead", "Profiler overhead"),
)


def threads_row(trace: Trace, parent: Row, process: int) -> Row | None:
    """Return the row that holds the threads of a process, those with most events first; None without any."""
    row = Row(f"{parent.key}/threads", RowKind.THREADS, "Threads", parent=parent, process=process)
    tracks: dict[int, list[int]] = {}
    for track in trace.tracks:
        tracks.setdefault(track.thread, []).append(track.index)
    counted = [(_count(trace, t, tracks.get(t.index, [])), t) for t in trace.threads_of(process)]
    for count, thread in sorted(counted, key=lambda pair: (-pair[0], pair[1].index)):
        if count:
            row.children.append(_thread_row(trace, row, thread, tracks.get(thread.index, [])))
    return row if row.children else None


def _count(trace: Trace, thread: Thread, tracks: list[int]) -> int:
    held = [trace.events[kind].of(thread.index) for kind, *_ in _TABLES]
    held += [trace.events[Kind.ON_CPU].of(thread.index), *(trace.nvtx.of(track) for track in tracks)]
    return sum(rows.stop - rows.start for rows in held)


def _thread_row(trace: Trace, parent: Row, thread: Thread, tracks: list[int]) -> Row:
    label = thread.name or "Thread"
    key = f"{parent.key}/{thread.tid}"
    row = Row(
        key, RowKind.THREAD, label, f"[{thread.tid}]", parent, process=thread.process, thread=thread.index
    )
    _append(trace, row, Kind.ON_CPU, RowKind.CPU, thread.index, "cpu", "On the CPU")
    for track in sorted((trace.tracks[i] for i in tracks), key=lambda t: (t.domain, t.overlapping)):
        name = "nvtx-ranges" if track.overlapping else "nvtx"
        detail = f"{track.domain} start/end".strip() if track.overlapping else track.domain
        _append(trace, row, Kind.NVTX, RowKind.NVTX, track.index, f"{name}/{track.domain}", "NVTX", detail)
    for kind, row_kind, name, text in _TABLES:
        _append(trace, row, kind, row_kind, thread.index, name, text)
    return row


def _append(
    trace: Trace, row: Row, kind: Kind, row_kind: RowKind, owner: int, key: str, label: str, detail: str = ""
) -> None:
    held = trace.events[kind].of(owner)
    if held.stop > held.start:
        row.children.append(
            Row(
                f"{row.key}/{key}",
                row_kind,
                label,
                detail,
                row,
                process=row.process,
                thread=row.thread,
                load=partial(of_slice, trace, kind, held),
            )
        )
