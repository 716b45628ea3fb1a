"""Finds where a process's CUDA calls stop while its ranges go on: rows were lost.

See docs/definitions.md, section 10.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analysis.launches.attribution import Indices, ranges_of
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.recording.losses import calls_of
from viewer.trace import Trace
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers

_GAPS = 8
_AS_LONG = 2
_LEAST_BEFORE, _LEAST_WITHOUT, _WITH_CALLS = 3, 2, 0.9
"""A range with at least so many instances that hold calls, nearly all of them, and so many without."""


def stopped_calls(trace: Trace) -> Iterator[Diagnostic]:
    """Yield the processes whose CUDA calls stop while a range goes on that held some before."""
    for process in trace.processes:
        calls = calls_of(trace, process.index)
        if len(calls) and (found := _stopped(trace, process.index, calls)) is not None:
            yield found


def _stopped(trace: Trace, process: int, calls: Indices) -> Diagnostic | None:
    """Return the diagnostic of a process: its last stop, else that in one of its longest gaps."""
    api = trace.api
    # Over all threads: another thread of the process may go on calling where one stops.
    start = np.sort(api.start_ns[calls])
    end = int(api.end_ns[calls].max())
    wide = np.argsort(np.diff(start), kind="stable")[::-1][:_GAPS] if len(start) > 1 else np.empty(0, np.intp)
    gaps = [(end, int(np.iinfo(np.int64).max))]
    gaps += [(int(start[gap]), int(start[gap + 1])) for gap in wide.tolist()]
    for low, high in gaps:
        for thread in trace.threads_of(process):
            for track in trace.tracks_of(thread.index):
                rows = ranges_of(trace, track.index)
                if found := _repeats_without(trace, rows, start, low, high):
                    return _goes_on(trace, process, low, high, *found)
    return None


def _repeats_without(
    trace: Trace, rows: Indices, calls: Int64, low: int, high: int
) -> tuple[str, int] | None:
    """Return the name of a range that lies in [low, high) without calls and held some before, and how often.

    `calls` are the starts of the process's calls, sorted; none lies inside [low, high).
    """
    nvtx = trace.nvtx
    # An open range ends with the session by our own hand: it says nothing of what ran.
    rows = rows[nvtx.columns["is_open"][rows] == 0] if len(rows) else rows
    inside = (nvtx.start_ns[rows] > low) & (nvtx.end_ns[rows] < high)
    if int(inside.sum()) < _LEAST_WITHOUT:
        return None
    used, code = np.unique(nvtx.name_id[rows], return_inverse=True)
    texts: dict[str, int] = {}
    kind_of_name = np.array(
        [texts.setdefault(normalise_numbers(t), len(texts)) for t in trace.names.take(used)]
    )
    kind = kind_of_name[code.reshape(-1)]
    # Any thread's calls count: a range may wait for a worker that launches.
    holds_calls = np.searchsorted(calls, nvtx.end_ns[rows]) > np.searchsorted(calls, nvtx.start_ns[rows])
    in_gap = np.bincount(kind[inside], minlength=len(texts))
    outside = np.bincount(kind[~inside], minlength=len(texts))
    with_calls = np.bincount(kind[~inside & holds_calls], minlength=len(texts))
    goes_on = (in_gap >= _LEAST_WITHOUT) & (outside >= _LEAST_BEFORE) & (with_calls >= _WITH_CALLS * outside)
    # A loop that has nothing to do turns faster: only ranges as long as before show that work went on.
    length = nvtx.end_ns[rows] - nvtx.start_ns[rows]
    for number in np.flatnonzero(goes_on).tolist():
        before, without = (float(np.median(length[(kind == number) & m])) for m in (~inside, inside))
        goes_on[number] = before <= _AS_LONG * without and without <= _AS_LONG * before
    if not goes_on.any():
        return None
    # The one that goes on most often is the clearest evidence.
    most = int(np.where(goes_on, in_gap, 0).argmax())
    return list(texts)[most], int(in_gap[most])


def _goes_on(trace: Trace, process: int, low: int, high: int, name: str, times: int) -> Diagnostic:
    where = trace.process_label(process)
    until = "to the end" if high == np.iinfo(np.int64).max else f"to {high / 1e9:,.3f} s"
    return Diagnostic(
        "stopped-calls",
        "error",
        f"{where}: its CUDA calls stop at {low / 1e9:,.3f} s, but its range “{name}” goes on {times:,} times",
        f"CUDA events of {where} were lost while recording, from {low / 1e9:,.3f} s {until}: its lanes are "
        "empty there because rows are missing, not because it was idle. Its idle time is an upper bound; its "
        "parts, and what compares ranks, are wrong.",
        where,
        next((g.index for g in trace.gpus_of(process)), None),
        time_ns=low,
        process=process,
    )
