"""The pieces of a critical path as a table, for lists and sums."""

from __future__ import annotations

import numpy as np
import pandas as pd

from viewer.analysis.iterations.phases import OWN_IN_BACKWARD, Phases
from viewer.analysis.replay.critical_path import PIECE_KINDS, SUMS, CriticalPath
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.stalls.host_time import Hosts
from viewer.trace import Kind, Thread
from viewer.trace.events import Int64

CLASS_OF_KIND = {kind: key.removesuffix("_ns") for key, kinds in SUMS.items() for kind in kinds}
"""The part of the path that each kind of piece is: compute, communication, copy, host, gap."""


def path_table(replay: Replay, path: CriticalPath, phases: Phases | None = None) -> pd.DataFrame:
    """Return one row per piece of a critical path, in order of time.

    Returns
    -------
    DataFrame
        `process`, `gpu` (indices into the trace; -1 on the host), `rank` ("Rank 3", or the process),
        `where` (stream or thread), `part` (compute, communication, copy, host, gap), `kind`, `name` (of the
        operation, to which a gap leads, or of the call; of host code the innermost range around it),
        `class` (of kernels), `phase` (of kernels, "" where it is not known), `operation`, `call` (as in
        `CriticalPath`), `start_ns`, `end_ns`, `duration_ns`.
    """
    trace, network = replay.inputs.trace, replay.network
    on_gpu = path.operation >= 0
    # The rest, where the path came to nothing that is known, is nowhere.
    on_host = path.call >= 0
    stream = (
        np.where(on_gpu, network.operations.stream[path.operation], -1) if len(network.operations) else -1
    )
    stream = np.broadcast_to(stream, len(path))
    thread = np.full(len(path), -1, np.int64)
    thread[on_host] = np.searchsorted(trace.api.offsets, path.call[on_host], side="right") - 1
    gpu = [trace.streams[s].gpu if s >= 0 else -1 for s in stream.tolist()]
    process = [
        trace.gpus[g].process if g >= 0 else trace.threads[t].process if t >= 0 else -1
        for g, t in zip(gpu, thread.tolist(), strict=True)
    ]
    where = [
        f"Stream {trace.streams[s].label}" if s >= 0 else _thread_label(trace.threads[t]) if t >= 0 else ""
        for s, t in zip(stream.tolist(), thread.tolist(), strict=True)
    ]
    kinds = [PIECE_KINDS[k] for k in path.kind.tolist()]
    names, classes = _names(replay, path, thread)
    return pd.DataFrame(
        {
            "process": np.array(process, np.int32),
            "gpu": np.array(gpu, np.int32),
            "rank": [trace.process_label(p) if p >= 0 else "" for p in process],
            "where": where,
            "part": [CLASS_OF_KIND[kind] for kind in kinds],
            "kind": kinds,
            "name": names,
            "class": classes,
            "phase": _phases(replay, path, phases),
            "operation": path.operation,
            "call": path.call,
            "start_ns": path.start_ns,
            "end_ns": path.end_ns,
            "duration_ns": path.end_ns - path.start_ns,
        }
    )


def _thread_label(thread: Thread) -> str:
    return thread.name or f"thread {thread.tid}"


def _names(replay: Replay, path: CriticalPath, thread: Int64) -> tuple[list[str], list[str]]:
    """Return the name and the kernel class of each piece."""
    trace, classes = replay.inputs.trace, replay.inputs.classes
    names, of_class = [""] * len(path), [""] * len(path)
    for piece in np.flatnonzero(path.operation >= 0).tolist():
        kind, index = replay.network.operations.event_of(int(path.operation[piece]))
        name = int(trace.events[kind].name_id[index])
        names[piece] = trace.names[name]
        if kind is Kind.KERNEL:
            of_class[piece] = classes.class_name(name)
    is_code = path.kind == PIECE_KINDS.index("host code")
    for piece in np.flatnonzero((path.call >= 0) & ~is_code).tolist():
        names[piece] = trace.names[int(trace.api.name_id[path.call[piece]])]
    _name_code(replay, path, thread, np.flatnonzero(is_code), names)
    return names, of_class


def _name_code(replay: Replay, path: CriticalPath, thread: Int64, pieces: Int64, names: list[str]) -> None:
    """Name host code by the innermost range around it, by when it was recorded."""
    trace, hosts = replay.inputs.trace, replay.network.hosts
    calls = hosts.outer_of[path.call[pieces]]
    # A replay with changes moves and shortens it: ranges are where they were recorded.
    until = hosts.start_ns[calls]
    since = np.where(hosts.is_first[calls], until - 1, hosts.end_ns[calls - 1])
    of_threads = Hosts(replay.inputs.launches)
    for one in np.unique(thread[pieces]).tolist():
        own = np.flatnonzero(thread[pieces] == one)
        inside = of_threads.inside(one, since[own], np.maximum(until[own], since[own] + 1))
        for piece, found in zip(pieces[own].tolist(), inside.tolist(), strict=True):
            if found >= 0:
                names[piece] = trace.names[int(trace.nvtx.name_id[found])]


def _phases(replay: Replay, path: CriticalPath, phases: Phases | None) -> list[str]:
    """Return the phase of each piece's kernel, "" where it is not known."""
    if phases is None:
        return [""] * len(path)
    place = np.full(len(replay.inputs.trace.kernels), -1, np.int64)
    shown = [phase for phase in phases.phases if phase.name != OWN_IN_BACKWARD]
    for number, phase in enumerate(shown):
        for kernels in phase.kernels:
            place[kernels] = number
    # Kernels come first among the operations: the number of one is its index.
    is_kernel = (path.operation >= 0) & (path.operation < len(place))
    found = np.full(len(path), -1, np.int64)
    found[is_kernel] = place[path.operation[is_kernel]]
    return [shown[number].name if number >= 0 else "" for number in found.tolist()]
