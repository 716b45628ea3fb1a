"""The operations of the GPUs: kernels, copies, sets, graph launches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewer.readers.interning import NO_STRING, distinct
from viewer.readers.loose import PROCESS_MASK, Codes, Loose, Reading, group, narrow_rows, read_spans
from viewer.readers.schema import COPY_NAMES, TABLE_OF, UNNAMED
from viewer.readers.tables import Columns, Field
from viewer.trace.events import AnyArray, Int64, Kind, UInt32

_WHO = (
    Field("globalPid"),
    Field("deviceId", np.int32),
    Field("contextId", np.uint32),
    Field("streamId", np.uint32),
    Field("correlationId", np.uint32),
)
_NAME_FIELDS = ("demangledName", "shortName", "mangledName")


def read_kernels(reading: Reading, api: Loose) -> Loose:
    """Read the kernels; a kernel is called by its demangled name, else its short, else its mangled one."""
    have = reading.tables.columns(TABLE_OF[Kind.KERNEL])
    name_fields = [Field(name, np.uint32, NO_STRING) for name in _NAME_FIELDS if name in have]
    node = [Field("graphNodeId", np.uint64)] if "graphNodeId" in have else []
    columns, _ = read_spans(reading, TABLE_OF[Kind.KERNEL], [*_WHO, *name_fields, *node])
    strings = reading.strings
    ids = [strings.provisional(columns.take(field.name)) for field in name_fields]
    unnamed = np.full(len(columns), reading.interner.add([UNNAMED]), np.uint32)
    name = _first_known([*ids, unnamed])
    shorts = [found for field, found in zip(name_fields, ids, strict=True) if field.name == "shortName"]
    extra = {"short_id": _first_known([*shorts, name]), "graph_node": _graph_node(columns)}
    return _finish(Kind.KERNEL, reading, api, columns, name, extra)


def read_copies(reading: Reading, api: Loose) -> Loose:
    """Read the copies, named by their kind: "Memcpy HtoD"."""
    fields = [
        Field("bytes"), Field("copyKind", np.uint8), Field("srcKind", np.uint8), Field("dstKind", np.uint8),
        Field("graphNodeId", np.uint64),
    ]  # fmt: skip
    columns, _ = read_spans(reading, TABLE_OF[Kind.MEMCPY], [*_WHO, *fields])
    kinds = columns.take("copyKind")
    codes, values = distinct(kinds)
    named = [f"Memcpy {COPY_NAMES[k]}" if k in COPY_NAMES else "Memcpy" for k in values.tolist()]
    name = _numbered(reading, named, codes)
    extra = {
        "bytes": columns.take("bytes"),
        "copy_kind": kinds,
        "src_kind": columns.take("srcKind"),
        "dst_kind": columns.take("dstKind"),
        "graph_node": _graph_node(columns),
    }
    return _finish(Kind.MEMCPY, reading, api, columns, name, extra)


def read_sets(reading: Reading, api: Loose) -> Loose:
    """Read the memsets."""
    fields = [Field("bytes"), Field("memKind", np.uint8), Field("graphNodeId", np.uint64)]
    columns, _ = read_spans(reading, TABLE_OF[Kind.MEMSET], [*_WHO, *fields])
    name = np.full(len(columns), reading.interner.add(["Memset"]), np.uint32)
    extra = {
        "bytes": columns.take("bytes"),
        "mem_kind": columns.take("memKind"),
        "graph_node": _graph_node(columns),
    }
    return _finish(Kind.MEMSET, reading, api, columns, name, extra)


def read_graphs(reading: Reading, api: Loose) -> Loose:
    """Read the graph launches: in graph mode the only trace of the kernels inside."""
    fields = [Field("graphId", np.uint32), Field("graphExecId", np.uint32)]
    columns, _ = read_spans(reading, TABLE_OF[Kind.GRAPH], [*_WHO, *fields])
    execs = columns.take("graphExecId")
    graphs = columns.take("graphId")
    graphs = np.where(graphs == 0, execs, graphs)
    codes, values = distinct(graphs)
    name = _numbered(reading, [f"CUDA graph {value}" for value in values.tolist()], codes)
    return _finish(Kind.GRAPH, reading, api, columns, name, {"graph_id": graphs})


def _first_known(candidates: list[UInt32]) -> UInt32:
    """Return, row by row, the first provisional id that is not 0."""
    name = candidates[0]
    for other in candidates[1:]:
        if (name != 0).all():
            break
        name = np.where(name != 0, name, other)
    return name


def _numbered(reading: Reading, texts: list[str], codes: Codes) -> UInt32:
    return codes.astype(np.uint32) + np.uint32(reading.interner.add(texts))


def _graph_node(columns: Columns) -> AnyArray:
    """Return the graph nodes; zeros that were never touched take no memory."""
    if "graphNodeId" not in columns.values:
        return np.zeros(len(columns), np.uint64)
    node = columns.take("graphNodeId")
    return node if node.any() else np.zeros(len(columns), np.uint64)


def _finish(
    kind: Kind, reading: Reading, api: Loose, columns: Columns, name: UInt32, extra: dict[str, AnyArray]
) -> Loose:
    correlation = columns.take("correlationId")
    process = columns.take("globalPid")
    if not process.all():
        process = _adopt(reading, kind, process, correlation, api)
    who = (columns.take("deviceId"), columns.take("contextId"), columns.take("streamId"))
    owner, owners = group(process, *who)
    del process, who
    extra |= {"correlation": correlation, "file_row": narrow_rows(columns.rows)}
    return Loose(kind, columns.take("start"), columns.take("end"), name, owner, owners, extra)


def _adopt(reading: Reading, kind: Kind, process: Int64, correlation: AnyArray, api: Loose) -> Int64:
    """Give rows without a process that of an API call with their correlation id."""
    callers = np.array([key[0] & PROCESS_MASK for key in api.owners], np.int64)
    process = process & PROCESS_MASK
    without = process == 0
    reading.notes.append(f"{TABLE_OF[kind]}: {int(without.sum()):,} rows do not say their process")
    if not len(callers):
        return process
    if len(np.unique(callers)) == 1:
        process[without] = callers[0]
        return process
    at = pc.index_in(pa.array(correlation[without]), value_set=pa.array(api.columns["correlation"]))
    found = at.fill_null(-1).to_numpy()
    process[without] = np.where(found >= 0, callers[api.owner[found]], 0)
    return process
