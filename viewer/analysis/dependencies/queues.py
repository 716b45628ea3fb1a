"""Edges of a hardware queue that several streams share (docs/definitions.md, section 11)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.dependencies.graph import EXPLAINED_NS, EdgeKind, Edges, Grade, Operations, Rows
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

_LEAST_HELD = 10
"""How many kernels must have been held up by another stream's before a queue is taken for one."""


def queue_edges(trace: Trace, operations: Operations, lag_ns: Int64) -> Edges:
    """Return the edges from each kernel to the one launched next on another stream of its GPU.

    With CUDA_DEVICE_MAX_CONNECTIONS=1 all streams share one queue: a kernel starts after the start of the one
    launched before it. Where the environment is not recorded, or says more, a GPU is taken for one with a
    single queue if no kernel ever overtook another and at least 10 are explained by the queue alone; then
    only these have an edge.

    Parameters
    ----------
    lag_ns : ndarray of int64, shape (operations,)
        How long after all other edges each operation started, -1 where there is none.
    """
    targets, sources = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for gpu in trace.gpus:
        kernel, before = _launched_in_turn(trace, operations, gpu.index)
        if not len(kernel):
            continue
        start = operations.start_ns
        other = operations.stream[kernel] != operations.stream[before]
        if trace.session.max_connections != 1:
            if (start[kernel] < start[before]).any():
                continue
            # Held: all else had allowed it long before, and it began when the other one had.
            waited = start[kernel] - start[before]
            other &= (lag_ns[kernel] > EXPLAINED_NS) & (waited <= EXPLAINED_NS) & (waited < lag_ns[kernel])
            if other.sum() < _LEAST_HELD:
                continue
        targets.append(kernel[other])
        sources.append(before[other])
    target, source = np.concatenate(targets), np.concatenate(sources)
    return Edges.of_columns(target, source, EdgeKind.QUEUE, np.full(len(target), Grade.TIMING, np.uint8))


def _launched_in_turn(trace: Trace, operations: Operations, gpu: int) -> tuple[Rows, Rows]:
    """Return the kernels of a GPU whose calls are known but the first, and the one launched before each."""
    first = int(operations.first[GPU_KINDS.index(Kind.KERNEL)])
    own = [trace.kernels.of(stream.index) for stream in trace.streams_of(gpu)]
    if sum(rows.stop > rows.start for rows in own) < 2:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    kernels = np.concatenate([np.arange(rows.start, rows.stop, dtype=np.int32) for rows in own]) + first
    kernels = kernels[operations.call[kernels] >= 0]
    launched = trace.api.start_ns[operations.call[kernels]]
    # The nodes of a graph are launched together, and start in their own order.
    kernels = kernels[np.lexsort((operations.start_ns[kernels], launched))]
    return kernels[1:], kernels[:-1]
