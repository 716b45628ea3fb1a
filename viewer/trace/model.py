"""The data classes of a trace: processes, GPUs, streams, threads and their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.trace.event_records import EventRecords
from viewer.trace.events import GPU_KINDS, AnyArray, Events, Int64, Kind
from viewer.trace.lazy import cached_property
from viewer.trace.names import Names

UNIFIED_NAME = "Unified memory"
GUESSED_RANK = "pid order"
"""`Process.rank_from` of guessed ranks: the file names none, so the processes are numbered by their pids."""
IMPOSSIBLE = "impossible"
"""In a note of the reader: rows that cannot be, which it left out or cut."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that has events.

    `rank` is None if it is unknown; `rank_from` names its source: an environment variable ("RANK", ...),
    "MPI_RANKS", "NVTX" or `GUESSED_RANK`; "" without a rank.
    """

    index: int
    pid: int
    name: str
    rank: int | None
    global_pid: int
    rank_from: str = ""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A (process, CUDA device ordinal) pair; `process` is an index into `Trace.processes`.

    `physical` is the number of the physical GPU, None if the file does not map it. `aligned_ns` is the
    correction that was added to its times because its clock is off (docs/definitions.md, section 10).
    """

    index: int
    process: int
    device: int
    name: str
    physical: int | None = None
    bus: str = ""
    sm_count: int | None = None
    memory_bytes: int | None = None
    aligned_ns: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """A (process, context, stream id); `gpu` is an index into `Trace.gpus`.

    The driver's migrations of unified memory form a separate stream named `UNIFIED_NAME`. `is_blocking` says
    that the file calls it one that waits for its context's legacy default stream, and that one for it.
    """

    index: int
    gpu: int
    context: int
    stream_id: int
    is_default: bool = False
    name: str = ""
    is_blocking: bool = False

    @property
    def label(self) -> str:
        """The stream's label: "7", or "unified memory"."""
        return self.name.lower() if self.name == UNIFIED_NAME else str(self.stream_id)


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread that has events; `process` is an index into `Trace.processes`."""

    index: int
    process: int
    tid: int
    name: str


@dataclass(frozen=True, slots=True)
class Track:
    """The NVTX events of one thread in one domain.

    `overlapping` holds start/end ranges (type 60), which need not nest; the other track of
    the same thread and domain holds push/pop ranges and marks. `domain` is "" for the default one.
    """

    index: int
    thread: int
    domain: str
    overlapping: bool


@dataclass(frozen=True, slots=True)
class CaptureSession:
    """Facts about the recording; None where the file lacks them.

    `recorded_version` is the version of the nsys that recorded, `nsys_version` that of the one that exported.
    `recorded` names the kinds of data whose recording was enabled, or that have rows:
    "cuda", "nvtx", "osrt", "context-switches", "call-chains", "nccl", "mpi".
    `world_size` is the number of ranks of the whole job, of which some may not have been recorded.
    `max_connections` is the number of queues over which a process launches (CUDA_DEVICE_MAX_CONNECTIONS).
    """

    duration_ns: int | None = None
    start_utc_ns: int | None = None
    nsys_version: str | None = None
    schema_version: str | None = None
    recorded: frozenset[str] = frozenset()
    recorded_version: str | None = None
    world_size: int | None = None
    max_connections: int | None = None


class Source(Protocol):
    """The source of rarely needed columns, which are read from the file on request."""

    def row(self, kind: Kind, file_row: int) -> dict[str, Any]:
        """Return every column of one row of the file, by the file's column names."""

    def column(self, kind: Kind, name: str, file_rows: AnyArray) -> AnyArray | None:
        """Return one of the file's columns for `file_rows` (int64; 0 where NULL), None if absent."""

    def columns(
        self, kind: Kind, names: Sequence[str], file_rows: AnyArray
    ) -> dict[str, npt.NDArray[np.int32]] | None:
        """Return several of the file's columns as int32 (0 where NULL), None if one of them is absent.

        They are read together and not kept: for what is computed once from all of them.
        """

    def call_chain(self, kind: Kind, file_row: int) -> list[str]:
        """Return the call chain of an API or OS call, innermost frame first; empty if not recorded."""

    def has_rows(self, table: str) -> bool:
        """Return whether the file has a table, by its name in the file, with a row in it."""

    def samples(self, table: str, time: str, *columns: str) -> dict[str, Int64] | None:
        """Return integer columns of a table without events: its times and whatever belongs to them.

        By column, in order of time; `time` counts from the trace's zero, and rows without one are left out.
        NULL is 0. None where the file lacks the table or one of the columns, or is no longer there.
        """


@dataclass(frozen=True)
class Trace:
    """One recording. It is read once and never changes.

    Attributes
    ----------
    events : mapping of Kind to Events
        Has every kind; a kind without rows has an empty table.
    counts : mapping of str to int
        Number of rows read from each table of the file, by the file's table names.
    diagnostics : DataFrame
        Columns time_ns (int64), severity (str: error, warning, info, verbose), source, text, pid.
    event_records : EventRecords
        The records of CUDA events, which have no times of their own.
    unread : mapping of str to int
        Number of rows of each table that is not read and has rows, by the file's table names.
    notes : tuple of str
        Notes of the reader about the file (a newer schema, a column of the wrong type ...).
    """

    path: Path
    session: CaptureSession
    names: Names
    processes: tuple[Process, ...]
    gpus: tuple[Gpu, ...]
    streams: tuple[Stream, ...]
    threads: tuple[Thread, ...]
    tracks: tuple[Track, ...]
    events: Mapping[Kind, Events]
    counts: Mapping[str, int]
    diagnostics: pd.DataFrame
    event_records: EventRecords = field(default_factory=EventRecords.empty)
    unread: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: Source | None = field(default=None, compare=False)

    @property
    def kernels(self) -> Events:
        """Kernels, grouped by stream; columns short_id, correlation, file_row, graph_node."""
        return self.events[Kind.KERNEL]

    @property
    def api(self) -> Events:
        """CUDA runtime and driver calls, grouped by thread; columns correlation, file_row."""
        return self.events[Kind.API]

    @property
    def nvtx(self) -> Events:
        """NVTX ranges and marks, grouped by track; columns event_type, argb, is_open, file_row."""
        return self.events[Kind.NVTX]

    def streams_of(self, gpu: int) -> tuple[Stream, ...]:
        """Return the streams of a GPU, in order of index."""
        return self._streams_of[gpu]

    def threads_of(self, process: int) -> tuple[Thread, ...]:
        """Return the threads of a process, in order of index."""
        return self._threads_of[process]

    def gpus_of(self, process: int) -> tuple[Gpu, ...]:
        """Return the GPUs of a process, in order of index."""
        return self._gpus_of[process]

    def tracks_of(self, thread: int) -> tuple[Track, ...]:
        """Return the NVTX tracks of a thread, in order of index."""
        return self._tracks_of[thread]

    @cached_property
    def _streams_of(self) -> list[tuple[Stream, ...]]:
        return _by(len(self.gpus), self.streams, [s.gpu for s in self.streams])

    @cached_property
    def _threads_of(self) -> list[tuple[Thread, ...]]:
        return _by(len(self.processes), self.threads, [t.process for t in self.threads])

    @cached_property
    def _gpus_of(self) -> list[tuple[Gpu, ...]]:
        return _by(len(self.processes), self.gpus, [g.process for g in self.gpus])

    @cached_property
    def _tracks_of(self) -> list[tuple[Track, ...]]:
        return _by(len(self.threads), self.tracks, [t.thread for t in self.tracks])

    @cached_property
    def window_ns(self) -> tuple[int, int]:
        """Earliest start and latest end over the operations of all GPUs (docs/definitions.md, section 1).

        Without GPU operations: over all events; without any: the session.
        """
        for kinds in (GPU_KINDS, tuple(Kind)):
            tables = [e for k in kinds if len(e := self.events[k])]
            if tables:
                start = min(int(e.start_ns.min()) for e in tables)
                end = max(int(e.end_ns.max()) for e in tables)
                if end > start:
                    return start, end
        return 0, max(self.session.duration_ns or 0, 1)

    @cached_property
    def span_ns(self) -> tuple[int, int]:
        """The time range of "the whole trace": the session, extended to include `window_ns`."""
        start, end = self.window_ns
        return min(0, start), max(self.session.duration_ns or 0, end)

    @cached_property
    def extent_ns(self) -> tuple[int, int]:
        """The part of `span_ns` in which things happen: what the timeline reaches over.

        It holds `window_ns` and all events inside the session but context switches, which a recording has
        from its first to its last moment, however short what was looked at; and a twentieth more on
        either side.
        """
        low, high = self.span_ns
        start, end = self.window_ns
        for kind, events in self.events.items():
            if kind is not Kind.ON_CPU and len(events):
                start = min(start, max(int(events.start_ns.min()), low))
                end = max(end, min(int(events.end_ns.max()), high))
        air = (end - start) // 20
        return max(start - air, low), min(end + air, high)

    def gpu_label(self, gpu: int) -> str:
        """Return "Rank 3 GPU 0", or with the pid where the rank is not known; "(aligned)" if it was."""
        g = self.gpus[gpu]
        return f"{self.process_label(g.process)} GPU {g.device}{' (aligned)' if g.aligned_ns else ''}"

    def process_label(self, process: int) -> str:
        """Return "Rank 3", or "python [40021]" where the rank is not known."""
        p = self.processes[process]
        return f"Rank {p.rank}" if p.rank is not None else f"{p.name} [{p.pid}]"


def _by(owners: int, items: Iterable[T], owner_of: Iterable[int]) -> list[tuple[T, ...]]:
    """Return the items of each owner, in the order of `items`."""
    by_owner: list[list[T]] = [[] for _ in range(owners)]
    for item, owner in zip(items, owner_of, strict=True):
        by_owner[owner].append(item)
    return [tuple(group) for group in by_owner]
