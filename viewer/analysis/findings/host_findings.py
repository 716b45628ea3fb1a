"""Findings about the host: it loads data, computes, waits, calls CUDA too slowly or too often."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from viewer.analysis.core.units import duration_text
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.idle_groups import POLLING, TIMES_LEAST, IdleGroup, idle_groups
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.replay.changes import Change, CloseHole, CloseRange, FreeLaunches, RemoveCall
from viewer.analysis.stalls.causes import (
    BY_PROFILER,
    HOST_CODE,
    LAUNCH_BOUND,
    NOT_KNOWN,
    ON_GPU_SIDE,
    SLOW_CALL,
    SYNCHRONISE,
    TAKEN_OFF,
    WAITING,
)
from viewer.trace import Kind

_LOADS = re.compile(r"(?i)data|load|fetch|batch")
_ALLOCATES = re.compile(r"(?:cuda|cu)(?:Malloc|Free|Mem(?:Alloc|Free|Create|Map|Unmap|Release|Host\w*))\w*")
_LOADS_CODE = re.compile(r"cu(?:Module|Library)\w*|cudaFuncGetAttributes\w*|\w*(?:LoadData|GetFunction)\w*")

_MOST_HOLES = 512
"""How many stalls are closed one by one at most."""

_ID = {
    WAITING: "host-waits",
    HOST_CODE: "host-code",
    TAKEN_OFF: "preempted",
    BY_PROFILER: "profiler",
    SLOW_CALL: "slow-call",
    SYNCHRONISE: "synchronise",
    POLLING: "polling",
    LAUNCH_BOUND: "launch-bound",
    ON_GPU_SIDE: "event-wait",
    NOT_KNOWN: "not-recorded",
}
_WHY = {
    WAITING: "while the host waits",
    HOST_CODE: "while the host computes",
    TAKEN_OFF: "while their launching threads are off the CPU",
    BY_PROFILER: "while the profiler works on the launching threads",
    POLLING: "while the host asks whether the GPU is done",
    LAUNCH_BOUND: "between launches that come too slowly",
    ON_GPU_SIDE: "for an event",
    NOT_KNOWN: "for a reason that was not recorded",
}
_NEXT = {
    WAITING: "Do this on another thread, before the GPUs run out of work",
    HOST_CODE: "Do this on another thread or on the GPU, or while kernels are queued",
    TAKEN_OFF: "Give each rank cores of its own (numactl, taskset); use fewer worker threads",
    BY_PROFILER: "This is not the job's: record fewer kinds of events, or flush less often",
    SYNCHRONISE: "Leave numbers on the GPU and read them every n-th iteration; copy with non_blocking",
    POLLING: "Let the stream wait for the event (cudaStreamWaitEvent) and launch on",
    LAUNCH_BOUND: "Put these launches into a CUDA graph, or fuse the kernels (torch.compile, foreach)",
    ON_GPU_SIDE: "Record the event earlier, or launch other work before the wait",
    NOT_KNOWN: "Record again with -t cuda,nvtx,osrt --cpuctxsw=process-tree",
}


def host_proposals(inputs: FindingInputs) -> Iterator[Proposal]:
    """Yield what the host makes the GPUs stand still for."""
    for group in idle_groups(inputs):
        place = ":".join(part for part in (group.call, group.range) if part)
        yield Proposal(
            f"{_ID[group.cause]}:{place}" if place else _ID[group.cause],
            _title(inputs, group),
            _what(group),
            group.gpus,
            inputs.longest(group.stalls),
            _evidence(inputs, group),
            _next(group),
            group.ceiling_ns,
            _changes(group),
            group.spans,
            times_least=TIMES_LEAST.get(group.cause, 1),
        )


def _changes(group: IdleGroup) -> tuple[Change, ...]:
    """Return what has to change so that the GPUs do not stand still."""
    if group.cause == ON_GPU_SIDE:
        return ()
    if group.cause in (SLOW_CALL, SYNCHRONISE):
        return (RemoveCall(group.call),) if group.call else ()
    closed = _closed(group)
    if group.cause == POLLING:
        return (*closed, RemoveCall(group.call))
    return (*closed, FreeLaunches()) if group.cause == LAUNCH_BOUND else closed


def _closed(group: IdleGroup) -> tuple[Change, ...]:
    """Return what closes the stalls: their range if it says where to mend, else each of the longest ones."""
    if group.has_own_range:
        return (CloseRange(group.range),)
    stalls = group.stalls.nlargest(_MOST_HOLES, "duration_ns")
    columns = (stalls[name].to_numpy().tolist() for name in ("gpu", "start_ns", "end_ns"))
    return tuple(CloseHole(*hole) for hole in zip(*columns, strict=True))


def _title(inputs: FindingInputs, group: IdleGroup) -> str:
    who = inputs.who(group.gpus)
    verb = "stands still" if len(group.gpus) == 1 else "stand still"
    subject = f"{who[:1].upper()}{who[1:]} {verb}"
    where = f" in {group.range}" if group.range else ""
    if _is_loading(group):
        return f"{subject} while the next batch is loaded"
    if group.cause in (SLOW_CALL, SYNCHRONISE):
        how = "behind" if group.cause == SYNCHRONISE else "during"
        return f"{subject} {how} {group.call or 'a call'}{where}"
    return f"{subject} {_WHY[group.cause]}{where}"


def _is_loading(group: IdleGroup) -> bool:
    return group.cause in (WAITING, HOST_CODE) and bool(_LOADS.search(group.range))


def _what(group: IdleGroup) -> str:
    median = int(np.median(group.ceiling_ns))
    return f"idle for {duration_text(median)}, in {_stalls(group)} of a GPU"


def _stalls(group: IdleGroup) -> str:
    return f"{group.count:,} stall{'s' * (group.count != 1)}"


def _evidence(inputs: FindingInputs, group: IdleGroup) -> str:
    median = np.median(group.per_unit_ns, axis=1)
    low, high = duration_text(float(median.min())), duration_text(float(median.max()))
    parts = [group.range] if group.range else []
    each = " on every GPU" if len(median) == len(inputs.trace.gpus) > 1 else ""
    parts.append(f"{low if low == high else f'{low} to {high}'}{each}")
    if group.cause == WAITING and (call := _os_call(inputs, group)):
        parts.append(f"asleep in {call}")
    if group.cause in (LAUNCH_BOUND, POLLING, SYNCHRONISE):
        parts.append(f"{_stalls(group)} of a GPU each iteration" if inputs.used else f"{group.count:,}")
    return ", ".join(parts)


def _os_call(inputs: FindingInputs, group: IdleGroup) -> str:
    """Return the call of the operating system that most of the time was spent in, "" for none."""
    time = group.stalls.groupby("os_call")["duration_ns"].sum()
    time = time[time.index >= 0]
    if not len(time):
        return ""
    index = time.index.to_numpy(np.int64)
    ids = inputs.trace.events[Kind.OSRT].name_id[index]
    totals = np.bincount(ids, time.to_numpy())
    return inputs.trace.names[int(totals.argmax())]


def _next(group: IdleGroup) -> str:
    if _is_loading(group):
        return "Load the next batch in advance: num_workers, prefetch_factor, pin_memory, non_blocking copies"
    if group.cause != SLOW_CALL:
        return _NEXT[group.cause]
    if _ALLOCATES.fullmatch(group.call):
        return "Allocate once, before the iterations; let a caching allocator keep the memory"
    if _LOADS_CODE.fullmatch(group.call):
        return "Load the code before the iterations: CUDA_MODULE_LOADING=EAGER, or a warm-up"
    return "Call it before the iterations, or less often"
