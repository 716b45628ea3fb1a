"""What one operation or one blocking call waited for, split to the nanosecond.

See docs/definitions.md, section 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.dependencies.graph import NO_EDGE, DependencyGraph, EdgeKind, Grade
from viewer.trace import Events, Kind, Trace

_LATEST_WAITS = 64
"""So many waits of a stream are searched for the one that binds."""
NO_SYNC_IDS = (0, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Waited:
    """The wait of an operation before its start, or of a call until its return.

    The four parts follow one another in this order and sum to ``until_ns - since_ns``.

    Attributes
    ----------
    since_ns, until_ns : int
        From when nothing else held it up, behind another operation of its stream from when that one began, to
        its start; of a call from its start to its return.
    kind : EdgeKind
        Of the edge that binds.
    grade : Grade
        Of that edge.
    binder : int
        Where it comes from: the launching call (`EdgeKind.LAUNCH`), else the number of an operation.
    last : int
        Of a collective, the number of the operation for which it waited, the last to start of those it needs;
        -1 where it did not wait.
    to_begin_ns : int
        Until the binder began.
    arrival_ns : int
        Until `last` began.
    work_ns : int
        While the binder ran: a collective transferred, a call launched.
    lag_ns : int
        From when the binder allowed it: its end, its return, in a queue its start.
    """

    since_ns: int
    until_ns: int
    kind: EdgeKind
    grade: Grade
    binder: int
    last: int
    to_begin_ns: int
    arrival_ns: int
    work_ns: int
    lag_ns: int

    @property
    def length_ns(self) -> int:
        """The whole wait."""
        return self.until_ns - self.since_ns


def waited_of_operation(graph: DependencyGraph, api: Events, number: int) -> Waited | None:
    """Return what an operation waited for before its start, None where no edge leads to it."""
    ops = graph.operations
    kind = int(graph.binding[number])
    if kind == NO_EDGE:
        return None
    start, binder = int(ops.start_ns[number]), int(graph.binder[number])
    allowed = start - int(graph.lag_ns[number])
    # What was over only after the start did not hold it up.
    others = [t for t in _others(graph, api, number, EdgeKind(kind), binder) if t <= allowed]
    grade = Grade(int(graph.grade[number]))
    if kind == EdgeKind.LAUNCH:
        begun = min(int(api.start_ns[binder]), allowed)
        # Without anything else it could have run at any time before: only the call itself is counted.
        since = max(others, default=begun)
        return _split(since, begun, begun, allowed, start, EdgeKind.LAUNCH, grade, binder, -1)
    begun = min(int(ops.start_ns[binder]), allowed)
    since = max(others, default=begun)
    if kind == EdgeKind.STREAM:
        # Before the operation ahead of it began, its stream had other work: that is the queue.
        since = max(since, begun)
    last, arrived = _arrival(graph, binder)
    return _split(since, begun, arrived, allowed, start, EdgeKind(kind), grade, binder, last)


def awaited_event(graph: DependencyGraph, trace: Trace, number: int, binder: int) -> tuple[int, int] | None:
    """Return (event, sync id) of the stream wait through which one operation waited for another.

    None where there is none; an id of 0 is not recorded.
    """
    waits, ops, api = graph.waits, graph.operations, trace.api
    low, high = np.searchsorted(waits.stream, [ops.stream[number], ops.stream[number] + 1])
    launched = int(api.start_ns[ops.call[number]]) if ops.call[number] >= 0 else int(ops.start_ns[number])
    calls = waits.call[low:high]
    before = np.flatnonzero(api.start_ns[calls] <= launched)
    if not len(before):
        return None
    # The latest first: a wait holds for all that its stream runs after it.
    for position in before[np.argsort(api.start_ns[calls[before]])][::-1][:_LATEST_WAITS].tolist():
        if binder in waits.of(low + position):
            return _ids(trace, int(calls[position]))
    return None


def _ids(trace: Trace, call: int) -> tuple[int, int] | None:
    """Return the event and the sync id of a stream wait, from the synchronisation of its call."""
    syncs, api = trace.events[Kind.SYNC], trace.api
    rows = syncs.of(trace.threads[api.owner_of(call)].process)
    mask = syncs.columns["correlation"][rows] == api.columns["correlation"][call]
    found = np.flatnonzero(mask)
    if not len(found):
        return None
    row = rows.start + int(found[0])
    event, sync = (int(syncs.columns[name][row]) for name in ("event_id", "sync_id"))
    return event, sync if sync not in NO_SYNC_IDS else 0


def waited_of_call(graph: DependencyGraph, api: Events, call: int) -> Waited | None:
    """Return what a call waited for until its return, None where it waited for no operation."""
    rows, ops = graph.return_edges.of(call), graph.operations
    sources = graph.return_edges.source[rows]
    if not len(sources):
        return None
    latest = int(np.argmax(ops.end_ns[sources]))
    binder, since, until = int(sources[latest]), int(api.start_ns[call]), int(api.end_ns[call])
    allowed = min(int(ops.end_ns[binder]), until)
    if allowed <= since:
        return None
    grade = Grade(int(graph.return_edges.grade[rows][latest]))
    last, arrived = _arrival(graph, binder)
    begun = min(int(ops.start_ns[binder]), allowed)
    return _split(since, begun, arrived, allowed, until, EdgeKind.RETURN, grade, binder, last)


def _others(graph: DependencyGraph, api: Events, number: int, kind: EdgeKind, binder: int) -> list[int]:
    """Return when the edges besides the binding one allowed an operation to start, ns."""
    ops = graph.operations
    times = []
    call, previous = int(ops.call[number]), int(ops.previous[number])
    if call >= 0 and kind is not EdgeKind.LAUNCH:
        times.append(int(api.end_ns[call]))
    # The binder of a launch is a call: its number says nothing of operations.
    bound_by = -1 if kind is EdgeKind.LAUNCH else binder
    if previous >= 0 and previous != bound_by:
        times.append(int(ops.end_ns[previous]))
    edges = graph.op_edges
    for edge in range(*edges.of(number).indices(len(edges))):
        source = int(edges.source[edge])
        if source != bound_by:
            in_queue = edges.kind[edge] == EdgeKind.QUEUE
            times.append(int((ops.start_ns if in_queue else ops.end_ns)[source]))
    return times


def _arrival(graph: DependencyGraph, number: int) -> tuple[int, int]:
    """Return for whom a collective waited and when that one began; (-1, its own start) for nobody."""
    ops, sets = graph.operations, graph.sets
    own = int(ops.start_ns[number])
    of_set = int(graph.set_of[number])
    if of_set < 0:
        return -1, own
    members, root = sets.of(of_set), int(sets.root[of_set])
    if root >= 0:
        waits = (number == root) == bool(sets.root_waits[of_set])
        if not waits:
            return -1, own
        members = members if sets.root_waits[of_set] else np.array([root], np.int32)
    last = int(members[np.argmax(ops.start_ns[members])])
    return (last, int(ops.start_ns[last])) if last != number else (-1, own)


def _split(
    since: int, begun: int, arrived: int, allowed: int, until: int,
    kind: EdgeKind, grade: Grade, binder: int, last: int,
) -> Waited:  # fmt: skip
    begun = min(max(begun, since), allowed)
    arrived = min(max(arrived, begun), allowed)
    return Waited(
        since, until, kind, grade, binder, last if arrived > begun else -1,
        begun - since, arrived - begun, allowed - arrived, until - allowed,
    )  # fmt: skip
