"""Builds the network of a trace from its dependency graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from viewer.analysis.dependencies.graph import DependencyGraph, EdgeKind, Operations
from viewer.analysis.dependencies.polling import EVENT_QUERIES, STREAM_QUERIES, polling_runs
from viewer.analysis.replay.anchors import Anchors, find_anchors
from viewer.analysis.replay.collective_ends import CollectiveEnds, collective_ends
from viewer.analysis.replay.host_calls import host_calls
from viewer.analysis.replay.lags import kept_or_usual, launch_lags
from viewer.analysis.replay.network import FIXED, LAUNCH, NEVER_NS, OTHER, STREAM, Mask, Network, Rows
from viewer.analysis.replay.topological import ordered
from viewer.trace import Trace
from viewer.trace.events import Int64

CLOSE_NS = 1_000
"""How much later than a start its cause may have been: the GPU's own time stamps are no better."""


def build_network(trace: Trace, graph: DependencyGraph) -> Network:
    """Return the constraints on all times of a trace, with which it is replayed as it was recorded."""
    ops, ends = graph.operations, collective_ends(graph)
    hosts = host_calls(trace.api, _answered_runs(trace, graph))
    count = len(ops)
    anchors = find_anchors(trace, graph, hosts)
    zero, never = count + len(anchors), count + len(anchors) + 1
    has_call = ops.call >= 0
    outer = hosts.outer_of[np.maximum(ops.call, 0)] if len(hosts) else np.zeros(count, np.int32)
    launch = np.where(has_call, count + anchors.at(2 * outer.astype(np.int64)), never).astype(np.int64)
    stream: Int64 = np.where(_follows_previous(ops), ops.previous.astype(np.int64), never)
    extras = graph.op_edges
    # What a launch queue lets through begins after the one before it has begun; all else after its end.
    from_start = extras.kind == EdgeKind.QUEUE
    extra_ns = np.where(from_start, ops.start_ns[extras.source], ops.end_ns[extras.source])
    # An operation that began before did not wait for it.
    edge = np.flatnonzero(extra_ns <= ops.start_ns[extras.target] + CLOSE_NS)
    target = extras.target[edge].astype(np.int64)
    source = extras.source[edge].astype(np.int64)
    source += np.where(from_start[edge], never + 1, 0)

    order, (no_launch, no_stream, no_extra, no_pair), ends = _order(
        ops, anchors, ends, launch, stream, target, source
    )
    launch[no_launch], stream[no_stream] = never, never
    target, source, edge = target[~no_extra], source[~no_extra], edge[~no_extra]
    anchors = _without(anchors, no_pair)

    # What was over last binds, and keeps its recorded lag. The other edges keep no more than the usual lag of
    # their kind: theirs was longer because something else was waited for.
    launched = launch_lags(trace, ops, hosts, launch != never)
    has_stream = stream != never
    stream_ns = np.where(has_stream, ops.end_ns[ops.previous], NEVER_NS) if count else ops.end_ns
    extra_ns = extra_ns[edge]
    latest_extra = np.full(count, NEVER_NS, np.int64)
    np.maximum.at(latest_extra, target, extra_ns)
    binder = np.full(count, FIXED, np.uint8)
    binder[latest_extra > NEVER_NS] = OTHER
    binder[has_stream & (stream_ns >= latest_extra)] = STREAM
    binder[launched.binds_over(np.maximum(stream_ns, latest_extra))] = LAUNCH

    stream_lag = kept_or_usual(ops.start_ns - stream_ns, binder == STREAM, has_stream)
    binds_extra = (binder[target] == OTHER) & (extra_ns == latest_extra[target])
    extra_lag = np.zeros(len(target), np.int64)
    for kind in np.unique(extras.kind):
        of_kind = extras.kind[edge] == kind
        recorded = ops.start_ns[target[of_kind]] - extra_ns[of_kind]
        extra_lag[of_kind] = kept_or_usual(recorded, binds_extra[of_kind], np.ones(len(recorded), bool))
    # Without anything to wait for it starts when it was recorded to.
    is_fixed = binder == FIXED
    launch_lag = np.where(is_fixed, ops.start_ns, launched.lag_ns(binder == LAUNCH))
    launch[is_fixed] = zero
    return Network(
        ops, hosts, ends,
        launch.astype(np.int32), launch_lag, outer, stream.astype(np.int32), stream_lag,
        target.astype(np.int32), source.astype(np.int32), extra_lag, edge.astype(np.int32),
        binder, _work(ops, ends), _set_of(ends, count), anchors, order,
        int(no_launch.sum() + no_stream.sum() + no_extra.sum() + no_pair.sum()),
    )  # fmt: skip


def _answered_runs(trace: Trace, graph: DependencyGraph) -> tuple[Rows, Rows]:
    """Return the first and the last call of each run of queries that returned after an operation."""
    runs = [polling_runs(trace, names) for names in (EVENT_QUERIES, STREAM_QUERIES)]
    first, last = (np.concatenate(calls) for calls in zip(*runs, strict=True))
    is_answered = np.isin(last, graph.return_edges.target)
    return first[is_answered], last[is_answered]


def _follows_previous(ops: Operations) -> Mask:
    """Return which operations come after the end of the one before them on their stream.

    Nodes of one graph launch that overlap do not, whatever their rows say; another kernel that begins early
    does (programmatic dependent launch).
    """
    if not len(ops):
        return np.zeros(0, bool)
    overlaps = ops.end_ns[ops.previous] > ops.start_ns + CLOSE_NS
    together = (ops.call >= 0) & (ops.call == ops.call[ops.previous])
    return np.asarray((ops.previous >= 0) & ~(overlaps & together))


def _order(
    ops: Operations,
    anchors: Anchors,
    ends: CollectiveEnds,
    launch: Int64,
    stream: Int64,
    target: Int64,
    source: Int64,
) -> tuple[npt.NDArray[np.int32], list[Mask], CollectiveEnds]:
    """Return the order of all nodes, which edges of each family are left out for it, and the sets in it.

    The nodes are the operations, the anchors and the sets, one after another; the families the launches,
    the streams, the further edges and the pairs of anchors.
    """
    count, zero = len(ops), len(ops) + len(anchors)
    # An end is known once its operation is; that of a collective once its set is.
    made_by = np.concatenate((np.arange(zero + 2), np.arange(count)))
    in_set = _set_of(ends, count)
    is_member = np.flatnonzero(in_set >= 0)
    made_by[is_member] = zero + in_set[is_member]
    begins = ops.start_ns[ends.starter]
    latest = np.maximum.reduceat(begins, ends.starter_first[:-1]) if len(ends) else begins
    families = [
        (launch, np.arange(count)),
        (stream, np.arange(count)),
        (source, target),
        (anchors.source.astype(np.int64), count + anchors.anchor.astype(np.int64)),
    ]
    before, after, size = [], [], []
    chosen = []
    for of_family, node in families:
        # What is always 0, or never, depends on nothing.
        rows = np.flatnonzero((of_family < zero) | (of_family > zero + 1))
        chosen.append(rows)
        before.append(made_by[of_family[rows]])
        after.append(node[rows])
        size.append(len(rows))
    for operations, of_set in ((ends.starter, ends.starter_set()), (ends.member, ends.member_set())):
        before.append(operations.astype(np.int64))
        after.append(zero + of_set.astype(np.int64))
    edges = np.concatenate(before), np.concatenate(after)
    fixed = np.arange(len(edges[0])) >= sum(size)
    order, is_dropped = ordered(np.concatenate((ops.start_ns, anchors.time_ns, latest)), *edges, fixed)
    masks = []
    for rows, (of_family, _), mask in zip(
        chosen, families, np.split(is_dropped, np.cumsum(size)), strict=False
    ):
        dropped = np.zeros(len(of_family), bool)
        dropped[rows] = mask
        masks.append(dropped)
    bad = np.unique(edges[1][is_dropped & fixed]) - zero
    return order, masks, _emptied(ends, bad) if len(bad) else ends


def _emptied(ends: CollectiveEnds, sets: Int64) -> CollectiveEnds:
    """Return the sets with some of them waiting for nobody: their members keep their durations."""
    keep = ~np.isin(ends.member_set(), sets)
    counts = np.diff(ends.member_first)
    counts[sets] = 0
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return replace(ends, member=ends.member[keep], member_first=first)


def _without(anchors: Anchors, dropped: Mask) -> Anchors:
    """Return the anchors without some of their pairs, at the times that were recorded all the same."""
    if not dropped.any():
        return anchors
    # In place of what cannot be followed, an anchor comes after its own thread by all of the recorded time;
    # without a past of its own, or where just that is left out, it stays where it is.
    zero = anchors.first + len(anchors)
    own = np.full(len(anchors), -1, np.int64)
    usable = np.flatnonzero(anchors.is_own & ~dropped)
    own[anchors.anchor[usable]] = usable
    stand_in = own[anchors.anchor]
    has_own = stand_in >= 0
    since = np.where(has_own, anchors.since_ns[stand_in], 0)
    return replace(
        anchors,
        source=np.where(dropped, np.where(has_own, anchors.source[stand_in], zero), anchors.source).astype(
            np.int32
        ),
        source_point=np.where(
            dropped, np.where(has_own, anchors.source_point[stand_in], -1), anchors.source_point
        ),
        since_ns=np.where(dropped, since, anchors.since_ns),
        lag_ns=np.where(dropped, anchors.time_ns[anchors.anchor] - since, anchors.lag_ns),
        is_own=anchors.is_own | dropped,
        binds=anchors.binds | dropped,
    )


def _set_of(ends: CollectiveEnds, count: int) -> npt.NDArray[np.int32]:
    in_set = np.full(count, -1, np.int32)
    in_set[ends.member] = ends.member_set()
    return in_set


def _work(ops: Operations, ends: CollectiveEnds) -> Int64:
    """Return the durations; of members of sets the time from the latest start to their end, ns."""
    work = ops.end_ns - ops.start_ns
    if len(ends.member):
        latest = np.maximum.reduceat(ops.start_ns[ends.starter], ends.starter_first[:-1])
        work[ends.member] = ops.end_ns[ends.member] - latest[ends.member_set()]
    return work
