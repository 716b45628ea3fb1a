"""What calls that wait for a stream or a device wait for beside its operations: its waits for events.

A wait that no operation was launched behind holds up the stream all the same, and whoever waits for that.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from viewer.analysis.dependencies.event_calls import EventCalls, EventUse
from viewer.analysis.dependencies.event_joins import numbered, overlap
from viewer.analysis.dependencies.event_producers import Producers
from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade, Mask, Rows
from viewer.analysis.dependencies.stream_order import StreamOrder, last_below
from viewer.trace.events import Int64


def pending_returns(
    use: EventUse, waits: EventCalls, gap: Int64, producers: Producers, order: StreamOrder
) -> Edges:
    """Return the edges to calls that wait for a stream or a device from what its last waits stand for.

    Parameters
    ----------
    waits : EventCalls
        Those of streams, by lane and time.
    gap : ndarray of int64, shape (waits,)
        The place in `order` of the last operation launched on the waiting stream before the wait; -1: none.
    producers : Producers
        Of these waits, and of others behind them.
    """
    known = np.flatnonzero(waits.lane >= 0)
    if not len(known) or not len(use.stream_syncs) + len(use.device_syncs):
        return Edges.none()
    waits, gap = waits.take(known), gap[known]
    context = numbered(
        *(
            np.concatenate([getattr(calls, name) for calls in (waits, use.device_syncs)])
            for name in ("process", "context")
        )
    ).astype(np.int32)
    never = np.zeros(len(use.device_syncs), bool)
    parts = (
        (use.stream_syncs, use.stream_syncs.lane, waits.lane, use.is_query),
        (use.device_syncs, context[len(waits) :], context[: len(waits)], never),
    )
    pairs = [
        (*_waited(syncs, of_sync, waits, of_wait, gap, order, asks), syncs)
        for syncs, of_sync, of_wait, asks in parts
    ]
    target, source, grade = [], [], []
    first, stop = (np.searchsorted(producers.wait, known, side=side) for side in _SIDES)
    for sync, wait, syncs in pairs:
        is_sure = ~overlap(waits, wait, syncs, sync)
        rows, of_pair = _ranges(first[wait], stop[wait])
        known_as = np.where(is_sure, Grade.PROVEN, Grade.TIMING).astype(np.uint8)[of_pair]
        target.append(syncs.call[sync][of_pair])
        source.append(producers.operation[rows])
        grade.append(np.minimum(known_as, producers.pair_grade[rows]))
    return Edges.best_known(
        np.concatenate(target), np.concatenate(source), EdgeKind.RETURN, np.concatenate(grade)
    )


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def _waited(
    syncs: EventCalls, of_sync: Rows, waits: EventCalls, of_wait: Rows, gap: Int64,
    order: StreamOrder, asks: Mask,
) -> tuple[Int64, Int64]:  # fmt: skip
    """Return (sync, wait): the waits that are the last of their stream when a call waits for that or its GPU.

    What a call that was over before had waited for already is left out.

    Parameters
    ----------
    of_sync, of_wait : ndarray
        The stream, or the context, that a call waits for, and that a wait is on; -1 is none.
    asks : ndarray of bool, shape (syncs,)
        Whether the call is a query.
    """
    size = int(max(of_sync.max(initial=-1), of_wait.max(initial=-1))) + 2
    by_owner = np.lexsort((waits.start_ns, of_wait))
    offsets = np.searchsorted(of_wait[by_owner], np.arange(size)).astype(np.int64)
    started = waits.start_ns[by_owner]
    stop = last_below(offsets, started, of_sync, syncs.start_ns) + 1
    # Queries may end without an answer: only calls that block are over when all that they wait for is.
    blocks = np.flatnonzero((of_sync >= 0) & ~asks)
    blocks = blocks[np.lexsort((syncs.end_ns[blocks], of_sync[blocks]))]
    sync_offsets = np.searchsorted(of_sync[blocks], np.arange(size)).astype(np.int64)
    before = last_below(sync_offsets, syncs.end_ns[blocks], of_sync, syncs.start_ns + 1)
    since = np.full(len(syncs), np.iinfo(np.int64).min, np.int64)
    has_before = before >= 0
    since[has_before] = syncs.start_ns[blocks[before[has_before]]]
    known = np.flatnonzero(stop > 0)
    begin = last_below(offsets, started, of_sync[known], since[known]) + 1
    begin = np.maximum(begin, offsets[of_sync[known]])
    at, of_pair = _ranges(begin, np.maximum(stop[known], begin))
    wait, sync = by_owner[at], known[of_pair]
    # An operation launched between the two has waited for it, and is waited for itself.
    is_last = gap[wait] == order.last_before(waits.lane[wait], syncs.start_ns[sync])
    return sync[is_last], wait[is_last]


def _ranges(begin: Int64, stop: Int64) -> tuple[Int64, Int64]:
    """Return all numbers of some ranges, and which range each is of."""
    count = stop - begin
    of = np.repeat(np.arange(len(count)), count)
    return np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count) + begin[of], of
