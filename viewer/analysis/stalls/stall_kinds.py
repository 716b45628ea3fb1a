"""What is said of copy-only stalls and of exposed communication (docs/definitions.md, section 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.overlaps import Overlaps, overlaps
from viewer.analysis.kernels.copies import HTOD, MIN_IN_FRONT_BYTES
from viewer.analysis.launches.blocking_calls import is_pageable
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

COPY_CAUSE = "copy"
COPY_COLUMNS = ("copy_kind", "copy_index", "copies", "bytes", "throughput_gb_s", "pageable", "in_front")
COMM_COLUMNS = ("wait_ns", "transfer_ns", "unmatched_ns")
COMM_CAUSES = ("waiting for a rank", "transfer", "not matched")
WHOLE = (
    "A stall counts wholly for its main cause here. How much of exposed communication is waiting, to the "
    "nanosecond, is the exact part under Ranks in Summary: the two are not to be compared."
)
"""What has to be said where stalls are summed by cause (docs/definitions.md, sections 7 and 8)."""

Columns = dict[str, npt.NDArray[Any]]
Front = tuple[Int64, Int64]
"""Per iteration the start of the last compute kernel before it, and of its own first one, ns."""


def copy_facts(
    trace: Trace, gpu: int, start_ns: Int64, end_ns: Int64, front: Front | None, *, wanted: bool
) -> Columns:
    """Return `COPY_COLUMNS` of some sorted stalls of a GPU; without copies in them if not `wanted`.

    `front` are the times before the first kernel of each iteration, see `before_first_kernel`; None without
    iterations.
    """
    count = len(start_ns)
    found: Columns = {
        "copy_kind": np.full(count, -1, np.int8),
        "copy_index": np.full(count, -1, np.int32),
        "copies": np.zeros(count, np.int32),
        "bytes": np.zeros(count, np.int64),
        "throughput_gb_s": np.zeros(count),
        "pageable": np.zeros(count, bool),
        "in_front": np.zeros(count, bool),
    }
    if not wanted or not count:
        return found
    best = np.zeros(count, np.int64)
    for kind in (Kind.MEMCPY, Kind.MEMSET):
        table, rows = trace.events[kind], rows_of_gpu(trace, kind, gpu)
        if not len(rows):
            continue
        shared = overlaps(start_ns, end_ns, table.start_ns[rows], table.end_ns[rows])
        sizes = table.columns["bytes"][rows].astype(np.int64)
        found["copies"] += shared.counts().astype(np.int32)
        found["bytes"] += shared.sums(sizes)
        at, length = shared.longest()
        more = length > best
        one, best = rows[at[more]], np.maximum(best, length)
        found["copy_kind"][more] = GPU_KINDS.index(kind)
        found["copy_index"][more] = one
        lasted = np.maximum(table.end_ns[one] - table.start_ns[one], 1)
        found["throughput_gb_s"][more] = sizes[at[more]] / lasted
        found["pageable"][more] = is_pageable(table)[one] if kind is Kind.MEMCPY else False
        if kind is Kind.MEMCPY and front is not None:
            found["in_front"] = _in_front(trace, rows, shared, front)
    return found


def _in_front(
    trace: Trace, rows: npt.NDArray[np.int32], shared: Overlaps, front: Front
) -> npt.NDArray[np.bool_]:
    """Return the stalls with a copy to the device of 64 KiB or more before an iteration's first kernel."""
    table = trace.events[Kind.MEMCPY]
    low, first = front
    start = table.start_ns[rows]
    iteration = np.searchsorted(first, start, side="right")
    before = (iteration < len(low)) & (start >= low[np.minimum(iteration, len(low) - 1)])
    large = table.columns["bytes"][rows].astype(np.int64) >= MIN_IN_FRONT_BYTES
    is_front = before & large & (table.columns["copy_kind"][rows] == HTOD)
    held = np.zeros(shared.stalls, bool)
    held[shared.stall_at[is_front[shared.event_at]]] = True
    return held


def comm_facts(
    collectives: Collectives,
    classes: KernelClasses,
    gpu: int,
    start_ns: Int64,
    end_ns: Int64,
    *,
    wanted: bool,
) -> Columns:
    """Return `COMM_COLUMNS`, the rank waited for and the collective of some sorted stalls of a GPU."""
    count = len(start_ns)
    found: Columns = {name: np.zeros(count, np.int64) for name in COMM_COLUMNS}
    found |= {"waits_for": np.full(count, -1, np.int16), "collective": np.full(count, -1, np.int32)}
    if not wanted or not count:
        return found
    kernels, rows = collectives.trace.kernels, rows_of_gpu(collectives.trace, Kind.KERNEL, gpu)
    rows = rows[classes.is_comm(kernels.name_id[rows])]
    matched = rows[collectives.wait_ns[rows] >= 0]
    found["wait_ns"] = collectives.waits(gpu).covered(start_ns, end_ns)
    found["transfer_ns"] = collectives.transfers(gpu).covered(start_ns, end_ns)
    found["unmatched_ns"] = end_ns - start_ns - found["wait_ns"] - found["transfer_ns"]
    at, _ = overlaps(start_ns, end_ns, kernels.start_ns[rows], kernels.end_ns[rows]).longest()
    found["collective"] = np.where(at >= 0, rows[at] if len(rows) else -1, -1).astype(np.int32)
    begin = kernels.start_ns[matched]
    at, _ = overlaps(start_ns, end_ns, begin, begin + collectives.wait_ns[matched]).longest()
    last = collectives.last_gpu[matched][at] if len(matched) else -1
    found["waits_for"] = np.where(at >= 0, last, -1).astype(np.int16)
    return found
