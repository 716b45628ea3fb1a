"""Calls that wait for a call of another thread (docs/definitions.md, section 11)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade, Rows
from viewer.analysis.launches.blocking_calls import is_query
from viewer.analysis.launches.launches import Launches
from viewer.analysis.stalls.host_time import Hosts
from viewer.trace import Trace
from viewer.trace.events import Int64

MIN_WAIT_NS = 5_000
"""A thread that is off its CPU for less was not handed anything by another one."""


def host_edges(launches: Launches) -> Edges:
    """Return the edges to calls before which their thread was seen to wait, from calls of other threads.

    The source is the last call of another thread of the process that returned before the wait was over, and
    after the waiting thread's own last call had: forward and backward, whose threads take turns, come out as
    one chain. Calls that only ask whether the GPU is done wake nobody.
    """
    trace = launches.trace
    hosts = Hosts(launches)
    targets, sources = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for process in trace.processes:
        threads = [t.index for t in trace.threads_of(process.index) if _has_calls(trace, t.index)]
        if len(threads) < 2:
            continue
        returned, call_of, thread_of = _returns(trace, threads)
        for thread in threads:
            target, source = _woken(trace, hosts, thread, returned, call_of, thread_of)
            targets.append(target)
            sources.append(source)
    target, source = np.concatenate(targets), np.concatenate(sources)
    return Edges.of_columns(target, source, EdgeKind.HOST, np.full(len(target), Grade.TIMING, np.uint8))


def _has_calls(trace: Trace, thread: int) -> bool:
    return bool(trace.api.offsets[thread + 1] > trace.api.offsets[thread])


def _returns(trace: Trace, threads: list[int]) -> tuple[Int64, Rows, Rows]:
    """Return when the calls of some threads return, in order, and which calls of which threads they are."""
    api = trace.api
    used = np.unique(api.name_id)
    asks = np.zeros(len(trace.names), bool)
    asks[used] = [is_query(name) for name in trace.names.take(used)]
    calls = api.rows_of(threads)
    calls = calls[~asks[api.name_id[calls]]]
    calls = calls[np.argsort(api.end_ns[calls], kind="stable")]
    owner = np.searchsorted(api.offsets, calls, side="right") - 1
    return api.end_ns[calls], calls, owner.astype(np.int32)


def _woken(
    trace: Trace, hosts: Hosts, thread: int, returned: Int64, call_of: Rows, thread_of: Rows
) -> tuple[Rows, Rows]:
    """Return the calls of a thread before which it waited for another one, and that one's calls."""
    api, rows = trace.api, trace.api.of(thread)
    start, end = api.start_ns[rows], api.end_ns[rows]
    # Before its first call a thread has been free from the beginning on. Nested calls follow none.
    free_since = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))
    waits = hosts.time(thread).off_cpu
    long = waits.lengths >= MIN_WAIT_NS
    waits = Intervals(waits.start_ns[long], waits.end_ns[long])
    last = np.searchsorted(waits.end_ns, start, side="right") - 1
    has_waited = last >= 0
    woken_ns = waits.end_ns[np.maximum(last, 0)] if len(waits) else start
    has_waited &= woken_ns > free_since
    # The last return before it was woken; those of its own lie before the gap.
    others = thread_of != thread
    ends, calls = returned[others], call_of[others]
    if not len(ends):
        return np.empty(0, np.int32), np.empty(0, np.int32)
    place = np.searchsorted(ends, woken_ns, side="right") - 1
    has_waited &= (place >= 0) & (ends[np.maximum(place, 0)] > free_since)
    found = np.flatnonzero(has_waited)
    return (rows.start + found).astype(np.int32), calls[place[found]]
