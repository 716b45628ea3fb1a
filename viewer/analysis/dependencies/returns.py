"""The operations that blocking calls wait for before they return."""

from __future__ import annotations

import numpy as np

from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade, Operations, Rows
from viewer.analysis.dependencies.polling import STREAM_QUERIES, polling_runs
from viewer.analysis.dependencies.stream_order import StreamOrder
from viewer.analysis.dependencies.sync_calls import (
    DEVICE_SYNCS,
    STREAM_SYNCS,
    StreamsById,
    calls_named,
    sync_calls,
)
from viewer.analysis.launches.blocking_calls import blocking_calls
from viewer.analysis.launches.launches import Launches
from viewer.trace import Kind, Trace

Pairs = tuple[Rows, Rows]
"""Calls and the operations that they wait for."""


def return_edges(launches: Launches, operations: Operations, order: StreamOrder) -> Edges:
    """Return the edges to calls that wait for a stream, for a device, or for what they copied.

    A call waits for the last operation that was launched before it on each stream concerned; those before
    that one are implied by the stream. What a call before it had waited for already is left out where all of
    a device is waited for: it had ended when the call was made. What a stream's waits for events stand for
    is found with these (`pending_returns`).
    """
    trace = launches.trace
    pairs = (
        _of_streams(trace, order),
        _of_devices(trace, order),
        _of_copies(launches, operations),
    )
    target, source = (np.concatenate(column) for column in zip(*pairs, strict=True))
    grade = np.full(len(target), Grade.PROVEN, np.uint8)
    return Edges.of_columns(target, source, EdgeKind.RETURN, grade)


def _of_streams(trace: Trace, order: StreamOrder) -> Pairs:
    polled = polling_runs(trace, STREAM_QUERIES)[1]
    calls = np.union1d(calls_named(trace, STREAM_SYNCS), polled).astype(np.int32)
    syncs, found = trace.events[Kind.SYNC], sync_calls(trace, calls)
    if not len(found):
        return found.call, found.call
    context, stream_id = (syncs.columns[name][found.row] for name in ("context", "stream_id"))
    stream = StreamsById(trace).find(found.process, context, stream_id)
    place = order.last_before(stream, trace.api.start_ns[found.call])
    has_work = place >= 0
    return found.call[has_work], order.order[place[has_work]]


def _of_devices(trace: Trace, order: StreamOrder) -> Pairs:
    syncs, found = trace.events[Kind.SYNC], sync_calls(trace, calls_named(trace, DEVICE_SYNCS))
    calls, sources = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for stream in trace.streams if len(found) else ():
        of_stream = slice(*order.offsets[stream.index : stream.index + 2])
        own = found.process == trace.gpus[stream.gpu].process
        own &= syncs.columns["context"][found.row] == stream.context
        waiting = found.call[own]
        waiting = waiting[np.argsort(trace.api.start_ns[waiting], kind="stable")]
        # The first call after each launch: an operation is waited for where the next one of its stream was
        # launched after another call, or not at all.
        after = np.searchsorted(trace.api.start_ns[waiting], order.launched_ns[of_stream], side="right")
        is_last = (
            np.append(after[1:] != after[:-1], True) & (after < len(waiting)) if len(after) else after > 0
        )
        calls.append(waiting[after[is_last]])
        sources.append(order.order[of_stream][is_last])
    return np.concatenate(calls), np.concatenate(sources)


def _of_copies(launches: Launches, operations: Operations) -> Pairs:
    """Return the blocking calls that copy, and their copies; those that were over when the call returned."""
    target = operations.call
    is_waited = target >= 0
    is_waited[is_waited] = blocking_calls(launches)[target[is_waited]]
    # Of a copy to the device the driver may have taken the bytes and returned: then nothing was waited for.
    source = np.flatnonzero(is_waited)
    source = source[operations.end_ns[source] <= launches.trace.api.end_ns[target[source]]]
    return target[source], source.astype(np.int32)
