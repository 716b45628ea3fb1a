"""The rows of a process's threads: on the CPU, NVTX by domain, CUDA API, OS runtime, overhead."""

from __future__ import annotations

from functools import partial

import numpy as np

from viewer.rows.kinds import RowKind
from viewer.rows.row import Row
from viewer.rows.row_events import of_slice
from viewer.trace import Kind, Thread, Trace
from viewer.trace.events import Int64

_TABLES = (
    (RowKind.API, "CUDA API"),
    (RowKind.OSRT, "OS runtime"),
    (RowKind.OVERHEAD, "Overhead"),
)
_COUNTED = (Kind.ON_CPU, Kind.API, Kind.OSRT, Kind.OVERHEAD)


def threads_row(trace: Trace, parent: Row, process: int) -> Row | None:
    """Return the row that holds the threads of a process, those with most events first; None without any."""
    row = Row(f"{parent.key}/threads", RowKind.THREADS, "Threads", parent=parent, process=process)
    threads = trace.threads_of(process)
    counts = event_counts(trace, [thread.index for thread in threads])
    # Most events first: the thread that launches is on top, of hundreds that only wait.
    for number in np.lexsort((np.arange(len(threads)), -counts)).tolist():
        if counts[number]:
            row.children.append(_thread_row(trace, row, threads[number]))
    return row if row.children else None


def event_counts(trace: Trace, threads: list[int]) -> Int64:
    """Return how many events each of some threads has."""
    counts: Int64 = np.sum([trace.events[kind].counts(threads) for kind in _COUNTED], axis=0)
    tracks = [(n, track.index) for n, thread in enumerate(threads) for track in trace.tracks_of(thread)]
    if tracks:
        position, track = np.array(tracks).T
        # A thread has several tracks: a plain `+=` by index would count only the last of them.
        np.add.at(counts, position, trace.nvtx.counts(track))
    return counts


def _thread_row(trace: Trace, parent: Row, thread: Thread) -> Row:
    label = thread.name or "Thread"
    key = f"{parent.key}/{thread.tid}"
    row = Row(
        key, RowKind.THREAD, label, f"[{thread.tid}]", parent, process=thread.process, thread=thread.index
    )
    _append(trace, row, RowKind.CPU, thread.index, "cpu", "On the CPU")
    for track in sorted(trace.tracks_of(thread.index), key=lambda t: (t.domain, t.overlapping)):
        name = "nvtx-ranges" if track.overlapping else "nvtx"
        detail = f"{track.domain} start/end".strip() if track.overlapping else track.domain
        _append(trace, row, RowKind.NVTX, track.index, f"{name}/{track.domain}", "NVTX", detail)
    for kind, label in _TABLES:
        _append(trace, row, kind, thread.index, kind.traits.name, label)
    return row


def _append(
    trace: Trace, row: Row, kind: RowKind, owner: int, key: str, label: str, detail: str = ""
) -> None:
    """Append the row of one owner in a table of the trace, where it has any events there."""
    table = kind.traits.table
    if table is None:
        raise ValueError(f"rows of {kind} come from no table")
    part = trace.events[table].of(owner)
    if part.stop > part.start:
        row.children.append(
            Row(
                f"{row.key}/{key}",
                kind,
                label,
                detail,
                row,
                process=row.process,
                thread=row.thread,
                load=partial(of_slice, trace, table, part),
            )
        )
