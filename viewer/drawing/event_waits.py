"""What an event waited for, in words and with the places to draw a line between (no Qt)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from viewer.analysis.collectives.match import CollectiveGroup
from viewer.analysis.collectives.stream_uses import stream_uses
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.dependencies.waited import Waited, awaited_event, waited_of_call, waited_of_operation
from viewer.analysis.study import Study
from viewer.drawing.format import format_ns
from viewer.rows import EventRef
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.names import short_name

Fill = Literal["waiting", "exposed", "compute", "copy", "host", "lag"]
"""What a part of a wait is painted as."""

GRADES = {
    Grade.PROVEN: "proven",
    Grade.HANDLE: "by handle",
    Grade.TIMING: "by timing",
    Grade.UNKNOWN: "unknown",
}
_BY = {
    EdgeKind.LAUNCH: "its launch call",
    EdgeKind.STREAM: "order on its stream",
    EdgeKind.EVENT: "a wait for an event",
    EdgeKind.GRAPH: "one launch of a graph",
    EdgeKind.QUEUE: "one hardware queue",
    EdgeKind.DEFAULT_STREAM: "the legacy default stream",
    EdgeKind.RETURN: "the call returns after it",
}
_LAGS = {
    EdgeKind.LAUNCH: "from the call to the start",
    EdgeKind.EVENT: "event and launch of this {}",
    EdgeKind.RETURN: "until the call returned",
}
_MOST_RANKS = 8


@dataclass(frozen=True, slots=True)
class WaitPart:
    """A part of a wait: what it is painted as, what it was, and how long."""

    fill: Fill
    text: str
    ns: int


@dataclass(frozen=True, slots=True)
class WaitStep:
    """A step of a chain of waits: an event, in two lines."""

    event: EventRef
    fill: Fill
    title: str
    about: str


@dataclass(frozen=True, slots=True)
class EventWait:
    """What one event waited for.

    Attributes
    ----------
    event : EventRef
        Whose wait it is.
    waited : Waited
    parts : tuple of WaitPart
        They sum to the wait.
    steps : tuple of WaitStep
        From the first cause that is known to the event itself, three at most.
    grade, by : str
        How the edge is known, and what the edge is.
    gpu, other_gpu : int or None
        Of the event, and of what it waited for in the end: the rank that came last, else the binder.
    from_ns, at_ns : int
        From when what it waited for ran, and the instant at which the other GPU lets it go on.
    mark : str
        "3.864 ms for Rank 5", "1.918 ms for ReduceScatter".
    """

    event: EventRef
    waited: Waited
    parts: tuple[WaitPart, ...]
    steps: tuple[WaitStep, ...]
    grade: str
    by: str
    gpu: int | None
    other_gpu: int | None
    from_ns: int
    at_ns: int
    mark: str


def event_wait(study: Study, ref: EventRef) -> EventWait | None:
    """Return what an operation or a call waited for, None where that is not known; slow at first."""
    graph, api = study.dependencies, study.trace.api
    if ref.kind in GPU_KINDS:
        number = graph.operations.number_of(ref.kind, ref.index)
        waited = waited_of_operation(graph, api, number)
    elif ref.kind is Kind.API:
        waited = waited_of_call(graph, api, ref.index)
    else:
        return None
    return _Words(study, ref, waited).wait() if waited is not None and waited.length_ns else None


class _Words:
    def __init__(self, study: Study, ref: EventRef, waited: Waited) -> None:
        self._study, self._ref, self._waited = study, ref, waited
        self._graph = study.dependencies
        self._is_launch = waited.kind is EdgeKind.LAUNCH

    def wait(self) -> EventWait:
        waited, ops = self._waited, self._graph.operations
        gpu = self._gpu(self._ref)
        begun = waited.since_ns + waited.to_begin_ns
        other, at = None, begun + waited.arrival_ns
        if waited.last >= 0:
            other, at = self._gpu(self._event(waited.last)), int(ops.start_ns[waited.last])
        elif not self._is_launch:
            other = self._gpu(self._event(waited.binder))
        return EventWait(
            self._ref, waited, tuple(self._parts()), tuple(self._steps()),
            GRADES[waited.grade], self._by(), gpu, other, begun, at, self._mark(),
        )  # fmt: skip

    def _by(self) -> str:
        """Return what the edge is; of an event its number and sync id, by which the file has it."""
        waited, ops = self._waited, self._graph.operations
        if waited.kind is EdgeKind.EVENT:
            number = ops.number_of(self._ref.kind, self._ref.index)
            ids = awaited_event(self._graph, self._study.trace, number, waited.binder)
            if ids is not None:
                event, sync = ids
                return f"event {event}, sync id {sync}" if sync else f"event {event}, no sync id"
        return _BY.get(waited.kind, "")

    def _mark(self) -> str:
        waited = self._waited
        if waited.last >= 0:
            return f"{format_ns(waited.arrival_ns)} for {self._place(self._event(waited.last))}"
        return f"{format_ns(waited.length_ns - waited.lag_ns)} for {self._binder_name()}"

    def _parts(self) -> Iterator[WaitPart]:
        waited, name = self._waited, self._binder_name()
        of_binder = self._fill(self._binder())
        found: list[WaitPart] = []
        if self._is_launch:
            found.append(WaitPart("host", "the host, before it launched this", waited.to_begin_ns))
            found.append(WaitPart("host", f"{name} to return", waited.work_ns))
        else:
            found.append(WaitPart(of_binder, f"{name} to begin", waited.to_begin_ns))
            if waited.last >= 0:
                arrives = f"{self._place(self._event(waited.last))} to arrive in {name}"
                found.append(WaitPart("waiting", arrives, waited.arrival_ns))
            group = self._group(waited.binder)
            work = f"transfer, {len(group.gpus)} ranks" if group is not None else f"{name} to end"
            found.append(WaitPart(of_binder, work, waited.work_ns))
        lag = _LAGS.get(waited.kind, "from its end to the start").format(self._noun())
        found.append(WaitPart("lag", lag, waited.lag_ns))
        return (part for part in found if part.ns)

    def _steps(self) -> Iterator[WaitStep]:
        waited, binder = self._waited, self._binder()
        own_place = self._place(self._ref)
        if waited.last >= 0:
            last = self._event(waited.last)
            late = self._cause_of(waited.last) or last
            about = f"arrives {format_ns(waited.arrival_ns)} after {self._place(binder)}"
            yield WaitStep(late, self._fill(late), f"{self._place(last)} · {self._class(late)}", about)
        elif not self._is_launch and (cause := self._cause_of(waited.binder)) is not None:
            title = f"{self._place(cause)} · {self._name(cause)}"
            yield WaitStep(cause, self._fill(cause), title, "what that waited for")
        group = None if self._is_launch else self._group(waited.binder)
        if group is not None:
            title = f"{self._binder_name()} · {self._members(group)}"
            yield WaitStep(binder, self._fill(binder), title, f"transfers {format_ns(waited.work_ns)}")
        else:
            title = f"{self._place(binder)} · {self._name(binder)}"
            events = self._study.trace.events[binder.kind]
            length = int(events.end_ns[binder.index]) - int(events.start_ns[binder.index])
            yield WaitStep(binder, self._fill(binder), title, f"lasts {format_ns(length)}")
        title = f"{own_place} · {self._name(self._ref)}"
        yield WaitStep(self._ref, self._fill(self._ref), title, f"this {self._noun()}")

    def _noun(self) -> str:
        nouns = {Kind.KERNEL: "kernel", Kind.API: "call", Kind.GRAPH: "graph"}
        return nouns.get(self._ref.kind, "copy")

    def _event(self, number: int) -> EventRef:
        return EventRef(*self._graph.operations.event_of(number))

    def _binder(self) -> EventRef:
        return (
            EventRef(Kind.API, self._waited.binder) if self._is_launch else self._event(self._waited.binder)
        )

    def _binder_name(self) -> str:
        group = None if self._is_launch else self._group(self._waited.binder)
        return group.kind if group is not None and group.kind else self._name(self._binder())

    def _cause_of(self, number: int) -> EventRef | None:
        """Return what bound the start of an operation: its launching call, or another operation."""
        binding, binder = int(self._graph.binding[number]), int(self._graph.binder[number])
        if binder < 0:
            return None
        return EventRef(Kind.API, binder) if binding == EdgeKind.LAUNCH else self._event(binder)

    def _name(self, ref: EventRef) -> str:
        trace = self._study.trace
        name = trace.names[int(trace.events[ref.kind].name_id[ref.index])]
        return (short_name(name) if ref.kind is Kind.KERNEL else name) or "(no name)"

    def _gpu(self, ref: EventRef) -> int | None:
        trace = self._study.trace
        if ref.kind in GPU_KINDS:
            return trace.streams[trace.events[ref.kind].owner_of(ref.index)].gpu
        own = trace.gpus_of(trace.threads[trace.api.owner_of(ref.index)].process)
        return own[0].index if len(own) == 1 else None

    def _place(self, ref: EventRef) -> str:
        trace = self._study.trace
        if ref.kind not in GPU_KINDS:
            return trace.process_label(trace.threads[trace.api.owner_of(ref.index)].process)
        gpu = trace.gpus[trace.streams[trace.events[ref.kind].owner_of(ref.index)].gpu]
        is_only = len(trace.gpus_of(gpu.process)) == 1
        return trace.process_label(gpu.process) if is_only else trace.gpu_label(gpu.index)

    def _class(self, ref: EventRef) -> str:
        """Return what an event is to the rank that was late with it, in a word."""
        if ref.kind is Kind.API:
            return "host"
        return {"compute": "compute", "exposed": "communication"}.get(self._fill(ref), "copy")

    def _fill(self, ref: EventRef) -> Fill:
        if ref.kind is Kind.API:
            return "host"
        if ref.kind not in (Kind.KERNEL, Kind.GRAPH):
            return "copy"
        name_id = int(self._study.trace.events[ref.kind].name_id[ref.index])
        is_comm = ref.kind is Kind.KERNEL and self._study.classes.class_name(name_id) == "communication"
        return "exposed" if is_comm else "compute"

    def _group(self, number: int) -> CollectiveGroup | None:
        of_set = int(self._graph.set_of[number])
        if of_set < 0:
            return None
        return self._study.collectives.groups[int(self._graph.sets.group[of_set])]

    def _members(self, group: CollectiveGroup) -> str:
        trace = self._study.trace
        use = stream_uses(self._study.collectives).get(group.streams[0])
        ranks = [trace.processes[trace.gpus[gpu].process].rank for gpu in group.gpus]
        known = [str(rank) for rank in ranks if rank is not None]
        few = len(known) == len(ranks) <= _MOST_RANKS
        who = f"ranks {', '.join(known)}" if few else f"{len(ranks)} ranks"
        return f"{use.name}?, {who}" if use is not None and use.name else who


def wait_before(study: Study, marker: int, stall: int) -> EventRef | None:
    """Return the operation that ends a stall of a GPU, None without one."""
    row = study.stalls(marker).table.iloc[stall]
    index = int(row["after_index"])
    return EventRef(GPU_KINDS[int(row["after_kind"])], index) if index >= 0 else None
