"""Oddities of real files that readers easily misread, written into a demo on purpose."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from urllib.parse import quote

import numpy as np

from viewer.demo.ids import CONTEXT, global_pids, global_tids
from viewer.demo.options import ODDITIES, Oddity

FORMS = {
    "StringIds": "StringIds_V2",
    "NVTX_EVENTS": "NVTX_EVENTS_V2",
    "CUPTI_ACTIVITY_KIND_KERNEL": "CUPTI_ACTIVITY_KIND_KERNEL_V3",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "CUPTI_ACTIVITY_KIND_RUNTIME_V2",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "CUPTI_ACTIVITY_KIND_MEMCPY_V4",
    "TARGET_INFO_GPU": "TARGET_INFO_GPU_V2",
}
ENVIRONMENT_RANK = 3
MPI_CALLS, METRICS = 10, 20
MIGRATIONS, MIGRATED_BYTES, MIGRATION_NS, COHERENCE, PREFETCH = 240, 65_536, 3_000, 2, 3
TOO_LONG_NS = 300_000_000
MESSAGES = (
    "No OpenGL events collected. Does the process use OpenGL?",
    "Unable to collect CPU kernel IP/backtrace samples. perf event paranoid level is 2. \nTry\nsudo sh -c …",
    "CUDA device 0: Unified Memory cannot be traced on devices that don't support peer-to-peer transfers.",
)


def write_oddities(path: str | os.PathLike[str], oddities: tuple[Oddity, ...], ranks: int) -> None:
    """Write oddities into a complete demo trace; tables are renamed last, as the others use their names.

    Raises
    ------
    sqlite3.Error
        The file cannot be written.
    """
    uri = f"file:{quote(os.fsencode(path))}"
    with closing(sqlite3.connect(uri, uri=True)) as connection, connection:
        for oddity in sorted(oddities, key=ODDITIES.index, reverse=True):
            _WRITERS[oddity](connection, ranks)


def _rename(connection: sqlite3.Connection, _ranks: int) -> None:
    for table, form in FORMS.items():
        connection.execute(f"ALTER TABLE {table} RENAME TO {form}")


def _environment(connection: sqlite3.Connection, _ranks: int) -> None:
    row = ("PROCESS_0:ENVIRONMENT_VARIABLE", f'RANK="{ENVIRONMENT_RANK}"')
    connection.execute("INSERT INTO META_DATA_CAPTURE VALUES (?, ?)", row)


def _mpi_ranks(connection: sqlite3.Connection, ranks: int) -> None:
    """Write ranks that decrease with the pids, so that the order of the pids would guess them wrong."""
    connection.execute("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)")
    threads = global_tids(ranks, "main").tolist()
    rows = [(thread, ranks - 1 - number) for number, thread in enumerate(threads)]
    connection.executemany("INSERT INTO MPI_RANKS VALUES (?, ?)", rows)


def _unread(connection: sqlite3.Connection, ranks: int) -> None:
    connection.execute("CREATE TABLE MPI_OTHER_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER)")
    connection.execute("CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, value INTEGER)")
    thread = int(global_tids(ranks, "main")[0])
    calls = [(start, start + 500, thread) for start in range(0, 1000 * MPI_CALLS, 1000)]
    connection.executemany("INSERT INTO MPI_OTHER_EVENTS VALUES (?, ?, ?)", calls)
    connection.executemany("INSERT INTO GPU_METRICS VALUES (?, 1, 50)", [(time,) for time in range(METRICS)])


def _migrations(connection: sqlite3.Connection, ranks: int) -> None:
    """Add page migrations of unified memory to every GPU, evenly spaced over the time of its copies."""
    span = "SELECT min(start), max(start) FROM CUPTI_ACTIVITY_KIND_MEMCPY"
    low, high = connection.execute(span).fetchone()
    for device, process in enumerate(global_pids(ranks).tolist()):
        starts = np.linspace(low, high, MIGRATIONS, dtype=np.int64).tolist()
        connection.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, "
            "correlationId, globalPid, bytes, copyKind, srcKind, dstKind, migrationCause) "
            "VALUES (?,?,?,?,0,?,?,?,?,4,4,?)",
            [
                (start, start + MIGRATION_NS, device, CONTEXT, number, process, MIGRATED_BYTES,
                 11 + number % 2, PREFETCH if number % 4 == 0 else COHERENCE)
                for number, start in enumerate(starts)
            ],
        )  # fmt: skip


def _messages(connection: sqlite3.Connection, _ranks: int) -> None:
    rows = list(enumerate(MESSAGES))
    connection.executemany(
        "INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text) VALUES (?,1,3,3,?)",
        rows,
    )


def _impossible(connection: sqlite3.Connection, _ranks: int) -> None:
    """Take the times from a kernel, stretch another over its stream, and damage ranges.

    Some ranges end before they start, others have no end.
    """
    kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
    most = f"SELECT streamId FROM {kernels} GROUP BY streamId ORDER BY count(*) DESC LIMIT 1"
    own = f"FROM {kernels} WHERE deviceId = 0 AND streamId = ({most})"
    one = f"SELECT rowid {own} ORDER BY start LIMIT 1 OFFSET ?"
    (timeless,), (stretched,) = (connection.execute(one, (place,)).fetchone() for place in (50, 100))
    connection.execute(f"UPDATE {kernels} SET start = 0, end = 0 WHERE rowid = ?", (timeless,))
    connection.execute(f"UPDATE {kernels} SET end = end + ? WHERE rowid = ?", (TOO_LONG_NS, stretched))
    ranges = "UPDATE NVTX_EVENTS SET end = {} WHERE text LIKE ? AND rowid % {} = 0 AND eventType = 59"
    connection.execute(ranges.format("start - 1000", 7), ("optimizer%",))
    connection.execute(ranges.format("NULL", 2), ("Iteration%",))


EVENTS, SYNCS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
LOST_EVENTS = 10


def _no_records(connection: sqlite3.Connection, _ranks: int) -> None:
    connection.execute(f"DROP TABLE {EVENTS}")


def _lost_records(connection: sqlite3.Connection, _ranks: int) -> None:
    connection.execute(f"DELETE FROM {EVENTS} WHERE rowid % {LOST_EVENTS} = 0")


def _drop_sync_ids(connection: sqlite3.Connection, _ranks: int) -> None:
    """Leave the column out, as in older schemas."""
    for table in (EVENTS, SYNCS):
        connection.execute(f"ALTER TABLE {table} DROP COLUMN eventSyncId")


def _sync_ids(value: str) -> Callable[[sqlite3.Connection, int], None]:
    """Return a function that gives every record and wait the same sync id, which says nothing."""

    def write(connection: sqlite3.Connection, _ranks: int) -> None:
        for table in (EVENTS, SYNCS):
            connection.execute(f"UPDATE {table} SET eventSyncId = {value}")

    return write


_WRITERS: Mapping[Oddity, Callable[[sqlite3.Connection, int], None]] = {
    "versioned-tables": _rename,
    "environment-rank": _environment,
    "mpi-ranks": _mpi_ranks,
    "unread-tables": _unread,
    "migrations": _migrations,
    "nsys-messages": _messages,
    "impossible-rows": _impossible,
    "no-event-records": _no_records,
    "lost-event-records": _lost_records,
    "no-sync-ids": _drop_sync_ids,
    "null-sync-ids": _sync_ids("NULL"),
    "zero-sync-ids": _sync_ids("0"),
    "max-sync-ids": _sync_ids("4294967295"),
}
