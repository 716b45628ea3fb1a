"""Every shared trace against SQL on its own file."""

import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from tests.readers import exports
from viewer.readers import read
from viewer.readers.schema import TABLE_OF
from viewer.trace import GPU_KINDS, Kind

NAMES = (
    "all-tables-empty", "cupti-events-missing", "gpuid-is-not-cudaid", "inference-2xh100",
    "jacobi-1process-2gpus", "no-version-no-events-2021", "nothing-recorded-2026", "power-iteration-t4",
    "pytorch-a100-nvtx", "single-gpu-2024.6", "torchrun-2xh100-nccl",
)  # fmt: skip


@pytest.fixture(params=NAMES)
def file(request, shared_trace):
    return shared_trace(request.param)


@pytest.fixture
def trace(file):
    return read(file, cache=False)


@pytest.fixture
def sql(file):
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    yield lambda query: connection.execute(query).fetchall()
    connection.close()


def tables(sql):
    return {name for (name,) in sql("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_counts_equal_the_file(trace, sql):
    have = tables(sql)
    assert set(TABLE_OF.values()) & have <= set(trace.counts)
    for table, rows in trace.counts.items():
        assert [(rows,)] == sql(f'SELECT count(*) FROM "{table}"'), table


def test_gpus_and_streams_equal_the_file(trace, sql):
    have = [TABLE_OF[kind] for kind in GPU_KINDS if TABLE_OF[kind] in tables(sql)]
    columns = "globalPid, deviceId, contextId, streamId"
    expected = {row for table in have for row in sql(f"SELECT DISTINCT {columns} FROM {table}")}
    gpus = {(trace.processes[g.process].global_pid, g.device) for g in trace.gpus}
    assert gpus == {row[:2] for row in expected}
    streams = set()
    for stream in trace.streams:
        gpu = trace.gpus[stream.gpu]
        global_pid = trace.processes[gpu.process].global_pid
        streams.add((global_pid, gpu.device, stream.context, stream.stream_id))
    assert streams == expected


def test_every_operation_lies_in_its_stream_and_in_order(trace, sql):
    for kind in GPU_KINDS:
        events = trace.events[kind]
        for stream in trace.streams:
            own = events.of(stream.index)
            gpu = trace.gpus[stream.gpu]
            rows = {} if TABLE_OF[kind] not in tables(sql) else sql(
                f"SELECT start, \"end\" FROM {TABLE_OF[kind]} WHERE globalPid = "
                f"{trace.processes[gpu.process].global_pid} AND deviceId = {gpu.device} AND "
                f"contextId = {stream.context} AND streamId = {stream.stream_id} ORDER BY start, -\"end\""
            )  # fmt: skip
            read_back = list(zip(events.start_ns[own].tolist(), events.end_ns[own].tolist(), strict=True))
            assert read_back == list(rows)


def test_kernels_carry_their_own_names_and_rows(trace, sql):
    kernels = trace.kernels
    if not len(kernels):
        return
    table = TABLE_OF[Kind.KERNEL]
    query = f"SELECT k.rowid, s.value FROM {table} k JOIN StringIds s ON s.id = k.demangledName"
    expected = dict(sql(query))
    names = trace.names.take(kernels.name_id)
    rows = kernels.columns["file_row"].tolist()
    assert names == [expected[row] for row in rows]
    starts = dict(sql(f"SELECT rowid, start FROM {TABLE_OF[Kind.KERNEL]}"))
    assert kernels.start_ns.tolist() == [starts[row] for row in rows]


def test_every_table_is_grouped_and_sorted(trace):
    for kind, events in trace.events.items():
        assert events.offsets[0] == 0
        assert events.offsets[-1] == len(events)
        assert (np.diff(events.offsets) >= 0).all()
        assert (events.end_ns >= events.start_ns).all()
        columns = events.owners(), events.start_ns, -events.end_ns
        key = list(zip(*(column.tolist() for column in columns), strict=True))
        assert key == sorted(key), kind
        for column in events.columns.values():
            assert len(column) == len(events)


def test_names_are_interned_once(trace):
    texts = trace.names.array.to_pylist()
    assert texts[0] == ""
    assert len(set(texts)) == len(texts)
    assert all(len(events) == 0 or events.name_id.max() < len(texts) for events in trace.events.values())


def test_nothing_is_added_beside_a_trace(file):
    before = exports.listing(file.parent)
    read(file)
    assert exports.listing(file.parent) == before


def test_two_processes_with_colliding_correlations(shared_trace):
    trace = read(shared_trace("torchrun-2xh100-nccl"), cache=False)
    assert [p.rank for p in trace.processes] == [0, 1]
    assert [(s.stream_id, s.is_default) for s in trace.streams] == [(7, True), (15, True)]
    assert {t.domain for t in trace.tracks} == {"", "NCCL"}
    assert "nccl" in trace.session.recorded
    sync = trace.events[Kind.SYNC]
    named = set(trace.names.take(np.unique(sync.name_id)))
    assert all(name.startswith(("cuda", "cu")) for name in named)


def test_the_physical_gpu_comes_from_the_file(shared_trace):
    [gpu] = read(shared_trace("gpuid-is-not-cudaid"), cache=False).gpus
    assert (gpu.device, gpu.physical, gpu.name) == (0, 1, "NVIDIA GeForce RTX 3090")


def test_a_rank_named_by_mpi(shared_trace):
    trace = read(shared_trace("all-tables-empty"), cache=False)
    assert [p.rank for p in trace.processes] == [0]
    assert trace.threads[0].name == "MPI Rank 0"
    assert {t.domain for t in trace.tracks} == {"", "MPI"}


def test_a_lost_rank_keeps_its_process(shared, shared_trace, tmp_path):
    lost = tmp_path / "lost.sqlite"
    tool = [sys.executable, shared / "tools/damage.py", shared_trace("torchrun-2xh100-nccl"), lost]
    subprocess.run([*tool, "--lose", "145:1.0", "--shift", "144:-3670000000"], check=True)
    trace = read(lost, cache=False)
    assert [(p.pid, p.rank) for p in trace.processes] == [(144, 0), (145, 1)]
    assert [trace.processes[g.process].pid for g in trace.gpus] == [144]
    whole = read(shared_trace("torchrun-2xh100-nccl"), cache=False)
    assert trace.kernels.start_ns.min() == whole.kernels.start_ns[whole.kernels.of(0)].min() - 3_670_000_000
    assert len(trace.api) == len(whole.api)
