"""What people use today, on the same file: SQLite's own scan, `nsys stats`, pandas."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pandas as pd

from viewer.readers.sqlite import database_uri

_GPU = "start end globalPid deviceId contextId streamId correlationId"
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_GPU} demangledName shortName graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_GPU} bytes copyKind srcKind dstKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_GPU} bytes memKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid nameId correlationId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end globalPid correlationId contextId streamId syncType",
    "NVTX_EVENTS": "start end eventType color globalTid domainId textId text",
    "OSRT_API": "start end globalTid nameId",
    "SCHED_EVENTS": "start cpu isSchedIn globalTid",
}
"""The columns that Lightbox reads."""


def _selections(connection: sqlite3.Connection) -> dict[str, list[str]]:
    found = {}
    for name, wanted in COLUMNS.items():
        have = {row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')}
        held = [column for column in wanted.split() if column in have]
        if held:
            found[name] = held
    return found


def scan(path: Path) -> tuple[float, int]:
    """Return how long SQLite takes to look at every value that Lightbox reads, s, and the rows."""
    with sqlite3.connect(database_uri(path), uri=True) as connection:
        rows = 0
        began = time.perf_counter()
        for name, columns in _selections(connection).items():
            every = ", ".join(f'max("{column}")' for column in columns)
            rows += connection.execute(f'SELECT count(*), {every} FROM "{name}"').fetchone()[0]
        return time.perf_counter() - began, rows


def pandas_read(path: Path) -> float:
    """Return how long `pandas.read_sql` takes for the same columns, s."""
    with sqlite3.connect(database_uri(path), uri=True) as connection:
        began = time.perf_counter()
        for name, columns in _selections(connection).items():
            listed = ", ".join(f'"{column}"' for column in columns)
            pd.read_sql(f'SELECT {listed} FROM "{name}"', connection)
        return time.perf_counter() - began


def nsys_stats(path: Path) -> float | None:
    """Return how long nsys takes to sum the kernels by name, s; None where it is not installed or fails."""
    nsys = shutil.which("nsys")
    if nsys is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        # Beside the trace it would leave files, and it takes links for what they point to.
        copy = Path(folder) / "trace.sqlite"
        shutil.copyfile(path, copy)
        began = time.perf_counter()
        done = subprocess.run(
            [nsys, "stats", "--report", "gpukernsum", str(copy)], capture_output=True, check=False
        )
        return time.perf_counter() - began if done.returncode == 0 else None
