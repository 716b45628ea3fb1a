"""The calls that record events, and those that wait for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.dependencies.graph import Mask, Rows
from viewer.analysis.dependencies.polling import EVENT_QUERIES, STREAM_QUERIES, polling_runs
from viewer.analysis.dependencies.sync_calls import (
    DEVICE_SYNCS,
    EVENT_SYNCS,
    STREAM_SYNCS,
    STREAM_WAITS,
    CallsById,
    StreamsById,
    calls_named,
    processes_of,
    sync_calls,
)
from viewer.trace import Kind, Trace
from viewer.trace.events import AnyArray, Int64

RECORDS = frozenset(
    {"cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags"}
)
_OPENS = frozenset({"cudaIpcOpenEventHandle", "cuIpcOpenEventHandle"})
NO_ID = 0xFFFFFFFF
_NO_SYNC_IDS = np.array([0, 0xFFFFFFFF, 2**64 - 1], np.uint64)


@dataclass(frozen=True, eq=False)
class EventCalls:
    """Calls that record events, or wait for them.

    Attributes
    ----------
    call : ndarray of int32, shape (n,)
        Indices into `Trace.api`; -1 where it is not recorded, which leaves a call without a time.
    lane : ndarray of int32, shape (n,)
        The stream on which an event is recorded, or that waits: an index into `Trace.streams`, or a number
        from ``len(Trace.streams)`` on for those on which no operation was recorded. -1: a thread waits, or
        the stream is not known.
    process : ndarray of int32, shape (n,)
    context, event_id : ndarray of uint32, shape (n,)
    sync_id : ndarray of uint64, shape (n,)
        0 where there is none.
    start_ns, end_ns : ndarray of int64, shape (n,)
        Those of the call.
    thread : ndarray of int32, shape (n,)
    """

    call: Rows
    lane: Rows
    process: Rows
    context: AnyArray
    event_id: AnyArray
    sync_id: AnyArray
    start_ns: Int64
    end_ns: Int64
    thread: Rows

    def __len__(self) -> int:
        return len(self.call)

    def take(self, rows: AnyArray) -> EventCalls:
        """Return some of the calls, by index or by mask."""
        return EventCalls(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class EventUse:
    """How a trace uses events.

    Attributes
    ----------
    records, waits, syncs : EventCalls
        The records, the waits of streams and the waits of threads (``cudaEventSynchronize``).
    stream_syncs, device_syncs : EventCalls
        The calls of threads that wait for a stream (its lane is that one) or for a device.
    is_query : ndarray of bool, shape (stream_syncs,)
        Whether it is the last of a run of queries.
    lanes : int
        How many lanes there are.
    is_complete : ndarray of bool, shape (processes,)
        Whether every call that records an event has its row.
    has_foreign : ndarray of bool, shape (processes,)
        Whether it opened events of other processes, whose records are not its own.
    has_sync_ids : ndarray of bool, shape (processes,)
        Whether a row of the process joins records and waits.
    """

    records: EventCalls
    waits: EventCalls
    syncs: EventCalls
    stream_syncs: EventCalls
    device_syncs: EventCalls
    is_query: Mask
    lanes: int
    is_complete: Mask
    has_foreign: Mask
    has_sync_ids: Mask


def find_event_use(trace: Trace) -> EventUse:
    """Return the calls that record events, and those that wait for them."""
    rows = trace.event_records
    recording = calls_named(trace, RECORDS)
    call = CallsById(trace, recording).find(rows.process, rows.correlation)
    columns = (rows.context, rows.stream_id, rows.event_id, rows.sync_id)
    of_records = (call, rows.process, *columns)
    # The last query of a run that asks for an event returns when it has come, as a synchronisation does.
    polled = polling_runs(trace, EVENT_QUERIES)[1]
    of_waits = _waiting(trace, calls_named(trace, STREAM_WAITS))
    of_syncs = _waiting(trace, np.union1d(calls_named(trace, EVENT_SYNCS), polled).astype(np.int32))
    asked = polling_runs(trace, STREAM_QUERIES)[1]
    of_streams = _waiting(trace, np.union1d(calls_named(trace, STREAM_SYNCS), asked).astype(np.int32))
    of_devices = _waiting(trace, calls_named(trace, DEVICE_SYNCS))
    process, context, stream_id = (
        np.concatenate([of_records[column], of_waits[column], of_streams[column]]) for column in (1, 2, 3)
    )
    lane = _lanes(trace, process, context, stream_id)
    parts = np.split(lane, np.cumsum([len(call), len(of_waits[0])]))
    records, waits, stream_syncs = (
        _event_calls(trace, own, *columns)
        for own, columns in zip(parts, (of_records, of_waits, of_streams), strict=True)
    )
    device_syncs = _event_calls(trace, np.full(len(of_devices[0]), -1, np.int32), *of_devices)
    syncs = _event_calls(trace, np.full(len(of_syncs[0]), -1, np.int32), *of_syncs)
    is_complete = np.ones(len(trace.processes), bool)
    is_complete[processes_of(trace, _without_row(trace, recording, call))] = False
    has_foreign = np.zeros(len(trace.processes), bool)
    has_foreign[processes_of(trace, calls_named(trace, _OPENS))] = True
    has_sync_ids = np.zeros(len(trace.processes), bool)
    for calls in (records, waits, syncs):
        has_sync_ids[calls.process[calls.sync_id != 0]] = True
    lanes = int(max(lane.max(initial=-1) + 1, len(trace.streams)))
    return EventUse(
        records, waits, syncs, stream_syncs, device_syncs, np.isin(stream_syncs.call, asked), lanes,
        is_complete, has_foreign, has_sync_ids,
    )  # fmt: skip


_Columns = tuple[Rows, Rows, AnyArray, AnyArray, AnyArray, AnyArray]
"""Call, process, context, stream id, event id and sync id."""


def _waiting(trace: Trace, every: Rows) -> _Columns:
    """Return some calls with what they wait for, those too for which the file has no synchronisation."""
    found, syncs = sync_calls(trace, every), trace.events[Kind.SYNC]
    # A call that has two rows waits once.
    call, first = np.unique(found.call, return_index=True)
    row, process = found.row[first], found.process[first]
    lost = _without_row(trace, every, call)
    none = np.full(len(lost), NO_ID, np.uint32)
    columns = [
        syncs.columns[name][row] if len(row) else np.empty(0, np.uint32)
        for name in ("context", "stream_id", "event_id", "sync_id")
    ]
    context, stream_id, event_id = (np.concatenate((column, none)) for column in columns[:3])
    return (
        np.concatenate((call, lost)),
        np.concatenate((process, processes_of(trace, lost))),
        context,
        stream_id,
        event_id,
        np.concatenate((columns[3].astype(np.uint64), np.zeros(len(lost), np.uint64))),
    )


def _event_calls(
    trace: Trace,
    lane: Rows,
    call: Rows,
    process: Rows,
    context: AnyArray,
    _: AnyArray,
    event_id: AnyArray,
    sync_id: AnyArray,
) -> EventCalls:
    api = trace.api
    # A call that is not recorded reads the last one here; whoever needs a time asks for the call first.
    start, end = (
        times[call] if len(api) else np.zeros(len(call), np.int64) for times in (api.start_ns, api.end_ns)
    )
    thread = np.searchsorted(api.offsets, call, side="right") - 1
    sync_id = np.where(np.isin(sync_id, _NO_SYNC_IDS), np.uint64(0), sync_id)
    return EventCalls(call, lane, process, context, event_id, sync_id, start, end, thread.astype(np.int32))


def _lanes(trace: Trace, process: Rows, context: AnyArray, stream_id: AnyArray) -> Rows:
    """Return the lane of each (process, context, stream id), see `EventCalls`."""
    lane = StreamsById(trace).find(process, context, stream_id)
    others = np.flatnonzero((lane < 0) & (stream_id != NO_ID))
    keys = np.stack([column[others].astype(np.int64) for column in (process, context, stream_id)], axis=1)
    _, numbers = np.unique(keys, axis=0, return_inverse=True)
    lane[others] = len(trace.streams) + numbers.reshape(-1)
    return lane


def _without_row(trace: Trace, calls: Rows, with_row: Rows) -> Rows:
    """Return those of some calls that have no row, and are neither around nor inside one that has.

    A call of the runtime may show that of the driver that it makes; both are one, and have one row.
    """
    if not len(calls):
        return calls
    api, has_row = trace.api, np.isin(calls, with_row)
    thread = np.searchsorted(api.offsets, calls, side="right") - 1
    # By thread and start: one lies inside another if it begins before an earlier one of its thread ends.
    reach = api.end_ns[calls].copy()
    for rows in np.split(np.arange(len(calls)), np.flatnonzero(np.diff(thread)) + 1):
        reach[rows] = np.maximum.accumulate(reach[rows])
    is_outer = np.ones(len(calls), bool)
    is_outer[1:] = (thread[1:] != thread[:-1]) | (api.start_ns[calls[1:]] >= reach[:-1])
    outer = np.cumsum(is_outer) - 1
    has_any = np.zeros(int(outer[-1]) + 1, bool)
    has_any[outer[has_row]] = True
    return np.asarray(calls[is_outer & ~has_any[outer]])
