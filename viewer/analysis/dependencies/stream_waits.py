"""The waits of streams and threads for events: what they wait for, and the edges that follow."""

from __future__ import annotations

import numpy as np

from viewer.analysis.dependencies.event_calls import EventCalls, EventUse, find_event_use
from viewer.analysis.dependencies.event_producers import Producers, find_producers
from viewer.analysis.dependencies.graph import Codes, EdgeKind, Edges, Operations, StreamWaits
from viewer.analysis.dependencies.pending_waits import pending_returns
from viewer.analysis.dependencies.stream_order import StreamOrder
from viewer.trace import Trace


def find_stream_waits(
    trace: Trace, operations: Operations, order: StreamOrder
) -> tuple[StreamWaits, Edges, Edges]:
    """Return the waits of streams, the edges to operations, and those to calls that wait for events.

    The latter wait for an event themselves, or for a stream that does.
    """
    use = find_event_use(trace)
    waits = _in_order(use)
    producers, gap, gap_grade = find_producers(use, waits, operations, order, trace.api)
    streams = len(use.waits)
    # Those of streams come first, then those of threads: one search parts the pairs.
    stop = int(np.searchsorted(producers.wait, streams))
    lane = waits.lane[:streams]
    is_stream = (lane >= 0) & (lane < len(trace.streams))
    target = np.full(streams, -1, np.int32)
    known = np.flatnonzero(is_stream)
    following = np.where(gap[known] >= 0, gap[known] + 1, order.offsets[lane[known]])
    has_next = following < order.offsets[lane[known] + 1]
    target[known[has_next]] = order.order[following[has_next]]
    offsets = np.searchsorted(producers.wait[:stop], np.arange(streams + 1)).astype(np.int64)
    found = StreamWaits(
        waits.call[:streams],
        np.where(is_stream, lane, -1).astype(np.int32),
        target,
        offsets,
        producers.operation[:stop],
        producers.pair_grade[:stop],
        producers.grade[:streams],
    )
    pending = pending_returns(use, waits.take(np.arange(streams)), gap[:streams], producers, order)
    returns = Edges.joined(_returns(waits, producers, stop), pending)
    return found, _edges(found, producers, gap_grade, stop), returns


def _in_order(use: EventUse) -> EventCalls:
    """Return the waits of streams by lane and time, then those of threads."""
    # Those on an unknown stream come after all others: they lie between no operations.
    lane = np.where(use.waits.lane < 0, use.lanes, use.waits.lane)
    waits = use.waits.take(np.lexsort((use.waits.start_ns, lane)))
    return EventCalls(
        *(
            np.concatenate((getattr(waits, name), getattr(use.syncs, name)))
            for name in EventCalls.__dataclass_fields__
        )
    )


def _edges(waits: StreamWaits, producers: Producers, gap_grade: Codes, stop: int) -> Edges:
    """Return the edges to the operations that were launched next: each source once, as best it is known."""
    wait = producers.wait[:stop]
    target, source = waits.target[wait], waits.producers
    grade = np.minimum(waits.producer_grade, gap_grade[wait])
    rows = np.flatnonzero((target >= 0) & (target != source))
    return Edges.best_known(target[rows], source[rows], EdgeKind.EVENT, grade[rows])


def _returns(waits: EventCalls, producers: Producers, start: int) -> Edges:
    target = waits.call[producers.wait[start:]]
    grade = producers.pair_grade[start:]
    return Edges.of_columns(target, producers.operation[start:], EdgeKind.RETURN, grade.copy())
