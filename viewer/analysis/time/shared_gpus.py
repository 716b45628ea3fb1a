"""Physical GPUs that several processes share (docs/definitions.md, section 1)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from viewer.analysis.time.time_breakdown import TimeBreakdown, time_breakdown

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(frozen=True)
class SharedGpu:
    """One board on which several processes run: each of its GPUs is idle while another one works.

    `gpus` are indices into `Trace.gpus`; `parts` are those of all of them together.
    """

    physical: int
    gpus: tuple[int, ...]
    parts: TimeBreakdown


def shared_gpus(study: Study) -> tuple[SharedGpu, ...]:
    """Return the boards that more than one GPU of the trace maps to, by number; most traces have none.

    Boards are numbered anew on every host.
    """
    by_physical_gpu: dict[tuple[int, int], list[int]] = defaultdict(list)
    for gpu in study.trace.gpus:
        if gpu.physical is not None:
            host = study.trace.processes[gpu.process].global_pid >> 48
            by_physical_gpu[gpu.physical, host].append(gpu.index)
    shared = sorted((*physical_gpu, gpus) for physical_gpu, gpus in by_physical_gpu.items() if len(gpus) > 1)
    return tuple(
        SharedGpu(physical, tuple(gpus), time_breakdown(study.trace, reduce(or_, map(study.coverage, gpus))))
        for physical, _, gpus in shared
    )
