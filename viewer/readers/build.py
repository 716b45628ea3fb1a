"""Raw tables become a Trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from viewer.readers import cpu_tables, gpu_tables, nvtx_table
from viewer.readers.boards import Boards
from viewer.readers.errors import Cancel, Progress, check
from viewer.readers.facts import FileFacts, read_diagnostics, read_facts, session_of
from viewer.readers.identity import Identity, identify
from viewer.readers.interning import Interner, StringTable
from viewer.readers.loose import PROCESS_MASK, Loose, Reading, settle
from viewer.readers.schema import TABLE_OF
from viewer.readers.tables import Tables
from viewer.trace.events import GPU_KINDS, AnyArray, Events, Kind, UInt32
from viewer.trace.model import Source, Trace

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
    Kind.OVERHEAD: "profiler overhead",
}


def build(
    path: Path,
    tables: Tables,
    source: Source,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    early: Early | None = None,
) -> Trace:
    """Read all that a trace needs from a file's tables.

    Parameters
    ----------
    path : Path
        What the user opened; `tables` may come from an export of it.
    early : callable, optional
        Called with a `Trace.partial` as soon as the operations of the GPUs are read.
    """
    steps = _Steps(tables, progress, cancelled)
    steps.begin("names", "StringIds")
    interner = Interner()
    strings = StringTable(tables, interner, cancelled)
    facts = read_facts(tables, strings)
    reading = Reading(tables, interner, strings, facts.shift_ns, {"StringIds": len(strings)}, cancelled)
    reading.notes += facts.notes
    loose = {kind: Loose.empty(kind) for kind in Kind}
    _read_gpus(reading, loose, steps)
    if early is not None and any(len(loose[kind]) for kind in GPU_KINDS):
        early(_assembled(path, reading, facts, loose, {}, source, partial=True))
    nvtx = _read_rest(reading, facts, loose, steps)
    check(cancelled)
    steps.begin("sorting")
    facts.thread_names.update(nvtx.thread_names)
    return _assembled(path, reading, facts, loose, nvtx.domains, source)


def _assembled(
    path: Path,
    reading: Reading,
    facts: FileFacts,
    loose: dict[Kind, Loose],
    domains: Mapping[tuple[int, int], str],
    source: Source,
    partial: bool = False,
) -> Trace:
    """Make the trace: number owners and names, and sort; empties `loose` unless it is a partial one."""
    tables, interner = reading.tables, reading.interner
    calls = {int(one): interner.text(int(one)) for one in np.unique(loose[Kind.API].name)}
    identity = identify(loose, facts, Boards(tables), domains, calls)
    names, final = interner.finish([column for one in loose.values() for column in _name_columns(one)])
    if not partial:
        _note_hidden(reading, loose[Kind.ON_CPU], identity)
    events = _settle_all(loose, identity, final, reading.cancelled, keep=partial)
    diagnostics = read_diagnostics(tables, facts.shift_ns)
    if "DIAGNOSTIC_EVENT" in tables.names:
        reading.counts["DIAGNOSTIC_EVENT"] = len(diagnostics)
    has_nccl = tables.has_rows("NVTX_PAYLOAD_SCHEMAS") or "NCCL" in domains.values()
    rows = {kind: len(table) for kind, table in events.items()}
    return Trace(
        path=path,
        session=session_of(facts, tables, rows, has_nccl=has_nccl),
        names=names,
        processes=tuple(identity.processes),
        gpus=tuple(identity.gpus),
        streams=tuple(identity.streams),
        threads=tuple(identity.threads),
        tracks=tuple(identity.tracks),
        events=events,
        counts=dict(reading.counts),
        diagnostics=diagnostics,
        notes=tuple(reading.notes + tables.notes),
        source=source,
        partial=partial,
    )


class _Steps:
    """Progress by rows: each table's share is its part of all rows."""

    def __init__(self, tables: Tables, progress: Progress | None, cancelled: Cancel | None) -> None:
        self._progress, self._cancelled = progress, cancelled
        names = ["StringIds", *TABLE_OF.values()]
        self._rows = {name: tables.extent(name) for name in names}
        self._all = sum(self._rows.values()) * 1.1 + 1
        self._done = 0

    def begin(self, what: str, table: str | None = None) -> None:
        """Say what comes next; all that was begun before is done."""
        check(self._cancelled)
        if self._progress is not None:
            self._progress(f"Reading {what}" if table else "Sorting", self._done / self._all)
        self._done += self._rows.get(table or "", 0)


def _read_gpus(reading: Reading, loose: dict[Kind, Loose], steps: _Steps) -> None:
    """Read what the GPUs did; the calls before it only where they must tell whose it is."""

    def calls() -> Loose:
        if not len(loose[Kind.API]):
            loose[Kind.API] = cpu_tables.read_api(reading)
        return loose[Kind.API]

    for kind, read in gpu_tables.READERS.items():
        steps.begin(_SPOKEN[kind], TABLE_OF[kind])
        loose[kind] = read(reading, calls)


def _read_rest(
    reading: Reading, facts: FileFacts, loose: dict[Kind, Loose], steps: _Steps
) -> nvtx_table.Nvtx:
    """Read what the CPU did."""

    def read(kind: Kind, reader: Callable[[], Loose]) -> None:
        steps.begin(_SPOKEN[kind], TABLE_OF[kind])
        loose[kind] = reader()

    if not len(loose[Kind.API]):
        read(Kind.API, lambda: cpu_tables.read_api(reading))
    read(Kind.SYNC, lambda: cpu_tables.read_sync(reading, loose[Kind.API]))
    steps.begin(_SPOKEN[Kind.NVTX], TABLE_OF[Kind.NVTX])
    nvtx = nvtx_table.read_nvtx(reading)
    loose[Kind.NVTX] = nvtx.events
    read(Kind.OSRT, lambda: cpu_tables.read_osrt(reading))
    read(Kind.OVERHEAD, lambda: cpu_tables.read_overhead(reading))
    ends = [int(one.end.max()) for one in loose.values() if len(one)]
    session_end_ns = max([facts.duration_ns or 0, *ends])
    nvtx_table.close_open_ranges(loose[Kind.NVTX], session_end_ns)
    read(Kind.ON_CPU, lambda: cpu_tables.read_on_cpu(reading, session_end_ns))
    return nvtx


def _name_columns(loose: Loose) -> list[AnyArray]:
    short = loose.columns.get("short_id")
    return [loose.name] if short is None else [loose.name, short]


def _settle_all(
    loose: dict[Kind, Loose], identity: Identity, final: UInt32, cancelled: Cancel | None, keep: bool
) -> dict[Kind, Events]:
    """Settle all tables, two at once, the large ones first; empties `loose` unless they are to be kept."""

    def one(kind: Kind) -> Events:
        check(cancelled)
        table = loose[kind] if keep else loose.pop(kind)
        return settle(table, lambda key: identity.owner(kind, key), identity.owners(kind), final)

    order = sorted(Kind, key=lambda kind: -len(loose[kind]))
    with ThreadPoolExecutor(2, "lightbox-sort") as pool:
        done = dict(zip(order, pool.map(one, order), strict=True))
    return {kind: done[kind] for kind in Kind}


def _note_hidden(reading: Reading, on_cpu: Loose, identity: Identity) -> None:
    shown = {process.global_pid for process in identity.processes}
    others = {key[0] & PROCESS_MASK for key in on_cpu.owners} - shown
    if others:
        reading.notes.append(
            f"{len(others):,} processes that have nothing but context switches are not shown"
        )
