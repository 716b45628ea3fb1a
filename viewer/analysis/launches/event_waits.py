"""Event waits: the calls that made a stream wait for an event (docs/definitions.md, section 7)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.launches.attribution import Indices
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

STREAM_WAITS = frozenset({"cudaStreamWaitEvent", "cudaStreamWaitEvent_ptsz", "cuStreamWaitEvent"})
_NONE = np.empty(0, np.int64)


def event_waits(launches: Launches, gpu: int, kind: Indices, index: Indices) -> Indices:
    """Return for each operation the last call before its launch that made its stream wait for an event.

    Parameters
    ----------
    kind, index : ndarray of int64, shape (operations,)
        Operations of the GPU: positions in `GPU_KINDS`, and indices into the events of that kind.

    Returns
    -------
    ndarray of int64, shape (operations,)
        Indices into ``trace.api``; -1 where no such call stands between the launch of the operation before it
        in its stream and its own, or where none was recorded.
    """
    trace, wait_of = launches.trace, np.full(len(kind), -1, np.int64)
    waits, api = trace.events[Kind.SYNC], trace.api
    if not len(kind) or not len(waits) or not len(api):
        return wait_of
    own, calls = _stream_waits(trace, trace.gpus[gpu].process)
    for stream in trace.streams_of(gpu):
        # Stream ids repeat over the contexts of a process.
        is_here = waits.columns["stream_id"][own] == stream.stream_id
        is_here &= waits.columns["context"][own] == stream.context
        waiting, launched = calls[is_here], _launches(launches, stream.index)
        if not len(waiting) or not len(launched):
            continue
        # They come by correlation id, which counts the calls of all threads; the search below needs them by
        # time.
        waiting = waiting[np.argsort(api.start_ns[waiting], kind="stable")]
        wait_start = api.start_ns[waiting]
        for position, gpu_kind in enumerate(GPU_KINDS):
            rows = trace.events[gpu_kind].of(stream.index)
            asked = np.flatnonzero((kind == position) & (index >= rows.start) & (index < rows.stop))
            launch = launches.api_of(gpu_kind)[index[asked]]
            asked, start = asked[launch >= 0], api.start_ns[launch[launch >= 0]]
            # Both lists are sorted: the launch before this one in the stream (from the beginning of time
            # without one), and the last wait before this one. It counts if it came after that launch.
            before = np.searchsorted(launched, start, side="left") - 1
            since = np.where(before >= 0, launched[np.maximum(before, 0)], np.iinfo(np.int64).min)
            last = np.searchsorted(wait_start, start, side="left") - 1
            counts = (last >= 0) & (wait_start[np.maximum(last, 0)] > since)
            wait_of[asked[counts]] = waiting[last[counts]]
    return wait_of


def _stream_waits(trace: Trace, process: int) -> tuple[Indices, Indices]:
    """Return the stream waits of a process that have a call: indices into its synchronisations and calls.

    Shape (n,) each: the synchronisation tells the stream, its call the time.
    """
    waits, api = trace.events[Kind.SYNC], trace.api
    calls = api.rows_of([t.index for t in trace.threads_of(process)]).astype(np.int64)
    names = [i for i in np.unique(api.name_id[calls]).tolist() if trace.names[i] in STREAM_WAITS]
    # By name: syncType has other codes from one exporter to the next, the name of the call never changes.
    calls = calls[np.isin(api.name_id[calls], names)]
    calls = calls[np.argsort(api.columns["correlation"][calls], kind="stable")]
    ids, of_process = api.columns["correlation"][calls], waits.of(process)
    if not len(ids):
        return _NONE, _NONE
    wanted = waits.columns["correlation"][of_process]
    # The clamp keeps the position valid beyond the last id; the comparison below then finds no match.
    nearest = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    has_call = (ids[nearest] == wanted) & (wanted != 0)
    return of_process.start + np.flatnonzero(has_call), calls[nearest[has_call]]


def _launches(launches: Launches, stream: int) -> Int64:
    """Return when the operations of a stream were launched, sorted, shape (n,), ns."""
    starts = []
    for kind in GPU_KINDS:
        calls = launches.api_of(kind)[launches.trace.events[kind].of(stream)]
        starts.append(launches.trace.api.start_ns[calls[calls >= 0]])
    return np.sort(np.concatenate(starts))
