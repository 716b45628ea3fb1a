"""Our numbers against those that NVIDIA's own scripts print for the same file."""

import csv
import os
import shutil
import subprocess
from collections import defaultdict

import numpy as np
import pytest

from tests.analysis import sql
from viewer.analysis.core.intervals import union
from viewer.analysis.launches.launches import UNKNOWN
from viewer.trace import Kind

ORACLE = "2022.4"
OVERHEADS = (
    "CUDA profiling data flush overhead",
    "CUDA profiling stop overhead",
    "CUDA profiling overhead",
)
TRACES = (
    "torchrun-2xh100-nccl",
    "inference-2xh100",
    "pytorch-a100-nvtx",
    "jacobi-1process-2gpus",
    "power-iteration-t4",
    "gpuid-is-not-cudaid",
    "single-gpu-2024.6",
    "all-tables-empty",
)


@pytest.fixture(scope="module")
def nsys():
    """A function that runs nsys on a file and returns the rows of the table that it prints."""
    found = shutil.which("nsys") or shutil.which("nsys", path="/usr/lib/nsight-systems/bin")
    version = _run(found, "--version") if found else "none"
    if ORACLE not in version:
        reason = f"needs nsys {ORACLE} (Debian non-free: nsight-systems), found {version.strip()}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)

    def rows(*arguments):
        lines = _run(found, *arguments).splitlines()
        header = next((i for i, line in enumerate(lines) if "," in line and line[0] != "P"), len(lines))
        return list(csv.DictReader(lines[header:]))

    return rows


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=TRACES)
def real(request, shared_trace, real_study, tmp_path):
    """A real trace: our numbers of it, and a copy of the file that nsys may write to."""
    path = shared_trace(request.param)
    copy = tmp_path / path.name
    shutil.copyfile(path, copy)
    return real_study(request.param), path, copy


def test_idle_stalls_are_the_rows_of_gpu_starv(nsys, real):
    study, path, copy = real
    expected = defaultdict(list)
    for row in nsys("analyze", "-r", "gpu-starv:gap=0:rows=-1", "-f", "csv", str(copy)):
        start = int(row["Start (ns)"])
        gap = (start, start + int(row["Duration (ns)"]))
        expected[int(row["PID"]), int(row["Device ID"])].append(gap)
    assert expected
    for gpu in study.trace.gpus:
        key = study.trace.processes[gpu.process].pid, gpu.device
        order = study.order(gpu.index)
        assert order.start_ns[0] > 0, "the rule leaves out what starts at or before 0"
        first, last = int(order.start_ns[0]), int(order.end_ns.max())
        gaps = study.parts[gpu.index].intervals("idle", start_ns=first, end_ns=last)
        gaps -= _overhead(path, key[0], first, last)
        found = list(zip(gaps.start_ns.tolist(), gaps.end_ns.tolist(), strict=True))
        assert found == sorted(expected.pop(key, []))
    assert not expected


def test_queue_times_are_the_rows_of_kernexectrace(nsys, real):
    study, _, copy = real
    trace, launches = study.trace, study.launches
    rows = {}
    for row in nsys("stats", "-r", "kernexectrace", "-f", "csv", str(copy)):
        kernel = tuple(int(row[c]) for c in ("PID", "DevId", "Kernel Start (ns)", "Kernel Dur (ns)"))
        queued = row["Queue Dur (ns)"]
        queued_ns = 0 if queued == "None" else int(queued)
        call = int(row["API Start (ns)"]), -int(row["API Dur (ns)"]), queued_ns
        rows[kernel] = max(rows.get(kernel, call), call)
    kernels = trace.kernels
    calls, queued = launches.api_of(Kind.KERNEL), launches.queued_ns(Kind.KERNEL)
    assert np.array_equal(queued == UNKNOWN, calls < 0)
    found = {}
    for i, stream in enumerate(kernels.owners().tolist()):
        if calls[i] >= 0:
            gpu = trace.gpus[trace.streams[stream].gpu]
            start, end = int(kernels.start_ns[i]), int(kernels.end_ns[i])
            call = int(trace.api.start_ns[calls[i]]), int(trace.api.end_ns[calls[i]])
            key = trace.processes[gpu.process].pid, gpu.device, start, end - start
            found[key] = call[0], call[0] - call[1], int(queued[i])
    assert found == rows


def _overhead(path, pid, first, last):
    """What the profiler itself took, strictly inside the GPU's first and last operation."""
    spans = np.empty((0, 2), np.int64)
    with sql.connect(path) as db:
        if "PROFILER_OVERHEAD" in sql.tables(db):
            found = db.execute(
                "SELECT o.start, o.end FROM PROFILER_OVERHEAD o JOIN StringIds s ON s.id = o.nameId"
                " WHERE s.value IN (?, ?, ?) AND (o.globalTid >> 24) & 0xFFFFFF = ?"
                " AND o.start > ? AND o.end < ?",
                (*OVERHEADS, pid, first, last),
            ).fetchall()
            spans = np.array(found, np.int64).reshape(-1, 2)
    return union(spans[:, 0], spans[:, 1])


def test_ranges_on_the_gpu_are_the_rows_of_nvtxgpuproj(nsys, real):
    study, _, copy = real
    nvtx, ours = study.trace.nvtx, study.projection("thread")
    found = zip(
        ours["start_ns"],
        ours["end_ns"] - ours["start_ns"],
        nvtx.start_ns[ours["range"]],
        (nvtx.end_ns - nvtx.start_ns)[ours["range"]],
        ours["ops"],
        strict=True,
    )
    columns = (
        "Projected Start (ns)",
        "Projected Duration (ns)",
        "Orig Start (ns)",
        "Orig Duration (ns)",
        "NumGPUOps",
    )
    rows = nsys("stats", "-q", "-r", "nvtxgpuproj", "-f", "csv", str(copy))
    expected = [tuple(int(row[c]) for c in columns) for row in rows if row.get(columns[0])]
    assert sorted(tuple(map(int, row)) for row in found) == sorted(expected)
