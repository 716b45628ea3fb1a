"""Tables of (time, value) that no kind of event comes from: read from the file on request."""

import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.readers import exports
from viewer.readers import read
from viewer.trace import Kind

TABLE = "GPU_METRICS"
ROWS = [
    {"timestamp": 1500, "typeId": 7, "used": 30},
    {"timestamp": 1000, "typeId": 7, "used": 10},
    {"timestamp": None, "typeId": 7, "used": 99},
    {"timestamp": 1500, "typeId": 8, "used": None},
    {"timestamp": 1 << 62, "typeId": 7, "used": 99},
]
READ = {"timestamp": [1000, 1500, 1500], "used": [10, 30, 0], "typeId": [7, 7, 8]}


def source_of(path, **more):
    exports.write(path, {exports.KERNELS: [exports.kernel()], TABLE: ROWS} | more)
    return read(path).source


def lists(samples):
    return {name: column.tolist() for name, column in samples.items()}


def test_columns_come_by_time_without_rows_that_have_none(tmp_path):
    source = source_of(tmp_path / "x.sqlite")
    assert source.has_rows(TABLE)
    assert lists(source.samples(TABLE, "timestamp", "used", "typeId")) == READ


def test_what_is_stored_of_a_trace_still_reads_its_file(tmp_path):
    path = tmp_path / "x.sqlite"
    source_of(path)
    assert lists(read(path).source.samples(TABLE, "timestamp", "used", "typeId")) == READ


def test_a_folder_of_parquet_files_has_them_too(tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    for name, rows in {
        exports.KERNELS: [exports.kernel()], TABLE: ROWS, "StringIds": [{"id": 1, "value": "gemm"}]
    }.items():  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    assert lists(read(folder).source.samples(TABLE, "timestamp", "used", "typeId")) == READ


def test_times_of_day_count_from_the_traces_zero(tmp_path):
    start = 1_700_000_000 * 10**9
    rows = [{"timestamp": start + 5000, "used": 1}]
    source = source_of(
        tmp_path / "x.sqlite",
        **{
            exports.KERNELS: [exports.kernel(start=start + 1000, end=start + 2000)],
            TABLE: rows,
            "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": start}],
        },
    )
    assert lists(source.samples(TABLE, "timestamp", "used")) == {"timestamp": [5000], "used": [1]}


@pytest.mark.parametrize("asked", [("NOTHING", "timestamp"), (TABLE, "start"), (TABLE, "timestamp", "price")])
def test_what_the_file_lacks_is_none(tmp_path, asked):
    assert source_of(tmp_path / "x.sqlite").samples(*asked) is None


def test_an_empty_table_has_no_rows(tmp_path):
    source = source_of(
        tmp_path / "x.sqlite", **{TABLE: f"CREATE TABLE {TABLE} (timestamp INTEGER, used INTEGER)"}
    )
    assert not source.has_rows(TABLE)
    assert not source.has_rows("NOTHING")
    assert lists(source.samples(TABLE, "timestamp", "used")) == {"timestamp": [], "used": []}


def test_a_file_that_changed_answers_nothing(tmp_path):
    path = tmp_path / "x.sqlite"
    source = source_of(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"INSERT INTO {TABLE} VALUES (1, 1, 1)")
    connection.close()
    assert not source.has_rows(TABLE)
    assert source.samples(TABLE, "timestamp", "used") is None


def test_several_columns_are_those_read_one_by_one(demo_path):
    trace = read(demo_path, cache=False)
    rows = trace.kernels.columns["file_row"][::-7]
    names = ("gridX", "blockX", "dynamicSharedMemory")
    together = trace.source.columns(Kind.KERNEL, names, rows)
    assert tuple(together) == names
    for name, values in together.items():
        assert values.tolist() == trace.source.column(Kind.KERNEL, name, rows).tolist()
    assert trace.source.columns(Kind.KERNEL, (*names, "noSuchColumn"), rows) is None
    assert trace.source.columns(Kind.KERNEL, names, rows[:0])["gridX"].tolist() == []
    trace.source.close()
    assert trace.source.columns(Kind.KERNEL, names, rows) is None
