"""Launched operations by thread and call, and which of them an NVTX range covers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.nvtx_texts import is_library_domain
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64, UInt32
from viewer.trace.lazy import cached_property

Indices = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger[Any]]
"""Indices that are kept: int32 where they fit."""
Mask = npt.NDArray[np.bool_]

MARK = 34
"""nsys's event type of an NVTX mark, which has no length and is no range."""


@dataclass(frozen=True)
class LaunchedOperations:
    """The GPU operations of one process that have a launch record, by (thread, start of the call).

    Attributes
    ----------
    kind : ndarray of uint8, shape (n,)
        Position in `GPU_KINDS`.
    index : ndarray of int64, shape (n,)
        Index into the table of that kind.
    gpu : ndarray of int32, shape (n,)
    start_ns, end_ns : ndarray of int64, shape (n,)
        From where to where the operation runs.
    name_id : ndarray of uint32, shape (n,)
    call_start_ns, call_end_ns : ndarray of int64, shape (n,)
        The innermost API call that launched it (docs/definitions.md, section 4).
    threads : dict of int to slice
        The operations that each thread launched, by index of the thread.
    busy_ns : int
        Sum of the durations of all operations of the process, those without a launch record too.
    """

    kind: npt.NDArray[np.uint8]
    index: Indices
    gpu: npt.NDArray[np.int32]
    start_ns: Int64
    end_ns: Int64
    name_id: UInt32
    call_start_ns: Int64
    call_end_ns: Int64
    threads: dict[int, slice]
    busy_ns: int

    def __len__(self) -> int:
        return len(self.start_ns)


def launched_operations(launches: Launches, process: int) -> LaunchedOperations:
    """Return the operations of a process that have a launch record."""
    trace, api = launches.trace, launches.trace.api
    pieces: list[tuple[npt.NDArray[Any], ...]] = [_NO_LAUNCHES]
    busy = 0
    for position, kind in enumerate(GPU_KINDS):
        events = trace.events[kind]
        if not len(events):
            continue
        api_of = launches.api_of(kind)
        for gpu in trace.gpus_of(process):
            rows = rows_of_gpu(trace, kind, gpu.index)
            busy += int((events.end_ns[rows] - events.start_ns[rows]).sum())
            index = rows[api_of[rows] >= 0].astype(np.int64)
            kind_column = np.full(len(index), position, np.uint8)
            gpu_column = np.full(len(index), gpu.index, np.int32)
            start, end, name = events.start_ns[index], events.end_ns[index], events.name_id[index]
            pieces.append((api_of[index], kind_column, index, gpu_column, start, end, name))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    # Calls are grouped by thread and sorted by start in the table, so the index of the call is the sort key.
    order = np.argsort(columns[0], kind="stable")
    call, kinds, indices, gpus, starts, ends, names = (column[order] for column in columns)
    # The calls of thread t are those from api.offsets[t] to api.offsets[t + 1], and only the threads of the
    # process have calls among these.
    own_threads = [thread.index for thread in trace.threads_of(process)]
    first, stop = (
        np.searchsorted(call, api.offsets[np.array(own_threads, np.int64) + edge]) for edge in (0, 1)
    )
    edges = zip(own_threads, first.tolist(), stop.tolist(), strict=True)
    threads = {thread: slice(low, high) for thread, low, high in edges if high > low}
    called, returned = api.start_ns[call], api.end_ns[call]
    return LaunchedOperations(kinds, indices, gpus, starts, ends, names, called, returned, threads, busy)


_NO_LAUNCHES = tuple(
    np.empty(0, dtype)
    for dtype in (np.int32, np.uint8, np.int64, np.int32, np.int64, np.int64, np.uint32)
)  # fmt: skip
"""No rows of the columns that `launched_operations` joins: what it returns without any operation."""


def outermost(starts: Int64, ends: Int64, call_starts: Int64, call_ends: Int64) -> Indices:
    """Return the outermost range that contains each call from start to end, -1 for none.

    Parameters
    ----------
    starts, ends : ndarray of int64
        Ranges sorted by (start, -end); they may nest or overlap.
    call_starts, call_ends : ndarray of int64, shape (n,)

    Returns
    -------
    ndarray of int64, shape (n,)
        Positions in `starts`. Of the ranges that begin no later than the call it is the one that ends last,
        if that is not before the call ends; where ranges are disjoint, simply the one around the call.
    """
    if not len(starts):
        return np.full(len(call_starts), -1, np.int64)
    # The latest end so far, and which range has it. A range that ends no later than one before it lies inside
    # that one, so it is never the outermost.
    latest_end = np.maximum.accumulate(ends)
    is_latest = np.concatenate(([True], ends[1:] > latest_end[:-1]))
    range_of_latest = np.maximum.accumulate(np.where(is_latest, np.arange(len(starts)), 0))
    # The last range that begins no later than the call; -1 before the first, which the mask takes out.
    last = np.searchsorted(starts, call_starts, side="right") - 1
    is_inside = (last >= 0) & (latest_end[np.maximum(last, 0)] >= call_ends)
    return np.where(is_inside, range_of_latest[np.maximum(last, 0)], -1)


class Cover:
    """Which operations of a process an NVTX range covers (docs/definitions.md, section 5).

    A range covers what its own thread launched inside it; it may adopt what other threads launched meanwhile.

    Parameters
    ----------
    launches : Launches
    process : int
    """

    def __init__(self, launches: Launches, process: int) -> None:
        self.trace = launches.trace
        self.launched = launched_operations(launches, process)

    def callers(self, thread: int, domain: str, mode: str, low_ns: int, high_ns: int) -> Iterator[Indices]:
        """Yield positions in `launched`, by start of the call, that ranges of a thread and domain may cover.

        Mode "thread" yields the calls of that thread alone; mode "process" also those of the other threads
        that do not lie inside a range of another library's domain on their own thread. Only calls that begin
        in [low, high], where the ranges lie, are yielded, so that the cost does not grow with the square of
        the number of threads.
        """
        if thread in self.launched.threads:
            yield self._own(thread, low_ns, high_ns)
        if mode == "process" and self.launched.threads.keys() - {thread}:
            for pool in (self._pools.get(_IN_NONE), self._pools.get(domain)):
                if pool is not None:
                    positions, begin = pool
                    near = positions[_between(begin, low_ns, high_ns)]
                    yield near[self._thread_of[near] != thread]

    def outermost(self, thread: int, domain: str, starts: Int64, ends: Int64, mode: str) -> Indices:
        """Return the outermost of some ranges of one thread and domain around each operation, -1 for none.

        Returns
        -------
        ndarray of int64, shape (len(launched),)
            Position in `starts`, which are sorted by (start, -end).
        """
        # Filled piece by piece: the callers of one range set are disjoint, so no piece writes over another's.
        range_of = np.full(len(self.launched), -1, np.int64)
        for positions, around in self.around(thread, domain, starts, ends, mode):
            range_of[positions] = around
        return range_of

    def around(
        self, thread: int, domain: str, starts: Int64, ends: Int64, mode: str
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield positions in `launched` and the outermost range around each of them, -1 for none."""
        if len(starts):
            for positions in self.callers(thread, domain, mode, int(starts[0]), int(ends.max())):
                called = self.launched.call_start_ns[positions]
                returned = self.launched.call_end_ns[positions]
                yield positions, outermost(starts, ends, called, returned)

    def _own(self, thread: int, low_ns: int, high_ns: int) -> Indices:
        """Return positions of what a thread launched by calls that begin in [low, high]; copies no more."""
        rows = self.launched.threads[thread]
        near = _between(self.launched.call_start_ns[rows], low_ns, high_ns)
        return np.arange(rows.start + near.start, rows.start + near.stop)

    @cached_property
    def _thread_of(self) -> Indices:
        """The thread that launched each operation, shape (len(launched),)."""
        threads = self.launched.threads
        return np.repeat(list(threads), [rows.stop - rows.start for rows in threads.values()])

    @cached_property
    def _pools(self) -> dict[str | None, tuple[Indices, Int64]]:
        """What other threads' ranges may adopt, by library: (positions in `launched`, starts of the calls).

        An operation is in the pool of a library's domain if its call lies in ranges of that library alone on
        its own thread, in that of `_IN_NONE` if it lies in none of any library (the user's own domains are
        all one program), and in no pool if the ranges around it are of several libraries. Each pool is
        sorted by start of the call.
        """
        nvtx, codes = self.trace.nvtx, dict[str, int]()
        # The library around each operation as a code, -1 for none, `_IN_SEVERAL` for more than one.
        code_of = np.full(len(self.launched), -1, np.int64)
        for thread in self.launched.threads:
            for track in filter(lambda t: is_library_domain(t.domain), self.trace.tracks_of(thread)):
                code = codes.setdefault(track.domain, len(codes))
                ranges = ranges_of(self.trace, track.index)
                if len(ranges):
                    starts, ends = nvtx.start_ns[ranges], nvtx.end_ns[ranges]
                    own = self._own(thread, int(starts[0]), int(ends.max()))
                    called, returned = self.launched.call_start_ns[own], self.launched.call_end_ns[own]
                    own = own[outermost(starts, ends, called, returned) >= 0]
                    is_free = (code_of[own] == -1) | (code_of[own] == code)
                    code_of[own] = np.where(is_free, code, _IN_SEVERAL)
        begin = self.launched.call_start_ns
        # By domain, by start of the call within: each pool is one run, already in the order it is searched
        # in.
        order = np.lexsort((begin, code_of))
        present, first = np.unique(code_of[order], return_index=True)
        domain_of: dict[int, str | None] = {-1: _IN_NONE} | {code: domain for domain, code in codes.items()}
        pools = zip(present.tolist(), np.split(order, first[1:]), strict=True)
        return {domain_of[code]: (pool, begin[pool]) for code, pool in pools if code != _IN_SEVERAL}


def _between(begin: Int64, low_ns: int, high_ns: int) -> slice:
    """Return which of some sorted times lie in [low, high], as a slice."""
    return slice(int(np.searchsorted(begin, low_ns)), int(np.searchsorted(begin, high_ns, side="right")))


_IN_NONE = None
_IN_SEVERAL = -2


def ranges_of(trace: Trace, track: int) -> Indices:
    """Return the ranges of an NVTX track, without marks: indices into `trace.nvtx`, by (start, -end)."""
    rows = trace.nvtx.of(track)
    types = trace.nvtx.columns.get("event_type")
    return np.flatnonzero(types[rows] != MARK) + rows.start if types is not None else np.empty(0, np.int64)
