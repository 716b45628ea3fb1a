"""Traces that are large in one direction: many streams, threads, devices, names, or ranges in one another.

Makes them, or measures what a report of each takes: ``python -m tests.benchmarks.sizes [KIND ...]``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from viewer.demo.export_writer import ExportWriter
from viewer.demo.ids import VM
from viewer.demo.row_arrays import Int64

LIMIT_S = 20.0
"""What the whole report of each may take."""

_PID = 40_000
_STEP_NS = 10_000
_KERNEL, _NVTX = "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"
_RUNTIME, _STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"
_PUSH_POP, _DOMAIN_CREATE = 59, 75


def _process(pids: Int64 | int) -> Int64 | int:
    return VM | (pids << 24)


def _names(writer: ExportWriter, kernels: int = 1) -> None:
    texts = ["cudaLaunchKernel_v7000", "read", *(f"void kernel_{i}<float>(int)" for i in range(kernels))]
    writer.add(_STRINGS, {"id": np.arange(1, len(texts) + 1), "value": texts})


def _launches(
    writer: ExportWriter,
    count: int,
    *,
    pid: Int64 | int = _PID,
    tid: Int64 | int = _PID,
    device: Int64 | int = 0,
    context: Int64 | int = 1,
    stream: Int64 | int = 7,
    name: Int64 | int = 3,
    length_ns: int = 5_000,
) -> None:
    """Write that many kernels, one after another, each with the call that launches it."""
    at = np.arange(count, dtype=np.int64)
    start, process = 1_000_000 + at * _STEP_NS, np.broadcast_to(_process(pid), count)
    writer.add(
        _KERNEL,
        {
            "start": start, "end": start + length_ns, "deviceId": device, "contextId": context,
            "streamId": stream, "correlationId": at + 1, "globalPid": process, "demangledName": name,
            "shortName": name, "registersPerThread": 32,
        }
        | dict.fromkeys(("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "gridId"), 1)
        | dict.fromkeys(("staticSharedMemory", "dynamicSharedMemory"), 0)
        | dict.fromkeys(("localMemoryPerThread", "localMemoryTotal"), 0),
    )  # fmt: skip
    writer.add(
        _RUNTIME,
        {
            "start": start - 8_000, "end": start - 6_000, "eventClass": 0, "globalTid": process | tid,
            "correlationId": at + 1, "nameId": 1, "returnValue": 0,
        },
    )  # fmt: skip


def _ranges(
    writer: ExportWriter, start: Int64, end: Int64, texts: list[str] | str, **more: Int64 | int
) -> None:
    named = [texts] * len(start) if isinstance(texts, str) else texts
    columns = {"eventType": _PUSH_POP, "globalTid": _process(_PID) | _PID, "domainId": 0} | more
    writer.add(_NVTX, {"start": start, "end": end, "text": named, **columns})


def _streams(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n, stream=np.arange(n) + 7)


def _streams_at_once(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n, stream=np.arange(n) + 7, length_ns=n * _STEP_NS)


def _contexts(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n, context=np.arange(n) + 1)


def _threads(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n, tid=_PID + np.arange(n))


def _os_threads(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, 10)
    at = np.arange(n, dtype=np.int64)
    tids = _process(_PID) | (_PID + at)
    start = at * _STEP_NS
    writer.add(
        "OSRT_API",
        {
            "start": start, "end": start + 900_000, "eventClass": 27, "globalTid": tids, "nameId": 2,
            "returnValue": 0, "callchainId": 0, "argumentsId": 0,
        },
    )  # fmt: skip
    for is_in, moved in ((1, 0), (0, 700_000)):
        writer.add("SCHED_EVENTS", {"start": start + moved, "cpu": 3, "isSchedIn": is_in, "globalTid": tids})
    writer.add("ThreadNames", {"nameId": 2, "priority": 1, "globalTid": tids})


def _devices(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, 4 * n, device=np.arange(4 * n) % n)
    _physical_gpus(writer, n)


def _ranks(writer: ExportWriter, n: int) -> None:
    _names(writer)
    pids = _PID + np.arange(4 * n) % n
    _launches(writer, 4 * n, pid=pids, tid=pids)
    _physical_gpus(writer, n)


def _physical_gpus(writer: ExportWriter, n: int) -> None:
    at = np.arange(n)
    writer.add(
        "TARGET_INFO_GPU",
        {"vmId": VM, "id": at, "name": ["NVIDIA H200"] * n, "cuDevice": at, "smCount": 132,
         "totalMemory": 2**37},
    )  # fmt: skip


def _processes(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, 10)
    pids = _PID + 1 + np.arange(n)
    start = np.arange(n, dtype=np.int64) * _STEP_NS
    writer.add(
        "OSRT_API",
        {
            "start": start, "end": start + 5_000, "eventClass": 27, "globalTid": _process(pids) | pids,
            "nameId": 2, "returnValue": 0, "callchainId": 0, "argumentsId": 0,
        },
    )  # fmt: skip
    writer.add("PROCESSES", {"globalPid": _process(pids), "pid": pids, "name": ["cc1plus"] * n})


def _kernel_names(writer: ExportWriter, n: int) -> None:
    _names(writer, n)
    _launches(writer, n, name=np.arange(n) + 3)


def _range_names(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n)
    start = 1_000_000 + np.arange(n, dtype=np.int64) * _STEP_NS - 9_000
    _ranges(writer, start, start + 4_000, [f"part{chr(97 + i % 26)}x{i}x" for i in range(n)])


def _nested(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n)
    at = np.arange(n, dtype=np.int64)
    _ranges(writer, at * 10, 2_000_000 + n * _STEP_NS - at * 10, "recurse")


def _overlapping(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n)
    start = np.arange(n, dtype=np.int64) * 10
    _ranges(writer, start, start + n * _STEP_NS, "request", eventType=60)


def _domains(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n)
    start = 1_000_000 + np.arange(n, dtype=np.int64) * _STEP_NS - 9_000
    _ranges(writer, start, start + 4_000, "work", domainId=np.arange(n) + 1)
    named = n // 2
    _ranges(
        writer, start[:named], start[:named], [f"domain of {i}" for i in range(named)],
        domainId=np.arange(named) + 1, eventType=_DOMAIN_CREATE,
    )  # fmt: skip


def _iterations(writer: ExportWriter, n: int) -> None:
    _names(writer)
    _launches(writer, n)
    start = 1_000_000 + np.arange(n, dtype=np.int64) * _STEP_NS - 9_000
    _ranges(writer, start, start + 4_000, [f"step {i}" for i in range(n)])


KINDS: Mapping[str, tuple[Callable[[ExportWriter, int], None], int]] = {
    "streams": (_streams, 100_000),
    "streams-at-once": (_streams_at_once, 100_000),
    "contexts": (_contexts, 100_000),
    "threads": (_threads, 100_000),
    "os-threads": (_os_threads, 100_000),
    "devices": (_devices, 5_000),
    "ranks": (_ranks, 5_000),
    "processes": (_processes, 50_000),
    "kernel-names": (_kernel_names, 200_000),
    "range-names": (_range_names, 100_000),
    "nested": (_nested, 50_000),
    "overlapping": (_overlapping, 50_000),
    "domains": (_domains, 100_000),
    "iterations": (_iterations, 100_000),
}
"""By name: what writes such a trace, and how large it is to be."""


def write(path: Path, kind: str, size: int | None = None) -> Path:
    """Write a trace of one kind, by default as large as a report has to bear; return its path."""
    make, usual = KINDS[kind]
    with ExportWriter(path) as writer:
        make(writer, usual if size is None else size)
    return path


def main(kinds: list[str]) -> int:
    """Measure `lightbox report` on each kind; return 1 if one takes too long or fails."""
    late = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or KINDS:
            path = write(Path(folder) / f"{kind}.sqlite", kind)
            began = time.perf_counter()
            command = [sys.executable, "-m", "viewer", "report", str(path), "--json"]
            code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
            spent = time.perf_counter() - began
            late |= bool(code) or spent > LIMIT_S
            print(f"{kind:16} {KINDS[kind][1]:>8,} {spent:7.1f} s  exit {code}", flush=True)
            path.unlink()
    return int(late)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
