"""The synchronisations that the file lists, each with its API call and its stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.dependencies.graph import Mask, Rows
from viewer.analysis.launches.blocking_calls import plain_call
from viewer.trace import Kind, Trace
from viewer.trace.events import AnyArray

STREAM_WAITS = frozenset({"cudaStreamWaitEvent", "cuStreamWaitEvent"})
STREAM_SYNCS = frozenset({"cudaStreamSynchronize", "cuStreamSynchronize"})
DEVICE_SYNCS = frozenset({"cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize"})
EVENT_SYNCS = frozenset({"cudaEventSynchronize", "cuEventSynchronize"})


def calls_named(trace: Trace, names: frozenset[str]) -> Rows:
    """Return the API calls with one of some names in any spelling: indices into `Trace.api`, increasing."""
    used = np.unique(trace.api.name_id)
    wanted = np.zeros(len(trace.names), bool)
    wanted[used] = [plain_call(name) in names for name in trace.names.take(used)]
    return np.flatnonzero(wanted[trace.api.name_id]).astype(np.int32)


def processes_of(trace: Trace, calls: Rows) -> Rows:
    """Return the process of each of some API calls."""
    thread = np.searchsorted(trace.api.offsets, calls, side="right") - 1
    return np.array([t.process for t in trace.threads], np.int32)[thread] if len(calls) else calls


class CallsById:
    """Some API calls, to be found by process and correlation id; the innermost where several share them."""

    def __init__(self, trace: Trace, calls: Rows) -> None:
        keys = (
            _keys(processes_of(trace, calls), trace.api.columns["correlation"][calls])
            if len(calls)
            else calls
        )
        # Increasing indices are increasing starts within a thread: the last of equal keys is the innermost.
        order = np.argsort(keys, kind="stable")
        self._keys, self._calls = keys[order], calls[order]

    def find(self, process: AnyArray, correlation: AnyArray) -> Rows:
        """Return the call of each (process, correlation id), -1 where there is none."""
        wanted = _keys(process, correlation)
        if not len(self._keys):
            return np.full(len(wanted), -1, np.int32)
        nearest = np.searchsorted(self._keys, wanted, side="right") - 1
        found = (nearest >= 0) & (self._keys[nearest] == wanted) & (np.asarray(correlation) != 0)
        return np.where(found, self._calls[nearest], np.int32(-1))


class StreamsById:
    """The streams of a trace, to be found by process, context and stream id."""

    def __init__(self, trace: Trace) -> None:
        self._of: dict[int, tuple[AnyArray, AnyArray]] = {}
        for process in trace.processes:
            streams = [s for gpu in trace.gpus_of(process.index) for s in trace.streams_of(gpu.index)]
            keys = _keys(
                np.array([s.context for s in streams], np.int64),
                np.array([s.stream_id for s in streams], np.int64),
            )
            order = np.argsort(keys)
            self._of[process.index] = keys[order], np.array([s.index for s in streams], np.int32)[order]

    def find(self, process: Rows, context: AnyArray, stream_id: AnyArray) -> Rows:
        """Return the stream of each (process, context, stream id), -1 where no operation was on it."""
        found = np.full(len(process), -1, np.int32)
        wanted = _keys(context, stream_id)
        for number in np.unique(process).tolist():
            rows, (keys, streams) = process == number, self._of[number]
            if len(keys):
                nearest = np.minimum(np.searchsorted(keys, wanted[rows]), len(keys) - 1)
                found[rows] = np.where(keys[nearest] == wanted[rows], streams[nearest], np.int32(-1))
        return found


def _keys(high: AnyArray, low: AnyArray) -> AnyArray:
    """Return two numbers below 2^32 as one."""
    return np.asarray(high).astype(np.uint64) << np.uint64(32) | np.asarray(low).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class SyncCalls:
    """The rows of `Kind.SYNC` whose call has one of some names.

    Attributes
    ----------
    row : ndarray of int64, shape (n,)
        Indices into the events of `Kind.SYNC`.
    call : ndarray of int32, shape (n,)
        Indices into `Trace.api`.
    process : ndarray of int32, shape (n,)
    """

    row: Rows
    call: Rows
    process: Rows

    def __len__(self) -> int:
        return len(self.row)


def sync_calls(trace: Trace, calls: Rows) -> SyncCalls:
    """Return the synchronisations by some calls; the type in the file is not to be trusted."""
    syncs = trace.events[Kind.SYNC]
    if not len(syncs) or not len(calls):
        none = np.empty(0, np.int32)
        return SyncCalls(none, none, none)
    process = syncs.owners()
    call = CallsById(trace, calls).find(process, syncs.columns["correlation"])
    found: Mask = call >= 0
    row = np.flatnonzero(found).astype(np.int32)
    return SyncCalls(row, call[row], process[row])
