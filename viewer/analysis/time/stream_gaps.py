"""Stream gaps: what the other streams of a GPU do while its compute stream is idle.

See docs/definitions.md, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import EMPTY, NONE, Intervals, runs, sweep, union
from viewer.analysis.core.prefix_sums import PrefixSums
from viewer.analysis.time.time_breakdown import BusyIntervals
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

_OCCUPIED, _COMPUTE, _COMMUNICATION, _COPY, _NOTHING = range(5)
# The state by what runs, as a sum: 1 compute, 2 communication, 4 copies, 8 the compute stream itself. The
# compute stream comes first, then compute before communication before copies, as in the five categories.
_STATE_OF_BITS = np.array(
    [_NOTHING, _COMPUTE, _COMMUNICATION, _COMPUTE, _COPY, _COMPUTE, _COMMUNICATION, _COMPUTE]
    + [_OCCUPIED] * 8,
    np.uint8,
)


@dataclass(frozen=True, slots=True)
class StreamGapNumbers:
    """The time in which the compute stream is idle, `empty_ns`; the other four sum to it.

    `compute_ns` is computation on other streams, `communication_ns` and `copy_ns` are those that no
    computation hides; only in `idle_ns` the GPU does nothing.
    """

    empty_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    idle_ns: int


@dataclass(frozen=True)
class StreamGaps:
    """The gaps of a GPU's compute stream.

    Attributes
    ----------
    stream : int or None
        Index of the stream with most time in compute kernels, None for a GPU without any.
    own : tuple of PrefixSums
        The operations on the stream, disjoint: their sums are the time in which it is not idle.
    states : tuple of Intervals
        When the stream is idle and the others compute, communicate without compute, copy without either.
    """

    stream: int | None
    own: tuple[PrefixSums, ...]
    states: tuple[Intervals, ...]

    def totals(self, start_ns: int, end_ns: int) -> StreamGapNumbers:
        """Return what fills the compute stream's gaps inside [start, end)."""
        # Idle is what is left over, so that the four sum to the empty time by construction, whatever is
        # rounded.
        compute, communication, copy = (int(s.covered(start_ns, end_ns)) for s in self.states)
        empty = end_ns - start_ns - sum(int(own.sums(start_ns, end_ns).sum()) for own in self.own)
        return StreamGapNumbers(empty, compute, communication, copy, empty - compute - communication - copy)

    def totals_in(self, windows: Sequence[tuple[int, int]]) -> StreamGapNumbers:
        """Return what fills the compute stream's gaps inside disjoint windows, added up."""
        each = (astuple(self.totals(*window)) for window in windows)
        return StreamGapNumbers(*map(sum, zip(*each, strict=True)))


def find_stream_gaps(trace: Trace, classes: KernelClasses, covered: BusyIntervals, gpu: int) -> StreamGaps:
    """Return the compute stream of a GPU and what fills its gaps."""
    stream = _compute_stream(trace, classes, gpu)
    tables = [] if stream is None else [_times_on(trace, kind, stream) for kind in GPU_KINDS]
    own = EMPTY
    if tables:
        own = union(*(np.concatenate([NONE, *column]) for column in zip(*tables, strict=True)))
    times, bits = sweep((covered.compute, covered.communication, covered.copies, own))
    state = _STATE_OF_BITS[bits]
    # A boundary at which the state stays the same ends nothing: each run of one state is one interval. After
    # the last boundary nothing runs, so that a run of the other states always has an end.
    first, stop = runs(state)
    runs_of = [np.flatnonzero(state[first] == wanted) for wanted in (_COMPUTE, _COMMUNICATION, _COPY)]
    states = tuple(Intervals(times[first[run]], times[stop[run]]) for run in runs_of)
    # Operations of a stream follow one another, so that the tables, which are in memory already, sum to the
    # union. Where a trace has overlapping ones, the union is kept instead.
    if own.total() != sum(int((end - start).sum()) for start, end in tables):
        tables = [(own.start_ns, own.end_ns)]
    sums = [PrefixSums(start, end, np.zeros(len(start), np.uint8)) for start, end in tables]
    return StreamGaps(stream, tuple(sums), states)


def _times_on(trace: Trace, kind: Kind, stream: int) -> tuple[Int64, Int64]:
    """Return the starts and the ends of one kind of operation on a stream, shape (n,) each, ns."""
    events = trace.events[kind]
    rows = events.of(stream)
    return events.start_ns[rows], events.end_ns[rows]


def _compute_stream(trace: Trace, classes: KernelClasses, gpu: int) -> int | None:
    """Return the stream with most time in compute kernels and graphs, the first of equals; None without."""
    best: tuple[int, int] | None = None
    for stream in trace.streams_of(gpu):
        time = 0
        for kind in (Kind.KERNEL, Kind.GRAPH):
            events, rows = trace.events[kind], trace.events[kind].of(stream.index)
            length = events.end_ns[rows] - events.start_ns[rows]
            # A stream that only communicates is never the compute stream, however long its kernels wait.
            if kind is Kind.KERNEL:
                length = length[~classes.is_comm(events.name_id[rows])]
            time += int(length.sum())
        # The first of equals: the choice must not change from one opening to the next.
        if time and (best is None or time > best[0]):
            best = (time, stream.index)
    return best[1] if best else None
