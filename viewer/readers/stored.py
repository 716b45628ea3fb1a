"""How a parsed trace lies on disk: one Arrow IPC file per table, the rest in a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from viewer.readers.mapped import map_ipc
from viewer.trace.events import AnyArray, Events, Kind
from viewer.trace.model import Gpu, Process, Session, Source, Stream, Thread, Trace, Track
from viewer.trace.names import Names

VERSION = 3
"""Raised whenever what is stored, or how it is read from the file, changes."""

_META = "trace.json"
_OWNERS: Mapping[str, type] = {
    "processes": Process, "gpus": Gpu, "streams": Stream, "threads": Thread, "tracks": Track,
}  # fmt: skip


class Writer:
    """Writes a trace into an empty folder: each table as soon as it is sorted, the rest at the end.

    All methods raise OSError where the disk is full, say.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[Kind, tuple[Events, dict[str, Any]]] = {}

    def put(self, events: Events) -> Events:
        """Write a table; return it as it lies in the file, mapped into memory.

        Of one that was returned before and has other offsets now, only these are written.
        """
        before, facts = self._written.get(events.kind, (None, {}))
        if before is not None and before.start_ns is events.start_ns:
            self._written[events.kind] = events, facts | {"offsets": events.offsets.tolist()}
            return events
        columns = {"start_ns": events.start_ns, "end_ns": events.end_ns, "name_id": events.name_id}
        zeros = {}
        for name, column in events.columns.items():
            if column.any():
                columns[name] = column
            else:
                zeros[name] = column.dtype.str
        facts = {"rows": len(events), "offsets": events.offsets.tolist(), "zeros": zeros}
        file = self._folder / f"{events.kind}.arrow"
        # What was written before may be mapped: it keeps its file.
        file.unlink(missing_ok=True)
        _write(file, pa.table(columns))
        found = _load_events(self._folder, events.kind, facts)
        self._written[events.kind] = found, facts
        return found

    def finish(self, trace: Trace) -> None:
        """Write what is left of a trace."""
        tables: dict[str, Any] = {}
        for kind, events in trace.events.items():
            if kind not in self._written or self._written[kind][0] is not events:
                self.put(events)
            tables[kind] = self._written[kind][1]
        folder = self._folder
        _write(folder / "names.arrow", pa.table({"name": trace.names.array}))
        _write(folder / "diagnostics.arrow", pa.Table.from_pandas(trace.diagnostics, preserve_index=False))
        session = asdict(trace.session) | {"recorded": sorted(trace.session.recorded)}
        meta = {
            "version": VERSION,
            "path": os.fsencode(trace.path.absolute()).decode("utf-8", "surrogateescape"),
            "session": session,
            "tables": tables,
            "names": len(trace.names),
            "counts": dict(trace.counts),
            "notes": list(trace.notes),
        }
        for name in _OWNERS:
            meta[name] = [list(asdict(one).values()) for one in getattr(trace, name)]
        (folder / _META).write_text(json.dumps(meta), "utf-8")


def path_in(folder: Path) -> str:
    """Return the path of the trace that is stored in a folder, "" where it is not told."""
    try:
        return str(json.loads((folder / _META).read_text("utf-8")).get("path", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def load(folder: Path, path: Path, source: Source) -> Trace:
    """Map a stored trace into memory.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError, pa.ArrowException
        It is damaged or of another version.
    """
    meta = json.loads((folder / _META).read_text("utf-8"))
    if meta["version"] != VERSION:
        raise ValueError(f"version {meta['version']}")
    names = Names(_column(map_ipc(folder / "names.arrow"), "name"))
    if len(names) != meta["names"]:
        raise ValueError("names are missing")
    events = {kind: _load_events(folder, kind, meta["tables"][kind]) for kind in Kind}
    session = Session(**(meta["session"] | {"recorded": frozenset(meta["session"]["recorded"])}))
    owners = {name: tuple(make(*values) for values in meta[name]) for name, make in _OWNERS.items()}
    return Trace(
        path=path,
        session=session,
        names=names,
        events=events,
        counts=meta["counts"],
        diagnostics=map_ipc(folder / "diagnostics.arrow").to_pandas(),
        notes=tuple(meta["notes"]),
        source=source,
        partial=False,
        **owners,
    )


def _load_events(folder: Path, kind: Kind, facts: Mapping[str, Any]) -> Events:
    table = map_ipc(folder / f"{kind}.arrow")
    if len(table) != facts["rows"] or facts["offsets"][-1] != len(table):
        raise ValueError(f"rows of {kind} are missing")
    columns: dict[str, AnyArray] = {name: _column(table, name).to_numpy() for name in table.column_names}
    for name, dtype in facts["zeros"].items():
        columns[name] = np.zeros(len(table), dtype)
    start, end, name_id = (columns.pop(name) for name in ("start_ns", "end_ns", "name_id"))
    return Events(kind, start, end, name_id, np.array(facts["offsets"], np.int64), columns)  # type: ignore[arg-type]


def _write(file: Path, table: pa.Table) -> None:
    """Write a table as one batch, so that each column is one piece of memory when mapped."""
    with file.open("wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(len(table), 1))


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
