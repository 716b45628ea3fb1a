"""Splits a host thread's time: CUDA calls, off the CPU, host code (docs/definitions.md, section 7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewer.analysis.core.intervals import EMPTY, Intervals, union, window
from viewer.analysis.core.overlaps import overlaps
from viewer.analysis.launches.attribution import outermost, ranges_of
from viewer.analysis.launches.blocking_calls import blocking_calls, is_query
from viewer.analysis.launches.launches import Launches
from viewer.trace import Events, Kind
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WAITING_CALLS = (
    r"^_*(?:p?read(?:v2?|64)?|p?write(?:v2?|64)?|f(?:data)?sync|sync_file_range|p?poll|epoll_p?wait2?|p?select"
    r"|futex|sem_\w*wait\w*|pthread_(?:cond_(?:timed|clock)?wait|mutex_(?:timed)?lock|join\w*"
    r"|rwlock_\w*lock|barrier_wait|spin_lock)|(?:clock_)?nanosleep|u?sleep|sched_yield|wait(?:4|3|pid|id)?"
    r"|sigtimedwait|sigwait\w*|pause|accept4?|connect|recv(?:from|msg|mmsg)?|send(?:to|msg|mmsg)?|f(?:read|write)"
    r"|fgets|getc|flock|msgrcv|io_getevents|open(?:at)?(?:64)?|close)$"
)
"""Calls of the operating system in which a thread waits: for data, a lock, a file, or time to pass."""


BETWEEN_QUERIES_NS = 100_000
_LEAST_QUERIES = 10
"""So many calls in a row that ask whether the GPU is done, each soon after the other, are a wait for it."""

DEEPEST = 255
"""The deepest nesting of ranges that is searched: the cost grows with the square of the depth."""


@dataclass(frozen=True)
class HostTime:
    """One thread's time as sets of intervals; inside a CUDA call only the call counts.

    What the profiler does on the thread goes before all else. It and `calls` are disjoint from the three
    that follow.

    Attributes
    ----------
    blocking : Intervals
        Inside calls that return when the GPU is done, or asking again and again whether it is.
    calls : Intervals
        Inside any CUDA call, or between two that ask.
    profiler : Intervals
        In the profiler's own work.
    off_cpu : Intervals
        Outside CUDA calls and off the CPU, because it waited.
    preempted : Intervals
        Outside CUDA calls and off the CPU, though it was ready to run.
    unknown : Intervals
        Outside CUDA calls, where neither context switches nor operating system calls were recorded.
    """

    blocking: Intervals
    calls: Intervals
    profiler: Intervals
    off_cpu: Intervals
    preempted: Intervals
    unknown: Intervals

    def split(self, start_ns: Int64, end_ns: Int64) -> Int64:
        """Return the thread's time in windows.

        Returns
        -------
        ndarray of int64, shape (7, windows)
            Blocking, other call, profiler, off the CPU, preempted, host code, unknown. They sum to the length
            of the window.
        """
        blocking = self.blocking.covered(start_ns, end_ns)
        # `calls` holds the blocking ones too, and so the time between them that is polling.
        other = self.calls.covered(start_ns, end_ns) - blocking
        rest = [
            intervals.covered(start_ns, end_ns)
            for intervals in (self.profiler, self.off_cpu, self.preempted, self.unknown)
        ]
        # The rest, so that all sum to the window exactly.
        host = end_ns - start_ns - blocking - other - sum(rest)
        return np.stack((blocking, other, *rest[:3], host, rest[3]))


class Hosts:
    """The host threads of a trace; computes the time of each thread once."""

    def __init__(self, launches: Launches) -> None:
        self._launches = launches
        self.trace = launches.trace
        self._times: dict[int, HostTime] = {}
        self._owners: dict[int, list[int]] = {}
        self._profilers: dict[int, Intervals] = {}

    @cached_property
    def is_blocking(self) -> Mask:
        """Which API calls return when the GPU is done."""
        return blocking_calls(self._launches)

    @cached_property
    def _is_query(self) -> Mask:
        """Which API calls ask whether the GPU is done."""
        api = self.trace.api
        used = np.unique(api.name_id)
        # Asked once for each name in use, and spread over the calls by indexing: there are some dozens of
        # names, and millions of calls.
        asks = np.zeros(len(self.trace.names), bool)
        asks[used] = [is_query(name) for name in self.trace.names.take(used)]
        return np.asarray(asks[api.name_id])

    @property
    def is_recorded(self) -> bool:
        """Whether context switches or operating system calls tell waiting from working."""
        return bool(len(self._on_cpu) or len(self.trace.events[Kind.OSRT]))

    @cached_property
    def is_launch(self) -> Mask:
        """Which API calls put an operation on a GPU."""
        # By what was launched, not by the call's name: a captured launch puts nothing on a GPU.
        launching = np.zeros(len(self.trace.api), bool)
        for kind in (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GRAPH):
            calls = self._launches.api_of(kind)
            launching[calls[calls >= 0]] = True
        return launching

    def owners(self, process: int) -> list[int]:
        """Return the threads of a process that have ranges and launch, those that launch most first."""
        # Counting the launches goes over all calls of a process, and is asked for again with every GPU and
        # every kind of stall.
        if process not in self._owners:
            threads = [t.index for t in self.trace.threads_of(process) if self.trace.tracks_of(t.index)]
            launches = {t: int(self.is_launch[self.trace.api.of(t)].sum()) for t in threads}
            launching = [t for t in threads if launches[t]]
            self._owners[process] = sorted(launching, key=lambda t: (-launches[t], t))
        return self._owners[process]

    def time(self, thread: int) -> HostTime:
        """Return what a thread does with its time."""
        if thread not in self._times:
            self._times[thread] = self._time(thread)
        return self._times[thread]

    def longest_call(
        self, thread: int, start_ns: Int64, end_ns: Int64, *, blocking: bool
    ) -> tuple[Indices, Int64]:
        """Return the call that takes most of each of some disjoint windows, -1 for none, and how much, ns.

        Calls are counted by name: of the name with the largest sum it is the longest call. So a loop that
        polls is named for what it asks, not for another call that happens to be the longest one. Calls that
        ask whether the GPU is done are blocking where they poll.
        """
        api, rows = self.trace.api, self.trace.api.of(thread)
        is_blocking = self.is_blocking[rows]
        asks = self._is_query[rows]
        # To find the polling the whole time of the thread is computed; threads that never ask are spared
        # that.
        if asks.any():
            polls = self.time(thread).blocking.covered(api.start_ns[rows], api.end_ns[rows]) > 0
            # A new array: `self.is_blocking[rows]` is a view of what all threads share.
            is_blocking = is_blocking | (asks & polls)
        calls = rows.start + np.flatnonzero(is_blocking == blocking)
        return _longest(api, calls, start_ns, end_ns)

    def longest_os_call(self, thread: int, start_ns: Int64, end_ns: Int64) -> Indices:
        """Return the call of the operating system that takes most of each disjoint window, -1 for none."""
        table = self.trace.events[Kind.OSRT]
        rows = table.of(thread)
        return _longest(table, np.arange(rows.start, rows.stop), start_ns, end_ns)[0]

    def blocked_at(self, thread: int, times_ns: Int64) -> Indices:
        """Return the blocking call (into ``trace.api``) in which a thread is at each instant, -1 for none."""
        api, rows = self.trace.api, self.trace.api.of(thread)
        calls = rows.start + np.flatnonzero(self.is_blocking[rows])
        # An instant is a window of one nanosecond: a call that ends just then no longer blocks.
        around = outermost(api.start_ns[calls], api.end_ns[calls], times_ns, times_ns + 1)
        return np.where(around >= 0, calls[around] if len(calls) else -1, -1)

    def launches_near(self, thread: int, times_ns: Int64, within_ns: int) -> Int64:
        """Return how many launching calls of a thread begin in the window of that length around each time."""
        api, rows = self.trace.api, self.trace.api.of(thread)
        starts = api.start_ns[rows][self.is_launch[rows]]
        # Starts alone, so that a call counts once, in one of two windows that touch.
        # The calls of a thread are by start, and a mask keeps their order: no sorting here.
        low = np.searchsorted(starts, times_ns - within_ns // 2, side="left")
        return np.asarray(np.searchsorted(starts, times_ns + within_ns // 2, side="left") - low, np.int64)

    def inside(self, thread: int, start_ns: Int64, end_ns: Int64) -> Indices:
        """Return the innermost NVTX range of a thread that covers at least half of each window, -1: none."""
        nvtx = self.trace.nvtx
        best = np.full(len(start_ns), -1, np.int64)
        # Larger than any range, so that the first that fits is taken without a case of its own.
        length = np.full(len(start_ns), np.iinfo(np.int64).max)
        # A range that covers half of a window holds its middle, or ends or begins there. So in each layer,
        # whose ranges are disjoint, only the ranges at `middle` and just before it have to be tried.
        middle = start_ns + (end_ns - start_ns) // 2
        for track in self.trace.tracks_of(thread):
            for layer in layers(nvtx, ranges_of(self.trace, track.index)):
                begin, stop = nvtx.start_ns[layer], nvtx.end_ns[layer]
                for point in (middle, middle - 1):
                    last = np.searchsorted(begin, point, side="right") - 1
                    tried = np.maximum(last, 0)
                    shared = np.minimum(stop[tried], end_ns) - np.maximum(begin[tried], start_ns)
                    extent = stop[tried] - begin[tried]
                    # The innermost range is the shortest one.
                    better = (last >= 0) & (2 * shared >= end_ns - start_ns) & (extent < length)
                    best[better], length[better] = layer[tried[better]], extent[better]
        return best

    def _time(self, thread: int) -> HostTime:
        trace = self.trace
        api, rows = trace.api, trace.api.of(thread)
        profiler = self._profiler(thread)
        polling = self._polling(thread)
        # Unions, since calls nest: the runtime's around the driver's.
        calls = (union(api.start_ns[rows], api.end_ns[rows]) | polling) - profiler
        waits = self.is_blocking[rows]
        blocking = (union(api.start_ns[rows][waits], api.end_ns[rows][waits]) | polling) - profiler
        off, preempted, unknown = self._off_cpu(thread)
        in_call = calls | profiler
        return HostTime(blocking, calls, profiler, off - in_call, preempted - in_call, unknown - in_call)

    def profiler_of(self, process: int) -> Intervals:
        """Return when the profiler works on some thread of a process."""
        if process not in self._profilers:
            threads = self.trace.threads_of(process)
            self._profilers[process] = reduce(or_, (self._profiler(t.index) for t in threads), EMPTY)
        return self._profilers[process]

    def _profiler(self, thread: int) -> Intervals:
        """Return when the profiler works on a thread; what CUDA does there itself is not among it."""
        overhead = self.trace.events[Kind.OVERHEAD]
        if not len(overhead):
            return EMPTY
        rows = overhead.of(thread)
        own = overhead.columns["is_cuda"][rows] == 0
        return union(overhead.start_ns[rows][own], overhead.end_ns[rows][own])

    def _polling(self, thread: int) -> Intervals:
        """Return when a thread asks again and again whether the GPU is done, with the time between.

        Ten calls in a row, none more than 100 µs after the one before, with no other CUDA call between.
        """
        api, rows = self.trace.api, self.trace.api.of(thread)
        asks = self._is_query[rows]
        if int(asks.sum()) < _LEAST_QUERIES:
            return EMPTY
        start, end = api.start_ns[rows], api.end_ns[rows]
        # From end to start: a slow query does not break the run, but a pause after it does. The first call
        # follows none.
        close = np.concatenate(([False], start[1:] - end[:-1] <= BETWEEN_QUERIES_NS))
        # A run is a stretch of calls that ask, each soon after the one before.
        goes_on = asks & close & np.concatenate(([False], asks[:-1]))
        first = np.flatnonzero(asks & ~goes_on)
        last = np.flatnonzero(asks & ~np.concatenate((goes_on[1:], [False])))
        long = last - first + 1 >= _LEAST_QUERIES
        return union(start[first[long]], end[last[long]])

    def _off_cpu(self, thread: int) -> tuple[Intervals, Intervals, Intervals]:
        """Return when a thread waits off the CPU, when it was preempted, and when that is not known.

        By context switches, from the thread's first one on; before, and without them, by the waiting calls
        of the operating system.
        """
        low, high = self._extent
        on_cpu, rows = self._on_cpu, self._on_cpu.of(thread)
        # Before its first context switch nothing says whether the thread ran.
        switched = window(int(on_cpu.start_ns[rows][0]), high) if rows.stop > rows.start else EMPTY
        # A union, as the spans of a thread that moves between CPUs may touch or overlap by the clocks of two
        # cores.
        off = switched - union(on_cpu.start_ns[rows], on_cpu.end_ns[rows])
        preempted = EMPTY
        if rows.stop > rows.start and (taken := on_cpu.columns["preempted"][rows] != 0)[:-1].any():
            # Sorted by start, disjoint: a thread that was taken off its CPU comes back with its next span.
            back = np.concatenate((on_cpu.start_ns[rows][1:], [high]))
            preempted = union(on_cpu.end_ns[rows][taken], back[taken]) & off
            # What is left of the time off the CPU is taken for waiting: the kernel says of a thread that it
            # was taken off, not that it went by itself.
            off = off - preempted
        rest = window(low, high) - switched
        osrt = self.trace.events[Kind.OSRT]
        if not len(osrt):
            return off, preempted, rest
        rows = osrt.of(thread)
        # Where context switches are known they decide, also against a waiting call: one that returns at once
        # never leaves the CPU. So the calls count only in `rest`.
        waits = self._is_waiting[rows]
        return off | (union(osrt.start_ns[rows][waits], osrt.end_ns[rows][waits]) & rest), preempted, EMPTY

    @property
    def _on_cpu(self) -> Events:
        return self.trace.events[Kind.ON_CPU]

    @cached_property
    def _extent(self) -> tuple[int, int]:
        """From before the first event and the trace's window to after the last event, ns."""
        low, high = self.trace.span_ns
        return min(low, self.trace.window_ns[0]), high + 1

    @cached_property
    def _is_waiting(self) -> Mask:
        osrt = self.trace.events[Kind.OSRT]
        used = np.unique(osrt.name_id)
        waits = np.zeros(len(self.trace.names), bool)
        # The pattern is tried on the few distinct names, whose answers then go to millions of calls.
        texts = self.trace.names.array.take(pa.array(used))
        waits[used] = np.asarray(pc.match_substring_regex(texts, WAITING_CALLS).to_numpy(False), bool)
        return np.asarray(waits[osrt.name_id])


def layers(table: Events, rows: Indices) -> list[Indices]:
    """Split events that are sorted by (start, -end) into layers, outermost first, whose ends are sorted too.

    In a layer of nested ranges none overlaps another. Events deeper than `DEEPEST` are left out.
    """
    split: list[Indices] = []
    rest = rows
    while len(rest) and len(split) < DEEPEST:
        # Sorted by (start, -end), an event lies in no earlier one if it ends after all of them.
        ends = table.end_ns[rest]
        # The running maximum of the ends before, since a short range may stand between an event and the one
        # around it. Equal ends are inside.
        outer = ends > np.append(np.iinfo(np.int64).min, np.maximum.accumulate(ends)[:-1])
        split.append(rest[outer])
        rest = rest[~outer]
    return split


def _longest(table: Events, rows: Indices, start_ns: Int64, end_ns: Int64) -> tuple[Indices, Int64]:
    """Return for each window the longest event of the name that takes most of it, and the name's time, ns.

    The event is -1, and the time 0, where none of `rows` meets a window.
    """
    shared = overlaps(start_ns, end_ns, table.start_ns[rows], table.end_ns[rows])
    event, total = shared.most(table.name_id[rows])
    return np.where(event >= 0, rows[event] if len(rows) else -1, -1), total
