"""Finds rows that were lost: launches without work on a GPU.

See docs/definitions.md, section 10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.launches.attribution import Indices, Mask
from viewer.analysis.launches.launches import Launches
from viewer.analysis.recording.clocks import Clock
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

LOST_SHARE, LOST_LEAST = 0.005, 3
"""Launches without rows that are a loss: from this share of them on, and at least so many."""
_MAIN_STREAM = 0.05
"""A stream with this share of a process's launches has work queued to the end."""
_AFTER_THE_ROWS_NS = 20_000_000
"""How long after a GPU's last row calls may go on where a recording ends."""

_LAUNCHES = re.compile(r"cu(da)?Launch(?!HostFunc)")
_BEGIN_CAPTURE, _END_CAPTURE = "StreamBeginCapture", "StreamEndCapture"


def lost_rows(launches: Launches, clocks: Sequence[Clock]) -> Iterator[Diagnostic]:
    """Yield the processes of which rows were lost, and those whose last launches had not run yet.

    `clocks` has one per GPU: a shifted one is set right before its times are compared with the calls'.
    """
    trace = launches.trace
    if not any(len(trace.events[kind]) for kind in GPU_KINDS):
        return
    launching, begins, ends = _masks(trace)
    for process in trace.processes:
        calls = calls_of(trace, process.index)
        if not len(calls):
            continue
        launched = _Launched.of(launches, clocks, process.index, calls, launching, begins, ends)
        yield from _lost(trace, process.index, launched)


@dataclass(frozen=True)
class _Launched:
    """The kernel launches of a process that ought to have run.

    Attributes
    ----------
    start_ns : ndarray of int64, shape (launches,)
        When they were called, in order of time.
    has_row : ndarray of bool, shape (launches,)
    is_cut : ndarray of bool, shape (launches,)
        Those that were still queued when the recording of the GPU ended.
    """

    start_ns: Int64
    has_row: Mask
    is_cut: Mask

    @classmethod
    def of(
        cls,
        launches: Launches,
        clocks: Sequence[Clock],
        process: int,
        calls: Indices,
        launching: Mask,
        begins: Mask,
        ends: Mask,
    ) -> _Launched:
        trace, api = launches.trace, launches.trace.api
        rows = calls[launching[api.name_id[calls]]]
        recorded = np.zeros(len(rows), bool)
        for kind in GPU_KINDS:
            ids = [
                np.asarray(trace.events[kind].columns["correlation"][rows_of_gpu(trace, kind, gpu.index)])
                for gpu in trace.gpus_of(process)
                if len(trace.events[kind])
            ]
            for of_gpu in ids:
                # By id, not by time: which operation a call launched does not depend on any clock.
                recorded |= np.isin(api.columns["correlation"][rows], of_gpu)
        # A launch that failed ran nothing: its missing row is no loss. Only those are looked up in the file.
        counts = recorded.copy()
        counts[~recorded] = _succeeded(trace, rows[~recorded])
        rows, recorded = rows[counts], recorded[counts]
        start, has_row = _outer(trace, rows, recorded)
        # Some launches during a capture do run, into another stream: their rows are proof.
        captured = _captured(trace, calls, begins, ends, start) & ~has_row
        start, has_row = start[~captured], has_row[~captured]
        order = np.argsort(start, kind="stable")
        start, has_row = start[order], has_row[order]
        return cls(start, has_row, _cut(launches, clocks, process, start) & ~has_row)


def _masks(trace: Trace) -> tuple[Mask, Mask, Mask]:
    """Return which names launch kernels, begin and end the capture of a graph, shape (names,) each."""
    used = np.flatnonzero(np.bincount(trace.api.name_id, minlength=len(trace.names)))
    launching, begins, ends = (np.zeros(len(trace.names), bool) for _ in range(3))
    texts = trace.names.take(used)
    launching[used] = [bool(_LAUNCHES.match(text)) for text in texts]
    begins[used] = [_BEGIN_CAPTURE in text for text in texts]
    ends[used] = [_END_CAPTURE in text for text in texts]
    return launching, begins, ends


def calls_of(trace: Trace, process: int) -> Indices:
    """Return the API calls of a process, thread by thread in order of time."""
    return trace.api.rows_of([t.index for t in trace.threads_of(process)]).astype(np.int64)


def _succeeded(trace: Trace, rows: Indices) -> Mask:
    """Return which calls did not fail, all where the file does not tell."""
    if trace.source is None or not len(rows):
        return np.ones(len(rows), bool)
    returned = trace.source.column(Kind.API, "returnValue", trace.api.columns["file_row"][rows])
    return np.ones(len(rows), bool) if returned is None else returned == 0


def _outer(trace: Trace, rows: Indices, recorded: Mask) -> tuple[Int64, Mask]:
    """Return the start of each launch and whether it has a row; of nested calls one at least has to have it.

    The runtime's launch calls the driver's: both may be recorded, under ids of their own.
    """
    api = trace.api
    if not len(rows):
        return np.empty(0, np.int64), np.empty(0, bool)
    thread = np.searchsorted(api.offsets, rows, side="right")
    start, end = api.start_ns[rows], api.end_ns[rows]
    # Sorted by (thread, start, -end): a call that begins after all earlier ones of its thread have ended is
    # an outer one. A thread's first call is one too, whatever ran on the thread before it in the table.
    first_of_thread = np.concatenate(([True], thread[1:] != thread[:-1]))
    # Moves each thread behind the one before by more than any time: one running maximum serves them all.
    shift = np.cumsum(first_of_thread) * (int(end.max()) - int(start.min()) + 1)
    latest = np.maximum.accumulate(end + shift)
    is_outer = np.concatenate(([True], (start + shift)[1:] >= latest[:-1]))
    first = np.flatnonzero(is_outer)
    return start[first], np.logical_or.reduceat(recorded, first)


def _captured(trace: Trace, calls: Indices, begins: Mask, ends: Mask, times: Int64) -> Mask:
    """Return which times lie in the capture of a CUDA graph: what is launched there does not run.

    Other threads may launch into the capture, such as that of the backward pass.
    """
    api = trace.api
    names = api.name_id[calls]
    edges = np.concatenate([api.start_ns[calls[begins[names]]], api.end_ns[calls[ends[names]]]])
    steps = np.repeat([1, -1], [int(begins[names].sum()), int(ends[names].sum())])
    if not len(edges):
        return np.zeros(len(times), bool)
    order = np.argsort(edges, kind="stable")
    depth = np.cumsum(steps[order])
    # A capture that began before the recording ends in it: the depth never falls below what it then was.
    depth = depth - min(int(depth.min()), 0)
    before = -min(int(np.cumsum(steps[order]).min()), 0)
    # The depth after the last edge before each time; before the first edge it is what it then was.
    position = np.searchsorted(edges[order], times, side="right") - 1
    return np.asarray(np.where(position >= 0, depth[np.maximum(position, 0)], before) > 0)


def _cut(launches: Launches, clocks: Sequence[Clock], process: int, start: Int64) -> Mask:
    """Return which launches may still have been queued when the recording of the GPU ended.

    They were called after the last launch that ran on one of the streams that the process mainly uses, no
    longer before the end of the GPU's rows than an operation waited in the queue at most.
    """
    trace = launches.trace
    last, latency, end = [], 0, None
    count = sum(len(rows_of_gpu(trace, Kind.KERNEL, gpu.index)) for gpu in trace.gpus_of(process))
    kernels, call_of = trace.kernels, launches.api_of(Kind.KERNEL)
    for gpu in trace.gpus_of(process):
        offset = clocks[gpu.index].offset_ns
        for stream in trace.streams_of(gpu.index):
            rows = np.arange(kernels.offsets[stream.index], kernels.offsets[stream.index + 1])
            known = rows[call_of[rows] >= 0]
            if not len(known):
                continue
            called = trace.api.start_ns[call_of[known]]
            latency = max(latency, int((kernels.start_ns[known] + offset - called).max()))
            # The offset brings the GPU's clock to the CPU's, on which the calls are.
            end = max(end or 0, int(kernels.end_ns[known].max()) + offset)
            # A stream that was used once at the start ended long ago: its last launch would make everything
            # after it seem queued.
            if len(known) >= _MAIN_STREAM * count:
                last.append(int(called.max()))
    if end is None or not last:
        return np.zeros(len(start), bool)
    return np.asarray((start > min(last)) & (start >= end - latency) & (start <= end + _AFTER_THE_ROWS_NS))


def _lost(trace: Trace, process: int, launched: _Launched) -> Iterator[Diagnostic]:
    where = trace.process_label(process)
    expected = ~launched.is_cut
    missing = launched.start_ns[expected & ~launched.has_row]
    count, cut = int(expected.sum()), int(launched.is_cut.sum())
    if len(missing) >= LOST_LEAST and len(missing) >= LOST_SHARE * count:
        with_row = count - len(missing)
        since = f"from {missing[0] / 1e9:,.3f} to {missing[-1] / 1e9:,.3f} s"
        yield Diagnostic(
            "lost-rows",
            "error",
            f"{where}: {count:,} kernel launches, but kernels for {with_row:,} of them "
            f"({_percent(with_row / count)} %)",
            f"GPU events of {where} were lost while recording, {since}: its lanes have holes because rows "
            "are missing, not because it was idle. Its idle time is an upper bound; its parts, and what "
            "compares ranks, are wrong.",
            where,
            next((g.index for g in trace.gpus_of(process)), None),
            time_ns=int(missing[0]),
            process=process,
        )
    if cut >= LOST_LEAST and cut >= LOST_SHARE * len(launched.start_ns):
        yield Diagnostic(
            "cut-at-end",
            "info",
            f"{where}: its last {cut:,} kernel launches had not run when the recording ended",
            "They were still queued: nothing is missing before the end.",
            where,
            time_ns=int(launched.start_ns[launched.is_cut][0]),
        )


def _percent(share: float) -> str:
    """Return a share in percent, never rounded up to 100."""
    return f"{min(100 * share, 99.9):.1f}"
