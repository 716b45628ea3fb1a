"""What changes to the host do: time of a thread is cut, calls no longer wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.launches.attribution import MARK
from viewer.analysis.launches.blocking_calls import plain_call
from viewer.analysis.replay.changes import ChangeError, CloseHole, CloseIdle, CloseRange, FreeCall, RemoveCall
from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.inputs import Replay, numbers_of
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers

MIN_HOLE_NS = 10_000
"""Shorter idle times are no stalls (docs/definitions.md, section 7)."""
_LISTED = 8


def named_ranges(replay: Replay, name: str) -> dict[int, Intervals]:
    """Return when each thread is inside NVTX ranges of a name; threads without one are left out.

    Raises
    ------
    ChangeError
        If no range has this name.
    """
    trace = replay.inputs.trace
    nvtx = trace.nvtx
    is_range = nvtx.columns["event_type"] != MARK if len(nvtx) else np.zeros(0, bool)
    used = np.unique(nvtx.name_id[is_range])
    texts = zip(used.tolist(), trace.names.take(used), strict=True)
    ids = [i for i, text in texts if name in (text, normalise_numbers(text))]
    if not ids:
        length = np.zeros(len(trace.names), np.int64)
        np.add.at(length, nvtx.name_id[is_range], (nvtx.end_ns - nvtx.start_ns)[is_range])
        by_text: dict[str, int] = defaultdict(int)
        for i, text in zip(used.tolist(), trace.names.take(used), strict=True):
            by_text[normalise_numbers(text)] += int(length[i])
        longest = sorted(by_text, key=lambda text: -by_text[text])
        raise ChangeError(_nothing("NVTX range", name, longest))
    found: dict[int, Intervals] = {}
    for track in trace.tracks:
        rows = nvtx.of(track.index)
        of_name = is_range[rows] & np.isin(nvtx.name_id[rows], ids)
        if of_name.any():
            here = union(nvtx.start_ns[rows][of_name], nvtx.end_ns[rows][of_name])
            before = found.get(track.thread)
            found[track.thread] = here if before is None else before | here
    return found


def _nothing(what: str, asked: str, there: list[str]) -> str:
    if not there:
        return f"there is no {what} {asked!r}: the trace has none"
    more = f" and {len(there) - _LISTED:,} more" if len(there) > _LISTED else ""
    return f"there is no {what} {asked!r}; there are {', '.join(there[:_LISTED])}{more}"


def close_range(replay: Replay, effects: Effects, change: CloseRange) -> Effects:
    """Cut the time of the ranges' threads that lies in no CUDA call."""
    for thread, ranges in named_ranges(replay, change.name).items():
        effects = _cut_outside_calls(replay, effects, thread, ranges)
    return effects


def close_idle(replay: Replay, effects: Effects, change: CloseIdle) -> Effects:
    """Cut the time of the launching threads that lies in no CUDA call while their GPU is idle."""
    trace = replay.inputs.trace
    gpus = [
        gpu.index
        for gpu in trace.gpus
        if change.rank is None or trace.processes[gpu.process].rank == change.rank
    ]
    if not gpus:
        ranks = sorted({p.rank for p in trace.processes if p.rank is not None})
        there = f"there are {', '.join(map(str, ranks))}" if ranks else "the ranks are not known"
        raise ChangeError(f"there is no rank {change.rank} with a GPU; {there}")
    for gpu in gpus:
        idle = replay.inputs.parts[gpu].intervals("idle")
        long = idle.lengths >= MIN_HOLE_NS
        effects = _close(replay, effects, gpu, Intervals(idle.start_ns[long], idle.end_ns[long]))
    return effects


def close_holes(replay: Replay, effects: Effects, holes: Sequence[CloseHole]) -> Effects:
    """Cut the time of the launching threads that lies in no CUDA call during some stalls."""
    # GPU by GPU, not hole by hole: each time all calls of a thread are looked at.
    for gpu in sorted({hole.gpu for hole in holes}):
        own = [(hole.start_ns, hole.end_ns) for hole in holes if hole.gpu == gpu]
        effects = _close(replay, effects, gpu, union(*np.array(own, np.int64).T))
    return effects


def _close(replay: Replay, effects: Effects, gpu: int, holes: Intervals) -> Effects:
    """Cut time in holes of a GPU: of the thread that launched the operation after each."""
    network, order = replay.network, replay.inputs.order_of(gpu)
    if not len(holes) or not len(order) or not len(network.hosts):
        return effects
    after = np.searchsorted(order.start_ns, holes.end_ns, side="left")
    numbers = numbers_of(network, order, slice(0, len(order)))[np.minimum(after, len(order) - 1)]
    call = network.operations.call[numbers]
    known = (after < len(order)) & (call >= 0)
    thread = network.hosts.thread[network.hosts.outer_of[call]]
    for one in np.unique(thread[known]).tolist():
        of_thread = known & (thread == one)
        inside = Intervals(holes.start_ns[of_thread], holes.end_ns[of_thread])
        effects = _cut_outside_calls(replay, effects, one, inside)
    return effects


def _cut_outside_calls(replay: Replay, effects: Effects, thread: int, within: Intervals) -> Effects:
    hosts = replay.network.hosts
    own = slice(*np.searchsorted(hosts.thread, [thread, thread + 1]))
    left = within - union(hosts.start_ns[own], hosts.end_ns[own])
    return effects.cut(thread, left.start_ns, left.end_ns)


def remove_call(replay: Replay, effects: Effects, change: RemoveCall) -> Effects:
    """Cut the time of all calls of a name, which no longer wait for anything."""
    trace = replay.inputs.trace
    used = np.unique(trace.api.name_id)
    spellings = {i: trace.names[i] for i in used.tolist()}
    wanted = plain_call(change.name)
    ids = [i for i, name in spellings.items() if change.name == name or wanted == plain_call(name)]
    if not ids:
        count = np.bincount(trace.api.name_id, minlength=len(trace.names))
        there = dict.fromkeys(
            plain_call(spellings[i]) for i in used[np.argsort(-count[used], kind="stable")].tolist()
        )
        raise ChangeError(_nothing("CUDA call", change.name, list(there)))
    return free_calls(replay, effects, np.flatnonzero(np.isin(trace.api.name_id, ids)))


def free_call(replay: Replay, effects: Effects, change: FreeCall) -> Effects:
    """Cut the time of one call, which no longer waits for anything."""
    return free_calls(replay, effects, np.array([change.call]))


def free_calls(replay: Replay, effects: Effects, calls: npt.NDArray[np.integer]) -> Effects:
    """Cut the time of some calls, indices into ``trace.api``, which no longer wait for anything."""
    hosts, api = replay.network.hosts, replay.inputs.trace.api
    outer = hosts.outer_of[calls]
    freed = effects.freed.copy()
    freed[outer] = True
    return _cut_calls(
        replace(effects, freed=freed), hosts.thread[outer], api.start_ns[calls], api.end_ns[calls]
    )


def free_launches(replay: Replay, effects: Effects) -> Effects:
    """Cut the time of all calls that launch, but of those that wait for the GPU."""
    network = replay.network
    hosts, call = network.hosts, network.operations.call
    launches = np.zeros(len(hosts), bool)
    launches[hosts.outer_of[call[call >= 0]]] = True
    launches[network.anchors.point[network.anchors.returns()] // 2] = False
    outer = np.flatnonzero(launches)
    if not len(outer):
        raise ChangeError("no call of the trace launches: its launch records are missing")
    return _cut_calls(effects, hosts.thread[outer], hosts.start_ns[outer], hosts.end_ns[outer])


def _cut_calls(effects: Effects, thread: npt.NDArray[np.int32], start: Int64, end: Int64) -> Effects:
    for one in np.unique(thread).tolist():
        effects = effects.cut(one, start[thread == one], end[thread == one])
    return effects
