"""Small exports, written table by table, with what a test wants wrong in them."""

import sqlite3

PID = 40021
GLOBAL_PID = (1 << 48) | (PID << 24)
MAIN = GLOBAL_PID | PID
OTHER = GLOBAL_PID | 40022


def process(pid):
    """The globalPid of a pid."""
    return (1 << 48) | (pid << 24)


KERNEL = {
    "start": 1000, "end": 2000, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 1,
    "globalPid": GLOBAL_PID, "demangledName": 1, "shortName": 2, "graphNodeId": None,
    "registersPerThread": 32,
}  # fmt: skip
CALL = {
    "start": 500, "end": 600, "eventClass": 0, "globalTid": MAIN, "correlationId": 1, "nameId": 3,
    "returnValue": 0,
}  # fmt: skip
RANGE = {
    "start": 100, "end": 900, "eventType": 59, "color": None, "text": "step", "globalTid": MAIN,
    "textId": None, "domainId": 0,
}  # fmt: skip
STRINGS = {1: "void gemm<float>(int)", 2: "gemm", 3: "cudaLaunchKernel_v7000", 4: "registered"}

KERNELS, CALLS, NVTX = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
COPIES, SYNC, GRAPHS = (f"CUPTI_ACTIVITY_KIND_{x}" for x in ("MEMCPY", "SYNCHRONIZATION", "GRAPH_TRACE"))
SWITCHES = "SCHED_EVENTS"
TEXTS = {"text", "value", "name", "label"}


def kernel(**changes):
    """A kernel's row."""
    return KERNEL | changes


def call(**changes):
    """An API call's row."""
    return CALL | changes


def nvtx(**changes):
    """An NVTX row."""
    return RANGE | changes


def write(path, tables=None, strings=None):
    """Write an export: a mapping of table names to rows (mappings of column names to values)."""
    tables = {"StringIds": [{"id": i, "value": v} for i, v in (strings or STRINGS).items()]} | (tables or {})
    connection = sqlite3.connect(path)
    for table, rows in tables.items():
        if isinstance(rows, str):
            connection.execute(rows)
            continue
        columns = list(rows[0])
        types = ["TEXT" if column in TEXTS else "INTEGER" for column in columns]
        declared = ", ".join(f'"{column}" {kind}' for column, kind in zip(columns, types, strict=True))
        connection.execute(f'CREATE TABLE "{table}" ({declared})')
        stream_gaps = ", ".join("?" * len(columns))
        connection.executemany(
            f'INSERT INTO "{table}" VALUES ({stream_gaps})', [[row[c] for c in columns] for row in rows]
        )
    connection.commit()
    connection.close()
    return path


def listing(folder):
    """Everything in a folder, with size and time of change."""
    return sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir())
