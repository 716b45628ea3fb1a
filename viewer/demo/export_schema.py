"""The tables of an nsys SQLite export, schema 3.24: names, columns, types."""

from __future__ import annotations

SCHEMA_VERSION = "3.24.0"
PRODUCT_VERSION = "2025.5.2.266"

_COLUMNS: dict[str, str] = {
    # "!" after a name: NOT NULL; "#": the primary key; "=T" and "=R": TEXT and REAL instead of INTEGER.
    "StringIds": "id!# value!=T",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime=T localTime=T",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "DIAGNOSTIC_EVENT": "timestamp! timestampType! source! severity! text!=T globalPid",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """
        start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid bytes! copyKind!
        deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause
        graphNodeId virtualAddress copyCount""",
    "CUPTI_ACTIVITY_KIND_MEMSET": """
        start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid value! bytes!
        graphNodeId memKind""",
    "CUPTI_ACTIVITY_KIND_KERNEL": """
        start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid demangledName!
        shortName! mangledName launchType cacheConfig registersPerThread! gridX! gridY! gridZ! blockX!
        blockY! blockZ! staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal!
        gridId! sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone qmdPreexitDone
        qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy maxPotentialClusterSize
        maxActiveClusters""",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": """
        start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid deprecatedSyncType
        syncType! eventId! eventSyncId""",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": """
        timestamp deviceId! contextId! greenContextId streamId! correlationId globalPid eventId!
        eventSyncId""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """
        start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId""",
    "PROFILER_OVERHEAD": "start! end! globalTid nameId! overheadType!",
    "NVTX_EVENTS": """
        start! end eventType! rangeId category color text=T globalTid endGlobalTid textId domainId
        uint64Value int64Value doubleValue=R uint32Value int32Value floatValue=R jsonTextId jsonText=T
        binaryData=T""",
    "OSRT_API": """
        start! end! eventClass! globalTid nameId! returnValue! nestingLevel callchainId! argumentsId!""",
    "SCHED_EVENTS": "start! cpu! isSchedIn! globalTid threadState threadBlock",
    "PROCESSES": "globalPid pid name=T",
    "ThreadNames": "nameId! priority globalTid",
    "TARGET_INFO_GPU": """
        vmId! id! name=T busLocation=T isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount
        pwGpuId uuid=T luid chipName=T cuDevice ctxswDevPath=T ctrlDevPath=T revision nodeMask
        constantMemory maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm
        maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock
        maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor
        smMajor smMinor""",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid!",
    "TARGET_INFO_CUDA_CONTEXT_INFO": """
        nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId isGreenContext""",
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "META_DATA_CAPTURE": "name!=T value=T",
    "META_DATA_EXPORT": "name!=T value=T",
}

_TYPES = {"T": "TEXT", "R": "REAL"}


def _parse(columns: str) -> tuple[tuple[str, str, str], ...]:
    """Return (name, type, constraint) of each column."""
    out = []
    for word in columns.split():
        name, _, kind = word.partition("=")
        constraint = "PRIMARY KEY" if name.endswith("#") else ""
        name = name.rstrip("#")
        if name.endswith("!"):
            name, constraint = name[:-1], f"NOT NULL {constraint}".strip()
        out.append((name, _TYPES.get(kind, "INTEGER"), constraint))
    return tuple(out)


TABLES: dict[str, tuple[tuple[str, str, str], ...]] = {t: _parse(c) for t, c in _COLUMNS.items()}
"""Columns of each table: (name, SQLite type, constraint)."""

_ENUM_ROWS: dict[str, str] = {
    "ENUM_NSYS_EVENT_TYPE": """
        0 Unknown Unknown|33 NvtxCategory NvtxCategory|34 NvtxMark NvtxMark|39 NvtxThread NvtxThread|
        59 NvtxPushPopRange NvtxPushPopRange|60 NvtxStartEndRange NvtxStartEndRange|
        75 NvtxDomainCreate NvtxDomainCreate|76 NvtxDomainDestroy NvtxDomainDestroy""",
    "ENUM_NSYS_EVENT_CLASS": """
        0 TRACE_PROCESS_EVENT_CUDA_RUNTIME CUDA runtime|1 TRACE_PROCESS_EVENT_CUDA_DRIVER CUDA driver|
        3 TRACE_PROCESS_EVENT_TSP_OVERHEAD TSP overhead|6 TRACE_PROCESS_EVENT_NVTX_START NVTX start|
        7 TRACE_PROCESS_EVENT_NVTX_FINISH NVTX finish|26 TRACE_PROCESS_EVENT_CUDA_API CUDA API|
        27 TRACE_PROCESS_EVENT_OS_RUNTIME OSRT runtime""",
    "ENUM_CUDA_MEMCPY_OPER": """
        0 CUDA_MEMCPY_KIND_UNKNOWN Unknown|1 CUDA_MEMCPY_KIND_HTOD Host-to-Device|
        2 CUDA_MEMCPY_KIND_DTOH Device-to-Host|3 CUDA_MEMCPY_KIND_HTOA Host-to-Array|
        4 CUDA_MEMCPY_KIND_ATOH Array-to-Host|5 CUDA_MEMCPY_KIND_ATOA Array-to-Array|
        6 CUDA_MEMCPY_KIND_ATOD Array-to-Device|7 CUDA_MEMCPY_KIND_DTOA Device-to-Array|
        8 CUDA_MEMCPY_KIND_DTOD Device-to-Device|9 CUDA_MEMCPY_KIND_HTOH Host-to-Host|
        10 CUDA_MEMCPY_KIND_PTOP Peer-to-Peer|11 CUDA_MEMCPY_KIND_UVM_HTOD Unified Host-to-Device|
        12 CUDA_MEMCPY_KIND_UVM_DTOH Unified Device-to-Host|
        13 CUDA_MEMCPY_KIND_UVM_DTOD Unified Device-to-Device""",
    "ENUM_CUDA_MEM_KIND": """
        0 CUDA_MEMOPR_MEMORY_KIND_PAGEABLE Pageable|1 CUDA_MEMOPR_MEMORY_KIND_PINNED Pinned|
        2 CUDA_MEMOPR_MEMORY_KIND_DEVICE Device|3 CUDA_MEMOPR_MEMORY_KIND_ARRAY Array|
        4 CUDA_MEMOPR_MEMORY_KIND_MANAGED Managed|
        5 CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC Device Static|
        6 CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC Managed Static|
        7 CUDA_MEMOPR_MEMORY_KIND_UNKNOWN Unknown""",
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": """
        0 CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN Unknown|1 CUDA_KERNEL_LAUNCH_TYPE_REGULAR Regular|
        2 CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE Coop Single Device|
        3 CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE Coop Multi Device""",
    "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG": """
        0 CUDA_SHARED_MEM_LIMIT_DEFAULT Default|1 CUDA_SHARED_MEM_LIMIT_OPTIN Opt in""",
    "ENUM_CUDA_FUNC_CACHE_CONFIG": """
        0 CU_FUNC_CACHE_PREFER_NONE None|1 CU_FUNC_CACHE_PREFER_SHARED Shared|
        2 CU_FUNC_CACHE_PREFER_L1 L1|3 CU_FUNC_CACHE_PREFER_EQUAL Equal""",
    "ENUM_CUPTI_STREAM_TYPE": """
        0 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN Unknown stream type|
        1 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT Default stream|
        2 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING Non-blocking stream|
        3 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL Null stream""",
    "ENUM_CUPTI_SYNC_TYPE": """
        0 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN Unknown|
        1 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE Event sync|
        2 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT Stream wait sync|
        3 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE Stream sync|
        4 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE Context sync""",
    "ENUM_CUPTI_OVERHEAD_TYPE": """
        0 OVERHEAD_UNDEFINED Undefined|1 OVERHEAD_UNKNOWN Unknown|
        2 OVERHEAD_DRIVER_COMPILER Driver JIT compiler (CUDA)|
        3 OVERHEAD_CUPTI_BUFFER_FLUSH Buffer flush (Profiler)|
        4 OVERHEAD_CUPTI_INSTRUMENTATION Instrumentation (Profiler)|
        5 OVERHEAD_CUPTI_RESOURCE Resource creation/destruction (Profiler)|
        6 OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING Runtime module loading (CUDA)|
        7 OVERHEAD_LAZY_FUNCTION_LOADING Lazy function loading (CUDA)|
        8 OVERHEAD_COMMAND_BUFFER_FULL Command buffer full (CUDA)""",
    "ENUM_SAMPLING_THREAD_STATE": """
        0 Unknown Unknown|1 Running Running|2 Interruptible Interruptible|
        3 Uninterruptible Uninterruptible|4 Stopped Stopped|5 Terminated Terminated|
        6 Unscheduled Unscheduled|7 Waiting Waiting|8 OSRuntime OS runtime|9 Initialized Initialized|
        10 Transition Transition""",
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": """
        0 UnknownLevel Unknown|1 Info Info|2 Warning Warning|3 Error Error|4 Verbose Verbose""",
    "ENUM_DIAGNOSTIC_SOURCE_TYPE": """
        0 UnknownSource Unknown source|1 Injection Injection|2 Daemon Daemon|3 Analysis Analysis""",
    "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE": """
        0 UnknownTimestamp Unknown timestamp|1 TargetTimestamp Target timestamp|
        2 HostTimestamp Host timestamp""",
}


def _enum(rows: str) -> tuple[tuple[int, str, str], ...]:
    out = []
    for row in rows.split("|"):
        number, name, label = row.strip().split(" ", 2)
        out.append((int(number), name, label))
    return tuple(out)


ENUMS: dict[str, tuple[tuple[int, str, str], ...]] = {t: _enum(r) for t, r in _ENUM_ROWS.items()}
"""Rows of each ENUM table: (id, name, label)."""

_ENUM_COLUMNS = _parse("id!# name=T label=T")


def create_statement(table: str) -> str:
    """Return the statement that creates a table or an ENUM table."""
    columns = _ENUM_COLUMNS if table in ENUMS else TABLES[table]
    inner = ", ".join(f'"{name}" {kind} {constraint}'.strip() for name, kind, constraint in columns)
    return f'CREATE TABLE "{table}" ({inner})'
