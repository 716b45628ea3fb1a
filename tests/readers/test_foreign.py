"""Files of other tools are refused, each named for what it is, with what to do."""

import gzip
import os
import sqlite3

import pytest

from tests.readers import exports
from viewer.readers import ReadError, read, sniff

KINETO = b'{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {"id": 0}\n  ],\n  "traceEvents": []}'
OLD_KINETO = b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm"}]}'
PACKETS = b"\x0a\x04\x40\x01\x50\x01" + b"\x0a\x02\x32\x00" * 20


def refusal(file):
    with pytest.raises(ReadError) as refused:
        read(file)
    message = str(refused.value)
    assert message.startswith(file.name)
    assert "\n" not in message
    assert len(message) < 300
    assert message.endswith(".")
    assert not message.endswith("..")
    return message


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("trace.json", KINETO, ("PyTorch", "Kineto", "nsys profile")),
        ("trace.pt.trace.json", OLD_KINETO, ("PyTorch", "nsys profile")),
        ("trace.json.gz", gzip.compress(KINETO), ("PyTorch", "gzip", "nsys profile")),
        ("chrome.json", b'[{"name": "a", "ph": "X", "ts": 1}]', ("Chrome", "Perfetto")),
        ("chrome.json.gz", gzip.compress(b'{"traceEvents": []}'), ("Chrome", "gzip")),
        ("job.pftrace", PACKETS, ("Perfetto", "nsys profile")),
        ("job.perfetto-trace", PACKETS, ("Perfetto",)),
        ("perfetto-trace-0.proto", PACKETS, ("Perfetto", "omnitrace")),
        ("job.pftrace.gz", gzip.compress(PACKETS), ("Perfetto", "gzip")),
        ("host.xplane.pb", b"\x0a\x40\x08\x01\x12\x09/host:CPU" + bytes(50), ("JAX", "nsys profile")),
        ("results.json", b'{ "traceEvents":[{},{"args":{"name":"0 CPU HIP API"}}]}', ("rocprof", "AMD")),
        ("out_results.json", b'{"rocprofiler-sdk-tool": [{}]}', ("rocprofv3", "AMD")),
        ("results.csv", b'"Index","KernelName","gpu-id","queue-id"\n0,"k",0,0\n', ("rocprof",)),
        ("results.stats.csv", b'"Name","Calls","TotalDurationNs","AverageNs"\n', ("rocprof",)),
        ("1_kernel_trace.csv", b'"Kind","Agent_Id","Queue_Id","Kernel_Id"\n', ("rocprof",)),
        ("out_cuda_gpu_kern_sum.csv", b"Time (%),Total Time (ns),Instances,Avg (ns)\n", ("nsys stats",)),
        ("out_cuda_gpu_trace.csv", b"Start (ns),Duration (ns),CorrId,GrdX\n", ("nsys stats",)),
        ("kernel.ncu-rep", b"NVR\0\x1c\0\0\0\x0a\x10", ("Nsight Compute", "ncu-ui")),
        ("nvprof.csv", b"==123== NVPROF is profiling process 123\n", ("nvprof", "nsys profile")),
        ("a.lightbox.json", b'{"schema": 1, "window_ns": [0, 9], "overlays": []}', ("session of Lightbox",)),
        ("report.json", b'{\n  "schema": 1,\n  "trace": {\n    "path": "x"}}', ("report of Lightbox",)),
        ("page.html", b"<!doctype html>\n<html>", ("HTML", "nsys export")),
        ("trace.sqlite.gz", gzip.compress(b"SQLite format 3\0" + bytes(99)), ("gzip", "unpack")),
        ("job.tar.gz", gzip.compress(bytes(257) + b"ustar\x0000" + bytes(300)), ("tar.gz", "unpack")),
        ("cut.gz", b"\x1f\x8b\x08\xff\xff", ("gzip",)),
        ("snapshot.pickle", b"\x80\x04\x95\x01", ("pickle",)),
        ("snapshot.pkl", b"\x80\x05\x95\x01", ("pickle",)),
        ("bytes", os.urandom(16).replace(b"\0", b"\1") + b"\0\xff" * 2000, ("not an Nsight Systems trace",)),
    ],
)
def test_a_file_of_another_tool_is_named(tmp_path, name, content, words):
    file = tmp_path / name
    file.write_bytes(content)
    message = refusal(file)
    for word in words:
        assert word in message


def database(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            (
                "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)",
                "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY, start, end, bytes)",
                "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, start, end)",
            ),
            ("nvprof", "nsys profile"),
        ),
        (("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, start, end)",), ("nvprof",)),
        (("CREATE TABLE rocpd_api (id)", "CREATE TABLE rocpd_op (id)"), ("rocpd", "AMD")),
        (("CREATE TABLE rocpd_kernel_dispatch_0001 (id)",), ("rocpd", "AMD")),
        (("CREATE TABLE KERN (id)", "CREATE TABLE HIP (id)"), ("rocprof", "AMD")),
    ],
)
def test_a_database_of_another_tool_is_named(tmp_path, statements, words):
    message = refusal(database(tmp_path / "out.db", *statements))
    for word in words:
        assert word in message


def test_an_export_without_names_is_still_read(small):
    file = small()
    database(file, "DROP TABLE StringIds", "CREATE TABLE notes (_id_)")
    assert len(read(file).kernels) == 1


def test_a_folder_that_holds_traces_names_one(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    exports.write(folder / "b.sqlite", {exports.KERNELS: [exports.kernel()]})
    (folder / "a.nsys-rep").write_bytes(b"NVIDIA Tegra Profiler Report 1.")
    with pytest.raises(ReadError, match=r"a folder with 2 traces in it: open a\.nsys-rep itself"):
        sniff(folder)


def test_the_shared_nvprof_database(shared):
    assert "nvprof" in refusal(shared / "cases" / "nvprof-database.sqlite")
