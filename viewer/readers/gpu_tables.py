"""Readers of the tables of GPU operations: kernels, memory copies, memsets, CUDA graph launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewer.printable import counted
from viewer.readers.interning import NO_STRING, distinct
from viewer.readers.raw_events import (
    PROCESS_MASK,
    UNIFIED_MEMORY,
    Codes,
    RawEvents,
    ReadContext,
    group,
    narrow_rows,
    read_spans,
)
from viewer.readers.schema import COPY_NAMES, TABLE_OF, UNNAMED
from viewer.readers.tables import Field, RawColumns
from viewer.trace.events import MIGRATIONS, AnyArray, Int64, Kind, UInt32

Calls = Callable[[], RawEvents]
"""Reads the API calls; called only if some operations have no process."""

_WHO = (
    Field("globalPid"),
    Field("deviceId", np.int32),
    Field("contextId", np.uint32),
    Field("streamId", np.uint32),
    Field("correlationId", np.uint32),
)


def read_kernels(reading: ReadContext, calls: Calls) -> RawEvents:
    """Read the kernels. A kernel's name is its demangled name, else its short name, else its mangled one."""
    table = TABLE_OF[Kind.KERNEL]
    names = [Field("demangledName", np.uint32, NO_STRING), Field("shortName", np.uint32, NO_STRING)]
    columns, _ = read_spans(reading, table, [*_WHO, *names, Field("graphNodeId", np.uint64)])
    strings = reading.strings
    short = strings.provisional(columns.take("shortName"))
    # Short names are shared by all instances of a template: they are the second choice.
    name = _or_else(strings.provisional(columns.take("demangledName")), short)
    if (name == 0).any():
        mangled = reading.tables.integers(table, [Field("mangledName", np.uint32, NO_STRING)])
        # `columns` lacks the rows without a valid start: match by rowid. Both are in order of rowid.
        position = np.searchsorted(mangled.rows, columns.rows)
        name = _or_else(name, strings.provisional(mangled.values["mangledName"][position]))
        name = _or_else(name, np.uint32(reading.interner.add([UNNAMED])))
    extra = {"short_id": _or_else(short, name), "graph_node": _graph_node(columns)}
    return _finish(Kind.KERNEL, reading, calls, columns, name, extra)


def read_copies(reading: ReadContext, calls: Calls) -> RawEvents:
    """Read the copies, named by their kind: "Memcpy HtoD".

    The driver issues the page migrations of unified memory: they get a separate stream, and correlation
    id 0, as no API call launched them.
    """
    fields = [
        Field("bytes"), Field("copyKind", np.uint8), Field("srcKind", np.uint8), Field("dstKind", np.uint8),
        Field("graphNodeId", np.uint64),
    ]  # fmt: skip
    columns, _ = read_spans(reading, TABLE_OF[Kind.MEMCPY], [*_WHO, *fields])
    kinds = columns.take("copyKind")
    codes, values = distinct(kinds)
    named = [f"Memcpy {COPY_NAMES[k]}" if k in COPY_NAMES else "Memcpy" for k in values.tolist()]
    name = _numbered(reading, named, codes)
    # Before `_finish` groups rows by stream, so that migrations form an owner separate from real streams.
    migrated = np.isin(kinds, MIGRATIONS)
    columns.values["contextId"][migrated], columns.values["streamId"][migrated] = UNIFIED_MEMORY
    extra = {
        "bytes": columns.take("bytes"),
        "copy_kind": kinds,
        "src_kind": columns.take("srcKind"),
        "dst_kind": columns.take("dstKind"),
        "graph_node": _graph_node(columns),
    }
    copies = _finish(Kind.MEMCPY, reading, calls, columns, name, extra)
    # Only now: `_finish` may need the correlation ids to find the process of a row.
    copies.columns["correlation"][migrated] = 0
    return copies


def read_sets(reading: ReadContext, calls: Calls) -> RawEvents:
    """Read the memsets."""
    fields = [Field("bytes"), Field("memKind", np.uint8), Field("graphNodeId", np.uint64)]
    columns, _ = read_spans(reading, TABLE_OF[Kind.MEMSET], [*_WHO, *fields])
    name = np.full(len(columns), reading.interner.add(["Memset"]), np.uint32)
    extra = {
        "bytes": columns.take("bytes"),
        "mem_kind": columns.take("memKind"),
        "graph_node": _graph_node(columns),
    }
    return _finish(Kind.MEMSET, reading, calls, columns, name, extra)


def read_graphs(reading: ReadContext, calls: Calls) -> RawEvents:
    """Read the graph launches; a recording in graph mode has no rows of the kernels inside."""
    fields = [Field("graphId", np.uint32), Field("graphExecId", np.uint32)]
    columns, _ = read_spans(reading, TABLE_OF[Kind.GRAPH], [*_WHO, *fields])
    execs = columns.take("graphExecId")
    graphs = columns.take("graphId")
    # Some versions leave graphId at 0: the executable graph is then all that tells them apart.
    graphs = np.where(graphs == 0, execs, graphs)
    codes, values = distinct(graphs)
    name = _numbered(reading, [f"CUDA graph {value}" for value in values.tolist()], codes)
    return _finish(Kind.GRAPH, reading, calls, columns, name, {"graph_id": graphs})


READERS: Mapping[Kind, Callable[[ReadContext, Calls], RawEvents]] = {
    Kind.KERNEL: read_kernels,
    Kind.MEMCPY: read_copies,
    Kind.MEMSET: read_sets,
    Kind.GRAPH: read_graphs,
}


def _or_else(name: UInt32, other: UInt32 | np.uint32) -> UInt32:
    """Return provisional ids, replaced by those of `other` where they are 0 (no name)."""
    missing = name == 0
    return np.where(missing, other, name) if missing.any() else name


def _numbered(reading: ReadContext, texts: list[str], codes: Codes) -> UInt32:
    return codes.astype(np.uint32) + np.uint32(reading.interner.add(texts))


def _graph_node(columns: RawColumns) -> AnyArray:
    """Return the graph nodes; if all are 0, a fresh array of zeros, which takes no memory until written."""
    node = columns.take("graphNodeId")
    return node if node.any() else np.zeros(len(columns), np.uint64)


def _finish(
    kind: Kind,
    reading: ReadContext,
    calls: Calls,
    columns: RawColumns,
    name: UInt32,
    extra: dict[str, AnyArray],
) -> RawEvents:
    correlation = columns.take("correlationId")
    process = columns.take("globalPid")
    if not process.all():
        process = _adopt(reading, kind, process, correlation, calls())
    who = (columns.take("deviceId"), columns.take("contextId"), columns.take("streamId"))
    # Streams repeat over contexts, contexts over processes: only the four together are one stream.
    owner, owners = group(process, *who)
    # Free four columns of the largest table before the next arrays are made.
    del process, who
    extra |= {"correlation": correlation, "file_row": narrow_rows(columns.rows)}
    return RawEvents(kind, columns.take("start"), columns.take("end"), name, owner, owners, extra)


def _adopt(reading: ReadContext, kind: Kind, process: Int64, correlation: AnyArray, api: RawEvents) -> Int64:
    """Return the processes; rows without one get the process of an API call with the same correlation id."""
    callers = np.array([key[0] & PROCESS_MASK for key in api.owners], np.int64)
    process = process & PROCESS_MASK
    without = process == 0
    reading.notes.append(f"{TABLE_OF[kind]}: {counted(int(without.sum()), 'row')} without a process")
    if not len(callers):
        return process
    # One process alone made calls: it needs no match by correlation id, which lost calls would break.
    if len(np.unique(callers)) == 1:
        process[without] = callers[0]
        return process
    index = pc.index_in(pa.array(correlation[without]), value_set=pa.array(api.columns["correlation"]))
    call = index.fill_null(-1).to_numpy()
    # -1 (no such call) reads the last call, and `where` discards the result.
    process[without] = np.where(call >= 0, callers[api.owner[call]], 0)
    return process
