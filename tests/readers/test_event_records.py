"""Records of CUDA events, and the synchronisations that wait for them."""

import sqlite3

import numpy as np
import pytest

from tests.readers.test_arrow import convert
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read
from viewer.trace import Kind
from viewer.trace.event_records import COLUMNS

RECORDS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
SYNCS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"


@pytest.mark.parametrize("name", ["gpuid-is-not-cudaid", "pytorch-a100-nvtx"])
@pytest.mark.parametrize("cache", [False, True])
def test_every_row_of_a_real_file_is_read(shared_trace, name, cache):
    path = shared_trace(name)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        columns = "contextId, streamId, correlationId, eventId"
        rows = db.execute(f"SELECT (globalPid >> 24) & 0xFFFFFF, {columns} FROM {RECORDS}").fetchall()
    for _ in range(2 if cache else 1):
        trace = read(path, cache=cache)
        records = trace.event_records
        pids = np.array([p.pid for p in trace.processes])[records.process]
        have = zip(
            pids, records.context, records.stream_id, records.correlation, records.event_id, strict=True
        )
        assert [tuple(map(int, row)) for row in have] == rows
        assert trace.counts[RECORDS] == len(rows)
        assert RECORDS not in trace.unread


def test_sync_ids_join_both_tables_and_null_is_none(tmp_path):
    path = tmp_path / "small.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        db.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME"
            " (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)"
        )
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, ?, 5, 1)", [(77 << 24) + 77])
        db.execute(
            f"CREATE TABLE {RECORDS} (contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
            " globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER)"
        )
        db.executemany(
            f"INSERT INTO {RECORDS} VALUES (1, 7, ?, ?, 3, ?)",
            [(5, 77 << 24, 12), (6, 77 << 24, None), (7, None, -1), (8, 99 << 24, 4)],
        )
        db.execute(
            f"CREATE TABLE {SYNCS} (start INTEGER, end INTEGER, globalPid INTEGER, correlationId INTEGER,"
            " contextId INTEGER, streamId INTEGER, syncType INTEGER, eventId INTEGER, eventSyncId INTEGER)"
        )
        db.execute(f"INSERT INTO {SYNCS} VALUES (3, 4, ?, 9, 1, 8, 2, 3, 12)", [77 << 24])
    trace = read(path, cache=False)
    records = trace.event_records
    # A row without a process is that of the only one; one of a process without any event is not kept.
    assert records.correlation.tolist() == [5, 6, 7]
    assert records.sync_id.tolist() == [12, 0, 2**64 - 1]
    (syncs,) = [events for kind, events in trace.events.items() if kind == "sync"]
    assert syncs.columns["sync_id"].tolist() == [12]
    assert syncs.columns["event_id"].tolist() == [3]


@pytest.mark.parametrize("form", ["parquet", "file"])
def test_a_folder_has_the_same_records_and_ids(tmp_path, form):
    file = tmp_path / "demo.sqlite"
    make_demo(file, DemoOptions(ranks=2, iterations=2))
    traces = [read(file, cache=False), read(convert(file, tmp_path / "folder", form), cache=False)]
    one, other = ([getattr(t.event_records, name).tolist() for name in COLUMNS] for t in traces)
    assert one == other
    assert len(one[0]) > 100
    for name in ("event_id", "sync_id"):
        ids = [t.events[Kind.SYNC].columns[name] for t in traces]
        assert ids[0].tolist() == ids[1].tolist()
        assert ids[0].any()
