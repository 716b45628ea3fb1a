"""The same tables as a folder of Parquet or Arrow files make the same trace."""

import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.readers import exports
from tests.readers.test_cache import same
from viewer.readers import ReadError, read
from viewer.readers.sniff import Container, sniff
from viewer.trace import Kind


def convert(file, folder, form):
    """Write an SQLite export's tables as one file each."""
    folder.mkdir(parents=True)
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in tables:
        declared = {row[1]: row[2] for row in connection.execute(f'PRAGMA table_info("{name}")')}
        rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
        columns = zip(*rows, strict=True) if rows else [[] for _ in declared]
        types = {"INTEGER": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string()}
        arrays = {
            column: pa.array(values, types.get(kind))
            for (column, kind), values in zip(declared.items(), columns, strict=True)
        }
        write(pa.table(arrays), folder / name, form)
    connection.close()
    return folder


def write(table, file, form):
    if form == "parquet":
        pq.write_table(table, f"{file}.parquet", row_group_size=1000)
        return
    make = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
    with open(f"{file}.arrow", "wb") as out, make(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
@pytest.mark.parametrize("name", ["power-iteration-t4", "torchrun-2xh100-nccl"])
def test_a_folder_makes_the_same_trace(shared_trace, tmp_path, form, name):
    folder = convert(shared_trace(name), tmp_path / "job folder é 漢字", form)
    before = exports.listing(folder)
    whole = read(shared_trace(name), cache=False)
    trace = read(folder, cache=False)
    for kind in Kind:
        for events in (trace.events[kind], whole.events[kind]):
            events.columns.pop("file_row", None)
    assert same(trace, whole) is False
    assert trace.processes == whole.processes
    assert trace.streams == whole.streams
    assert trace.session == whole.session
    assert dict(trace.counts) == dict(whole.counts)
    assert exports.listing(folder) == before


def test_rows_can_be_asked_for(shared_trace, tmp_path):
    folder = convert(shared_trace("power-iteration-t4"), tmp_path / "job", "parquet")
    trace, whole = read(folder), read(shared_trace("power-iteration-t4"))
    for kind in (Kind.KERNEL, Kind.MEMCPY, Kind.NVTX, Kind.API):
        for position in trace.events[kind].columns["file_row"][[5, -1, 5]].tolist():
            assert trace.source.row(kind, position) == whole.source.row(kind, position + 1)
    rows = trace.kernels.columns["file_row"]
    ours = trace.source.column(Kind.KERNEL, "registersPerThread", rows)
    theirs = whole.source.column(Kind.KERNEL, "registersPerThread", whole.kernels.columns["file_row"])
    assert ours.tolist() == theirs.tolist()
    assert len(read(folder).kernels) == len(trace.kernels)


def test_columns_of_other_types(tmp_path):
    rows = 3
    table = pa.table(
        {
            "start": pa.array([10, 20, None], pa.int64()),
            "end": pa.array([15, 25, 30], pa.uint64()),
            "deviceId": pa.array([0] * rows, pa.int32()),
            "contextId": pa.array([1] * rows, pa.uint32()),
            "streamId": pa.array([7.0, 7.5, 7.0], pa.float64()),
            "correlationId": pa.array(["x", "y", None], pa.string()),
            "globalPid": pa.array([exports.GLOBAL_PID] * rows, pa.uint64()),
            "graphNodeId": pa.array([2**63 + 1, None, 0], pa.uint64()),
            "demangledName": pa.array([1, 1, 1], pa.uint32()),
        }
    )
    write(table, tmp_path / exports.KERNELS, "parquet")
    names = pa.array(["gemm"]).dictionary_encode()
    write(pa.table({"id": [1], "value": names}), tmp_path / "StringIds", "parquet")
    trace = read(tmp_path, cache=False)
    assert trace.names.take(trace.kernels.name_id) == ["gemm", "gemm"]
    assert trace.kernels.columns["graph_node"].tolist() == [0, 2**63 + 1]
    assert len(trace.notes) == 3


def test_unsigned_times_beyond_int64_are_left_out_and_ids_keep_their_bits(tmp_path):
    process = exports.GLOBAL_PID | 0x80 << 56
    table = pa.table(
        {
            "start": pa.array([10, 2**64 - 5, 30, 2**63 - 1], pa.uint64()),
            "end": pa.array([15, 2**64 - 1, 2**64 - 1, 2**63 - 1], pa.uint64()),
            "deviceId": [0] * 4,
            "contextId": [1] * 4,
            "streamId": [7] * 4,
            "globalPid": pa.array([process] * 4, pa.uint64()),
            "demangledName": [1] * 4,
        }
    )
    write(table, tmp_path / exports.KERNELS, "parquet")
    write(pa.table({"id": [1], "value": ["gemm"]}), tmp_path / "StringIds", "parquet")
    trace = read(tmp_path, cache=False)
    assert trace.kernels.start_ns.tolist() == [10, 30]
    assert trace.kernels.end_ns.tolist() == [15, 30]
    assert [p.pid for p in trace.processes] == [(exports.GLOBAL_PID >> 24) & 0xFFFFFF]
    for column in ("start", "end"):
        note = f"{exports.KERNELS}.{column}: a value that is no 64-bit whole number was left out"
        assert note in trace.notes
    assert f"{exports.KERNELS}: 2 rows without a start were left out" in trace.notes


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_damaged_table_is_refused(tmp_path, form):
    write(pa.table({"id": [1], "value": ["a"]}), tmp_path / "StringIds", form)
    for content in (b"", b"PAR1 no more", b"\xff" * 64):
        (tmp_path / f"{exports.KERNELS}.{form}").write_bytes(content)
        with pytest.raises(ReadError, match=f"{exports.KERNELS}.{form} is damaged"):
            read(tmp_path)


def test_folders_are_told_apart(tmp_path):
    for name, form in ((Container.PARQUET, "parquet"), (Container.ARROW, "file")):
        folder = tmp_path / name
        folder.mkdir()
        write(pa.table({"id": [1]}), folder / "StringIds", form)
        assert sniff(folder).container is name
