"""The rows of a process's threads: on the CPU, NVTX by domain, CUDA API, OS runtime, profiler overhead."""

from __future__ import annotations

from functools import partial

import numpy as np

from viewer.rows.row import Row, RowKind
from viewer.rows.row_events import of_slice
from viewer.trace import Kind, Thread, Trace
from viewer.trace.events import Int64

_TABLES = (
    (Kind.API, RowKind.API, "api", "CUDA API"),
    (Kind.OSRT, RowKind.OSRT, "osrt", "OS runtime"),
    (Kind.OVERHEAD, RowKind.OVERHEAD, "overhead", "Profiler overhead"),
)


def threads_row(trace: Trace, parent: Row, process: int) -> Row | None:
    """Return the row that holds the threads of a process, those with most events first; None without any."""
    row = Row(f"{parent.key}/threads", RowKind.THREADS, "Threads", parent=parent, process=process)
    threads = trace.threads_of(process)
    counts = event_counts(trace, [thread.index for thread in threads])
    for at in np.lexsort((np.arange(len(threads)), -counts)).tolist():
        if counts[at]:
            row.children.append(_thread_row(trace, row, threads[at]))
    return row if row.children else None


def event_counts(trace: Trace, threads: list[int]) -> Int64:
    """Return how many events each of some threads has."""
    kinds = (Kind.ON_CPU, *(kind for kind, *_ in _TABLES))
    counts: Int64 = np.sum([trace.events[kind].counts(threads) for kind in kinds], axis=0)
    tracks = [(at, t.index) for at, thread in enumerate(threads) for t in trace.tracks_of(thread)]
    if tracks:
        of, held = np.array(tracks).T
        np.add.at(counts, of, trace.nvtx.counts(held))
    return counts


def _thread_row(trace: Trace, parent: Row, thread: Thread) -> Row:
    label = thread.name or "Thread"
    key = f"{parent.key}/{thread.tid}"
    row = Row(
        key, RowKind.THREAD, label, f"[{thread.tid}]", parent, process=thread.process, thread=thread.index
    )
    _append(trace, row, Kind.ON_CPU, RowKind.CPU, thread.index, "cpu", "On the CPU")
    for track in sorted(trace.tracks_of(thread.index), key=lambda t: (t.domain, t.overlapping)):
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
