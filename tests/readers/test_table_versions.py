"""Tables of several versions, and tables that are not read."""

import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.readers import exports
from tests.readers.exports import CALLS, COPIES, GRAPHS, KERNELS, NVTX, SWITCHES, SYNC, call, kernel, nvtx
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.readers import Cancelled, read
from viewer.readers.open_tables import open_tables
from viewer.trace import Kind

USUAL = {
    KERNELS: [kernel(correlationId=i, start=1000 * i, end=1000 * i + 500) for i in range(1, 9)],
    CALLS: [call(correlationId=i, start=1000 * i - 90, end=1000 * i - 80) for i in range(1, 9)],
    NVTX: [nvtx(start=1000 * i - 100, end=1000 * i + 600, text=f"step {i}") for i in range(1, 9)],
}


def renamed(file, **forms):
    """Give tables of a file other names; StringIds is among them."""
    with sqlite3.connect(file) as connection:
        for table, name in forms.items():
            connection.execute(f'ALTER TABLE "{table}" RENAME TO "{name}"')
    connection.close()
    return file


def numbers(file):
    facts = report(Study(read(file, cache=False)))
    return {key: facts[key] for key in ("gpus", "iterations", "window", "steady")}


def test_every_table_is_read_by_its_newest_form(small):
    plain = numbers(small(USUAL))
    file = renamed(
        small(USUAL, name="new.sqlite"),
        **{KERNELS: f"{KERNELS}_V3", NVTX: f"{NVTX}_V2", CALLS: f"{CALLS}_v12", "StringIds": "StringIds_V2"},
    )
    assert numbers(file) == plain
    trace = read(file)
    assert set(trace.counts) == {"StringIds_V2", f"{KERNELS}_V3", f"{NVTX}_V2", f"{CALLS}_v12"}
    assert (dict(trace.unread), trace.notes) == ({}, ())
    row = int(trace.kernels.columns["file_row"][0])
    assert read(file).source.row(Kind.KERNEL, row)["demangledName"] == exports.STRINGS[1]


@pytest.mark.parametrize("table", [COPIES, SYNC, GRAPHS, SWITCHES, "OSRT_API", "PROFILER_OVERHEAD"])
def test_a_form_of_any_table_is_found(small, table):
    row = {"start": 5, "end": 9, "cpu": 0, "isSchedIn": 1, "globalTid": exports.MAIN, "nameId": 3,
           "globalPid": exports.GLOBAL_PID, "deviceId": 0, "contextId": 1, "streamId": 7, "bytes": 1,
           "copyKind": 1, "syncType": 1}  # fmt: skip
    trace = read(small({**USUAL, f"{table}_V4": [row]}), cache=False)
    assert trace.counts[f"{table}_V4"] == 1
    assert sum(len(events) for events in trace.events.values()) == 25


def test_of_two_forms_with_rows_the_newest_is_read_and_the_other_named(small):
    old = [kernel(start=50_000, end=60_000)]
    file = small({**USUAL, f"{KERNELS}_V2": old, f"{KERNELS}_V10": USUAL[KERNELS][:3]})
    trace = read(file, cache=False)
    assert len(trace.kernels) == 3
    assert dict(trace.unread) == {KERNELS: 8, f"{KERNELS}_V2": 1}


def test_a_newest_form_without_rows_or_without_columns_gives_way(small):
    without_device = [{"start": 1, "end": 2, "device": 0}]
    file = small({**USUAL, f"{KERNELS}_V2": without_device})
    with sqlite3.connect(file) as connection:
        connection.execute(f"CREATE TABLE {NVTX}_V2 (start, end)")
    connection.close()
    trace = read(file, cache=False)
    assert (len(trace.kernels), len(trace.nvtx)) == (8, 8)
    assert dict(trace.unread) == {f"{KERNELS}_V2": 1}


def test_what_no_form_has_is_said(small):
    rows = [{"begin": 1, "end": 2, "eventType": 59, "globalTid": exports.MAIN}]
    trace = read(small({KERNELS: USUAL[KERNELS], CALLS: USUAL[CALLS], f"{NVTX}_V2": rows}), cache=False)
    assert any(f"{NVTX}_V2 has no column start" in note for note in trace.notes)
    warned = [f for f in Study(trace).diagnostics if f.severity == "warning"]
    assert any("has no column start" in f.title for f in warned)


def test_forms_in_a_parquet_folder(tmp_path, small):
    file = small(USUAL)
    folder = tmp_path / "x_pqtdir"
    folder.mkdir()
    with sqlite3.connect(file) as connection:
        for table, form in (
            (KERNELS, f"{KERNELS}_V3"),
            (NVTX, f"{NVTX}_V2"),
            (CALLS, CALLS),
            ("StringIds",) * 2,
        ):
            cursor = connection.execute(f"SELECT * FROM {table}")
            names, rows = [d[0] for d in cursor.description], cursor.fetchall()
            columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
            pq.write_table(pa.table(columns), folder / f"{form}.parquet")
    connection.close()
    pq.write_table(pa.table({"start": [1, 2]}), folder / "GPU_METRICS.parquet")
    assert numbers(folder) == numbers(file)
    assert dict(read(folder, cache=False).unread) == {"GPU_METRICS": 2}


def test_tables_that_are_not_read_are_named_with_their_rows(small):
    more = {
        "MPI_OTHER_EVENTS": [{"start": 1}] * 3,
        "GPU_METRICS": [{"timestamp": 1}] * 5,
        "my notes": [{"a": 1}],
    }
    file = small({**USUAL, **more})
    for _ in range(2):
        trace = read(file)
        assert list(trace.unread.items()) == [("GPU_METRICS", 5), ("MPI_OTHER_EVENTS", 3), ("my notes", 1)]
    assert report(Study(trace))["unread"] == dict(trace.unread)
    (said,) = [f for f in Study(trace).diagnostics if "not read" in f.title]
    assert said.title == "3 tables of this file are not read"
    assert said.meaning == "GPU_METRICS (5 rows), MPI_OTHER_EVENTS (3 rows), my notes (1 row)."
    assert not any("Nothing else" in f.meaning for f in Study(trace).diagnostics)


def test_nothing_else_is_left_out_is_said_of_one_note_alone(small):
    lost = [*USUAL[KERNELS], kernel(start=None)]
    (said,) = [
        f for f in Study(read(small({**USUAL, KERNELS: lost}))).diagnostics if "without a start" in f.title
    ]
    assert said.meaning == "Nothing else is left out."
    more = small({**USUAL, KERNELS: lost, "GPU_METRICS": [{"timestamp": 1}]}, name="more.sqlite")
    (said,) = [f for f in Study(read(more)).diagnostics if "without a start" in f.title]
    assert said.meaning == ""


def test_counting_can_be_cancelled(small):
    tables = open_tables(small({**USUAL, "GPU_METRICS": [{"timestamp": i} for i in range(7)]}))
    assert tables.count_unread() == {"GPU_METRICS": 7}
    with pytest.raises(Cancelled):
        tables.count_unread(lambda: True)
    tables.close()
