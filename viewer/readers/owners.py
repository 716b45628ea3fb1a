"""The owners of events: processes and their ranks, GPUs, streams, threads, NVTX tracks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from viewer.readers.gpu_info import GpuInfo
from viewer.readers.metadata import FileMetadata
from viewer.readers.raw_events import PROCESS_MASK, UNIFIED_MEMORY, Key, RawEvents, pid_of
from viewer.trace.events import GPU_KINDS, Kind
from viewer.trace.model import GUESSED_RANK, UNIFIED_NAME, Gpu, Process, Stream, Thread, Track

_LAUNCH = re.compile(r"^(cuda|cu)(Graph)?Launch")
_MPI_RANK = re.compile(r"\bMPI Rank (\d+)\b")
_NO_RANK = (2**31, "")
_BACKGROUND = (Kind.ON_CPU, Kind.OVERHEAD)


@dataclass
class Owners:
    """The owners of all events, and the index of each by its key in the file."""

    processes: list[Process] = field(default_factory=list)
    gpus: list[Gpu] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    index: dict[str, dict[Key, int]] = field(default_factory=dict)

    def owner(self, kind: Kind, key: Key) -> int | None:
        """Return the index of the owner of a table's events, None if it is not shown."""
        if kind in GPU_KINDS:
            return self.index["stream"].get(key)
        if kind is Kind.SYNC:
            return self.index["process"].get(key)
        return self.index["track" if kind is Kind.NVTX else "thread"].get(key)

    def owners(self, kind: Kind) -> int:
        """Return how many owners a table's events can have."""
        if kind in GPU_KINDS:
            return len(self.streams)
        if kind is Kind.SYNC:
            return len(self.processes)
        return len(self.tracks if kind is Kind.NVTX else self.threads)


def identify(
    tables: Mapping[Kind, RawEvents],
    facts: FileMetadata,
    gpu_info: GpuInfo,
    domains: Mapping[tuple[int, int], str],
    call_name: Mapping[int, str],
) -> Owners:
    """Return the owners of the events.

    A process is shown if it has events besides context switches and profiler overhead: a recording of the
    whole machine contains those for thousands of processes. If no process has others, all are shown.

    Parameters
    ----------
    tables : mapping of Kind to RawEvents
    facts, gpu_info : what the file says about processes, threads and GPUs
    domains : mapping of (globalPid, domain id) to str
    call_name : mapping of int to str
        The names of API calls by provisional id; names that are certainly no launches may be missing.
    """
    result = Owners()
    processes = _processes(tables)
    workers = _workers(tables, processes, call_name)
    ranks = _ranks(processes, workers, facts)
    # Workers first, by rank, then by id. Ids are unsigned in the file and read as signed: the mask undoes it.
    processes.sort(key=lambda p: (p not in workers, ranks.get(p, _NO_RANK)[0], p & (2**64 - 1)))
    for index, global_pid in enumerate(processes):
        pid = pid_of(global_pid)
        name = facts.process_name(global_pid)
        rank, rank_from = ranks.get(global_pid, (None, ""))
        result.processes.append(Process(index, pid, name, rank, global_pid, rank_from))
    of_process = {p: i for i, p in enumerate(processes)}
    result.index["process"] = {(p,): i for p, i in of_process.items()}
    _add_gpus(result, tables, gpu_info, of_process)
    _add_threads(result, tables, facts, of_process)
    _add_tracks(result, tables[Kind.NVTX], domains)
    return result


def _processes_of(kind: Kind, raw: RawEvents) -> Iterable[int]:
    on_thread = kind not in GPU_KINDS and kind is not Kind.SYNC
    return {key[0] & PROCESS_MASK if on_thread else key[0] for key in raw.owners}


def _processes(tables: Mapping[Kind, RawEvents]) -> list[int]:
    of_kind = {kind: set(_processes_of(kind, raw)) for kind, raw in tables.items()}
    # Context switches and overhead name every process of the machine: they alone make no process of the job.
    shown = set().union(*(of_kind[kind] for kind in of_kind if kind not in _BACKGROUND))
    return list(shown or set().union(*of_kind.values()))


def _workers(
    tables: Mapping[Kind, RawEvents], processes: Iterable[int], call_name: Mapping[int, str]
) -> set[int]:
    """Return the processes that use a GPU: with operations, or with launches whose operations are lost."""
    workers = {key[0] for kind in GPU_KINDS for key in tables[kind].owners}
    api = tables[Kind.API]
    launches = [name for name, text in call_name.items() if _LAUNCH.match(text)]
    # A process whose GPU rows were lost still counts: it must not vanish from the ranks.
    launching = np.unique(api.owner[np.isin(api.name, launches)]).tolist()
    return workers | {api.owners[owner][0] & PROCESS_MASK for owner in launching} & set(processes)


def _ranks(processes: list[int], workers: set[int], facts: FileMetadata) -> dict[int, tuple[int, str]]:
    """Return each process's rank and its source: MPI, the environment, else the order of the workers' pids.

    MPI's ranks are used if no two workers have the same one (two jobs in one recording would repeat them);
    a worker without an MPI rank then has no rank.
    """
    named: dict[int, tuple[int, str]] = {}
    for global_tid, text in facts.thread_names.items():
        if match := _MPI_RANK.search(text):
            named[global_tid & PROCESS_MASK] = int(match[1]), "NVTX"
    named |= {process: (rank, "MPI_RANKS") for process, rank in facts.mpi_ranks.items()}
    of_workers = [named[process][0] for process in processes if process in named and process in workers]
    taken = set(of_workers)
    if len(taken) == len(of_workers) and (of_workers or not workers):
        # Processes that are no workers keep their MPI rank only if it is unique among all.
        others = Counter(named[p][0] for p in processes if p in named and p not in workers)
        return {
            p: named[p]
            for p in processes
            if p in named and (p in workers or (named[p][0] not in taken and others[named[p][0]] == 1))
        }
    # The environment in the file is that of one process: with several workers it names none of them.
    if len(workers) == 1:
        return dict.fromkeys(workers, facts.environment_rank) if facts.environment_rank else {}
    by_pid = sorted(workers, key=lambda p: p & (2**64 - 1))
    return {process: (rank, GUESSED_RANK) for rank, process in enumerate(by_pid)}


def _add_gpus(
    result: Owners, tables: Mapping[Kind, RawEvents], gpu_info: GpuInfo, of_process: Mapping[int, int]
) -> None:
    # Streams that hold something: nsys lists others too, and an empty row says nothing.
    keys = {key for kind in GPU_KINDS for key in tables[kind].owners}
    # By process, then device ordinal: a process's GPUs get consecutive indices, and so do a GPU's streams.
    devices = sorted({(of_process[k[0]], k[1], k[0]) for k in keys})
    gpu_info.expect([(p, device) for _, device, p in devices], {(pid_of(k[0]), k[2], k[3]) for k in keys})
    gpu_index: dict[tuple[int, int], int] = {}
    for index, (process, device, global_pid) in enumerate(devices):
        result.gpus.append(gpu_info.gpu(index, process, global_pid, device))
        gpu_index[global_pid, device] = index
    result.index["stream"] = {}
    for key in sorted(keys, key=lambda k: (gpu_index[k[0], k[1]], k[2], k[3])):
        global_pid, device, context, stream = key
        index = len(result.streams)
        is_default = gpu_info.is_default_stream(pid_of(global_pid), context, stream)
        name = UNIFIED_NAME if (context, stream) == UNIFIED_MEMORY else ""
        is_blocking = gpu_info.is_blocking_stream(pid_of(global_pid), context, stream)
        result.streams.append(
            Stream(index, gpu_index[global_pid, device], context, stream, is_default, name, is_blocking)
        )
        result.index["stream"][key] = index


def _add_threads(
    result: Owners, tables: Mapping[Kind, RawEvents], facts: FileMetadata, of_process: Mapping[int, int]
) -> None:
    kinds = (Kind.API, Kind.OSRT, Kind.ON_CPU, Kind.OVERHEAD, Kind.NVTX)
    # A thread exists where it has events; NVTX alone is enough.
    ids = {key[0] for kind in kinds for key in tables[kind].owners}
    ids = {global_tid for global_tid in ids if global_tid & PROCESS_MASK in of_process}

    # By process, its main thread first: `EventSorter.settle_calls` expects the same order within a process.
    def order(global_tid: int) -> tuple[int, bool, int]:
        tid = global_tid & 0xFFFFFF
        return of_process[global_tid & PROCESS_MASK], tid != pid_of(global_tid), tid

    result.index["thread"] = {}
    for index, global_tid in enumerate(sorted(ids, key=order)):
        process = of_process[global_tid & PROCESS_MASK]
        name = facts.thread_names.get(global_tid, "")
        result.threads.append(Thread(index, process, global_tid & 0xFFFFFF, name))
        result.index["thread"][global_tid,] = index


def _add_tracks(result: Owners, nvtx: RawEvents, domains: Mapping[tuple[int, int], str]) -> None:
    of_thread = result.index["thread"]

    # Two domain ids of a process may have the same name: their rows form one track.
    def track_of(key: Key) -> tuple[int, str, bool]:
        global_tid, domain, overlapping = key
        name = domains.get((global_tid & PROCESS_MASK, domain), f"domain {domain}") if domain else ""
        return of_thread[global_tid,], name, bool(overlapping)

    index: dict[tuple[int, str, bool], int] = {}
    for track in sorted({track_of(key) for key in nvtx.owners if (key[0],) in of_thread}):
        index[track] = len(result.tracks)
        result.tracks.append(Track(len(result.tracks), *track))
    result.index["track"] = {key: index[track_of(key)] for key in nvtx.owners if (key[0],) in of_thread}
