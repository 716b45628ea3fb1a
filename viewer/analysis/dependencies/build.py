"""Builds the dependency graph of a trace (docs/definitions.md, section 11)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.dependencies.binding import bind
from viewer.analysis.dependencies.collective_sets import collective_sets
from viewer.analysis.dependencies.graph import DependencyGraph, Edges, StreamWaits
from viewer.analysis.dependencies.returns import return_edges
from viewer.analysis.dependencies.stream_order import find_operations
from viewer.analysis.launches.launches import Launches


def build_graph(launches: Launches, collectives: Collectives) -> DependencyGraph:
    """Return what every operation and every blocking call waited for."""
    operations, order = find_operations(launches)
    sets, set_of = collective_sets(collectives, operations)
    edges = Edges.none()
    rows, grades = np.empty(0, np.int32), np.empty(0, np.uint8)
    waits = StreamWaits(rows, rows, np.zeros(1, np.int64), rows, grades, grades)
    returns = return_edges(launches, operations, order)
    bound = bind(operations, launches.trace.api, edges)
    return DependencyGraph(operations, edges, returns, Edges.none(), set_of, sets, waits, *bound)
