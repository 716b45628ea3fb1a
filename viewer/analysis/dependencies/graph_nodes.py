"""Edges among the nodes of CUDA graphs, and to what comes after a graph (docs/definitions.md, section 11)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade, Mask, Operations, Rows
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64


def graph_nodes(trace: Trace, operations: Operations) -> Mask:
    """Return which operations are nodes of a graph that was launched by a known call, shape (operations,)."""
    is_node = np.zeros(len(operations), bool)
    for place, kind in enumerate(GPU_KINDS):
        node = trace.events[kind].columns.get("graph_node")
        if node is not None and len(node):
            is_node[operations.first[place] : operations.first[place + 1]] = node != 0
    return is_node & (operations.call >= 0)


def graph_edges(operations: Operations, is_node: Mask) -> Edges:
    """Return the edges to the nodes of graphs, and those to what follows a graph on its stream.

    The order of a graph's nodes is not recorded: each follows the one that ended last before it, by timing.
    Those that began before any other had ended follow what the stream of the graph did before it. What
    follows the graph waits for the whole of it, on whatever streams its nodes ran.
    """
    nodes = np.flatnonzero(is_node)
    if not len(nodes):
        return Edges.none()
    nodes = nodes[np.argsort(operations.call[nodes], kind="stable")]
    source = _ended_last(operations, nodes)
    before = _before_graph(operations, nodes)
    is_first = source < 0
    source[is_first] = before[is_first]
    # What the stream itself says is known better, and stands in `previous`.
    kept = (source >= 0) & (source != operations.previous[nodes])
    after, whole = _after_graphs(operations, is_node, nodes)
    target = np.concatenate((nodes[kept], after)).astype(np.int32)
    grade = np.full(len(target), Grade.TIMING, np.uint8)
    grade[int(kept.sum()) :] = Grade.PROVEN
    return Edges.best_known(target, np.concatenate((source[kept], whole)), EdgeKind.GRAPH, grade)


def _ended_last(operations: Operations, nodes: Int64) -> Rows:
    """Return the node of the same call that ended last before each of `nodes` began, -1 for none."""
    call = operations.call[nodes]
    first = np.searchsorted(call, call)
    # One search over all calls: ends are sorted within their call, which is the higher digit.
    launch = np.cumsum(np.append(False, call[1:] != call[:-1])).astype(np.int64)
    ends, starts = operations.end_ns[nodes], operations.start_ns[nodes]
    low = int(min(ends.min(), starts.min()))
    span = int(max(ends.max(), starts.max())) - low + 1
    key = launch * span + (ends - low)
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], launch * span + (starts - low), side="right") - 1
    found = order[np.maximum(at, 0)]
    # A node of length zero ends where it begins, and does not follow itself.
    is_before = (at >= first) & (nodes[found] != nodes) & (launch[found] == launch)
    return np.where(is_before, nodes[found], -1).astype(np.int32)


def _before_graph(operations: Operations, nodes: Int64) -> Rows:
    """Return for each node the operation that came last before its graph on any stream of the graph."""
    call = operations.call[nodes]
    previous = operations.previous[nodes]
    outside = (previous >= 0) & (operations.call[previous] != call)
    ends = np.where(outside, operations.end_ns[previous], np.iinfo(np.int64).min)
    order = np.lexsort((ends, call))
    last = order[np.append(call[order][1:] != call[order][:-1], True)]
    source = np.where(outside[last], previous[last], np.int32(-1))
    return np.asarray(source[np.searchsorted(call[last], call)], np.int32)


def _after_graphs(operations: Operations, is_node: Mask, nodes: Int64) -> tuple[Int64, Rows]:
    """Return the operations that follow a graph on a stream, and the node of it that ended last."""
    previous = operations.previous
    follows = np.flatnonzero(previous >= 0)
    follows = follows[
        is_node[previous[follows]] & (operations.call[previous[follows]] != operations.call[follows])
    ]
    call = operations.call[nodes]
    order = np.lexsort((operations.end_ns[nodes], call))
    last = order[np.append(call[order][1:] != call[order][:-1], True)]
    whole = nodes[last][np.searchsorted(call[last], operations.call[previous[follows]])]
    is_other = whole != previous[follows]
    return follows[is_other], whole[is_other].astype(np.int32)
