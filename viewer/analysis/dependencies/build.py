"""Builds the dependency graph of a trace (docs/definitions.md, section 11)."""

from __future__ import annotations

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.dependencies.binding import bind
from viewer.analysis.dependencies.collective_sets import collective_sets
from viewer.analysis.dependencies.default_streams import default_stream_edges
from viewer.analysis.dependencies.graph import DependencyGraph, EdgeKind, Edges
from viewer.analysis.dependencies.graph_nodes import graph_edges, graph_nodes
from viewer.analysis.dependencies.host_edges import host_edges
from viewer.analysis.dependencies.polling import answered
from viewer.analysis.dependencies.queues import queue_edges
from viewer.analysis.dependencies.returns import return_edges
from viewer.analysis.dependencies.stream_order import find_operations
from viewer.analysis.dependencies.stream_waits import find_stream_waits
from viewer.analysis.launches.launches import Launches


def build_graph(launches: Launches, collectives: Collectives) -> DependencyGraph:
    """Return what every operation and every blocking call waited for."""
    trace = launches.trace
    operations, order = find_operations(launches)
    sets, set_of = collective_sets(collectives, operations)
    is_node = graph_nodes(trace, operations)
    waits, of_events, event_returns = find_stream_waits(trace, operations, order)
    edges = Edges.joined(
        of_events, graph_edges(operations, is_node), default_stream_edges(trace, operations, order)
    )
    returns = Edges.joined(return_edges(launches, operations, order), event_returns)
    # What a stream's waits stand for may be its own last operation.
    returns = Edges.best_known(returns.target, returns.source, EdgeKind.RETURN, returns.grade)
    returns = answered(trace, operations, returns)
    bound = bind(operations, trace.api, edges, is_node)
    queues = queue_edges(trace, operations, bound.lag_ns)
    if len(queues):
        edges = Edges.joined(edges, queues)
        bound = bind(operations, trace.api, edges, is_node)
    return DependencyGraph(operations, edges, returns, host_edges(launches), set_of, sets, waits, *bound)
