"""Physical GPUs that several processes share (docs/definitions.md, section 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from viewer.analysis.time.time_breakdown import BusyIntervals, TimeBreakdown, time_breakdown
from viewer.trace import Trace


@dataclass(frozen=True)
class SharedGpu:
    """A physical GPU on which several processes run: each sees it idle while another one works.

    `physical` is its number on its host, `gpus` are indices into `Trace.gpus`, `parts` the five categories of
    all of them together.
    """

    physical: int
    gpus: tuple[int, ...]
    parts: TimeBreakdown


def shared_gpus(trace: Trace, coverage: Callable[[int], BusyIntervals]) -> tuple[SharedGpu, ...]:
    """Return the physical GPUs that more than one GPU of the trace maps to, by number; mostly none.

    `coverage` returns when a GPU is busy, see `Study.coverage`.
    """
    by_physical_gpu: dict[tuple[int, int], list[int]] = defaultdict(list)
    for gpu in trace.gpus:
        if gpu.physical is not None:
            # Physical numbers repeat on every machine: GPU 0 of two hosts is two cards.
            host = trace.processes[gpu.process].global_pid >> 48
            by_physical_gpu[gpu.physical, host].append(gpu.index)
    shared = sorted((*physical_gpu, gpus) for physical_gpu, gpus in by_physical_gpu.items() if len(gpus) > 1)
    return tuple(
        # The union first, the categories of it after: communication of one process that runs beside
        # computation of another is hidden on the card, though exposed in each process alone.
        SharedGpu(physical, tuple(gpus), time_breakdown(trace, reduce(or_, map(coverage, gpus))))
        for physical, _, gpus in shared
    )
