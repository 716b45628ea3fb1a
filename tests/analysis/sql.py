"""The facts of a trace, read straight from its SQLite file and summed without any of the program's code."""

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from typing import NamedTuple
from urllib.parse import quote

TABLES = {
    "kernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "memcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "memset": "CUPTI_ACTIVITY_KIND_MEMSET",
    "graph": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
}
API = "CUPTI_ACTIVITY_KIND_RUNTIME"


class Op(NamedTuple):
    """One operation of a GPU."""

    start: int
    end: int
    what: str
    name: str
    stream: tuple
    correlation: int
    row: int


def connect(path):
    """Open a trace that nobody writes, read-only."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return closing(connection)


def tables(db):
    """Return the names of the tables of a file."""
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def operations(path):
    """Return {(pid, device): list of Op}."""
    found = defaultdict(list)
    with connect(path) as db:
        for what, table in TABLES.items():
            if table not in tables(db):
                continue
            name = "demangledName" if what == "kernel" else "NULL"
            for pid, device, context, stream, start, end, text, correlation, row in db.execute(
                f"SELECT (o.globalPid >> 24) & 0xFFFFFF, o.deviceId, o.contextId, o.streamId, o.start, o.end,"
                f" s.value, o.correlationId, o.rowid FROM {table} o LEFT JOIN StringIds s ON s.id = {name}"
            ):
                op = Op(start, end, what, text or "", (context, stream), correlation, row)
                found[pid, device].append(op)
    return dict(found)


def class_of(op):
    """Return what an operation counts as: compute, communication or copy."""
    if op.what in ("memcpy", "memset"):
        return "copy"
    return "communication" if op.name.startswith("nccl") else "compute"


def five_parts(ops, low, high):
    """Return the ns of the five parts in [low, high): one walk over the starts and ends, with counters."""
    edges = []
    for op in ops:
        start, end = max(op.start, low), min(op.end, high)
        if end > start:
            edges += [(start, 1, class_of(op)), (end, -1, class_of(op))]
    spent, running, before = Counter(), Counter(), low
    for time, step, what in [*sorted(edges), (high, 0, "")]:
        compute, comm, copy = (running[k] > 0 for k in ("compute", "communication", "copy"))
        if compute:
            part = 1 if comm else 0
        else:
            part = 2 if comm else 3 if copy else 4
        spent[part] += time - before
        running[what] += step
        before = time
    return [spent[part] for part in range(5)]


def union_ns(spans, low, high):
    """Return the ns of [low, high) that any of the spans covers."""
    covered, reach = 0, low
    for start, end in sorted(spans):
        start, end = max(start, reach), min(end, high)
        if end > start:
            covered += end - start
            reach = end
    return covered


def touching(ops, low, high):
    """Return the operations that touch [low, high); one of length zero lasts one ns for this."""
    return [op for op in ops if op.start < high and max(op.end, op.start + 1) > low]
