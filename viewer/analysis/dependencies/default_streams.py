"""Edges of the legacy default stream, and of copies between two GPUs on it (docs/definitions.md, section 11).

An operation of a context's legacy default stream waits for all that was launched before it on the blocking
streams of the context, and all that is launched after it there waits for it. A copy from one GPU to another
on a default stream does the same on both of them.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade, Mask, Operations, Rows
from viewer.analysis.dependencies.stream_order import StreamOrder
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

_PEER = 10
"""The kind of a copy from one GPU to another."""


def default_stream_edges(trace: Trace, operations: Operations, order: StreamOrder) -> Edges:
    """Return the edges from and to operations of legacy default streams."""
    parts = [(np.empty(0, np.int32), np.empty(0, np.int32))]
    of_context: dict[tuple[int, int], list[int]] = defaultdict(list)
    of_process: dict[int, list[int]] = defaultdict(list)
    is_default = np.array([stream.is_default for stream in trace.streams], bool)
    for stream in trace.streams:
        if stream.is_default or stream.is_blocking:
            of_context[stream.gpu, stream.context].append(stream.index)
            of_process[trace.gpus[stream.gpu].process].append(stream.index)
    on_default = is_default[operations.stream]
    parts += [_around(order, streams, on_default) for streams in of_context.values()]
    is_peer = on_default & _peer_copies(trace, operations)
    for process, streams in of_process.items():
        # With more than two GPUs it is not known here which of the others a copy is to or from.
        if len(trace.gpus_of(process)) == 2:
            parts.append(_around(order, streams, is_peer))
    target, source = (np.concatenate(column) for column in zip(*parts, strict=True))
    # A copy on a default stream is between others twice: by its stream, and by both GPUs.
    pairs = np.unique(np.stack((target, source)), axis=1)
    grade = np.full(pairs.shape[1], Grade.PROVEN, np.uint8)
    return Edges.of_columns(pairs[0], pairs[1], EdgeKind.DEFAULT_STREAM, grade)


def _peer_copies(trace: Trace, operations: Operations) -> Mask:
    copies = trace.events[Kind.MEMCPY]
    is_peer = np.zeros(len(operations), bool)
    if len(copies):
        first = int(operations.first[GPU_KINDS.index(Kind.MEMCPY)])
        is_peer[first : first + len(copies)] = copies.columns["copy_kind"] == _PEER
    return is_peer


def _around(order: StreamOrder, streams: list[int], is_barrier: Mask) -> tuple[Rows, Rows]:
    """Return (targets, sources) of the edges from and to barriers on other streams.

    A barrier comes after the last operation of every other stream before it, and before the first one after
    it; those farther away are implied by the order of their streams, or by another barrier between.
    """
    none = np.empty(0, np.int32)
    if len(streams) < 2:
        return none, none
    places = np.concatenate([np.arange(*order.offsets[s : s + 2]) for s in streams])
    stream = np.repeat(np.array(streams), np.diff(order.offsets)[streams])
    by_launch = np.argsort(order.launched_ns[places], kind="stable")
    operation, stream = order.order[places[by_launch]], stream[by_launch]
    barrier = is_barrier[operation]
    if not barrier.any() or barrier.all():
        return none, none
    count = len(operation)
    at = np.arange(count)
    # The barriers before and after each; -1 and `count` where there is none.
    before = np.concatenate(([-1], np.maximum.accumulate(np.where(barrier, at, -1))[:-1]))
    after = np.concatenate((np.minimum.accumulate(np.where(barrier, at, count)[::-1])[::-1][1:], [count]))
    last, following = _neighbours(stream)
    held = np.flatnonzero((before >= 0) & (last < before))
    held = held[stream[before[held]] != stream[held]]
    holds = np.flatnonzero((after < count) & (following > after))
    holds = holds[stream[after[holds]] != stream[holds]]
    target = np.concatenate((operation[held], operation[after[holds]]))
    return target, np.concatenate((operation[before[held]], operation[holds]))


def _neighbours(stream: Int64) -> tuple[Int64, Int64]:
    """Return the places of the one before and the one after each on its stream, -1 and n for none."""
    count = len(stream)
    by_stream = np.argsort(stream, kind="stable")
    same = stream[by_stream][1:] == stream[by_stream][:-1]
    last, following = np.full(count, -1), np.full(count, count)
    last[by_stream[1:]] = np.where(same, by_stream[:-1], -1)
    following[by_stream[:-1]] = np.where(same, by_stream[1:], count)
    return last, following
