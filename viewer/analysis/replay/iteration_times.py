"""Where the iterations of a replay begin and end: the operations that do it, and their times."""

from __future__ import annotations

from typing import Literal

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
    begins = [
        int(times.start_ns[first_of(replay, iterations, times, iteration)])
        for iteration in range(iterations.count)
    ]
    return np.array([*begins, times.end_ns[last_ones(replay, iterations)].max()], np.int64)


def first_of(replay: Replay, iterations: Iterations, times: Times, iteration: int) -> int:
    """Return the operation that begins an iteration in a replay, the first over all GPUs."""
    found: list[int] = []
    for gpu in np.flatnonzero(iterations.has_own).tolist():
        found += _beginners(replay, iterations, gpu, iteration).tolist()
    return int(min(found, key=lambda number: int(times.start_ns[number])))


def starts_of(replay: Replay, iterations: Iterations, times: Times) -> Int64:
    """Return when each GPU that marks iterations begins them in a replay, shape (GPUs, iterations), ns."""
    return np.array(
        [
            [
                times.start_ns[_beginners(replay, iterations, gpu, iteration)].min()
                for iteration in range(iterations.count)
            ]
            for gpu in np.flatnonzero(iterations.has_own).tolist()
        ],
        np.int64,
    )


def _beginners(replay: Replay, iterations: Iterations, gpu: int, iteration: int) -> Int64:
    """Return the operations of a GPU that begin an iteration: several where they begin together."""
    order, start = replay.inputs.order_of(gpu), iterations.starts[gpu, iteration]
    rows = slice(*(int(np.searchsorted(order.start_ns, start, side=side)) for side in _SIDES))
    return numbers_of(replay.network, order, rows)


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def last_of(replay: Replay, iterations: Iterations, times: Times, iteration: int) -> int:
    """Return the operation of an iteration that ends last in a replay, over all GPUs."""
    if iteration + 1 == iterations.count:
        found = last_ones(replay, iterations)
    else:
        found = []
        for gpu in np.flatnonzero(iterations.has_own).tolist():
            order = replay.inputs.order_of(gpu)
            edges = iterations.starts[gpu, iteration : iteration + 2]
            rows = slice(*np.searchsorted(order.start_ns, edges).tolist())
            found += numbers_of(replay.network, order, rows).tolist()
    return found[int(times.end_ns[found].argmax())]


def last_ones(replay: Replay, iterations: Iterations) -> list[int]:
    """Return the operations of the last iteration on all GPUs: it ends with the latest of them."""
    found: list[int] = []
    for gpu in np.flatnonzero(iterations.has_own).tolist():
        order, (begin, end) = replay.inputs.order_of(gpu), iterations.starts[gpu, -2:]
        numbers = numbers_of(replay.network, order, slice(0, len(order)))
        found += numbers[(order.start_ns >= begin) & (order.end_ns <= end)].tolist()
    return found
