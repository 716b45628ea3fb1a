"""The cache's file format: a folder per trace, with one Arrow IPC file per table and a JSON file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from viewer import private_files
from viewer.readers import checksums
from viewer.trace.event_records import COLUMNS, EventRecords
from viewer.trace.events import AnyArray, Events, Kind
from viewer.trace.model import CaptureSession, Gpu, Process, Source, Stream, Thread, Trace, Track
from viewer.trace.names import Names

log = logging.getLogger("viewer.readers")

VERSION = 8
"""The format's version: raise it when the stored data, or the way they are read from a file, changes."""

_META, _NAMES, _DIAGNOSTICS = "trace.json", "names.arrow", "diagnostics.arrow"
_RECORDS = "event_records.arrow"
_OWNERS: Mapping[str, type] = {
    "processes": Process, "gpus": Gpu, "streams": Stream, "threads": Thread, "tracks": Track,
}  # fmt: skip


class CacheWriter:
    """Writes a trace into an empty folder: each table as soon as it is sorted, the rest at the end.

    All methods raise OSError if a file cannot be written, for example because the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums: dict[str, checksums.Sums] = {}
        self._written: dict[Kind, tuple[Events, dict[str, Any]]] = {}

    def put(self, events: Events) -> Events:
        """Write a table; return it mapped into memory from its file.

        If only the offsets of a table that was written before have changed, no column is written again.
        """
        before, facts = self._written.get(events.kind, (None, {}))
        # The sorter shares the arrays of a table whose owners it only renumbers: same array, same rows.
        if before is not None and before.start_ns is events.start_ns:
            self._written[events.kind] = events, facts | {"offsets": events.offsets.tolist()}
            return events
        columns = {"start_ns": events.start_ns, "end_ns": events.end_ns, "name_id": events.name_id}
        # Columns of zeros alone (copies of a file without graphs, say) are stored as their dtype only.
        zeros = {}
        for name, column in events.columns.items():
            # Most files lack graphs or user colours: a column of zeros would be written, checked and mapped
            # for nothing.
            if column.any():
                columns[name] = column
            else:
                zeros[name] = column.dtype.str
        facts = {"offsets": events.offsets.tolist(), "zeros": zeros}
        file = self._folder / f"{events.kind}.arrow"
        # Unlink, never overwrite: an earlier version may still be mapped, and its pages would change.
        file.unlink(missing_ok=True)
        _write(file, pa.table(columns))
        mapped = _events(self._sum(file), events.kind, facts)
        self._written[events.kind] = mapped, facts
        return mapped

    def finish(self, trace: Trace, place: Path) -> None:
        """Write the rest of a trace, and seal the folder for `place`, the path to which it moves."""
        tables: dict[str, Any] = {}
        for kind, events in trace.events.items():
            if kind not in self._written or self._written[kind][0] is not events:
                self.put(events)
            tables[kind] = self._written[kind][1]
        folder = self._folder
        _write(folder / _NAMES, pa.table({"name": trace.names.array}))
        records = {name: getattr(trace.event_records, name) for name in COLUMNS}
        _write(folder / _RECORDS, pa.table(records))
        _write(folder / _DIAGNOSTICS, pa.Table.from_pandas(trace.diagnostics, preserve_index=False))
        # Sorted, so that the same trace gives the same bytes, whatever order a set has.
        session = asdict(trace.session) | {"recorded": sorted(trace.session.recorded)}
        meta: dict[str, Any] = {
            "path": os.fsencode(trace.path.absolute()).decode("utf-8", "surrogateescape"),
            "session": session,
            "tables": tables,
            "counts": dict(trace.counts),
            "unread": dict(trace.unread),
            "notes": list(trace.notes),
        }
        for name in _OWNERS:
            meta[name] = [list(asdict(owner).values()) for owner in getattr(trace, name)]
        with private_files.create(folder / _META) as out:
            out.write(json.dumps(meta).encode())
        for name in (_NAMES, _RECORDS, _DIAGNOSTICS, _META):
            self._sum(folder / name)
        checksums.seal(folder, place, self._sums)

    def _sum(self, file: Path) -> pa.Buffer:
        """Map a written file, and record its checksums."""
        content = checksums.map_plain(file)
        self._sums[file.name] = checksums.sums(content)
        return content


def path_in(folder: Path) -> str:
    """Return the path of the trace that is stored in a folder, "" if the folder does not name it."""
    try:
        return str(json.loads(bytes(checksums.map_plain(folder / _META))).get("path", ""))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, AttributeError) as error:
        log.debug("a cache entry does not name its trace: %s", error)
        return ""


def load(files: Mapping[str, pa.Buffer], path: Path, source: Source) -> Trace:
    """Return the trace that is stored in these files, which are mapped into memory and verified."""
    meta = json.loads(bytes(files[_META]))
    names = Names(_column(_table(files[_NAMES]), "name"))
    events = {kind: _events(files[f"{kind}.arrow"], kind, meta["tables"][kind]) for kind in Kind}
    records = _table(files[_RECORDS])
    event_records = EventRecords(*(_column(records, name).to_numpy() for name in COLUMNS))
    session = CaptureSession(**(meta["session"] | {"recorded": frozenset(meta["session"]["recorded"])}))
    owners = {name: tuple(make(*values) for values in meta[name]) for name, make in _OWNERS.items()}
    return Trace(
        path=path,
        session=session,
        names=names,
        events=events,
        counts=meta["counts"],
        diagnostics=_table(files[_DIAGNOSTICS]).to_pandas(),
        event_records=event_records,
        unread=meta["unread"],
        notes=tuple(meta["notes"]),
        source=source,
        **owners,
    )


def _events(content: pa.Buffer, kind: Kind, facts: Mapping[str, Any]) -> Events:
    table = _table(content)
    columns: dict[str, AnyArray] = {name: _column(table, name).to_numpy() for name in table.column_names}
    for name, dtype in facts["zeros"].items():
        columns[name] = np.zeros(len(table), dtype)
    start, end, name_id = (columns.pop(name) for name in ("start_ns", "end_ns", "name_id"))
    return Events(kind, start, end, name_id, np.array(facts["offsets"], np.int64), columns)  # type: ignore[arg-type]


def _write(file: Path, table: pa.Table) -> None:
    """Write a table as one batch, so that each mapped column is one contiguous array."""
    with private_files.create(file) as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(len(table), 1))


def _table(content: pa.Buffer) -> pa.Table:
    return pa.ipc.open_file(content).read_all()


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
