"""What real exports hold that a reader does not expect."""

import sqlite3

import numpy as np
import pytest

from tests.readers import exports
from tests.readers.exports import (
    CALL,
    CALLS,
    COPIES,
    GLOBAL_PID,
    GRAPHS,
    KERNELS,
    NVTX,
    SWITCHES,
    SYNC,
    call,
    kernel,
    nvtx,
)
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.analysis.summary.summary import summary
from viewer.readers import doctor_facts, read
from viewer.readers.sqlite_scan import BATCH_ROWS, HALVES_FROM
from viewer.rows import EventRef, RowKind, build_rows
from viewer.timeline.cards.card_text import event_facts
from viewer.trace import Kind


@pytest.fixture
def load(small):
    """A function from tables to the trace that they make."""
    return lambda tables=None, **more: read(small(tables, **more), cache=False)


def texts(trace, kind):
    events = trace.events[kind]
    return trace.names.take(events.name_id)


def test_a_text_in_an_integer_column(load):
    rows = [kernel(correlationId=i, start=1000 * i, end=1000 * i + 10) for i in range(1, 5)]
    rows[2]["correlationId"] = "not a number"
    rows[3]["demangledName"] = 1.5
    trace = load({KERNELS: rows})
    assert trace.kernels.columns["correlation"].tolist() == [1, 2, 0, 4]
    assert texts(trace, Kind.KERNEL)[3] == "gemm"
    assert trace.counts[KERNELS] == 4
    assert [note.split(":")[0] for note in trace.notes] == [
        f"{KERNELS}.correlationId",
        f"{KERNELS}.demangledName",
    ]


def test_notes_on_the_tables_come_in_their_order(load):
    def rows(*, name):
        return [{**CALL, "start": start, "nameId": name} for start in (None, 5)]

    sync = [{"start": start, "end": 9, "globalPid": GLOBAL_PID, "correlationId": "junk", "contextId": 1,
             "streamId": 7, "syncType": 1} for start in (None, 5)]  # fmt: skip
    trace = load({CALLS: rows(name=3), SYNC: sync, "OSRT_API": rows(name="junk")})
    assert [note.replace(".", ":").split(":")[0] for note in trace.notes] == [
        CALLS, SYNC, "OSRT_API", SYNC, "OSRT_API"
    ]  # fmt: skip


def test_a_text_in_an_integer_column_after_the_first_batch(load):
    # No kernel at 0 to 0: that is one without times.
    rows = [kernel(start=i, end=i + 1, correlationId=i) for i in range(BATCH_ROWS + 10)]
    rows[-1]["correlationId"] = "junk"
    rows[-2]["correlationId"] = b"\x00blob"
    trace = load({KERNELS: rows})
    correlation = trace.kernels.columns["correlation"]
    assert correlation[-3:].tolist() == [BATCH_ROWS + 7, 0, 0]
    assert correlation[:3].tolist() == [0, 1, 2]


def test_a_hundred_thousand_null_texts_before_the_first(load):
    rows = [nvtx(start=i, end=i, text=None) for i in range(100_000)]
    rows += [
        nvtx(start=100_000, end=100_001, text="late"),
        nvtx(start=100_002, end=100_003, textId=4, text=None),
    ]
    trace = load({NVTX: rows})
    assert texts(trace, Kind.NVTX)[-3:] == ["", "late", "registered"]
    assert trace.nvtx.name_id[:100_000].max() == 0


def test_texts_that_are_not_utf8_huge_or_full_of_nul(small):
    file = small({NVTX: [nvtx(text="x" * 5_000_000), nvtx(start=200, text="a\0b"), nvtx(start=300)]})
    connection = sqlite3.connect(file)
    connection.execute(f"UPDATE {NVTX} SET text = CAST(x'caff20e9' AS TEXT) WHERE start = 300")
    connection.execute("INSERT INTO StringIds VALUES (9, CAST(x'ff41' AS TEXT))")
    connection.execute(f"INSERT INTO {NVTX} (start, \"end\", eventType, globalTid, domainId, textId) "
                       f"VALUES (400, 500, 59, {exports.MAIN}, 0, 9)")  # fmt: skip
    connection.commit()
    connection.close()
    names = texts(read(file, cache=False), Kind.NVTX)
    assert names == ["x" * 4096, "a", "�� �", "�A"]
    assert read(file, cache=False).source.row(Kind.NVTX, 1)["text"] == "x" * 4096


def test_a_large_table_is_read_in_two_halves(small, tmp_path):
    rows = HALVES_FROM + 5_000
    file = small({KERNELS: [kernel()]})
    connection = sqlite3.connect(file)
    connection.execute(f"DELETE FROM {KERNELS}")
    columns = list(kernel())
    values = ["i * 10", "i * 10 + 5", "0", "1", "7", "i", str(exports.GLOBAL_PID), "1", "2", "NULL", "32"]
    named = ", ".join(f'"{column}"' for column in columns)
    connection.execute(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) "
        f"INSERT INTO {KERNELS} ({named}) SELECT {', '.join(values)} FROM n"
    )
    connection.execute(f"DELETE FROM {KERNELS} WHERE rowid % 1000 = 7 OR rowid BETWEEN 50000 AND 60000")
    connection.commit()
    expected = [i for (i,) in connection.execute(f"SELECT correlationId FROM {KERNELS} ORDER BY rowid")]
    connection.close()
    trace = read(file, cache=False)
    assert trace.counts[KERNELS] == len(expected)
    assert np.array_equal(trace.kernels.columns["correlation"], expected)
    assert np.array_equal(trace.kernels.columns["file_row"], expected)
    assert np.array_equal(trace.kernels.start_ns, np.array(expected) * 10)


def test_rowids_far_apart(small):
    file = small()
    connection = sqlite3.connect(file)
    connection.execute(f"UPDATE {KERNELS} SET rowid = 9007199254740993")
    connection.execute(f"INSERT INTO {KERNELS} SELECT * FROM {KERNELS}")
    connection.execute(f"UPDATE {KERNELS} SET rowid = -5, start = 1 WHERE rowid = 9007199254740994")
    connection.commit()
    connection.close()
    trace = read(file, cache=False)
    assert trace.kernels.columns["file_row"].tolist() == [-5, 9007199254740993]
    assert trace.source.row(Kind.KERNEL, -5)["start"] == 1
    assert trace.source.column(Kind.KERNEL, "registersPerThread", np.array([-5, 3])).tolist() == [32, 0]


@pytest.mark.parametrize("how", ["view", "without rowid", "column"])
def test_tables_without_rowids_of_their_own(small, how):
    file = small({KERNELS: [kernel(start=i, end=i + 5, correlationId=i) for i in (30, 10, 20)]})
    connection = sqlite3.connect(file)
    if how == "column":
        connection.execute(f"ALTER TABLE {KERNELS} ADD COLUMN rowid INTEGER")
        connection.execute(f"UPDATE {KERNELS} SET rowid = 7")
    else:
        connection.execute(f"ALTER TABLE {KERNELS} RENAME TO raw")
        columns = ", ".join(f'"{column}"' for column in kernel())
        if how == "view":
            connection.execute(f"CREATE VIEW {KERNELS} AS SELECT * FROM raw")
        else:
            connection.execute(f"CREATE TABLE {KERNELS} ({columns}, PRIMARY KEY (start)) WITHOUT ROWID")
            connection.execute(f"INSERT INTO {KERNELS} SELECT {columns} FROM raw")
    connection.commit()
    connection.close()
    folder_before = exports.listing(file.parent)
    trace = read(file, cache=False)
    assert trace.kernels.start_ns.tolist() == [10, 20, 30]
    assert trace.counts[KERNELS] == 3
    rows = trace.kernels.columns["file_row"].tolist()
    assert [trace.source.row(Kind.KERNEL, row)["correlationId"] for row in rows] == [10, 20, 30]
    assert any("from a copy" in note for note in trace.notes)
    trace.source.close()
    assert exports.listing(file.parent) == folder_before


def test_an_index_does_not_change_the_order(small):
    file = small({NVTX: [nvtx(start=i, end=i + 1, text=t) for i, t in enumerate("dcba")]})
    connection = sqlite3.connect(file)
    connection.execute(f"CREATE INDEX by_text ON {NVTX} (text)")
    connection.execute(f'CREATE INDEX by_all ON {NVTX} ("end", start, eventType)')
    connection.commit()
    connection.close()
    trace = read(file, cache=False)
    assert texts(trace, Kind.NVTX) == list("dcba")


def test_null_times_are_left_out_or_zero_long(load):
    rows = [kernel(start=None), kernel(start=3000, end=None), kernel(start=5000, end=4000), kernel()]
    trace = load({KERNELS: rows})
    assert trace.kernels.start_ns.tolist() == [1000, 3000, 5000]
    assert trace.kernels.end_ns.tolist() == [2000, 3000, 5000]
    assert trace.counts[KERNELS] == 4
    assert any("1 row without a start was left out" in note for note in trace.notes)


def test_null_times_of_ranges_keep_names_in_line(load):
    rows = [nvtx(start=None, text="lost"), nvtx(text="kept"), nvtx(start=500, text=None, textId=4)]
    trace = load({NVTX: rows})
    assert texts(trace, Kind.NVTX) == ["kept", "registered"]


def test_nulls_anywhere(load):
    def nothing(row):
        return dict.fromkeys(row) | {"start": 10, "end": 20}

    copy = {"start": 1, "end": 2, "bytes": 0, "copyKind": 1, "srcKind": 0, "dstKind": 2, "deviceId": 0,
            "contextId": 1, "streamId": 7, "globalPid": 0, "correlationId": 0}  # fmt: skip
    tables = {KERNELS: [nothing(kernel())], CALLS: [nothing(call())], COPIES: [nothing(copy)],
              NVTX: [nothing(nvtx())], SYNC: [nothing(copy | {"syncType": 1})],
              "OSRT_API": [nothing(call())], "PROFILER_OVERHEAD": [nothing(call())],
              "PROCESSES": [{"globalPid": None, "pid": None, "name": None}],
              "ThreadNames": [{"globalTid": None, "priority": None, "nameId": None}],
              "TARGET_INFO_GPU": [{"id": None, "name": None, "busLocation": None, "cuDevice": None}],
              "TARGET_INFO_CUDA_STREAM": [dict.fromkeys(("processId", "contextId", "streamId", "flag"))],
              "ANALYSIS_DETAILS": [{"duration": None}], "META_DATA_EXPORT": [{"name": None, "value": None}],
              "DIAGNOSTIC_EVENT": [dict.fromkeys(("timestamp", "severity", "source", "text", "globalPid"))],
              }  # fmt: skip
    trace = load(tables)
    assert [len(trace.events[k]) for k in (Kind.KERNEL, Kind.MEMCPY, Kind.API, Kind.OSRT)] == [1, 1, 1, 1]
    assert texts(trace, Kind.KERNEL) == ["(unnamed)"]
    assert trace.processes[0].pid == 0


def test_rows_without_a_process_belong_to_the_caller(load):
    other = exports.process(50000)
    calls = [call(), call(globalTid=other | 50000, correlationId=2)]
    rows = [kernel(globalPid=None, correlationId=2), kernel(globalPid=None)]
    trace = load({KERNELS: rows, CALLS: calls})
    assert {(g.process, s.gpu) for g, s in zip(trace.gpus, trace.streams, strict=True)} == {(0, 0), (1, 1)}
    assert trace.kernels.columns["correlation"].tolist() == [1, 2]


def test_missing_columns_and_unknown_ones(load):
    bare = {
        "start": 1,
        "end": 2,
        "deviceId": 0,
        "streamId": 7,
        "globalPid": exports.GLOBAL_PID,
        "shortName": 2,
    }
    trace = load({KERNELS: [bare | {"addedLater": 5}], "MY_OWN_TABLE": [{"a": 1}]})
    assert texts(trace, Kind.KERNEL) == ["gemm"]
    assert trace.source.column(Kind.KERNEL, "registersPerThread", np.array([1])) is None
    assert trace.source.row(Kind.KERNEL, 1)["addedLater"] == 5


def test_without_strings(load):
    trace = load({KERNELS: [kernel()], "StringIds": [{"id": None, "value": None}]})
    assert texts(trace, Kind.KERNEL) == ["(unnamed)"]


def test_nothing_but_names(load):
    trace = load({})
    assert trace.gpus == ()
    assert trace.window_ns == (0, 1)
    assert trace.span_ns == (0, 1)


def test_stream_4294967295_and_correlation_4294967295(load):
    sync = {"start": 10, "end": 20, "globalPid": exports.GLOBAL_PID, "correlationId": 4294967295,
            "contextId": 1, "streamId": 4294967295, "syncType": 3}  # fmt: skip
    trace = load({SYNC: [sync], CALLS: [call(correlationId=4294967295)]})
    events = trace.events[Kind.SYNC]
    assert events.columns["stream_id"].tolist() == [4294967295]
    assert texts(trace, Kind.SYNC) == ["cudaLaunchKernel"]


def test_a_synchronisation_is_called_by_its_innermost_call_else_by_its_type(load):
    strings = exports.STRINGS | {5: "cudaStreamSynchronize_v3020", 6: "cuStreamSynchronize"}
    calls = [
        call(start=5, end=50, correlationId=3, nameId=5),
        call(start=8, end=40, correlationId=3, nameId=6),
        call(start=9, end=10, correlationId=4, globalTid=exports.process(50000) | 50000),
    ]
    sync = {"start": 10, "end": 20, "globalPid": exports.GLOBAL_PID, "correlationId": 3,
            "contextId": 1, "streamId": 7, "syncType": 0}  # fmt: skip
    rows = [sync, sync | {"start": 30, "correlationId": 4, "syncType": 4}]
    trace = load({SYNC: rows, CALLS: calls}, strings=strings)
    assert texts(trace, Kind.SYNC) == ["cuStreamSynchronize", "Context sync"]


def test_ts_normalised_times_come_back_to_the_session(load):
    zero = 1_779_782_330_176_752_435
    tables = {
        KERNELS: [kernel(start=zero + 2**53 + 1, end=zero + 2**53 + 2)],
        CALLS: [call(start=zero + 3, end=zero + 4)],
        NVTX: [nvtx(start=zero + 5, end=None)],
        SWITCHES: [{"start": zero + 6, "cpu": 1, "isSchedIn": 1, "globalTid": exports.MAIN}],
        "OSRT_API": [call(start=zero + 8, end=zero + 9)],
        "ANALYSIS_DETAILS": [{"duration": 2**54}],
        "DIAGNOSTIC_EVENT": [{"timestamp": 77, "severity": 2, "source": 1, "text": "w", "globalPid": 0}],
        "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": zero}],
    }
    for export in ({}, {"META_DATA_EXPORT": [{"name": "EXPORT_CONFIG_TIME_SHIFT", "value": str(zero)}]}):
        trace = load(tables | export, name=f"{len(export)}.sqlite")
        assert trace.kernels.start_ns.tolist() == [2**53 + 1]
        assert trace.api.start_ns.tolist() == [3]
        assert (trace.nvtx.start_ns.tolist(), trace.nvtx.end_ns.tolist()) == ([5], [2**54])
        assert trace.events[Kind.ON_CPU].start_ns.tolist() == [6]
        assert trace.diagnostics["time_ns"].tolist() == [77]
        assert len(trace.notes) == 1


def test_ts_normalised_times_beside_rows_that_were_not_moved(load):
    zero = 1_779_782_330_176_752_435
    tables = {
        KERNELS: [kernel(start=zero + 7, end=zero + 8)],
        CALLS: [call(start=zero + 3, end=zero + 4)],
        NVTX: [nvtx(eventType=75, start=0, end=None, text="lib", domainId=5), nvtx(start=zero, end=zero + 1)],
        "META_DATA_EXPORT": [{"name": "EXPORT_CONFIG_TIME_SHIFT", "value": str(zero)}],
    }
    trace = load(tables)
    assert trace.kernels.start_ns.tolist() == [7]
    assert trace.api.start_ns.tolist() == [3]


@pytest.mark.parametrize("far", [2**63 - 1, -(2**63) + 1, 2**62])
def test_what_can_be_no_time_is_left_out_or_open(load, far):
    tables = {
        KERNELS: [kernel(), kernel(start=far, end=far), kernel(start=1500, end=2**63 - 1)],
        NVTX: [nvtx(end=2**63 - 1, text="open")],
        SWITCHES: [{"start": t, "cpu": 1, "isSchedIn": 1, "globalTid": exports.MAIN} for t in (50, far)],
        "ANALYSIS_DETAILS": [{"duration": 2**63 - 1}],
    }
    trace = load(tables)
    assert trace.kernels.start_ns.tolist() == [1000, 1500]
    assert trace.kernels.end_ns.tolist() == [2000, 1500]
    assert trace.nvtx.columns["is_open"].tolist() == [1]
    assert trace.events[Kind.ON_CPU].start_ns.tolist() == [50]
    assert trace.session.duration_ns is None
    assert trace.span_ns == (0, 2000)
    assert trace.counts[KERNELS] == 3


def test_negative_times_stay(load):
    trace = load({KERNELS: [kernel(start=-1, end=5), kernel(start=-115_000_000_000, end=-114_000_000_000)]})
    assert trace.kernels.start_ns.tolist() == [-115_000_000_000, -1]


def test_ranges_marks_names_and_domains(load):
    rows = [
        nvtx(eventType=75, start=-20_000_000_000, end=None, text="lib", domainId=5),
        nvtx(eventType=39, start=0, end=None, text="MPI Rank 3"),
        nvtx(eventType=33, start=0, end=None, text="category"),
        nvtx(eventType=76, start=990, end=None, text=None, domainId=5),
        nvtx(start=200, end=None, text="open", color=255),
        nvtx(eventType=34, start=300, end=None, text="mark", color=-65536),
        nvtx(eventType=60, start=100, end=700, text="a"),
        nvtx(eventType=60, start=400, end=900, text="b"),
        nvtx(domainId=5, text="inside"),
        nvtx(domainId=6, text="ncclAllReduce"),
        nvtx(domainId=7, text="other"),
    ]
    trace = load({NVTX: rows, "ANALYSIS_DETAILS": [{"duration": 5000}]})
    tracks = [(t.domain, t.overlapping) for t in trace.tracks]
    assert tracks == [("", False), ("", True), ("NCCL", False), ("domain 7", False), ("lib", False)]
    first = trace.nvtx.of(0)
    assert trace.names.take(trace.nvtx.name_id[first]) == ["open", "mark"]
    assert trace.nvtx.end_ns[first].tolist() == [5000, 300]
    assert trace.nvtx.columns["is_open"][first].tolist() == [1, 0]
    assert trace.nvtx.columns["argb"][first].tolist() == [0xFF0000FF, 0xFFFF0000]
    assert trace.names.take(trace.nvtx.name_id[trace.nvtx.of(1)]) == ["a", "b"]
    assert trace.threads[0].name == "MPI Rank 3"


def test_eight_ranks_that_all_call_their_gpu_0(load):
    rows = [kernel(globalPid=exports.process(100 + i)) for i in (3, 1, 0, 2, 7, 6, 5, 4)]
    gpu_info = [{"id": i, "name": "H200", "busLocation": "", "cuDevice": i, "smCount": 132} for i in range(8)]
    trace = load({KERNELS: rows, "TARGET_INFO_GPU": gpu_info})
    assert [(p.pid, p.rank) for p in trace.processes] == [(100 + i, i) for i in range(8)]
    assert [(g.process, g.device, g.name, g.physical) for g in trace.gpus] == [
        (i, 0, "H200", None) for i in range(8)
    ]
    mapping = [{"gpuId": 7 - i, "cudaId": 0, "pid": 100 + i} for i in range(8)]
    mapped = load(
        {KERNELS: rows, "TARGET_INFO_GPU": gpu_info, "TARGET_INFO_CUDA_DEVICE": mapping}, name="m.sqlite"
    )
    assert [g.physical for g in mapped.gpus] == [7 - i for i in range(8)]


def test_physical_gpus_of_two_hosts_that_number_them_alike(load):
    hosts = (1, 2)
    rows = [kernel(globalPid=(host << 48) | (100 << 24), deviceId=d) for host in hosts for d in (0, 1)]
    gpu_info = [
        {"vmId": host << 48, "id": i, "name": f"host {host} card {i}", "cuDevice": i, "smCount": 132}
        for host in hosts
        for i in (0, 1)
    ]
    told = [{"gpuId": 1 - i, "cudaId": i, "pid": 100} for i in (0, 1)]
    for mapping, numbers in ({}, (0, 1)), ({"TARGET_INFO_CUDA_DEVICE": told}, (1, 0)):
        trace = load({KERNELS: rows, "TARGET_INFO_GPU": gpu_info} | mapping, name=f"{len(mapping)}.sqlite")
        assert [gpu.name for gpu in trace.gpus] == [f"host {h} card {i}" for h in hosts for i in numbers]
        assert [gpu.physical for gpu in trace.gpus] == [*numbers, *numbers]
        assert Study(trace).shared_gpus == ()


def test_old_gpus_whose_ordinals_are_all_the_same(load):
    gpu_info = [{"id": i, "name": f"V100 {i}", "cuDevice": 0, "smCount": 80} for i in range(4)]
    gpu_info.append({"id": 9, "name": "Matrox", "cuDevice": None, "smCount": None})
    trace = load({KERNELS: [kernel(deviceId=3)], "TARGET_INFO_GPU": gpu_info})
    assert [(g.device, g.name) for g in trace.gpus] == [(3, "V100 3")]


def test_ranks_named_by_mpi_override_the_order_of_pids(load):
    pids = {100: 1, 101: 0}
    rows = [kernel(globalPid=exports.process(pid)) for pid in pids]
    names = [
        nvtx(eventType=39, globalTid=exports.process(pid) | pid, text=f"MPI Rank {r}")
        for pid, r in pids.items()
    ]
    trace = load({KERNELS: rows, NVTX: names})
    assert [(p.pid, p.rank) for p in trace.processes] == [(101, 0), (100, 1)]


def test_the_rank_of_one_process_is_in_its_environment(load):
    capture = [
        {"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": v} for v in ("LOCAL_RANK=1", "RANK=5", "A=b")
    ]
    assert [p.rank for p in load({KERNELS: [kernel()], "META_DATA_CAPTURE": capture}).processes] == [5]


def test_processes_without_gpu_work_come_last_and_have_no_rank(load):
    calls = [call(globalTid=exports.process(10) | 10, nameId=4), call(globalTid=exports.process(99) | 99)]
    trace = load({KERNELS: [kernel()], CALLS: calls})
    assert [(p.pid, p.rank) for p in trace.processes] == [(99, 0), (exports.PID, 1), (10, None)]
    assert [g.process for g in trace.gpus] == [1]


def test_default_streams_as_each_version_tells_them(load):
    rows = [kernel(streamId=15), kernel(streamId=20), kernel(streamId=7, contextId=2)]
    who = {"processId": exports.PID, "contextId": 1}
    for name, told in {
        "flag": {
            "TARGET_INFO_CUDA_STREAM": [who | {"streamId": 15, "flag": 3}, who | {"streamId": 20, "flag": 2}]
        },
        "context": {"TARGET_INFO_CUDA_CONTEXT_INFO": [who | {"nullStreamId": 15}]},
        "null": {"TARGET_INFO_CUDA_NULL_STREAM": [who | {"streamId": 15}]},
        "created": {"TARGET_INFO_CUDA_STREAM": [who | {"streamId": 20, "flag": 2}]},
    }.items():
        trace = load({KERNELS: rows} | told, name=f"{name}.sqlite")
        assert [(s.context, s.stream_id) for s in trace.streams if s.is_default] == [(1, 15)], name


def test_context_switches_become_spans(load):
    def switch(start, cpu, is_in, thread=exports.MAIN):
        return {"start": start, "cpu": cpu, "isSchedIn": is_in, "globalTid": thread}

    rows = [
        switch(50, 3, 0),
        switch(100, 3, 1),
        switch(400, 3, 0),
        switch(450, 3, 0),
        switch(500, 4, 1),
        switch(600, 5, 1),
        switch(300, 9, 1, exports.process(7) | 7),
        switch(350, 9, 0, exports.process(7) | 7),
    ]
    trace = load({SWITCHES: rows[::-1], CALLS: [call()], "ANALYSIS_DETAILS": [{"duration": 1000}]})
    on_cpu = trace.events[Kind.ON_CPU]
    spans = zip(on_cpu.start_ns.tolist(), on_cpu.end_ns.tolist(), texts(trace, Kind.ON_CPU), strict=True)
    assert list(spans) == [(100, 400, "CPU 3"), (500, 600, "CPU 4"), (600, 1000, "CPU 5")]
    assert trace.counts[SWITCHES] == 8
    assert [p.pid for p in trace.processes] == [exports.PID]
    assert "1 process that has nothing but context switches is not shown" in trace.notes
    alone = load({SWITCHES: rows}, name="alone.sqlite")
    assert len(alone.processes) == 2


def test_graph_launches_and_copies_have_names(load):
    where = {
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "correlationId": 1,
        "globalPid": exports.GLOBAL_PID,
    }
    graph = {"start": 1, "end": 9, "graphId": 12, "graphExecId": 13} | where
    kinds = {"bytes": 2**40, "srcKind": 1, "dstKind": 2} | where
    copies = [{"start": i, "end": i + 1, "copyKind": k} | kinds for i, k in enumerate((1, 2, 8, 10, 11, 77))]
    trace = load({GRAPHS: [graph], COPIES: copies})
    assert texts(trace, Kind.GRAPH) == ["CUDA graph 12"]
    assert texts(trace, Kind.MEMCPY) == [
        "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD", "Memcpy PtoP", "Memcpy", "Memcpy HtoD (unified)",
    ]  # fmt: skip
    assert trace.events[Kind.MEMCPY].columns["bytes"].tolist() == [2**40] * 6
    assert trace.source.row(Kind.MEMCPY, 1)["copyKind"] == "HtoD"
    assert trace.source.row(Kind.MEMCPY, 1)["srcKind"] == "Pinned"


def test_both_tables_of_overhead_can_be_asked_for(load):
    row = {"start": 1, "end": 2, "globalTid": exports.MAIN, "nameId": 4}
    cupti = {"start": 5, "end": 6, "globalTid": exports.GLOBAL_PID, "nameId": 2, "overheadType": 3}
    trace = load({"PROFILER_OVERHEAD": [row], "CUPTI_ACTIVITY_KIND_OVERHEAD": [cupti], CALLS: [call()]})
    overhead = trace.events[Kind.OVERHEAD]
    found = [trace.source.row(Kind.OVERHEAD, r)["nameId"] for r in overhead.columns["file_row"]]
    assert found == ["registered", "gemm"]
    assert len(trace.threads) == 1


def test_a_newer_schema_is_opened_with_a_note(load):
    version = [{"name": "EXPORT_SCHEMA_VERSION", "value": "4.1.0"}]
    trace = load({KERNELS: [kernel()], "META_DATA_EXPORT": version})
    assert trace.session.schema_version == "4.1.0"
    assert any("newer" in note for note in trace.notes)
    assert ("Note", trace.notes[0]) in doctor_facts(trace)


def test_diagnostics_in_words(load):
    rows = [{"timestamp": t, "severity": s, "source": 1, "text": "x", "globalPid": exports.GLOBAL_PID}
            for t, s in ((30, 3), (10, 2), (20, 1))]  # fmt: skip
    found = load({"DIAGNOSTIC_EVENT": rows}).diagnostics
    assert found["severity"].tolist() == ["warning", "info", "error"]
    assert found["pid"].tolist() == [exports.PID] * 3


def test_everything_at_one_instant(load):
    tables = {
        KERNELS: [kernel(start=5000, end=5000, correlationId=i) for i in range(1, 7)],
        CALLS: [call(start=5000, end=5000, correlationId=i) for i in range(1, 7)],
        NVTX: [nvtx(start=5000, end=5000, text=f"step {i}") for i in range(6)],
    }
    study = Study(load(tables))
    facts = report(study)
    assert facts["gpus"][0]["first_op_ns"] == facts["gpus"][0]["last_op_ns"] == 5000
    assert study.iterations() is None
    assert summary(study, study.iterations()).numbers


def test_migrations_of_unified_memory_are_the_drivers(load):
    paged = {
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "globalPid": GLOBAL_PID,
        "bytes": 4096,
        "srcKind": 4,
    }
    copies = [
        {**paged, "start": 3000, "end": 3100, "copyKind": 11, "correlationId": 1, "migrationCause": 2},
        {**paged, "start": 3200, "end": 3300, "copyKind": 12, "correlationId": 9, "migrationCause": 3},
        {**paged, "start": 3400, "end": 3500, "copyKind": 1, "correlationId": 2, "migrationCause": None},
    ]
    trace = load(
        {KERNELS: [kernel()], CALLS: [call(), call(start=700, end=800, correlationId=2)], COPIES: copies}
    )
    copied = trace.events[Kind.MEMCPY]
    study = Study(trace)
    of_driver = copied.migrations()
    assert of_driver.tolist().count(True) == 2
    assert (study.launches.api_of(Kind.MEMCPY) >= 0).tolist() == (~of_driver).tolist()
    assert study.launches.ops_of(0) == [(Kind.KERNEL, 0)]
    streams = [trace.streams[owner].label for owner in copied.owners()]
    assert sorted(zip(streams, of_driver.tolist(), strict=True)) == [
        ("7", False), ("unified memory", True), ("unified memory", True),
    ]  # fmt: skip
    diagnostics = {f.title: f.meaning for f in study.diagnostics}
    assert not any("no launch record" in title for title in diagnostics)
    assert "Prefetch 1, Coherence 1" in diagnostics["2 page migrations of unified memory, 0.0 MB"]
    rows = [row for root in build_rows(study) for row in root.walk() if row.kind is RowKind.STREAM]
    assert sorted((row.label, row.detail) for row in rows) == [
        ("Stream 7", ""), ("Unified memory", "page migrations"),
    ]  # fmt: skip
    moved = int(np.flatnonzero(of_driver)[0])
    facts = event_facts(study, EventRef(Kind.MEMCPY, moved))
    assert facts.subtitle == "Page migration of unified memory"
    lines = dict(facts.lines)
    assert (lines["Reason"], lines["Size"]) == ("Coherence", "4.000 KiB  (4,096 bytes)")
    assert "Launched by" not in lines


def test_a_graph_without_its_own_id_is_called_by_that_of_its_executable(load):
    where = {
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "correlationId": 1,
        "globalPid": exports.GLOBAL_PID,
    }
    numbers = ((0, 13), (12, 13), (None, 14), (12, 0))
    graphs = [
        {"start": i, "end": i + 1, "graphId": graph, "graphExecId": executable} | where
        for i, (graph, executable) in enumerate(numbers)
    ]
    trace = load({GRAPHS: graphs})
    assert texts(trace, Kind.GRAPH) == ["CUDA graph 13", "CUDA graph 12", "CUDA graph 14", "CUDA graph 12"]
    assert trace.events[Kind.GRAPH].columns["graph_id"].tolist() == [13, 12, 14, 12]
