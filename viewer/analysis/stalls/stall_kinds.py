"""The columns of copy-only stalls and of exposed communication (docs/definitions.md, section 7)."""

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
    "Each stall counts wholly for its main cause here. Do not compare these sums with the wait time under "
    "Ranks in Summary: that is the exact part of exposed communication, to the nanosecond."
)
"""The note beside every sum of stalls by cause (docs/definitions.md, sections 7 and 8)."""

Columns = dict[str, npt.NDArray[Any]]
Front = tuple[Int64, Int64]
"""Per iteration the start of the last compute kernel before it, and of its own first one, ns."""


def copy_facts(
    trace: Trace, gpu: int, start_ns: Int64, end_ns: Int64, front: Front | None, *, wanted: bool
) -> Columns:
    """Return `COPY_COLUMNS` of some sorted stalls of a GPU; empty values if not `wanted`.

    `front` are the times before the first kernel of each iteration, see `before_first_kernel`; None without
    iterations.
    """
    count = len(start_ns)
    columns: Columns = {
        "copy_kind": np.full(count, -1, np.int8),
        "copy_index": np.full(count, -1, np.int32),
        "copies": np.zeros(count, np.int32),
        "bytes": np.zeros(count, np.int64),
        "throughput_gb_s": np.zeros(count),
        "pageable": np.zeros(count, bool),
        "in_front": np.zeros(count, bool),
    }
    if not wanted or not count:
        return columns
    # How much of each stall the operation chosen so far takes; nothing at first, so that one that only
    # touches a stall is no copy of it.
    best = np.zeros(count, np.int64)
    for kind in (Kind.MEMCPY, Kind.MEMSET):
        table, rows = trace.events[kind], rows_of_gpu(trace, kind, gpu)
        if not len(rows):
            continue
        shared = overlaps(start_ns, end_ns, table.start_ns[rows], table.end_ns[rows])
        sizes = table.columns["bytes"][rows].astype(np.int64)
        columns["copies"] += shared.counts().astype(np.int32)
        columns["bytes"] += shared.sums(sizes)
        # Copies come first: a set replaces the copy of a stall only where it takes more of the stall.
        event, length = shared.longest()
        more = length > best
        longest, best = rows[event[more]], np.maximum(best, length)
        columns["copy_kind"][more] = GPU_KINDS.index(kind)
        columns["copy_index"][more] = longest
        # A copy may last 0 ns by the profiler's clock, and must not give an infinite throughput.
        lasted = np.maximum(table.end_ns[longest] - table.start_ns[longest], 1)
        columns["throughput_gb_s"][more] = sizes[event[more]] / lasted
        columns["pageable"][more] = is_pageable(table)[longest] if kind is Kind.MEMCPY else False
        if kind is Kind.MEMCPY and front is not None:
            columns["in_front"] = _in_front(trace, rows, shared, front)
    return columns


def _in_front(
    trace: Trace, rows: npt.NDArray[np.int32], shared: Overlaps, front: Front
) -> npt.NDArray[np.bool_]:
    """Return the stalls with a copy to the device of 64 KiB or more before an iteration's first kernel."""
    table = trace.events[Kind.MEMCPY]
    low, first = front
    start = table.start_ns[rows]
    # `low` and `first` have one entry per iteration, sorted: a copy can only precede the next first kernel.
    # On the right: a copy that starts with the first kernel is in front of the next iteration, not of its
    # own.
    iteration = np.searchsorted(first, start, side="right")
    before = (iteration < len(low)) & (start >= low[np.minimum(iteration, len(low) - 1)])
    large = table.columns["bytes"][rows].astype(np.int64) >= MIN_IN_FRONT_BYTES
    is_front = before & large & (table.columns["copy_kind"][rows] == HTOD)
    has_one = np.zeros(shared.stalls, bool)
    # Over the pairs that meet, not all stalls by all copies, of which there may be millions of each.
    has_one[shared.stall_at[is_front[shared.event_at]]] = True
    return has_one


def comm_facts(
    collectives: Collectives,
    classes: KernelClasses,
    gpu: int,
    start_ns: Int64,
    end_ns: Int64,
    *,
    wanted: bool,
) -> Columns:
    """Return `COMM_COLUMNS`, `waits_for` and `collective` of some sorted stalls of a GPU.

    `waits_for` is the last arrival of the set with most wait time in the stall, `collective` the kernel with
    most of the stall; -1 for none, and everywhere if not `wanted`.
    """
    count = len(start_ns)
    columns: Columns = {name: np.zeros(count, np.int64) for name in COMM_COLUMNS}
    columns |= {"waits_for": np.full(count, -1, np.int16), "collective": np.full(count, -1, np.int32)}
    if not wanted or not count:
        return columns
    kernels, rows = collectives.trace.kernels, rows_of_gpu(collectives.trace, Kind.KERNEL, gpu)
    # By class, not by the collective's number: kernels that no partner was found for are communication as
    # well.
    rows = rows[classes.is_comm(kernels.name_id[rows])]
    matched = rows[collectives.wait_ns[rows] >= 0]
    columns["wait_ns"] = collectives.waits(gpu).covered(start_ns, end_ns)
    columns["transfer_ns"] = collectives.transfers(gpu).covered(start_ns, end_ns)
    # The rest, so that the three sum to the stall exactly; wait and transfer are disjoint by construction.
    columns["unmatched_ns"] = end_ns - start_ns - columns["wait_ns"] - columns["transfer_ns"]
    kernel, _ = overlaps(start_ns, end_ns, kernels.start_ns[rows], kernels.end_ns[rows]).longest()
    columns["collective"] = np.where(kernel >= 0, rows[kernel] if len(rows) else -1, -1).astype(np.int32)
    # A kernel waits in its first `wait_ns`: from its own start to the last start of its set.
    begin = kernels.start_ns[matched]
    waiting, _ = overlaps(start_ns, end_ns, begin, begin + collectives.wait_ns[matched]).longest()
    last = collectives.last_gpu[matched][waiting] if len(matched) else -1
    columns["waits_for"] = np.where(waiting >= 0, last, -1).astype(np.int16)
    return columns
