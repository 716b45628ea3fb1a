"""Operations of a process by the thread and the call that launched them: what ranges are matched with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64, UInt32

if TYPE_CHECKING:
    from viewer.analysis.study import Study

Indices = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger[Any]]
"""Indices that are kept, in half the room."""
Mask = npt.NDArray[np.bool_]

MARK = 34
"""The event type of an NVTX mark, which is no range."""


@dataclass(frozen=True)
class Launched:
    """The GPU operations of one process that have a launch record, by (thread, start of the call).

    Attributes
    ----------
    kind : ndarray of uint8, shape (n,)
        Position in `GPU_KINDS`.
    index : ndarray of int64, shape (n,)
        Index into the table of that kind.
    gpu : ndarray of int16, shape (n,)
    start_ns, end_ns : ndarray of int64, shape (n,)
        The operation.
    name_id : ndarray of uint32, shape (n,)
    call_start_ns, call_end_ns : ndarray of int64, shape (n,)
        The innermost API call that launched it (definitions, section 4).
    threads : mapping of int to slice
        The operations that each thread launched.
    busy_ns : int
        Sum of the durations of all operations of the process, those without a launch record included.
    """

    kind: npt.NDArray[np.uint8]
    index: Indices
    gpu: npt.NDArray[np.int16]
    start_ns: Int64
    end_ns: Int64
    name_id: UInt32
    call_start_ns: Int64
    call_end_ns: Int64
    threads: dict[int, slice]
    busy_ns: int

    def __len__(self) -> int:
        return len(self.start_ns)


def launched_of(study: Study, process: int) -> Launched:
    """Return the launched operations of a process."""
    trace, api = study.trace, study.trace.api
    pieces: list[tuple[npt.NDArray[Any], ...]] = [_NO_LAUNCHES]
    busy = 0
    for position, kind in enumerate(GPU_KINDS):
        events = trace.events[kind]
        if not len(events):
            continue
        api_of = study.launches.api_of(kind)
        for stream in trace.streams:
            if trace.gpus[stream.gpu].process != process:
                continue
            rows = events.of(stream.index)
            start, end = events.start_ns[rows], events.end_ns[rows]
            busy += int((end - start).sum())
            kept = np.flatnonzero(api_of[rows] >= 0)
            of_kind, of_gpu = np.full(len(kept), position, np.uint8), np.full(len(kept), stream.gpu, np.int16)
            name = events.name_id[rows][kept]
            call, index = api_of[rows][kept], rows.start + kept
            pieces.append((call, of_kind, index, of_gpu, start[kept], end[kept], name))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    # Calls are grouped by thread and sorted by start in the table, so the index of the call is the sort key.
    order = np.argsort(columns[0], kind="stable")
    call, kinds, indices, gpus, starts, ends, names = (column[order] for column in columns)
    edges = np.searchsorted(call, api.offsets)
    threads = {t: slice(int(edges[t]), int(edges[t + 1])) for t in np.flatnonzero(np.diff(edges)).tolist()}
    called, returned = api.start_ns[call], api.end_ns[call]
    return Launched(kinds, indices, gpus, starts, ends, names, called, returned, threads, busy)


_NO_LAUNCHES = tuple(
    np.empty(0, dtype)
    for dtype in (np.int32, np.uint8, np.int64, np.int16, np.int64, np.int64, np.uint32)
)  # fmt: skip
"""The call and the columns of `Launched` that operations have themselves."""


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
    study : Study
    process : int
    """

    def __init__(self, study: Study, process: int) -> None:
        self.trace = study.trace
        self.launched = launched_of(study, process)
        self._foreign: dict[tuple[int, str], Mask] = {}

    def callers(self, thread: int, domain: str, mode: str) -> Iterator[tuple[int, Indices]]:
        """Yield (launching thread, positions in `launched`) that a range of this thread and domain may cover.

        By "thread", the calls of that thread alone; by "process", also the calls of the other threads that
        do not lie inside a range of another domain on their own thread.
        """
        for caller, rows in self.launched.threads.items():
            positions = np.arange(rows.start, rows.stop)
            if caller == thread:
                yield caller, positions
            elif mode == "process":
                yield caller, positions[~self._in_foreign_range(caller, domain)]

    def outermost(self, thread: int, domain: str, starts: Int64, ends: Int64, mode: str) -> Indices:
        """Return the outermost of some ranges of one thread and domain around each operation, -1 for none.

        Returns
        -------
        ndarray of int64, shape (len(launched),)
            Position in `starts`, which are sorted by (start, -end).
        """
        found = np.full(len(self.launched), -1, np.int64)
        for _, at in self.callers(thread, domain, mode):
            found[at] = outermost(
                starts, ends, self.launched.call_start_ns[at], self.launched.call_end_ns[at]
            )
        return found

    def _in_foreign_range(self, thread: int, domain: str) -> Mask:
        key = (thread, domain)
        if key not in self._foreign:
            rows, nvtx = self.launched.threads[thread], self.trace.nvtx
            inside = np.zeros(rows.stop - rows.start, bool)
            for track in self.trace.tracks:
                if track.thread == thread and track.domain != domain:
                    held = ranges_of(self.trace, track.index)
                    inside |= (
                        outermost(
                            nvtx.start_ns[held],
                            nvtx.end_ns[held],
                            self.launched.call_start_ns[rows],
                            self.launched.call_end_ns[rows],
                        )
                        >= 0
                    )
            self._foreign[key] = inside
        return self._foreign[key]


def ranges_of(trace: Trace, track: int) -> Indices:
    """Return the ranges of a track (no marks), indices into `trace.nvtx`, by (start, -end)."""
    rows = trace.nvtx.of(track)
    types = trace.nvtx.columns.get("event_type")
    return np.flatnonzero(types[rows] != MARK) + rows.start if types is not None else np.empty(0, np.int64)
