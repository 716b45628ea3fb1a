"""Compares GPU clocks with the CPU's: the bounds between which each offset lies.

See docs/definitions.md, section 10.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.launches.attribution import Indices, LaunchedOperations, Mask, launched_operations
from viewer.analysis.launches.blocking_calls import plain_call
from viewer.analysis.launches.launches import Launches
from viewer.trace import Gpu, Kind, Trace
from viewer.trace.events import Int64, UInt32

TOLERANCE_NS = 100_000
_PIECES = 512
_STREAM_SYNCS = ("cudaStreamSynchronize", "cuStreamSynchronize")
_DEVICE_SYNCS = ("cudaDeviceSynchronize", "cuCtxSynchronize")


@dataclass(frozen=True, slots=True)
class Drift:
    """An offset that grows with time.

    Attributes
    ----------
    offset_ns : int
        What to add in the middle of the trace's window.
    growth_ns : int
        How much more at the end of the window than at its start.
    """

    offset_ns: int
    growth_ns: int


@dataclass(frozen=True, slots=True)
class Clock:
    """The bounds on what must be added to a GPU's times; None where nothing bounds it on that side.

    Attributes
    ----------
    lower_ns : int or None
        No operation starts before its launch does: the latest API start - operation start.
    upper_ns : int or None
        No synchronisation returns before what it waits for has ended: the least return - operation end.
    drift : Drift or None
        An offset that grows with time and satisfies all bounds, where no constant one does.
    """

    gpu: int
    lower_ns: int | None
    upper_ns: int | None
    drift: Drift | None = None

    @property
    def is_shifted(self) -> bool:
        """Whether the bounds exclude 0 by more than 100 µs, and an offset satisfies both."""
        return self.is_early or self.is_late or self.drift is not None

    @property
    def contradicts(self) -> bool:
        """Whether no offset satisfies both bounds, not nearly: a few rows have wrong times, say.

        A clock that drifts leaves them apart too: by little beside its offset, or so that a growing one
        satisfies all bounds.
        """
        if self.lower_ns is None or self.upper_ns is None or self.drift is not None:
            return False
        # Beside a large offset a clock may drift by as much as a share of it within the recording; it is
        # still that one clock.
        offset = max(abs(self.lower_ns), abs(self.upper_ns))
        return self.lower_ns - self.upper_ns > max(TOLERANCE_NS, offset // 2)

    @property
    def is_early(self) -> bool:
        """Whether operations start before they were launched."""
        if self.drift is not None:
            return self.drift.offset_ns > 0
        return self.lower_ns is not None and self.lower_ns > TOLERANCE_NS and not self.contradicts

    @property
    def is_late(self) -> bool:
        """Whether operations end after the CPU has waited for their end."""
        if self.drift is not None:
            return self.drift.offset_ns <= 0
        return self.upper_ns is not None and self.upper_ns < -TOLERANCE_NS and not self.contradicts

    @property
    def offset_ns(self) -> int:
        """What to add to align the GPU: 0 if its clock is not shifted, else the middle of the bounds.

        With one bound alone, that bound; of one that drifts, what the middle of the window needs.
        """
        if self.drift is not None:
            return self.drift.offset_ns
        if not self.is_shifted:
            return 0
        # The middle: launches take microseconds to start and synchronisations to return, so either bound
        # alone is too far out.
        bounds = [b for b in (self.lower_ns, self.upper_ns) if b is not None]
        return sum(bounds) // len(bounds)


def clocks(launches: Launches) -> tuple[Clock, ...]:
    """Return the bounds of every GPU's clock, in order of `Trace.gpus`."""
    trace = launches.trace
    by_gpu: dict[int, Clock] = {}
    for process in trace.processes:
        gpus = trace.gpus_of(process.index)
        if gpus:
            # Once for a process with all its GPUs; to find who launched what is the expensive part.
            ops = launched_operations(launches, process.index)
            by_gpu |= {g.index: _clock(trace, ops, g) for g in gpus}
    return tuple(by_gpu[g.index] for g in trace.gpus)


def _clock(trace: Trace, ops: LaunchedOperations, gpu: Gpu) -> Clock:
    on_gpu = ops.gpu == gpu.index
    # The start of the call and not its end: a kernel may well start before the call that launched it has
    # returned.
    lower = OffsetBounds(ops.call_start_ns[on_gpu], ops.call_start_ns[on_gpu] - ops.start_ns[on_gpu])
    upper = _upper(trace, ops, gpu, on_gpu)
    least = int(lower.ns.max()) if len(lower.ns) else None
    most = int(upper.ns.min()) if len(upper.ns) else None
    drift = None
    # Only where no constant offset will do: a line fits anything that a constant fits, and would explain away
    # noise.
    if least is not None and most is not None and least - most > TOLERANCE_NS:
        drift = _drift(lower, upper, trace.window_ns)
    return Clock(gpu.index, least, most, drift)


@dataclass(frozen=True, eq=False)
class OffsetBounds:
    """OffsetBounds on what must be added to a GPU's times, each at its own moment; shape (bounds,) each."""

    time_ns: Int64
    ns: Int64


def _upper(trace: Trace, ops: LaunchedOperations, gpu: Gpu, on_gpu: Mask) -> OffsetBounds:
    """Return the times from the end of the last operation launched before a sync to its return."""
    sync = trace.events[Kind.SYNC]
    rows = sync.of(gpu.process)
    none = np.empty(0, np.int64)
    if rows.stop == rows.start or not on_gpu.any():
        return OffsetBounds(none, none)
    names = sync.name_id[rows]
    context, stream = sync.columns["context"][rows], sync.columns["stream_id"][rows]
    start, end = sync.start_ns[rows], sync.end_ns[rows]
    of_stream, of_device = (_is_named(trace, names, calls) for calls in (_STREAM_SYNCS, _DEVICE_SYNCS))
    streams = trace.streams_of(gpu.index)
    own = {(s.context, s.stream_id): s.index for s in streams}
    # Grouped by what is waited for: the last end before a sync is then one search for all syncs of a stream,
    # not one for each.
    waits_for: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in np.flatnonzero(of_stream).tolist():
        if (index := own.get((int(context[row]), int(stream[row])))) is not None:
            waits_for[index,].append(row)
    # A sync of the device waits for the streams of its own context, and for no other context's.
    for number in {s.context for s in streams}:
        rows_of_context = np.flatnonzero(of_device & (context == number)).tolist()
        waits_for[tuple(s.index for s in streams if s.context == number)] += rows_of_context
    order = np.flatnonzero(on_gpu)
    stream_of = _stream_of(trace, ops)[order]
    pieces = [
        _slack(ops, order[np.isin(stream_of, indices)], start[syncs], end[syncs])
        for indices, syncs in waits_for.items()
        if syncs
    ]
    times = np.concatenate([none, *(piece.time_ns for piece in pieces)])
    return OffsetBounds(times, np.concatenate([none, *(piece.ns for piece in pieces)]))


def _drift(lower: OffsetBounds, upper: OffsetBounds, window: tuple[int, int]) -> Drift | None:
    """Return the growing offset that satisfies all bounds, None if no straight line does."""
    low, high = (_tightest(bounds, window, sign) for bounds, sign in ((lower, 1), (upper, -1)))
    middle, length = sum(window) / 2, max(window[1] - window[0], 1)
    # Times from -1/2 to 1/2 of the window. `excess` is how far the bounds are apart about a line that grows
    # by `growth`: convex, so that halving the interval finds its least.
    at_low, at_high = (low.time_ns - middle) / length, (high.time_ns - middle) / length

    def ends(growth: float) -> tuple[float, float]:
        return float((low.ns - growth * at_low).max()), float((high.ns - growth * at_high).min())

    def excess(growth: float) -> float:
        least, most = ends(growth)
        return least - most

    # No line that satisfies all bounds can be steeper: it would leave them within the window.
    reach = 4.0 * max(abs(int(low.ns.max())), abs(int(high.ns.min())))
    left, right = -reach, reach
    # Each step leaves two thirds: 120 of them take any width of int64 to well below a nanosecond.
    for _ in range(120):
        first, second = left + (right - left) / 3, right - (right - left) / 3
        left, right = (left, second) if excess(first) < excess(second) else (first, right)
    growth = (left + right) / 2
    least, most = ends(growth)
    # The bounds leave some room: of all lines that satisfy them the flattest is no better known.
    if least - most > TOLERANCE_NS / 2 or abs(growth) <= TOLERANCE_NS:
        return None
    return Drift(round((least + most) / 2), round(growth))


def _tightest(bounds: OffsetBounds, window: tuple[int, int], sign: int) -> OffsetBounds:
    """Return the largest bound (sign 1) or the least (-1) of each short piece of the window."""
    # A few hundred bounds instead of one for each operation: only the tightest in a piece can matter.
    piece = (bounds.time_ns - window[0]) * _PIECES // max(window[1] - window[0], 1)
    order = np.lexsort((sign * bounds.ns, piece))
    # Sorted by piece, then by the bound: the last of a piece is its tightest.
    last = np.concatenate((piece[order][1:] != piece[order][:-1], [True]))
    return OffsetBounds(bounds.time_ns[order[last]], bounds.ns[order[last]])


def _is_named(trace: Trace, name_id: UInt32, calls: tuple[str, ...]) -> Mask:
    """Return which events have one of some names, in any spelling."""
    used, code = coded(name_id)
    is_named = np.array([plain_call(name) in calls for name in trace.names.take(used)], bool)
    return np.asarray(is_named[code])


def _slack(ops: LaunchedOperations, order: Indices, sync_start: Int64, sync_end: Int64) -> OffsetBounds:
    """Return the times from the end of the work before each sync to its return; of those with work before."""
    # By when they were launched, as that is what a synchronisation waits for: the last to be launched need
    # not be the last to end.
    order = order[np.argsort(ops.call_end_ns[order], kind="stable")]
    before = np.searchsorted(ops.call_end_ns[order], sync_start, side="right") - 1
    # A synchronisation before any launch waited for nothing, and bounds nothing.
    known = before >= 0
    # A synchronisation waits for every operation launched before it: the last end of all of them bounds it.
    latest = np.maximum.accumulate(ops.end_ns[order]) if len(order) else order
    return OffsetBounds(sync_end[known], sync_end[known] - latest[before[known]])


def _stream_of(trace: Trace, ops: LaunchedOperations) -> Int64:
    """Return the stream of each operation, an index into `Trace.streams`."""
    out = np.zeros(len(ops), np.int64)
    for position, kind in enumerate((Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GRAPH)):
        of_kind = ops.kind == position
        out[of_kind] = np.searchsorted(trace.events[kind].offsets, ops.index[of_kind], side="right") - 1
    return out
