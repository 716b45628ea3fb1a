"""The demo's tables without events: the machine, the processes, the settings, the diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from viewer.demo.export_schema import ENUMS, PRODUCT_VERSION, SCHEMA_VERSION
from viewer.demo.ids import (
    CONTEXT,
    DEFAULT_STREAM,
    THREAD_NAMES,
    THREADS_START_NS,
    VM,
    Strings,
    cpus,
    global_pids,
    global_tids,
    pids,
    streams,
)
from viewer.demo.markings import DOMAIN_IDS, OWN_DOMAIN
from viewer.demo.options import DemoOptions
from viewer.demo.row_arrays import Rows

SESSION_START_UTC_NS = 1_767_225_600_000_000_000
NVTX_DOMAIN_CREATE = 75
NON_BLOCKING, DEFAULT_FLAG = 2, 1
_HIGH_PRIORITY = 4_294_967_291

H200: dict[str, str | int] = {
    "name": "NVIDIA H200",
    "isDiscrete": 1,
    "l2CacheSize": 62_914_560,
    "totalMemory": 150_110_011_392,
    "memoryBandwidth": 4_814_592_000_000,
    "clockRate": 1_980_000_000,
    "smCount": 132,
    "luid": 0,
    "chipName": "GH100",
    "revision": 161,
    "nodeMask": 0,
    "constantMemory": 65_536,
    "maxIPC": 4,
    "maxRegistersPerBlock": 65_536,
    "maxShmemPerBlock": 49_152,
    "maxShmemPerBlockOptin": 232_448,
    "maxShmemPerSm": 233_472,
    "maxRegistersPerSm": 65_536,
    "threadsPerWarp": 32,
    "asyncEngines": 3,
    "maxWarpsPerSm": 64,
    "maxBlocksPerSm": 32,
    "maxThreadsPerBlock": 1_024,
    "maxBlockDimX": 1_024,
    "maxBlockDimY": 1_024,
    "maxBlockDimZ": 64,
    "maxGridDimX": 2_147_483_647,
    "maxGridDimY": 65_535,
    "maxGridDimZ": 65_535,
    "computeMajor": 9,
    "computeMinor": 0,
    "smMajor": 9,
    "smMinor": 0,
}


def opening(options: DemoOptions, strings: Strings) -> Iterator[tuple[str, Rows]]:
    """Yield the rows that precede the first iteration, as (table, columns)."""
    ranks = options.ranks
    yield "PROCESSES", {"globalPid": global_pids(ranks), "pid": pids(ranks), "name": ["python"] * ranks}
    for thread, name in THREAD_NAMES.items():
        yield (
            "ThreadNames",
            {"nameId": strings(name), "priority": 20, "globalTid": global_tids(ranks, thread)},
        )
        if thread != "loader":
            yield (
                "SCHED_EVENTS",
                {
                    "start": THREADS_START_NS + np.arange(ranks, dtype=np.int64) * 1_700,
                    "cpu": cpus(ranks, thread),
                    "isSchedIn": 1,
                    "globalTid": global_tids(ranks, thread),
                    "threadState": 0,
                },
            )
    for domain in ("NCCL", OWN_DOMAIN) if options.marking == "own-domain" else ("NCCL",):
        yield (
            "NVTX_EVENTS",
            {
                # Domains are created while the program loads, long before the session's zero.
                "start": -4_200_000_000 - np.arange(ranks, dtype=np.int64) * 3_100_000,
                "eventType": NVTX_DOMAIN_CREATE,
                "text": [domain] * ranks,
                "globalTid": global_tids(ranks, "main"),
                "domainId": DOMAIN_IDS[domain],
            },
        )
    start = -4_000_000_000 + np.arange(ranks, dtype=np.int64) * 2_900_000
    yield (
        "PROFILER_OVERHEAD",
        {
            "start": start,
            "end": start + 61_000_000,
            "globalTid": global_tids(ranks, "main"),
            "nameId": strings("CUDA profiling initialization"),
            "overheadType": 1,
        },
    )


def closing(options: DemoOptions, duration_ns: int) -> Iterator[tuple[str, Rows]]:
    """Yield the rows about the machine and the session, whose length is `duration_ns`."""
    yield from _machine(options)
    yield "ANALYSIS_DETAILS", _row(globalVid=VM, duration=duration_ns, startTime=0, stopTime=duration_ns)
    clock = datetime.fromtimestamp(SESSION_START_UTC_NS // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    yield (
        "TARGET_INFO_SESSION_START_TIME",
        {"utcEpochNs": _one(SESSION_START_UTC_NS), "utcTime": [clock], "localTime": [clock]},
    )
    yield from _diagnostics(duration_ns)
    settings = _settings(options)
    yield "META_DATA_CAPTURE", {"name": [n for n, _ in settings], "value": [v for _, v in settings]}
    export = _export()
    yield "META_DATA_EXPORT", {"name": list(export), "value": list(export.values())}
    for table, rows in ENUMS.items():
        yield table, {"id": [r[0] for r in rows], "name": [r[1] for r in rows], "label": [r[2] for r in rows]}


def _one(value: int) -> list[str | int | None]:
    return [value]


def _repeated(value: str | int, times: int) -> list[str | int | None]:
    return [value] * times


def _row(**values: int) -> Rows:
    return {name: _one(value) for name, value in values.items()}


def _machine(options: DemoOptions) -> Iterator[tuple[str, Rows]]:
    ranks = options.ranks
    ordinals = np.arange(ranks, dtype=np.int64)
    yield (
        "TARGET_INFO_GPU",
        {
            "vmId": VM,
            "id": ordinals,
            "busLocation": [f"0000:{0x19 + 0x11 * i:02x}:00.0" for i in range(ranks)],
            "uuid": [f"GPU-{i:08x}-0000-0000-0000-000000000000" for i in range(ranks)],
            "pwGpuId": ordinals,
            "cuDevice": ordinals,
            **{name: _repeated(value, ranks) for name, value in H200.items()},
        },
    )
    # As torchrun starts them, every process sees all GPUs and uses the one of its local rank.
    yield (
        "TARGET_INFO_CUDA_DEVICE",
        {
            "gpuId": np.tile(ordinals, ranks),
            "cudaId": np.tile(ordinals, ranks),
            "pid": np.repeat(pids(ranks), ranks),
        },
    )
    yield (
        "TARGET_INFO_CUDA_CONTEXT_INFO",
        {
            "nullStreamId": DEFAULT_STREAM,
            "hwId": 0,
            "vmId": 1,
            "processId": pids(ranks),
            "deviceId": ordinals,
            "contextId": CONTEXT,
            "parentContextId": 0,
            "isGreenContext": 0,
        },
    )
    ids = streams(options)
    slots = len(ids)
    is_default = ids == DEFAULT_STREAM
    is_nccl = np.array([False, True, True, True, False])
    yield (
        "TARGET_INFO_CUDA_STREAM",
        {
            "streamId": np.tile(ids, ranks),
            "hwId": 0,
            "vmId": 1,
            "processId": np.repeat(pids(ranks), slots),
            "contextId": CONTEXT,
            "priority": np.tile(np.where(is_nccl, _HIGH_PRIORITY, 0), ranks),
            "flag": np.tile(np.where(is_default, DEFAULT_FLAG, NON_BLOCKING), ranks),
        },
    )


def _diagnostics(duration_ns: int) -> Iterator[tuple[str, Rows]]:
    info, warning = 1, 2
    daemon, analysis = 2, 3
    rows = [
        (0, analysis, info, "Profiling has started."),
        (
            2_410_000,
            daemon,
            warning,
            "CPU call stacks were not sampled: the perf event paranoid level is 2.",
        ),
        (duration_ns, analysis, info, "Profiling has stopped."),
    ]
    yield (
        "DIAGNOSTIC_EVENT",
        {
            "timestamp": [r[0] for r in rows],
            "timestampType": 1,
            "source": [r[1] for r in rows],
            "severity": [r[2] for r in rows],
            "text": [r[3] for r in rows],
            "globalPid": VM,
        },
    )


def _settings(options: DemoOptions) -> list[tuple[str, str]]:
    os_runtime = options.like != "distca"
    kinds = ["NvtxEvents", "Cuda", *(["OSRuntime"] if os_runtime else [])]
    return [
        ("DEVICE_ID", "Local (CLI)"),
        *(("CAPTURE_EVENT_TYPE", kind) for kind in kinds),
        ("RATE_HZ", "0"),
        ("START_TRIGGER", "Immediate"),
        ("STOP_TRIGGER", "Delayed"),
        ("DEVICE_TYPE", "Unix"),
        ("DEVICE_DISPLAY_NAME", "lightbox-demo"),
        ("PROCESS_0:COLLECT_NVTX_TRACE", "true"),
        ("PROCESS_0:COLLECT_CUDA_TRACE", "true"),
        ("PROCESS_0:COLLECT_CPU_TRACE", "true" if os_runtime else "false"),
        ("PROCESS_0:COLLECT_GPU_MEMORY_USAGE", "false"),
        ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
        ("LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE", "true"),
        ("LINUX_PERF_OPTIONS:COLLECT_IP_BACKTRACE_SAMPLES", "false"),
        ("LINUX_PERF_OPTIONS:COLLECTION_MODE", "ProcessTree"),
        ("INCLUDE_CHILDREN", "true"),
        ("TRACE_AFTER_FORK_BEFORE_EXEC", "true"),
    ]


def _export() -> dict[str, str]:
    major, minor, micro = SCHEMA_VERSION.split(".")
    return {
        "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
        "EXPORT_PRODUCT_VERSION": PRODUCT_VERSION,
        "EXPORT_PRODUCT_DATE": ".".join(PRODUCT_VERSION.split(".")[:2]),
        "EXPORT_SCHEMA_VERSION": SCHEMA_VERSION,
        "EXPORT_SCHEMA_VERSION_MAJOR": major,
        "EXPORT_SCHEMA_VERSION_MINOR": minor,
        "EXPORT_SCHEMA_VERSION_MICRO": micro,
        "EXPORT_PLATFORM": "linux-desktop",
        "EXPORT_ARCH": "x64",
        "EXPORT_PARAM_EXPORT_TYPE": "SQLite",
        "EXPORT_PARAM_LAZY": "true",
        "EXPORT_PARAM_TIME_NORMALIZE": "false",
        "EXPORT_CONFIG_TIME_SHIFT": "0",
        "EXPORT_HOST": "lightbox-demo",
    }
