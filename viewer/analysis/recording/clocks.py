"""Compares GPU clocks with the CPU's: the bounds between which each offset lies.

See docs/definitions.md, section 10.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.launches.attribution import Indices, LaunchedOperations, Mask, launched_operations
from viewer.analysis.launches.launches import Launches
from viewer.trace import Gpu, Kind, Trace
from viewer.trace.events import Int64, UInt32

TOLERANCE_NS = 100_000
_STREAM_SYNCS = ("cudaStreamSynchronize", "cuStreamSynchronize")
_DEVICE_SYNCS = ("cudaDeviceSynchronize", "cuCtxSynchronize")


@dataclass(frozen=True, slots=True)
class Clock:
    """The bounds on what must be added to a GPU's times; None where nothing bounds it on that side.

    Attributes
    ----------
    lower_ns : int or None
        No operation starts before its launch does: the latest API start - operation start.
    upper_ns : int or None
        No synchronisation returns before what it waits for has ended: the least return - operation end.
    """

    gpu: int
    lower_ns: int | None
    upper_ns: int | None

    @property
    def is_shifted(self) -> bool:
        """Whether the bounds exclude 0 by more than 100 µs, and an offset satisfies both."""
        return self.is_early or self.is_late

    @property
    def contradicts(self) -> bool:
        """Whether no offset satisfies both bounds, not nearly: a few rows have wrong times, say.

        A clock that drifts leaves them apart too, but by little beside its offset.
        """
        if self.lower_ns is None or self.upper_ns is None:
            return False
        offset = max(abs(self.lower_ns), abs(self.upper_ns))
        return self.lower_ns - self.upper_ns > max(TOLERANCE_NS, offset // 2)

    @property
    def is_early(self) -> bool:
        """Whether operations start before they were launched."""
        return self.lower_ns is not None and self.lower_ns > TOLERANCE_NS and not self.contradicts

    @property
    def is_late(self) -> bool:
        """Whether operations end after the CPU has waited for their end."""
        return self.upper_ns is not None and self.upper_ns < -TOLERANCE_NS and not self.contradicts

    @property
    def offset_ns(self) -> int:
        """What to add to align the GPU: 0 if its clock is not shifted, else the middle of the bounds.

        With one bound alone, that bound.
        """
        if not self.is_shifted:
            return 0
        bounds = [b for b in (self.lower_ns, self.upper_ns) if b is not None]
        return sum(bounds) // len(bounds)


def clocks(launches: Launches) -> tuple[Clock, ...]:
    """Return the bounds of every GPU's clock, in order of `Trace.gpus`."""
    trace = launches.trace
    by_gpu: dict[int, Clock] = {}
    for process in trace.processes:
        gpus = trace.gpus_of(process.index)
        if gpus:
            ops = launched_operations(launches, process.index)
            by_gpu |= {g.index: _clock(trace, ops, g) for g in gpus}
    return tuple(by_gpu[g.index] for g in trace.gpus)


def _clock(trace: Trace, ops: LaunchedOperations, gpu: Gpu) -> Clock:
    on_gpu = ops.gpu == gpu.index
    lower = int((ops.call_start_ns[on_gpu] - ops.start_ns[on_gpu]).max()) if on_gpu.any() else None
    return Clock(gpu.index, lower, _upper(trace, ops, gpu, on_gpu))


def _upper(trace: Trace, ops: LaunchedOperations, gpu: Gpu, on_gpu: Mask) -> int | None:
    """Return the least time from the end of the last operation launched before a sync to its return."""
    sync = trace.events[Kind.SYNC]
    rows = sync.of(gpu.process)
    if rows.stop == rows.start or not on_gpu.any():
        return None
    names = sync.name_id[rows]
    context, stream = sync.columns["context"][rows], sync.columns["stream_id"][rows]
    start, end = sync.start_ns[rows], sync.end_ns[rows]
    of_stream, of_device = (_is_named(trace, names, calls) for calls in (_STREAM_SYNCS, _DEVICE_SYNCS))
    own = {(s.context, s.stream_id): s.index for s in trace.streams_of(gpu.index)}
    waits_for: dict[int, list[int]] = defaultdict(list)
    for sync_row in np.flatnonzero(of_stream).tolist():
        waits_for[own.get((int(context[sync_row]), int(stream[sync_row])), -1)].append(sync_row)
    waits_for.pop(-1, None)
    # A sync of the device waits for all streams of its context.
    whole = of_device & np.isin(context, [number for number, _ in own])
    bounds = [_slack(ops, np.flatnonzero(on_gpu), start[whole], end[whole])]
    order = np.flatnonzero(on_gpu)
    # Sorted by stream, the operations of each one are a slice.
    stream_of = _stream_of(trace, ops)[order]
    order = order[np.argsort(stream_of, kind="stable")]
    stream_of = np.sort(stream_of)
    for index, syncs in waits_for.items():
        low, high = np.searchsorted(stream_of, (index, index + 1))
        bounds.append(_slack(ops, order[low:high], start[syncs], end[syncs]))
    known = [b for b in bounds if b is not None]
    return min(known) if known else None


def _is_named(trace: Trace, name_id: UInt32, calls: tuple[str, ...]) -> Mask:
    """Return which events have one of some names."""
    used, code = coded(name_id)
    is_named = np.array([name in calls for name in trace.names.take(used)], bool)
    return np.asarray(is_named[code])


def _slack(ops: LaunchedOperations, order: Indices, sync_start: Int64, sync_end: Int64) -> int | None:
    """Return the least time from the end of the work before a sync to its return, None without any, ns."""
    order = order[np.argsort(ops.call_end_ns[order], kind="stable")]
    before = np.searchsorted(ops.call_end_ns[order], sync_start, side="right") - 1
    known = before >= 0
    if not known.any():
        return None
    # A synchronisation waits for every operation launched before it: the last end of all of them bounds it.
    latest = np.maximum.accumulate(ops.end_ns[order])
    return int((sync_end[known] - latest[before[known]]).min())


def _stream_of(trace: Trace, ops: LaunchedOperations) -> Int64:
    """Return the stream of each operation, an index into `Trace.streams`."""
    out = np.zeros(len(ops), np.int64)
    for position, kind in enumerate((Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GRAPH)):
        of_kind = ops.kind == position
        out[of_kind] = np.searchsorted(trace.events[kind].offsets, ops.index[of_kind], side="right") - 1
    return out
