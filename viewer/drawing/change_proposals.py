"""Which changes can be tried on what is selected: each with the words of its command (no Qt)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from viewer.analysis.collectives.collective_kinds import CollectiveKind, collective_kind
from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.dependencies.graph import EdgeKind
from viewer.analysis.replay.changes import (
    Change,
    CloseHole,
    CloseIdle,
    CloseRange,
    FlattenRanks,
    FreeCall,
    FreeLaunches,
    Hide,
    NoWait,
    RemoveCall,
    RemoveCopies,
    Scale,
)
from viewer.analysis.study import Study
from viewer.drawing.event_waits import EventWait
from viewer.drawing.format import shortened
from viewer.rows import EventRef
from viewer.trace import Kind
from viewer.trace.names import base_name

FACTORS = (0.9, 0.8, 0.5, 0.0)
"""What kernels are offered to last, as a factor; any other can be typed."""
_NAME_CHARS = 40
_COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change, and what its command is called; of a `Scale` the factor is chosen afterwards."""

    text: str
    change: Change

    @property
    def is_scale(self) -> bool:
        """Whether a factor is to be chosen."""
        return isinstance(self.change, Scale)


def for_event(study: Study, ref: EventRef) -> list[Proposal]:
    """Return the changes that concern an event: its kernel, its class, its call, its copies, its range."""
    return list(_for_event(study, ref))


def _for_event(study: Study, ref: EventRef) -> Iterator[Proposal]:
    trace = study.trace
    name_id = int(trace.events[ref.kind].name_id[ref.index])
    name = trace.names[name_id]
    match ref.kind:
        case Kind.KERNEL:
            kind = collective_kind(name)
            if study.classes.class_name(name_id) != "communication":
                pattern, of_class = base_name(name), study.classes.class_name(name_id)
                yield Proposal(f"{shortened(pattern, _NAME_CHARS)} lasts", Scale(pattern, 1.0))
                yield Proposal(
                    f"All of class {CLASS_LABELS.get(of_class, of_class)} last", Scale(of_class, 1.0)
                )
            elif kind != "other":
                yield from for_collective(kind)
            else:
                pattern = base_name(name)
                yield Proposal(f"{shortened(pattern, _NAME_CHARS)} lasts", Scale(pattern, 1.0))
        case Kind.MEMCPY:
            copy_kind = _COPY_KINDS.get(int(trace.events[ref.kind].columns["copy_kind"][ref.index]))
            if copy_kind is not None:
                yield Proposal(f"No {copy_kind} copies before the first kernel", RemoveCopies(copy_kind))
        case Kind.API:
            yield Proposal("This call takes no time", FreeCall(ref.index))
            yield Proposal(f"Every {shortened(name, _NAME_CHARS)} takes no time", RemoveCall(name))
        case Kind.NVTX if name:
            yield Proposal(f"No host time in {shortened(name, _NAME_CHARS)}", CloseRange(name))


def for_collective(kind: CollectiveKind) -> Iterator[Proposal]:
    """Yield the changes that concern the collectives of a kind."""
    yield Proposal(f"Transfers of {kind} last", Scale(kind, 1.0))
    yield Proposal(f"{kind} transfers in no time", Hide(kind))
    yield Proposal(f"No stream waits for {kind}", NoWait(kind))


def for_wait(study: Study, wait: EventWait) -> Proposal | None:
    """Return the change that drops a wait for a collective and those like it, None for another wait."""
    if wait.waited.kind is not EdgeKind.EVENT:
        return None
    graph = study.dependencies
    of_set = int(graph.set_of[wait.waited.binder])
    kind = study.collectives.groups[int(graph.sets.group[of_set])].kind if of_set >= 0 else "other"
    if kind == "other":
        return None
    call = int(graph.operations.call[graph.operations.number_of(wait.event.kind, wait.event.index)])
    inside = _range_around(study, call) if call >= 0 else ""
    return Proposal("This wait dropped, and its like", NoWait(kind, inside or None))


def for_stall(study: Study, marker: int, number: int) -> list[Proposal]:
    """Return the changes that concern a stall of a GPU."""
    row = study.stalls(marker).table.iloc[number]
    if row["kind"] != "idle":
        return []
    gpu = int(row["gpu"])
    hole = CloseHole(gpu, int(row["start_ns"]), int(row["end_ns"]))
    return [Proposal("Close this hole", hole), *_idle_of(study, gpu)]


def for_range(study: Study, gpu: int, start_ns: int, end_ns: int) -> list[Proposal]:
    """Return the change that closes a selected range of a rank."""
    place = study.trace.process_label(study.trace.gpus[gpu].process)
    return [Proposal(f"Close the selected time on {place}", CloseHole(gpu, start_ns, end_ns))]


def for_gpu(study: Study, gpu: int) -> list[Proposal]:
    """Return the changes that concern a rank."""
    return [*_idle_of(study, gpu), *general(study)[:1]]


def general(study: Study) -> list[Proposal]:
    """Return the changes that concern the whole job."""
    found = [Proposal("Ranks flattened", FlattenRanks())] if len(study.trace.gpus) > 1 else []
    found.append(Proposal("Idle closed on all ranks", CloseIdle()))
    found.append(Proposal("Launches free", FreeLaunches()))
    # Only what is known already: a menu that is to open does not wait for the matching.
    known: Collectives | None = study.__dict__.get("collectives")
    groups = known.groups if known is not None else ()
    kinds = dict.fromkeys(group.kind for group in groups if group.kind != "other")
    found += [Proposal(f"{kind} transfers in no time", Hide(kind)) for kind in kinds]
    return found


def _idle_of(study: Study, gpu: int) -> list[Proposal]:
    rank = study.trace.processes[study.trace.gpus[gpu].process].rank
    return [] if rank is None else [Proposal(f"Idle closed on rank {rank}", CloseIdle(rank))]


def _range_around(study: Study, call: int) -> str:
    """Return the innermost NVTX range around a call on its own thread, "" without one."""
    trace = study.trace
    thread, at = trace.api.owner_of(call), int(trace.api.start_ns[call])
    best, name = -1, ""
    for track in trace.tracks:
        if track.thread != thread:
            continue
        rows = trace.nvtx.of(track.index)
        before = np.flatnonzero((trace.nvtx.start_ns[rows] <= at) & (trace.nvtx.end_ns[rows] > at))
        # The last to begin of those that are open is the innermost.
        if len(before) and int(trace.nvtx.start_ns[rows][before[-1]]) > best:
            best = int(trace.nvtx.start_ns[rows][before[-1]])
            name = trace.names[int(trace.nvtx.name_id[rows][before[-1]])]
    return name
