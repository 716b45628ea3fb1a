"""When the iterations of a replay begin and end."""

from __future__ import annotations

import numpy as np

from viewer.analysis.replay.inputs import Replay, numbers_of
from viewer.analysis.replay.recurrence import Times
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace.events import Int64


def edges_of(replay: Replay, iterations: Iterations, times: Times) -> Int64:
    """Return the boundaries of the iterations in a replay, as `Iterations.edges_ns`, shape (n + 1,), ns.

    On each GPU an iteration begins with the operation that it began with in the recording; the last one ends
    with the latest of the operations that it held.
    """
    begins, ends = [], []
    for gpu in np.flatnonzero(iterations.has_own).tolist():
        order = replay.inputs.order_of(gpu)
        numbers = numbers_of(replay.network, order)
        starts = iterations.starts[gpu]
        first = np.searchsorted(order.start_ns, starts[:-1], side="left")
        last = np.searchsorted(order.start_ns, starts[:-1], side="right")
        # Where several operations begin together the boundary is the first of them.
        begins.append([int(times.start_ns[numbers[a:b]].min()) for a, b in zip(first, last, strict=True)])
        inside = (order.start_ns >= starts[-2]) & (order.end_ns <= starts[-1])
        ends.append(int(times.end_ns[numbers[inside]].max()))
    return np.append(np.array(begins, np.int64).min(axis=0), max(ends))
