"""Copies and sets: how much, how fast, on which stream, and whether anything hides them (section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.launches.blocking_calls import is_pageable
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import BusyIntervals, TimeBreakdown
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

HTOD = 1
MIN_IN_FRONT_BYTES = 64 * 1024


def copies(
    trace: Trace, classes: KernelClasses, breakdowns: Sequence[TimeBreakdown], scope: Scope
) -> pd.DataFrame:
    """Return the copies and sets of each GPU that touch a scope, by kind.

    Those that straddle an edge count whole in `bytes` and `sum_ns`, with the part inside in the unions.

    Returns
    -------
    DataFrame
        `gpu`, `kind` ("Memcpy HtoD"), `count`, `bytes`, `sum_ns`, `throughput_gb_s` (10⁹ bytes a second),
        `union_ns`, `hidden_ns` (beside a kernel), `copy_only_ns`, `streams` ("7, 20"), `on_compute_stream`
        (count on a stream that also runs compute kernels), `pageable` (count), and where the longest one is:
        `start_ns`, `end_ns`.
    """
    pieces = [
        _of_gpu(trace, classes, breakdowns[gpu.index], gpu.index, kind, scope.within[gpu.index])
        for gpu in trace.gpus
        for kind in (Kind.MEMCPY, Kind.MEMSET)
    ]
    rows = [row for piece in pieces for row in piece]
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = [
    "gpu",
    "kind",
    "count",
    "bytes",
    "sum_ns",
    "throughput_gb_s",
    "union_ns",
    "hidden_ns",
    "copy_only_ns",
    "streams",
    "on_compute_stream",
    "pageable",
    "start_ns",
    "end_ns",
]


def _of_gpu(
    trace: Trace, classes: KernelClasses, breakdown: TimeBreakdown, gpu: int, kind: Kind, within: Intervals
) -> list[dict[str, object]]:
    events = trace.events[kind]
    rows = rows_of_gpu(trace, kind, gpu)
    rows = rows[within.covered(events.start_ns[rows], events.end_ns[rows]) > 0]
    if not len(rows):
        return []
    stream = np.searchsorted(events.offsets, rows, side="right") - 1
    computes = _compute_streams(trace, classes, gpu)
    kernels = breakdown.intervals("compute_only", "hidden_comm", "exposed_comm") & within
    pageable = is_pageable(events) if kind is Kind.MEMCPY else np.zeros(len(events), bool)
    found: list[dict[str, object]] = []
    for name in np.unique(events.name_id[rows]).tolist():
        mine = rows[events.name_id[rows] == name]
        of_stream = stream[events.name_id[rows] == name]
        size = int(events.columns["bytes"][mine].astype(np.int64).sum())
        length = int((events.end_ns[mine] - events.start_ns[mine]).sum())
        longest = mine[(events.end_ns[mine] - events.start_ns[mine]).argmax()]
        covered = union(events.start_ns[mine], events.end_ns[mine]) & within
        hidden = (covered & kernels).total()
        used = [trace.streams[s] for s in np.unique(of_stream).tolist()]
        used.sort(key=lambda stream: stream.stream_id)
        found.append(
            {
                "gpu": gpu,
                "kind": trace.names[name],
                "count": len(mine),
                "bytes": size,
                "sum_ns": length,
                "throughput_gb_s": size / length if length else 0.0,
                "union_ns": covered.total(),
                "hidden_ns": hidden,
                "copy_only_ns": covered.total() - hidden,
                "streams": ", ".join(dict.fromkeys(stream.label for stream in used)),
                "on_compute_stream": int(np.isin(of_stream, computes).sum()),
                "pageable": int(pageable[mine].sum()),
                "start_ns": int(events.start_ns[longest]),
                "end_ns": int(events.end_ns[longest]),
            }
        )
    return found


def _compute_streams(trace: Trace, classes: KernelClasses, gpu: int) -> list[int]:
    kernels = trace.kernels
    return [
        stream.index
        for stream in trace.streams_of(gpu)
        if not classes.is_comm(kernels.name_id[kernels.of(stream.index)]).all()
    ]


@dataclass(frozen=True)
class InFront:
    """Copies that an iteration's first kernel has to wait for, by GPU and iteration.

    Attributes
    ----------
    count : ndarray of int64, shape (gpus, iterations)
    length_ns : ndarray of int64, shape (gpus, iterations)
        Time that they cover.
    bytes : ndarray of int64, shape (gpus, iterations)
    start_ns : ndarray of int64, shape (gpus, iterations)
        Start of the first of them; -1 without any.
    """

    count: Int64
    length_ns: Int64
    bytes: Int64
    start_ns: Int64


def in_front(trace: Trace, classes: KernelClasses, iterations: Iterations) -> InFront:
    """Return the copies to the device of 64 KiB or more that precede an iteration's first kernel."""
    shape = (len(trace.gpus), iterations.count)
    none = np.zeros(shape, np.int64)
    found = InFront(none, none.copy(), none.copy(), none - 1)
    events = trace.events[Kind.MEMCPY]
    for gpu in trace.gpus:
        rows = rows_of_gpu(trace, Kind.MEMCPY, gpu.index)
        if not len(rows):
            continue
        sizes: Int64 = events.columns["bytes"][rows].astype(np.int64)
        to_device = np.asarray(events.columns["copy_kind"][rows] == HTOD)
        rows = rows[to_device & (sizes >= MIN_IN_FRONT_BYTES)]
        rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
        low, first = before_first_kernel(trace, classes, iterations, gpu.index)
        begin, stop = (np.searchsorted(events.start_ns[rows], edge, side="left") for edge in (low, first))
        for iteration in range(iterations.count):
            held = rows[begin[iteration] : stop[iteration]]
            if len(held):
                covered = union(events.start_ns[held], events.end_ns[held])
                found.count[gpu.index, iteration] = len(held)
                found.length_ns[gpu.index, iteration] = covered.total()
                found.bytes[gpu.index, iteration] = int(events.columns["bytes"][held].astype(np.int64).sum())
                found.start_ns[gpu.index, iteration] = (
                    int(covered.start_ns[0]) if len(covered) else low[iteration]
                )
    return found


def before_first_kernel(
    trace: Trace, classes: KernelClasses, iterations: Iterations, gpu: int
) -> tuple[Int64, Int64]:
    """Return per iteration the start of the last compute kernel before it, and that of its own first one."""
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    rows = rows[~classes.is_comm(kernels.name_id[rows])]
    starts = np.sort(kernels.start_ns[rows])
    begin, end = iterations.windows(gpu)
    if not len(starts):
        return begin, begin
    at = np.searchsorted(starts, begin, side="left")
    first = np.minimum(np.where(at < len(starts), starts[np.minimum(at, len(starts) - 1)], begin), end)
    before = np.where(at > 0, starts[np.maximum(at - 1, 0)], begin)
    return np.minimum(before, begin), first


@dataclass(frozen=True, slots=True)
class CopyStory:
    """What became of a copy or a set.

    Attributes
    ----------
    hidden_ns, copy_only_ns : int
        Beside a kernel, and beside none; they sum to its duration.
    queues_with_kernels : bool
        Whether its stream also runs compute kernels: then it cannot hide behind them.
    pageable : bool
        Whether its host side is pageable memory: then the call waits for it.
    """

    hidden_ns: int
    copy_only_ns: int
    queues_with_kernels: bool
    pageable: bool

    @property
    def text(self) -> str:
        """Say it in a line."""
        whole = self.hidden_ns + self.copy_only_ns
        if whole and self.hidden_ns == whole:
            return "hidden behind kernels"
        part = f"{self.hidden_ns / whole:.0%} hidden behind kernels" if self.hidden_ns else "not hidden"
        if self.queues_with_kernels:
            return f"{part}: its stream runs kernels too, so that it queues with them"
        return f"{part}, though on a stream of its own" + (" (pageable memory)" if self.pageable else "")


def copy_story(
    trace: Trace, classes: KernelClasses, covered: BusyIntervals, kind: Kind, index: int
) -> CopyStory:
    """Return what became of a copy or a set: an index into its table; `covered` is of its GPU."""
    events = trace.events[kind]
    start, end = int(events.start_ns[index]), int(events.end_ns[index])
    stream = trace.streams[events.owner_of(index)]
    hidden = int((covered.compute | covered.communication).covered(start, end))
    kernels = trace.kernels.name_id[trace.kernels.of(stream.index)]
    return CopyStory(
        hidden,
        end - start - hidden,
        bool((~classes.is_comm(kernels)).any()),
        kind is Kind.MEMCPY and bool(is_pageable(events)[index]),
    )
