"""What an operation that was long queued waited for, where the host said so: an event (section 7)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.launches.attribution import Indices
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

STREAM_WAITS = frozenset({"cudaStreamWaitEvent", "cudaStreamWaitEvent_ptsz", "cuStreamWaitEvent"})
_NONE = np.empty(0, np.int64)


def event_waits(launches: Launches, gpu: int, kind: Indices, index: Indices) -> Indices:
    """Return the last call that made each operation's stream wait for an event, before it was launched.

    Parameters
    ----------
    kind, index : ndarray of int64, shape (operations,)
        Operations of one GPU: positions in `GPU_KINDS`, rows there.

    Returns
    -------
    ndarray of int64, shape (operations,)
        Indices into ``trace.api``; -1 where no such call stands between the launch of the operation and that
        of the one before it in its stream, or where none was recorded.
    """
    trace, out = launches.trace, np.full(len(kind), -1, np.int64)
    waits, api = trace.events[Kind.SYNC], trace.api
    if not len(kind) or not len(waits) or not len(api):
        return out
    own, calls = _stream_waits(trace, trace.gpus[gpu].process)
    for stream in trace.streams_of(gpu):
        here = waits.columns["stream_id"][own] == stream.stream_id
        here &= waits.columns["context"][own] == stream.context
        held, launched = calls[here], _launches(launches, stream.index)
        if not len(held) or not len(launched):
            continue
        held = held[np.argsort(api.start_ns[held], kind="stable")]
        for position, one in enumerate(GPU_KINDS):
            rows = trace.events[one].of(stream.index)
            mine = np.flatnonzero((kind == position) & (index >= rows.start) & (index < rows.stop))
            launch = launches.api_of(one)[index[mine]]
            mine, start = mine[launch >= 0], api.start_ns[launch[launch >= 0]]
            before = np.searchsorted(launched, start, side="left") - 1
            since = np.where(before >= 0, launched[np.maximum(before, 0)], np.iinfo(np.int64).min)
            last = np.searchsorted(api.start_ns[held], start, side="left") - 1
            known = (last >= 0) & (api.start_ns[held[np.maximum(last, 0)]] > since)
            out[mine[known]] = held[last[known]]
    return out


def _stream_waits(trace: Trace, process: int) -> tuple[Indices, Indices]:
    """Return a process's stream waits that have a call: rows of the synchronisations, and of the calls."""
    waits, api = trace.events[Kind.SYNC], trace.api
    calls = api.rows_of([t.index for t in trace.threads_of(process)]).astype(np.int64)
    names = [i for i in np.unique(api.name_id[calls]).tolist() if trace.names[i] in STREAM_WAITS]
    calls = calls[np.isin(api.name_id[calls], names)]
    calls = calls[np.argsort(api.columns["correlation"][calls], kind="stable")]
    ids, held = api.columns["correlation"][calls], waits.of(process)
    if not len(ids):
        return _NONE, _NONE
    wanted = waits.columns["correlation"][held]
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    known = (ids[at] == wanted) & (wanted != 0)
    return held.start + np.flatnonzero(known), calls[at[known]]


def _launches(launches: Launches, stream: int) -> Int64:
    """Return when what a stream holds was launched, sorted."""
    found = []
    for kind in GPU_KINDS:
        calls = launches.api_of(kind)[launches.trace.events[kind].of(stream)]
        found.append(launches.trace.api.start_ns[calls[calls >= 0]])
    return np.sort(np.concatenate(found))
