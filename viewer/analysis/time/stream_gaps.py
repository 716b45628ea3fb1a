"""Stream gaps: what the rest of a GPU does while its compute stream is empty.

See docs/definitions.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import EMPTY, NONE, Intervals, runs, sweep, union
from viewer.analysis.core.prefix_sums import PrefixSums
from viewer.analysis.time.time_breakdown import BusyIntervals
from viewer.trace import GPU_KINDS, Kind, Trace

_OCCUPIED, _COMPUTE, _COMMUNICATION, _COPY, _NOTHING = range(5)
# Bit 1 compute, bit 2 communication, bit 4 copies, bit 8 the compute stream itself.
_STATE_OF_BITS = np.array(
    [_NOTHING, _COMPUTE, _COMMUNICATION, _COMPUTE, _COPY, _COMPUTE, _COMMUNICATION, _COMPUTE]
    + [_OCCUPIED] * 8,
    np.uint8,
)


@dataclass(frozen=True, slots=True)
class StreamGapNumbers:
    """The time in which the compute stream is empty, in ns; the other four sum to it.

    `compute_ns` is computation on other streams, `communication_ns` and `copy_ns` are those that no
    computation hides; only `idle_ns` is a true hole.
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
        What occupies the stream, disjoint.
    states : tuple of Intervals
        What the other streams do where it is not occupied: compute, communication without compute, copies
        without either.
    """

    stream: int | None
    own: tuple[PrefixSums, ...]
    states: tuple[Intervals, ...]

    def totals(self, start_ns: int, end_ns: int) -> StreamGapNumbers:
        """Return what the compute stream's gaps inside [start, end) are made of."""
        compute, communication, copy = (int(s.covered(start_ns, end_ns)) for s in self.states)
        empty = end_ns - start_ns - sum(int(own.sums(start_ns, end_ns).sum()) for own in self.own)
        return StreamGapNumbers(empty, compute, communication, copy, empty - compute - communication - copy)


def find_stream_gaps(trace: Trace, classes: KernelClasses, covered: BusyIntervals, gpu: int) -> StreamGaps:
    """Find the compute stream of a GPU and what fills its gaps."""
    stream = _compute_stream(trace, classes, gpu)
    rows = [] if stream is None else [(e := trace.events[k], e.of(stream)) for k in GPU_KINDS]
    tables = [(events.start_ns[held], events.end_ns[held]) for events, held in rows]
    own = union(*(np.concatenate([NONE, *column]) for column in zip(*tables, strict=True))) if rows else EMPTY
    times, bits = sweep((covered.compute, covered.communication, covered.copies, own))
    state = _STATE_OF_BITS[bits]
    first, last = runs(state)
    kept = [np.flatnonzero(state[first] == one) for one in (_COMPUTE, _COMMUNICATION, _COPY)]
    states = tuple(Intervals(times[first[of]], times[last[of]]) for of in kept)
    # Operations of a stream follow one another: then the tables say themselves when it is occupied.
    if own.total() != sum(int((end - start).sum()) for start, end in tables):
        tables = [(own.start_ns, own.end_ns)]
    tallies = [PrefixSums(start, end, np.zeros(len(start), np.uint8)) for start, end in tables]
    return StreamGaps(stream, tuple(tallies), states)


def _compute_stream(trace: Trace, classes: KernelClasses, gpu: int) -> int | None:
    best: tuple[int, int] | None = None
    for stream in trace.streams_of(gpu):
        time = 0
        for kind in (Kind.KERNEL, Kind.GRAPH):
            events, rows = trace.events[kind], trace.events[kind].of(stream.index)
            length = events.end_ns[rows] - events.start_ns[rows]
            if kind is Kind.KERNEL:
                length = length[~classes.is_comm(events.name_id[rows])]
            time += int(length.sum())
        if time and (best is None or time > best[0]):
            best = (time, stream.index)
    return best[1] if best else None
