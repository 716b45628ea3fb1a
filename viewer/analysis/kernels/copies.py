"""Copies and sets: size, speed, streams, and whether kernels hide them (docs/definitions.md, section 9)."""

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
"""nsys's kind of a copy from host to device."""
MIN_IN_FRONT_BYTES = 64 * 1024
"""Smaller copies before an iteration's first kernel do not count."""


def copies(
    trace: Trace, classes: KernelClasses, breakdowns: Sequence[TimeBreakdown], scope: Scope
) -> pd.DataFrame:
    """Return the copies and sets of each GPU that touch a scope, by kind.

    Those across an edge of the scope count whole in `bytes` and `sum_ns`, and with the part inside in
    `union_ns`, `hidden_ns` and `copy_only_ns`.

    Parameters
    ----------
    breakdowns : sequence of TimeBreakdown
        One per GPU, see `Study.parts`.

    Returns
    -------
    DataFrame
        `gpu`, `kind` ("Memcpy HtoD"), `count`, `bytes`, `sum_ns`, `throughput_gb_s` (10⁹ bytes a second),
        `union_ns`, `hidden_ns` (beside a kernel), `copy_only_ns`, `streams` ("7, 20"), `on_compute_stream`
        (count on a stream that also runs compute kernels), `pageable` (count), and `start_ns`, `end_ns` of
        the longest one.
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
    # What touches the scope counts whole in bytes, as a copy has no bytes "inside" a range: its speed varies.
    rows = rows[within.covered(events.start_ns[rows], events.end_ns[rows]) > 0]
    if not len(rows):
        return []
    stream = np.searchsorted(events.offsets, rows, side="right") - 1
    computes = _compute_streams(trace, classes, gpu)
    # Beside any kernel a copy is hidden, communication included: the GPU is not waiting for it then.
    kernels = breakdown.intervals("compute_only", "hidden_comm", "exposed_comm") & within
    pageable = is_pageable(events) if kind is Kind.MEMCPY else np.zeros(len(events), bool)
    lines: list[dict[str, object]] = []
    for name in np.unique(events.name_id[rows]).tolist():
        has_name = events.name_id[rows] == name
        copied, on_stream = rows[has_name], stream[has_name]
        start, end = events.start_ns[copied], events.end_ns[copied]
        size = int(events.columns["bytes"][copied].astype(np.int64).sum())
        length, longest = int((end - start).sum()), int((end - start).argmax())
        # Two copies at once on two engines take the time of one, and neither hides the other.
        covered = union(start, end) & within
        hidden = (covered & kernels).total()
        used = [trace.streams[s] for s in np.unique(on_stream).tolist()]
        # By CUDA's number, which the reader sees, not by the index, which is only ours.
        used.sort(key=lambda stream: stream.stream_id)
        lines.append(
            {
                "gpu": gpu,
                "kind": trace.names[name],
                "count": len(copied),
                "bytes": size,
                "sum_ns": length,
                # Bytes per nanosecond are 10⁹ bytes per second: no factor is missing. Of the sums, so that
                # large copies weigh as they do.
                "throughput_gb_s": size / length if length else 0.0,
                "union_ns": covered.total(),
                "hidden_ns": hidden,
                "copy_only_ns": covered.total() - hidden,
                "streams": ", ".join(dict.fromkeys(stream.label for stream in used)),
                "on_compute_stream": int(np.isin(on_stream, computes).sum()),
                "pageable": int(pageable[copied].sum()),
                "start_ns": int(start[longest]),
                "end_ns": int(end[longest]),
            }
        )
    return lines


def _compute_streams(trace: Trace, classes: KernelClasses, gpu: int) -> list[int]:
    """Return the streams of a GPU that run compute kernels."""
    kernels = trace.kernels
    return [
        stream.index
        for stream in trace.streams_of(gpu)
        if not classes.is_comm(kernels.name_id[kernels.of(stream.index)]).all()
    ]


@dataclass(frozen=True)
class InFront:
    """Copies before an iteration's first kernel, which has to wait for them, by GPU and iteration.

    Attributes
    ----------
    count : ndarray of int64, shape (gpus, iterations)
    length_ns : ndarray of int64, shape (gpus, iterations)
        Time that they cover, their union.
    bytes : ndarray of int64, shape (gpus, iterations)
    start_ns : ndarray of int64, shape (gpus, iterations)
        Start of the first of them; -1 without any.
    """

    count: Int64
    length_ns: Int64
    bytes: Int64
    start_ns: Int64


def in_front(trace: Trace, classes: KernelClasses, iterations: Iterations) -> InFront:
    """Return the copies to the device of 64 KiB or more before the first kernel of each iteration.

    See docs/definitions.md, section 9.
    """
    shape = (len(trace.gpus), iterations.count)
    none = np.zeros(shape, np.int64)
    # Copies, as each is filled by itself; -1 is no time, while 0 would be the start of the recording.
    before = InFront(none, none.copy(), none.copy(), none - 1)
    events = trace.events[Kind.MEMCPY]
    for gpu in trace.gpus:
        rows = rows_of_gpu(trace, Kind.MEMCPY, gpu.index)
        if not len(rows):
            continue
        sizes: Int64 = events.columns["bytes"][rows].astype(np.int64)
        to_device = np.asarray(events.columns["copy_kind"][rows] == HTOD)
        rows = rows[to_device & (sizes >= MIN_IN_FRONT_BYTES)]
        # Rows lie stream by stream; sorted by start over all streams, binary searches find each iteration's
        # run.
        rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
        low, first = before_first_kernel(trace, classes, iterations, gpu.index)
        # Sorted by start, those of an iteration are the run between its two edges.
        begin, stop = (np.searchsorted(events.start_ns[rows], edge, side="left") for edge in (low, first))
        for iteration in range(iterations.count):
            copied = rows[begin[iteration] : stop[iteration]]
            if len(copied):
                cell = gpu.index, iteration
                covered = union(events.start_ns[copied], events.end_ns[copied])
                before.count[cell] = len(copied)
                before.length_ns[cell] = covered.total()
                before.bytes[cell] = int(events.columns["bytes"][copied].astype(np.int64).sum())
                # Copies of length zero alone cover nothing.
                before.start_ns[cell] = int(covered.start_ns[0]) if len(covered) else low[iteration]
    return before


def before_first_kernel(
    trace: Trace, classes: KernelClasses, iterations: Iterations, gpu: int
) -> tuple[Int64, Int64]:
    """Return the starts of the last compute kernel before each iteration and of the first one inside it.

    Shape (iterations,) each, ns. Without a kernel before it or in it, the edge of the iteration stands in.
    """
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    rows = rows[~classes.is_comm(kernels.name_id[rows])]
    starts = np.sort(kernels.start_ns[rows])
    begin, end = iterations.windows(gpu)
    if not len(starts):
        return begin, begin
    # The first kernel that starts inside or after each iteration; the clamped positions are masked.
    after = np.searchsorted(starts, begin, side="left")
    first = np.where(after < len(starts), starts[np.minimum(after, len(starts) - 1)], begin)
    last_before = np.where(after > 0, starts[np.maximum(after - 1, 0)], begin)
    # From the last kernel before, not from the boundary: the copies of an iteration are often issued while
    # its marker is not open yet. Clamped to the iteration where it has no kernel at all.
    return np.minimum(last_before, begin), np.minimum(first, end)


@dataclass(frozen=True, slots=True)
class CopyStory:
    """Whether kernels hide one copy or set, and why not.

    Attributes
    ----------
    hidden_ns, copy_only_ns : int
        Time beside a kernel and beside none; the two sum to its duration.
    queues_with_kernels : bool
        Whether its stream also runs compute kernels, which then cannot hide it.
    pageable : bool
        Whether its host side is pageable memory; then its call waits for it.
    """

    hidden_ns: int
    copy_only_ns: int
    queues_with_kernels: bool
    pageable: bool

    @property
    def text(self) -> str:
        """The same as a line of text."""
        duration = self.hidden_ns + self.copy_only_ns
        if duration and self.hidden_ns == duration:
            return "hidden behind kernels"
        part = f"{self.hidden_ns / duration:.0%} hidden behind kernels" if self.hidden_ns else "not hidden"
        if self.queues_with_kernels:
            return f"{part}: its stream runs kernels too, so that it queues with them"
        return f"{part}, though on a stream of its own" + (" (pageable memory)" if self.pageable else "")


def copy_story(
    trace: Trace, classes: KernelClasses, covered: BusyIntervals, kind: Kind, index: int
) -> CopyStory:
    """Return whether kernels hide a copy or a set.

    Parameters
    ----------
    covered : BusyIntervals
        Of its GPU, see `Study.coverage`.
    kind, index : Kind, int
        The copy or set: `Kind.MEMCPY` or `Kind.MEMSET`, and its index into the events of that kind.
    """
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
