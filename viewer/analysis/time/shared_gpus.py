"""Physical GPUs that several processes share (definitions, section 1)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from viewer.analysis.time.time_breakdown import GpuParts, gpu_parts

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(frozen=True)
class SharedBoard:
    """One board on which several processes run: each of its GPUs is idle while another one works.

    `gpus` are indices into `Trace.gpus`; `parts` are those of all of them together.
    """

    physical: int
    gpus: tuple[int, ...]
    parts: GpuParts


def shared_boards(study: Study) -> tuple[SharedBoard, ...]:
    """Return the boards that more than one GPU of the trace maps to, by number; most traces have none.

    Boards are numbered anew on every host.
    """
    of_board: dict[tuple[int, int], list[int]] = defaultdict(list)
    for gpu in study.trace.gpus:
        if gpu.physical is not None:
            host = study.trace.processes[gpu.process].global_pid >> 48
            of_board[gpu.physical, host].append(gpu.index)
    shared = sorted((*board, gpus) for board, gpus in of_board.items() if len(gpus) > 1)
    return tuple(
        SharedBoard(physical, tuple(gpus), gpu_parts(study.trace, reduce(or_, map(study.occupancy, gpus))))
        for physical, _, gpus in shared
    )
