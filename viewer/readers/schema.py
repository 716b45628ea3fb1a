"""The names of Nsight Systems: tables, columns, and enum values for files without enum tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from viewer.trace.events import MIGRATION_CAUSES, Kind

NEWEST_KNOWN = (3, 25)
"""The newest schema (major, minor) that this reader was tested with; a minor step may rename columns."""

TABLE_OF: Mapping[Kind, str] = {
    Kind.KERNEL: "CUPTI_ACTIVITY_KIND_KERNEL",
    Kind.MEMCPY: "CUPTI_ACTIVITY_KIND_MEMCPY",
    Kind.MEMSET: "CUPTI_ACTIVITY_KIND_MEMSET",
    Kind.GRAPH: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    Kind.API: "CUPTI_ACTIVITY_KIND_RUNTIME",
    Kind.SYNC: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    Kind.NVTX: "NVTX_EVENTS",
    Kind.OSRT: "OSRT_API",
    Kind.ON_CPU: "SCHED_EVENTS",
    Kind.OVERHEAD: "PROFILER_OVERHEAD",
}
CALL_CHAINS: Mapping[Kind, str] = {Kind.API: "CUDA_CALLCHAINS", Kind.OSRT: "OSRT_CALLCHAINS"}
"""The tables of call chains, which `callchainId` refers to."""
CUPTI_OVERHEAD = "CUPTI_ACTIVITY_KIND_OVERHEAD"
"""The second table of `Kind.OVERHEAD` (schema 3.24 on); its rows have negative ``file_row``."""

EVENT_RECORDS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
"""The table of the calls that recorded a CUDA event; its rows have no times."""

PROFILER_OVERHEAD = (3, 4, 5)
"""The values of ``overheadType`` for the profiler's own work: buffer flush, instrumentation, resources."""
CUDA_OVERHEAD = (2, 6, 7, 8)
"""Those for CUDA's: the driver's compiler, modules and functions that are loaded, a full command buffer."""
RUNNABLE = frozenset({"Running", "Runnable", "Ready"})
"""The states of a thread that was taken off its CPU and could have gone on."""

_PREFIXES = ("CUPTI_ACTIVITY_", "TARGET_INFO_", "ENUM_", "META_DATA_", "MPI_", "CUDA_")
_SINGLES = {
    "ANALYSIS_DETAILS", "EXPORT_META_DATA", "StringIds", "ThreadNames", "PROCESSES", "NVTX_EVENTS",
    "OSRT_API", "SCHED_EVENTS", "PROFILER_OVERHEAD", "DIAGNOSTIC_EVENT", "GPU_METRICS", "GENERIC_EVENTS",
    "ProcessStreams", "COMPOSITE_EVENTS", "CUBLAS_EVENTS", "CUDNN_EVENTS",
}  # fmt: skip


_TABLE_VERSION = re.compile(r"_V\d+$", re.IGNORECASE)


def is_nsys(tables: Iterable[str]) -> bool:
    """Return whether a database with these tables came from Nsight Systems."""
    return any(without_version(name) in _SINGLES or name.startswith(_PREFIXES) for name in tables)


def without_version(table: str) -> str:
    """Return a table's name without the version of its form: "NVTX_EVENTS" of "NVTX_EVENTS_V2"."""
    return _TABLE_VERSION.sub("", table)


def is_read(table: str) -> bool:
    """Return whether the reader uses a table, given by its name without a version."""
    return table in _READ


MARK, PUSH_POP, START_END = 34, 59, 60
"""The values of ``NVTX_EVENTS.eventType`` for events of the timeline."""
THREAD_NAME, DOMAIN_CREATE = 39, 75
"""The values of ``NVTX_EVENTS.eventType`` for names of threads and domains."""

COPY_NAMES: Mapping[int, str] = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH",
    10: "PtoP", 11: "HtoD (unified)", 12: "DtoH (unified)", 13: "DtoD (unified)",
}  # fmt: skip

_MEMORY = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"}
_SYNC = {1: "Event sync", 2: "Stream wait sync", 3: "Stream sync", 4: "Context sync"}
_LAUNCH = {1: "Regular", 2: "Cooperative single-device", 3: "Cooperative multi-device"}
_THREAD_STATE = {
    0: "Unknown", 1: "Running", 2: "Interruptible", 3: "Uninterruptible", 4: "Stopped", 5: "Terminated",
    6: "Unscheduled", 7: "Waiting", 8: "OS runtime", 9: "Initialized", 10: "Transition",
}  # fmt: skip
_SEVERITY = {1: "Info", 2: "Warning", 3: "Error", 4: "Verbose"}

ENUMS: Mapping[str, tuple[tuple[str, ...], Mapping[int, str]]] = {
    "copyKind": (("ENUM_CUDA_MEMCPY_OPER",), COPY_NAMES),
    "srcKind": (("ENUM_CUDA_MEM_KIND",), _MEMORY),
    "dstKind": (("ENUM_CUDA_MEM_KIND",), _MEMORY),
    "memKind": (("ENUM_CUDA_MEM_KIND",), _MEMORY),
    "syncType": (("ENUM_CUPTI_SYNC_TYPE",), _SYNC),
    "launchType": (("ENUM_CUDA_KERNEL_LAUNCH_TYPE", "ENUM_CUDA_KRENEL_LAUNCH_TYPE"), _LAUNCH),
    "cacheConfig": (("ENUM_CUDA_FUNC_CACHE_CONFIG",), {}),
    "sharedMemoryLimitConfig": (("ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG",), {}),
    "migrationCause": (("ENUM_CUDA_UNIF_MEM_MIGRATION",), MIGRATION_CAUSES),
    "eventType": (("ENUM_NSYS_EVENT_TYPE",), {}),
    "eventClass": (("ENUM_NSYS_EVENT_CLASS",), {}),
    "overheadType": (("ENUM_CUPTI_OVERHEAD_TYPE",), {}),
    "threadState": (("ENUM_SAMPLING_THREAD_STATE",), _THREAD_STATE),
    "severity": (("ENUM_DIAGNOSTIC_SEVERITY_LEVEL",), _SEVERITY),
    "source": (("ENUM_DIAGNOSTIC_SOURCE_TYPE",), {}),
}
"""By column: the enum tables that may list its values, best first, and the values' labels without one."""

_READ = frozenset({
    *TABLE_OF.values(), CUPTI_OVERHEAD, EVENT_RECORDS, *CALL_CHAINS.values(),
    *(table for spelled, _ in ENUMS.values() for table in spelled),
    "StringIds", "ThreadNames", "PROCESSES", "MPI_RANKS", "DIAGNOSTIC_EVENT", "ANALYSIS_DETAILS",
    "EXPORT_META_DATA", "META_DATA_EXPORT", "META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV",
    "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_CUDA_STREAM", "TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM",
})  # fmt: skip

STRING_COLUMNS = frozenset({"nameId", "demangledName", "shortName", "mangledName", "textId", "jsonTextId"})
"""The columns that refer to StringIds."""

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "LOCAL_RANK")
"""Environment variables with the rank of a process, best first."""
MAX_CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
"""The environment variable that says over how many queues a process launches its work."""
WORLD_SIZE_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
"""Environment variables with the number of ranks of a job, best first."""

SYNC_FALLBACK = "Synchronise"
UNNAMED = "(unnamed)"


def parse_version(text: str | None) -> tuple[int, ...]:
    """Return "3.24.7" as (3, 24, 7); the result ends before the first part that is not a number."""
    parts: list[int] = []
    for part in (text or "").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
    return tuple(parts)
