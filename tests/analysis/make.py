"""Tiny traces made by hand."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from viewer.trace import (
    CaptureSession,
    EventRecords,
    Events,
    Gpu,
    Kind,
    Names,
    Process,
    Stream,
    Thread,
    Trace,
    Track,
)

CORRELATED = {
    Kind.KERNEL: {
        "short_id": np.uint32, "correlation": np.uint32, "file_row": np.int64, "graph_node": np.uint64,
    },
    Kind.MEMCPY: {
        "bytes": np.int64, "copy_kind": np.uint8, "src_kind": np.uint8, "dst_kind": np.uint8,
        "correlation": np.uint32, "file_row": np.int64, "graph_node": np.uint64,
    },
    Kind.MEMSET: {
        "bytes": np.int64, "mem_kind": np.uint8, "correlation": np.uint32, "file_row": np.int64,
        "graph_node": np.uint64,
    },
    Kind.GRAPH: {"graph_id": np.uint32, "correlation": np.uint32, "file_row": np.int64},
    Kind.API: {"correlation": np.uint32, "file_row": np.int64},
    Kind.SYNC: {
        "correlation": np.uint32, "stream_id": np.uint32, "context": np.uint32, "event_id": np.uint32,
        "sync_id": np.uint64, "file_row": np.int64,
    },
    Kind.NVTX: {"event_type": np.uint8, "argb": np.uint32, "is_open": np.uint8, "file_row": np.int64},
    Kind.OSRT: {"file_row": np.int64},
    Kind.ON_CPU: {"cpu": np.uint16, "preempted": np.uint8},
    Kind.OVERHEAD: {"file_row": np.int64, "is_cuda": np.uint8},
}  # fmt: skip


@dataclass
class TraceMaker:
    """Collects events, then makes a Trace of them.

    GPUs, streams, threads and tracks come into being when they are first spoken of: a GPU is
    (process, device), a stream (process, device, context, stream id), a thread (process, tid).

    `hosts` numbers the machine of a process (0 by default), `physical` the physical GPU of a GPU;
    `without_rank` are processes whose rank is not known, `blocking` the indices of streams that wait for the
    legacy default stream.
    """

    session_ns: int | None = None
    rows: dict[Kind, list[tuple]] = field(default_factory=lambda: {kind: [] for kind in Kind})
    names: dict[str, int] = field(default_factory=lambda: {"": 0})
    gpus: dict[tuple[int, int], int] = field(default_factory=dict)
    streams: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    threads: dict[tuple[int, int], int] = field(default_factory=dict)
    tracks: dict[tuple[int, str, bool], int] = field(default_factory=dict)
    hosts: dict[int, int] = field(default_factory=dict)
    physical: dict[tuple[int, int], int] = field(default_factory=dict)
    without_rank: set[int] = field(default_factory=set)
    records: list[tuple[int, ...]] = field(default_factory=list)
    blocking: set[int] = field(default_factory=set)
    max_connections: int | None = None

    def name(self, text):
        """Return the id of a text."""
        return self.names.setdefault(text, len(self.names))

    def gpu(self, process=0, device=0):
        """Return the index of a GPU."""
        return self.gpus.setdefault((process, device), len(self.gpus))

    def stream(self, process, device, stream_id, context=1):
        """Return the index of a stream."""
        self.gpu(process, device)
        return self.streams.setdefault((process, device, context, stream_id), len(self.streams))

    def thread(self, process, tid):
        """Return the index of a thread."""
        return self.threads.setdefault((process, tid), len(self.threads))

    def track(self, process, tid, domain="", overlapping=False):
        """Return the index of an NVTX track."""
        key = self.thread(process, tid), domain, overlapping
        return self.tracks.setdefault(key, len(self.tracks))

    def add(self, kind, owner, start, end, name, **columns):
        """Add an event of any kind."""
        self.rows[kind].append((owner, start, -end, self.name(name), columns))
        return self

    def kernel(
        self, start, end, name="gemm", stream=7, process=0, device=0, correlation=0, short=None, context=1
    ):
        """Add a kernel."""
        return self.add(
            Kind.KERNEL, self.stream(process, device, stream, context), start, end, name,
            correlation=correlation, short_id=self.name(short or name),
        )  # fmt: skip

    def copy(self, start, end, stream=7, process=0, device=0, name="Memcpy HtoD", **columns):
        """Add a copy."""
        return self.add(Kind.MEMCPY, self.stream(process, device, stream), start, end, name, **columns)

    def memset(self, start, end, stream=7, process=0, device=0, **columns):
        """Add a memset."""
        return self.add(Kind.MEMSET, self.stream(process, device, stream), start, end, "Memset", **columns)

    def graph(self, start, end, stream=7, process=0, device=0, **columns):
        """Add a graph launch recorded as one piece."""
        return self.add(
            Kind.GRAPH, self.stream(process, device, stream), start, end, "CUDA graph 1", **columns
        )

    def call(self, start, end, name="cudaLaunchKernel", tid=1, process=0, correlation=0):
        """Add an API call."""
        return self.add(Kind.API, self.thread(process, tid), start, end, name, correlation=correlation)

    def sync(
        self, start, end, name, process=0, correlation=0, stream=7, context=1, event=0xFFFFFFFF, sync_id=0
    ):
        """Add a synchronisation."""
        return self.add(
            Kind.SYNC, process, start, end, name, correlation=correlation, stream_id=stream, context=context,
            event_id=event, sync_id=sync_id,
        )  # fmt: skip

    def record(self, correlation, stream=7, event=1, sync_id=0, process=0, context=1):
        """Add the row of a call that records an event."""
        self.records.append((process, context, stream, correlation, event, sync_id))
        return self

    def range(self, start, end, name, tid=1, process=0, domain="", event_type=59):
        """Add an NVTX range; type 60 is a start/end range."""
        track = self.track(process, tid, domain, event_type == 60)
        return self.add(Kind.NVTX, track, start, end, name, event_type=event_type)

    def trace(self):
        """Make the trace."""
        count = 1 + max([p for p, _ in self.gpus] + [p for p, _ in self.threads] + [-1], default=-1)
        owners = {Kind.SYNC: count, Kind.NVTX: len(self.tracks)} | {
            kind: len(self.threads) for kind in (Kind.API, Kind.OSRT, Kind.ON_CPU, Kind.OVERHEAD)
        }
        events = {kind: self._events(kind, owners.get(kind, len(self.streams))) for kind in Kind}
        return Trace(
            path=Path("made-by-hand.sqlite"),
            session=CaptureSession(duration_ns=self.session_ns, max_connections=self.max_connections),
            names=Names(list(self.names)),
            processes=tuple(self._process(p) for p in range(count)),
            gpus=tuple(Gpu(i, p, d, "H200", self.physical.get((p, d))) for (p, d), i in self.gpus.items()),
            streams=tuple(
                Stream(i, self.gpus[p, d], context, s, s == 7, is_blocking=i in self.blocking)
                for (p, d, context, s), i in self.streams.items()
            ),
            threads=tuple(Thread(i, p, tid, f"thread {tid}") for (p, tid), i in self.threads.items()),
            tracks=tuple(Track(i, t, d, o) for (t, d, o), i in self.tracks.items()),
            events=events,
            counts={kind.value: len(table) for kind, table in events.items()},
            event_records=self._records(),
            diagnostics=pd.DataFrame(columns=["time_ns", "severity", "source", "text", "pid"]),
        )

    def _records(self):
        columns = zip(*self.records, strict=True) if self.records else [()] * 6
        kinds = (np.int32, np.uint32, np.uint32, np.uint32, np.uint32, np.uint64)
        return EventRecords(*(np.array(c, kind) for c, kind in zip(columns, kinds, strict=True)))

    def _process(self, index):
        pid, rank = 100 + index, None if index in self.without_rank else index
        return Process(index, pid, "python", rank, self.hosts.get(index, 0) << 48 | pid << 24)

    def _events(self, kind, owners):
        rows = sorted(self.rows[kind], key=lambda row: row[:3])
        owner = np.array([row[0] for row in rows], np.int64)
        columns = {
            name: np.array([row[4].get(name, 0) for row in rows], dtype)
            for name, dtype in CORRELATED[kind].items()
        }
        if "file_row" in columns:
            columns["file_row"] = np.arange(1, len(rows) + 1, dtype=np.int64)
        return Events(
            kind,
            np.array([row[1] for row in rows], np.int64),
            np.array([-row[2] for row in rows], np.int64),
            np.array([row[3] for row in rows], np.uint32),
            np.searchsorted(owner, np.arange(owners + 1)).astype(np.int64),
            columns,
        )
