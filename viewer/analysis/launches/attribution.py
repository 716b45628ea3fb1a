"""Operations of a process by the thread and the call that launched them: what ranges are matched with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64, UInt32
from viewer.trace.lazy import cached_property

Indices = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger[Any]]
"""Indices that are kept, in half the room."""
Mask = npt.NDArray[np.bool_]

MARK = 34
"""The event type of an NVTX mark, which is no range."""


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
        The operation.
    name_id : ndarray of uint32, shape (n,)
    call_start_ns, call_end_ns : ndarray of int64, shape (n,)
        The innermost API call that launched it (docs/definitions.md, section 4).
    threads : mapping of int to stall
        The operations that each thread launched.
    busy_ns : int
        Sum of the durations of all operations of the process, those without a launch record included.
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
    """Return the launched operations of a process."""
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
            of_kind = np.full(len(index), position, np.uint8)
            of_gpu = np.full(len(index), gpu.index, np.int32)
            start, end, name = events.start_ns[index], events.end_ns[index], events.name_id[index]
            pieces.append((api_of[index], of_kind, index, of_gpu, start, end, name))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    # Calls are grouped by thread and sorted by start in the table, so the index of the call is the sort key.
    order = np.argsort(columns[0], kind="stable")
    call, kinds, indices, gpus, starts, ends, names = (column[order] for column in columns)
    # Only the threads of the process have calls among these.
    owned = [t.index for t in trace.threads_of(process)]
    low, high = (np.searchsorted(call, api.offsets[np.array(owned, np.int64) + at]) for at in (0, 1))
    edges = zip(owned, low.tolist(), high.tolist(), strict=True)
    threads = {t: slice(first, last) for t, first, last in edges if last > first}
    called, returned = api.start_ns[call], api.end_ns[call]
    return LaunchedOperations(kinds, indices, gpus, starts, ends, names, called, returned, threads, busy)


_NO_LAUNCHES = tuple(
    np.empty(0, dtype)
    for dtype in (np.int32, np.uint8, np.int64, np.int32, np.int64, np.int64, np.uint32)
)  # fmt: skip
"""The call and the columns of `LaunchedOperations` that operations have themselves."""


def outermost(starts: Int64, ends: Int64, call_starts: Int64, call_ends: Int64) -> Indices:
    """Return the outermost range that wholly holds each call, -1 for none.

    Parameters
    ----------
    starts, ends : ndarray of int64
        Ranges sorted by (start, -end); they may nest or overlap.
    call_starts, call_ends : ndarray of int64, shape (n,)

    Returns
    -------
    ndarray of int64, shape (n,)
        Of the ranges that begin no later than the call, the one that reaches farthest, if it reaches the
        call's end: where ranges are disjoint, simply the one around the call.
    """
    if not len(starts):
        return np.full(len(call_starts), -1, np.int64)
    reach = np.maximum.accumulate(ends)
    is_record = np.concatenate(([True], ends[1:] > reach[:-1]))
    farthest = np.maximum.accumulate(np.where(is_record, np.arange(len(starts)), 0))
    at = np.searchsorted(starts, call_starts, side="right") - 1
    held = (at >= 0) & (reach[np.maximum(at, 0)] >= call_ends)
    return np.where(held, farthest[np.maximum(at, 0)], -1)


class Cover:
    """Which operations of a process a range covers, by its own thread or by adoption (section 5).

    Parameters
    ----------
    launches : Launches
    process : int
    """

    def __init__(self, launches: Launches, process: int) -> None:
        self.trace = launches.trace
        self.launched = launched_operations(launches, process)

    def callers(self, thread: int, domain: str, mode: str, low_ns: int, high_ns: int) -> Iterator[Indices]:
        """Yield positions in `launched`, by start of the call, that a range of thread and domain may cover.

        By "thread", the calls of that thread alone; by "process", also the calls of the other threads that
        do not lie inside a range of another domain on their own thread. Only calls that begin in
        [low, high], where the ranges lie, are looked at, so that many threads do not cost their square.
        """
        if thread in self.launched.threads:
            yield self._own(thread, low_ns, high_ns)
        if mode == "process" and self.launched.threads.keys() - {thread}:
            for pool in (self._pools.get(_IN_NONE), self._pools.get(domain)):
                if pool is not None:
                    positions, begin = pool
                    held = positions[_between(begin, low_ns, high_ns)]
                    yield held[self._thread_of[held] != thread]

    def outermost(self, thread: int, domain: str, starts: Int64, ends: Int64, mode: str) -> Indices:
        """Return the outermost of some ranges of one thread and domain around each operation, -1 for none.

        Returns
        -------
        ndarray of int64, shape (len(launched),)
            Position in `starts`, which are sorted by (start, -end).
        """
        found = np.full(len(self.launched), -1, np.int64)
        for at, around in self.around(thread, domain, starts, ends, mode):
            found[at] = around
        return found

    def around(
        self, thread: int, domain: str, starts: Int64, ends: Int64, mode: str
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield positions in `launched` and the outermost range around each of them, as `outermost`."""
        if len(starts):
            for at in self.callers(thread, domain, mode, int(starts[0]), int(ends.max())):
                called, returned = self.launched.call_start_ns[at], self.launched.call_end_ns[at]
                yield at, outermost(starts, ends, called, returned)

    def _own(self, thread: int, low_ns: int, high_ns: int) -> Indices:
        """Return what a thread launched by calls that begin in [low, high]; nothing is copied but that."""
        rows = self.launched.threads[thread]
        held = _between(self.launched.call_start_ns[rows], low_ns, high_ns)
        return np.arange(rows.start + held.start, rows.start + held.stop)

    @cached_property
    def _thread_of(self) -> Indices:
        """The thread that launched each operation."""
        threads = self.launched.threads
        return np.repeat(list(threads), [rows.stop - rows.start for rows in threads.values()])

    @cached_property
    def _pools(self) -> dict[str | None, tuple[Indices, Int64]]:
        """By domain: operations whose call lies in ranges of that domain alone on its own thread, or of none.

        Each with the starts of the calls, by these. Those inside ranges of several are nobody's to adopt.
        """
        nvtx, domains = self.trace.nvtx, dict[str, int]()
        held = np.full(len(self.launched), -1, np.int64)
        for thread in self.launched.threads:
            for track in self.trace.tracks_of(thread):
                code = domains.setdefault(track.domain, len(domains))
                ranges = ranges_of(self.trace, track.index)
                if len(ranges):
                    starts, ends = nvtx.start_ns[ranges], nvtx.end_ns[ranges]
                    at = self._own(thread, int(starts[0]), int(ends.max()))
                    called, returned = self.launched.call_start_ns[at], self.launched.call_end_ns[at]
                    at = at[outermost(starts, ends, called, returned) >= 0]
                    held[at] = np.where((held[at] == -1) | (held[at] == code), code, _IN_SEVERAL)
        order = np.lexsort((self.launched.call_start_ns, held))
        codes, first = np.unique(held[order], return_index=True)
        named: dict[int, str | None] = {-1: _IN_NONE} | {code: domain for domain, code in domains.items()}
        pieces = zip(codes.tolist(), np.split(order, first[1:]), strict=True)
        begin = self.launched.call_start_ns
        return {named[code]: (piece, begin[piece]) for code, piece in pieces if code != _IN_SEVERAL}


def _between(begin: Int64, low_ns: int, high_ns: int) -> slice:
    """Return which of some sorted times lie in [low, high]."""
    return slice(int(np.searchsorted(begin, low_ns)), int(np.searchsorted(begin, high_ns, side="right")))


_IN_NONE = None
_IN_SEVERAL = -2


def ranges_of(trace: Trace, track: int) -> Indices:
    """Return the ranges of a track (no marks), indices into `trace.nvtx`, by (start, -end)."""
    rows = trace.nvtx.of(track)
    types = trace.nvtx.columns.get("event_type")
    return np.flatnonzero(types[rows] != MARK) + rows.start if types is not None else np.empty(0, np.int64)
