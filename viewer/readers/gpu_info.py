"""The physical GPUs of a recording: which one each process's device is, and its default streams."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass

from viewer.readers.raw_events import host_of, pid_of
from viewer.readers.tables import Tables
from viewer.trace.model import Gpu

_StreamKey = tuple[int, int, int]
"""(pid, context, stream id)"""
_BLOCKING_STREAM, _NULL_STREAM = 1, 3


@dataclass(frozen=True, slots=True)
class _PhysicalGpu:
    host: int | None
    number: int
    name: str
    bus: str
    cuda: int | None
    sm_count: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Set:
    """Physical GPUs by their number and by CUDA's ordinal (None if unknown), and their common model or ""."""

    all: Sequence[_PhysicalGpu]
    by_number: dict[int, _PhysicalGpu]
    by_ordinal: dict[int | None, _PhysicalGpu] | None
    model: str

    @classmethod
    def of(cls, gpu_info: Sequence[_PhysicalGpu]) -> _Set:
        ordinals = {physical_gpu.cuda: physical_gpu for physical_gpu in gpu_info}
        is_known = None not in ordinals and len(ordinals) == len(gpu_info)
        models = {physical_gpu.name for physical_gpu in gpu_info}
        by_number = {physical_gpu.number: physical_gpu for physical_gpu in gpu_info}
        model = models.pop() if len(models) == 1 else ""
        return cls(gpu_info, by_number, ordinals if is_known else None, model)


class GpuInfo:
    """The GPUs and streams in the tables TARGET_INFO_*."""

    def __init__(self, tables: Tables) -> None:
        gpu_info = _read_physical_gpus(tables)
        of_host: dict[int | None, list[_PhysicalGpu]] = defaultdict(list)
        for physical_gpu in gpu_info:
            of_host[physical_gpu.host].append(physical_gpu)
        self._every = _Set.of(gpu_info)
        self._on_host = {host: _Set.of(gpus) for host, gpus in of_host.items()}
        self._of_device = {
            (pid, device): number
            for number, device, pid in tables.records("TARGET_INFO_CUDA_DEVICE", "gpuId", "cudaId", "pid")
            if isinstance(number, int)
        }
        self._default, self._created, self._blocking = _read_streams(tables)
        self._ambiguous: set[tuple[int, int]] = set()

    def expect(self, devices: Sequence[tuple[int, int]], streams: Set[_StreamKey]) -> None:
        """Set the (globalPid, device ordinal) pairs and the streams that occur in the events.

        If several processes use the same ordinal and the file does not map them (CUDA_VISIBLE_DEVICES), the
        ordinal does not identify the physical GPU. If a context's created streams are listed and exactly one
        stream in use is not among them, that one is its default stream.
        """
        known = {(pid, context) for pid, context, _ in self._default}
        listed = {(pid, context) for pid, context, _ in self._created} - known
        uncreated = [stream for stream in streams - self._created if stream[:2] in listed]
        count = Counter(stream[:2] for stream in uncreated)
        self._default |= {stream for stream in uncreated if count[stream[:2]] == 1}
        unmapped = Counter(
            (host_of(process), device)
            for process, device in devices
            if (pid_of(process), device) not in self._of_device
        )
        self._ambiguous = {device for device, processes in unmapped.items() if processes > 1}

    def gpu(self, index: int, process: int, global_pid: int, device: int) -> Gpu:
        """Return the GPU of a device ordinal of a process; `process` is its index."""
        host, pid = host_of(global_pid), pid_of(global_pid)
        gpu_info = self._on_host.get(host, self._every)
        is_unique = len(gpu_info.all) == 1 or (host, device) not in self._ambiguous
        physical_gpu = self._physical_gpu(gpu_info, pid, device, is_unique=is_unique)
        if physical_gpu is not None:
            return Gpu(
                index,
                process,
                device,
                physical_gpu.name,
                physical_gpu.number,
                physical_gpu.bus,
                physical_gpu.sm_count,
                physical_gpu.memory_bytes,
            )
        return Gpu(index, process, device, gpu_info.model)

    def is_default_stream(self, pid: int, context: int, stream: int) -> bool:
        """Return whether a stream is its context's default stream."""
        return (pid, context, stream) in self._default

    def is_blocking_stream(self, pid: int, context: int, stream: int) -> bool:
        """Return whether the file says that a stream waits for its context's legacy default stream."""
        return (pid, context, stream) in self._blocking

    def _physical_gpu(self, gpu_info: _Set, pid: int, device: int, *, is_unique: bool) -> _PhysicalGpu | None:
        """Return a host's GPU by the file's map, else by the ordinal if `is_unique`; None if unknown."""
        if (pid, device) in self._of_device:
            return gpu_info.by_number.get(self._of_device[pid, device])
        if not is_unique:
            return None
        return (gpu_info.by_number if gpu_info.by_ordinal is None else gpu_info.by_ordinal).get(device)


def _read_physical_gpus(tables: Tables) -> list[_PhysicalGpu]:
    """Read the physical GPUs, without those that cannot be CUDA devices (no SMs)."""
    columns = ("vmId", "id", "name", "busLocation", "cuDevice", "smCount", "totalMemory")
    gpu_info = []
    for table in ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"):
        for vm, number, name, bus, *sizes in tables.records(table, *columns):
            if isinstance(number, int):
                host = host_of(vm) if isinstance(vm, int) else None
                gpu_info.append(
                    _PhysicalGpu(host, number, str(name or ""), str(bus or ""), *map(_whole, sizes))
                )
        if gpu_info:
            break
    able = [physical_gpu for physical_gpu in gpu_info if physical_gpu.sm_count]
    return able or gpu_info


def _read_streams(tables: Tables) -> tuple[set[_StreamKey], set[_StreamKey], set[_StreamKey]]:
    """Return the null streams of all contexts, all streams that the file lists, and the blocking ones."""
    default = set()
    for table, stream_column in (
        ("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"),
        ("TARGET_INFO_CUDA_NULL_STREAM", "streamId"),
    ):
        for pid, context, stream in tables.records(table, "processId", "contextId", stream_column):
            default.add((pid, context, stream))
    streams = tables.records("TARGET_INFO_CUDA_STREAM", "processId", "contextId", "streamId", "flag")
    flagged: dict[object, set[_StreamKey]] = defaultdict(set)
    for pid, context, stream, flag in streams:
        flagged[flag].add((pid, context, stream))
    default |= flagged[_NULL_STREAM]
    return default, {key for keys in flagged.values() for key in keys}, flagged[_BLOCKING_STREAM]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
