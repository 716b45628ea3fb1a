"""Runs of calls that ask again and again whether the GPU is done: together each is one blocking call."""

from __future__ import annotations

import numpy as np

from viewer.analysis.dependencies.graph import Edges, Operations, Rows
from viewer.analysis.launches.blocking_calls import plain_call
from viewer.analysis.stalls.host_time import BETWEEN_QUERIES_NS
from viewer.trace import Trace

EVENT_QUERIES = frozenset({"cudaEventQuery", "cuEventQuery"})
STREAM_QUERIES = frozenset({"cudaStreamQuery", "cuStreamQuery"})
LEAST_QUERIES = 10
"""So many calls of one name in a row, each within 100 µs of the one before, are a wait (section 7)."""


def polling_runs(trace: Trace, names: frozenset[str]) -> tuple[Rows, Rows]:
    """Return the first and the last call of each run of queries, indices into `Trace.api`."""
    api = trace.api
    used = np.unique(api.name_id)
    asks = np.zeros(len(trace.names), bool)
    asks[used] = [plain_call(name) in names for name in trace.names.take(used)]
    is_query = asks[api.name_id]
    goes_on = np.zeros(len(api), bool)
    close = api.start_ns[1:] - api.end_ns[:-1] <= BETWEEN_QUERIES_NS
    same_name = api.name_id[1:] == api.name_id[:-1]
    goes_on[1:] = is_query[1:] & is_query[:-1] & close & same_name
    # The first call of a thread follows none.
    first_of_thread = api.offsets[:-1][np.diff(api.offsets) > 0]
    goes_on[first_of_thread] = False
    first = np.flatnonzero(is_query & ~goes_on)
    last = np.flatnonzero(is_query & ~np.append(goes_on[1:], False)) if len(api) else first
    long = last - first + 1 >= LEAST_QUERIES
    return first[long].astype(np.int32), last[long].astype(np.int32)


def answered(trace: Trace, operations: Operations, edges: Edges) -> Edges:
    """Return edges to calls without those to queries that their operation did not answer.

    The query before the last one of a run was told no, and the last one yes: what it asked for has ended in
    between. A loop that ends for another reason waited for nothing.
    """
    polled = np.concatenate([polling_runs(trace, names)[1] for names in (EVENT_QUERIES, STREAM_QUERIES)])
    rows = np.flatnonzero(np.isin(edges.target, polled))
    if not len(rows):
        return edges
    target = edges.target[rows]
    latest = np.full(len(trace.api), np.iinfo(np.int64).min, np.int64)
    np.maximum.at(latest, target, operations.end_ns[edges.source[rows]])
    ended = latest[target]
    is_answer = (ended >= trace.api.start_ns[target - 1]) & (ended <= trace.api.end_ns[target])
    keep = np.ones(len(edges), bool)
    keep[rows[~is_answer]] = False
    return Edges(edges.target[keep], edges.source[keep], edges.kind[keep], edges.grade[keep])
