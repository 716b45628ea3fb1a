"""The construction of a `Trace` from a file's tables: read, number owners and names, sort."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from viewer.printable import counted
from viewer.readers import cpu_tables, gpu_tables, nvtx_table
from viewer.readers.errors import Cancel, Progress, check
from viewer.readers.event_records import RawEventRecords, read_event_records
from viewer.readers.gpu_info import GpuInfo
from viewer.readers.interning import Interner, StringTable
from viewer.readers.metadata import FileMetadata, read_diagnostics, read_facts, session_of
from viewer.readers.owners import Owners, identify
from viewer.readers.raw_events import PROCESS_MASK, RawEvents, ReadContext
from viewer.readers.schema import EVENT_RECORDS, TABLE_OF
from viewer.readers.sorting import EventSorter, Keep
from viewer.readers.table_versions import NewestForms
from viewer.readers.tables import Tables
from viewer.trace.event_records import EventRecords
from viewer.trace.events import GPU_KINDS, AnyArray, Events, Kind, UInt32
from viewer.trace.model import Source, Trace
from viewer.trace.names import Names

log = logging.getLogger("viewer.readers")

Early = Callable[[Trace], None]

_SPOKEN: Mapping[Kind, str] = {
    Kind.KERNEL: "kernels",
    Kind.MEMCPY: "copies",
    Kind.MEMSET: "sets",
    Kind.GRAPH: "graph launches",
    Kind.API: "CUDA calls",
    Kind.SYNC: "synchronisation",
    Kind.NVTX: "NVTX",
    Kind.OSRT: "OS runtime",
    Kind.ON_CPU: "context switches",
    Kind.OVERHEAD: "overhead",
}


def build(
    path: Path,
    tables: NewestForms,
    source: Source,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    early: Early | None = None,
    keep: Keep = lambda events: events,
    recorded_by: str | None = None,
) -> Trace:
    """Return the trace of a file's tables.

    Parameters
    ----------
    path : Path
        The file that the user opened; `tables` may come from an export of it.
    early : callable, optional
        Called with a trace of the GPU operations as soon as they are read, in another thread while this one
        reads the rest.
    keep : callable, optional
        Called with each sorted table; returns the table as stored.
    recorded_by : str, optional
        The version of the nsys that recorded, from the header of the report.
    """
    steps = _Steps(tables, progress, cancelled)
    # Names come before all else, as every table refers to them by number.
    steps.begin("names", "StringIds")
    interner = Interner()
    strings = StringTable(tables, interner, cancelled)
    facts = read_facts(tables, strings, recorded_by)
    reading = ReadContext(tables, interner, strings, facts.shift_ns, {"StringIds": len(strings)}, cancelled)
    reading.notes += facts.notes
    # All kinds from the start: what is made early has empty tables where the file is not read yet, not
    # missing ones.
    raw = {kind: RawEvents.empty(kind) for kind in Kind}
    sorter = EventSorter(raw, keep, cancelled)
    # `raw` is shared and filled below: what the assembly makes has what was read until then.
    assembly = _Assembly(path, reading, facts, source, raw, sorter, tables)
    # GPU tables first: they are what is looked at first, and can be shown while the rest is being read.
    _read_gpus(reading, raw, steps)
    # Three: counting the unread tables, the early trace, and sorting the calls. None of them waits for
    # another.
    with ThreadPoolExecutor(3, "lightbox-beside") as beside:
        tasks = []
        counting = beside.submit(tables.count_unread, cancelled)
        gpus = assembly.gpus_only()
        if early is not None and any(len(raw[kind]) for kind in GPU_KINDS):
            # Sorting is handed to another thread; numbering has been done in this one, which goes on
            # interning.
            tasks.append(beside.submit(lambda: early(gpus())))
        nvtx = _read_rest(reading, facts, raw, steps, lambda: beside.submit(assembly.calls()))
        # Waited for, so that an error in the early trace is raised here and not lost with its thread.
        for task in tasks:
            task.result()
        steps.begin("event records", EVENT_RECORDS)
        records = read_event_records(reading)
        unread = counting.result()
    check(cancelled)
    steps.begin("sorting")
    # Names that NVTX gives win: the program itself chose them.
    facts.thread_names.update(nvtx.thread_names)
    return assembly.whole(nvtx.domains, records, unread)


@dataclass(frozen=True)
class _Assembly:
    """Makes traces of the tables read so far: numbers owners and names, and sorts."""

    path: Path
    reading: ReadContext
    facts: FileMetadata
    source: Source
    raw: dict[Kind, RawEvents]
    sorter: EventSorter
    tables: NewestForms

    def gpus_only(self) -> Callable[[], Trace]:
        """Return a callable that makes a trace of the GPU operations; it may run in any thread.

        Owners and names are numbered here, in the calling thread: the interner is not safe to share, and the
        names of GPU operations keep these ids in the complete trace.
        """
        identity = self._identify({})
        names, final = self._intern()

        def make() -> Trace:
            events = {kind: Events.empty(kind, identity.owners(kind)) for kind in Kind}
            events |= self.sorter.sort_events(GPU_KINDS, identity, final)
            return self._trace(identity, names, events, {})

        return make

    def calls(self) -> Callable[[], None]:
        """Return a callable that sorts the API calls; it may run in any thread."""
        _, final = self._intern()
        return partial(self.sorter.settle_calls, final)

    def whole(
        self,
        domains: Mapping[tuple[int, int], str],
        records: RawEventRecords,
        unread: Mapping[str, int],
    ) -> Trace:
        """Return the complete trace. The raw tables are released, so this can run only once."""
        # Owners are numbered anew: the host's tables may show processes that had no GPU operation. The tables
        # that are sorted already are renumbered, not sorted again.
        identity = self._identify(domains)
        names, final = self._intern()
        _note_hidden(self.reading, self.raw[Kind.ON_CPU], identity)
        events = self.sorter.sort_events(Kind, identity, final)
        self.raw.clear()
        kept = records.of(identity, self.reading.notes)
        return self._trace(identity, names, {kind: events[kind] for kind in Kind}, domains, unread, kept)

    def _identify(self, domains: Mapping[tuple[int, int], str]) -> Owners:
        interner = self.reading.interner
        # Distinct names only: a few dozen, of millions of calls.
        calls = {int(name): interner.text(int(name)) for name in np.unique(self.raw[Kind.API].name)}
        return identify(self.raw, self.facts, GpuInfo(self.reading.tables), domains, calls)

    def _intern(self) -> tuple[Names, UInt32]:
        return self.reading.interner.finish([c for raw in self.raw.values() for c in _name_columns(raw)])

    def _trace(
        self,
        identity: Owners,
        names: Names,
        events: dict[Kind, Events],
        domains: Mapping[tuple[int, int], str],
        unread: Mapping[str, int] | None = None,
        records: EventRecords | None = None,
    ) -> Trace:
        reading, tables = self.reading, self.tables
        diagnostics = read_diagnostics(tables, self.facts.shift_ns)
        counts = {tables.form(table): rows for table, rows in reading.counts.items()}
        # Counted though it is no table of events: a table that is read must not be listed among the unread
        # ones.
        if "DIAGNOSTIC_EVENT" in tables.names:
            counts[tables.form("DIAGNOSTIC_EVENT")] = len(diagnostics)
        # Either tells: with some versions NCCL has a domain and no payloads.
        has_nccl = tables.has_rows("NVTX_PAYLOAD_SCHEMAS") or "NCCL" in domains.values()
        rows = {kind: len(table) for kind, table in events.items()}
        return Trace(
            path=self.path,
            session=session_of(self.facts, tables, rows, has_nccl=has_nccl),
            names=names,
            processes=tuple(identity.processes),
            gpus=tuple(identity.gpus),
            streams=tuple(identity.streams),
            threads=tuple(identity.threads),
            tracks=tuple(identity.tracks),
            events=events,
            counts=counts,
            diagnostics=diagnostics,
            event_records=records or EventRecords.empty(),
            unread=unread or {},
            notes=tuple(reading.notes + tables.notes + self.sorter.notes),
            source=self.source,
        )


class _Steps:
    """Progress by rows: a table's share of the bar is its share of all rows."""

    def __init__(self, tables: Tables, progress: Progress | None, cancelled: Cancel | None) -> None:
        self._progress, self._cancelled = progress, cancelled
        names = ["StringIds", *TABLE_OF.values(), EVENT_RECORDS]
        self._rows = {name: tables.extent(name) for name in names}
        # A tenth for sorting, and one so that an empty file divides.
        self._all = sum(self._rows.values()) * 1.1 + 1
        self._done = 0

    def begin(self, what: str, table: str | None = None) -> None:
        """Report the next step; the steps before it count as done."""
        check(self._cancelled)
        log.debug("%s: %d rows", what, self._rows.get(table or "", 0))
        if self._progress is not None:
            self._progress(f"Reading {what}" if table else "Sorting", self._done / self._all)
        self._done += self._rows.get(table or "", 0)


def _read_gpus(reading: ReadContext, raw: dict[Kind, RawEvents], steps: _Steps) -> None:
    """Read the GPU operations; read the API calls first only if some operations have no process."""

    def calls() -> RawEvents:
        if not len(raw[Kind.API]):
            raw[Kind.API] = cpu_tables.read_api(reading)
        return raw[Kind.API]

    for kind, read in gpu_tables.READERS.items():
        steps.begin(_SPOKEN[kind], TABLE_OF[kind])
        raw[kind] = read(reading, calls)


def _read_rest(
    reading: ReadContext,
    facts: FileMetadata,
    raw: dict[Kind, RawEvents],
    steps: _Steps,
    sort_calls: Callable[[], Future[None]],
) -> nvtx_table.Nvtx:
    """Read the host's tables; another thread sorts the API calls while this one reads NVTX and the rest."""

    def read(kind: Kind, reader: Callable[[], RawEvents]) -> None:
        steps.begin(_SPOKEN[kind], TABLE_OF[kind])
        raw[kind] = reader()

    # They may be there already: operations without a process are given that of their call.
    if not len(raw[Kind.API]):
        read(Kind.API, lambda: cpu_tables.read_api(reading))
    sorting = sort_calls()
    read(Kind.SYNC, lambda: cpu_tables.read_sync(reading))
    steps.begin(_SPOKEN[Kind.NVTX], TABLE_OF[Kind.NVTX])
    nvtx = nvtx_table.read_nvtx(reading)
    raw[Kind.NVTX] = nvtx.events
    read(Kind.OSRT, lambda: cpu_tables.read_osrt(reading))
    read(Kind.OVERHEAD, lambda: cpu_tables.read_overhead(reading))
    # Open ranges and threads that stay on a CPU end with the session: find the end of all other tables first.
    ends = [int(events.end.max()) for events in raw.values() if len(events)]
    session_end_ns = max([facts.duration_ns or 0, *ends])
    nvtx_table.close_open_ranges(reading, raw[Kind.NVTX], session_end_ns)
    read(Kind.ON_CPU, lambda: cpu_tables.read_on_cpu(reading, session_end_ns))
    sorting.result()
    cpu_tables.name_by_calls(raw[Kind.SYNC], raw[Kind.API])
    return nvtx


def _name_columns(raw: RawEvents) -> list[AnyArray]:
    short = raw.columns.get("short_id")
    return [raw.name] if short is None else [raw.name, short]


def _note_hidden(reading: ReadContext, on_cpu: RawEvents, identity: Owners) -> None:
    # Context switches are recorded of the whole machine. Its other processes have nothing to show, but who
    # looks for one should read why it is missing.
    shown = {process.global_pid for process in identity.processes}
    others = {key[0] & PROCESS_MASK for key in on_cpu.owners} - shown
    if others:
        have, are = ("has", "is") if len(others) == 1 else ("have", "are")
        who = counted(len(others), "process", "processes")
        reading.notes.append(f"{who} that {have} nothing but context switches {are} not shown")
