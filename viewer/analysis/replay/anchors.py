"""The anchors of the host threads: points whose times do not follow from the call before them alone.

The first call of a thread is one, so is the return of a call that blocks, and the start of one that waits for
another thread. From an anchor to the next one a thread runs as it was recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from viewer.analysis.dependencies.graph import DependencyGraph
from viewer.analysis.replay.host_calls import HostCalls
from viewer.analysis.replay.lags import EXPLAINED_NS, kept_or_usual, usual
from viewer.trace import Trace
from viewer.trace.events import Int64

Rows = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Anchors:
    """The anchors by thread and time, and what each comes after.

    Attributes
    ----------
    first : int
        The value of the network that is the first anchor; the operations' ends come before it.
    point : ndarray of int64, shape (anchors,)
        Twice the number of its call in `HostCalls` for the start, one more for the return.
    time_ns : ndarray of int64, shape (anchors,)
        Its recorded time.
    thread : ndarray of int32, shape (anchors,)
    anchor : ndarray of int32, shape (pairs,)
        Sorted: the anchor that a pair belongs to. Each one comes after all its sources.
    source : ndarray of int32, shape (pairs,)
        A value of the network: the end of an operation, an anchor, or what is always 0.
    source_point : ndarray of int64, shape (pairs,)
        For a source on a host thread, from which point there the lag counts, as `point`; else -1.
    since_ns : ndarray of int64, shape (pairs,)
        The recorded instant after which the lag counts: on the thread of the source, at or after its anchor.
    lag_ns : ndarray of int64, shape (pairs,)
    is_own : ndarray of bool, shape (pairs,)
        Whether the source is the thread's own past.
    binds : ndarray of bool, shape (pairs,)
        Whether it was recorded to be what the anchor came after.
    """

    first: int
    point: Int64
    time_ns: Int64
    thread: Rows
    anchor: Rows
    source: Rows
    source_point: Int64
    since_ns: Int64
    lag_ns: Int64
    is_own: Mask
    binds: Mask

    def __len__(self) -> int:
        return len(self.point)

    def at(self, point: npt.ArrayLike) -> Rows:
        """Return the last anchor on its thread that is not after a point of it, shape of `point`."""
        return np.asarray(np.searchsorted(self.point, point, side="right") - 1, np.int32)

    def returns(self) -> Mask:
        """Return which anchors are returns of calls, shape (anchors,)."""
        return np.asarray(self.point % 2 == 1)


def find_anchors(trace: Trace, graph: DependencyGraph, hosts: HostCalls) -> Anchors:
    """Return the anchors of a trace's threads, with the lags that keep the recording as it is."""
    first = len(graph.operations)
    blocked = hosts.outer_of[graph.return_edges.target] if len(hosts) else np.empty(0, np.int32)
    woken, waker = (
        hosts.outer_of[rows] if len(hosts) else np.empty(0, np.int32)
        for rows in (graph.host_edges.target, graph.host_edges.source)
    )
    is_other = hosts.thread[woken] != hosts.thread[waker]
    woken, waker = woken[is_other].astype(np.int64), waker[is_other].astype(np.int64)
    roots = np.flatnonzero(hosts.is_first)
    point = np.unique(np.concatenate((2 * roots, 2 * woken, 2 * blocked.astype(np.int64) + 1)))
    call = point // 2
    time_ns = np.where(point % 2, hosts.end_ns[call], hosts.start_ns[call])
    none = np.empty(0, np.int64)
    bare = Anchors(
        first, point, time_ns, hosts.thread[call], none.astype(np.int32), none.astype(np.int32), none, none,
        none, none.astype(bool), none.astype(bool),
    )  # fmt: skip
    pieces = [_roots(bare, hosts, np.setdiff1d(roots, woken))]
    pieces += _woken(bare, hosts, woken, waker)
    pieces += _returns(trace, bare, hosts, graph, blocked.astype(np.int64))
    anchor, source, source_point, since, lag, is_own, binds = (
        np.concatenate(column) for column in zip(*pieces, strict=True)
    )
    by_anchor = np.argsort(anchor, kind="stable")
    return replace(
        bare,
        anchor=anchor[by_anchor].astype(np.int32),
        source=source[by_anchor].astype(np.int32),
        source_point=source_point[by_anchor],
        since_ns=since[by_anchor],
        lag_ns=lag[by_anchor],
        is_own=is_own[by_anchor],
        binds=binds[by_anchor],
    )


_Pairs = tuple[Int64, Int64, Int64, Int64, Int64, Mask, Mask]


def _roots(bare: Anchors, hosts: HostCalls, calls: Int64) -> _Pairs:
    """Return the pairs of the first calls of threads: they start when they were recorded to."""
    zero = np.full(len(calls), bare.first + len(bare), np.int64)
    yes = np.ones(len(calls), bool)
    none = np.zeros(len(calls), np.int64)
    return bare.at(2 * calls).astype(np.int64), zero, none - 1, none, hosts.start_ns[calls], yes, yes


def _woken(bare: Anchors, hosts: HostCalls, woken: Int64, waker: Int64) -> list[_Pairs]:
    """Return the pairs of calls that wait for a call of another thread, and for their own thread."""
    own = np.unique(woken)
    own = own[~hosts.is_first[own]]
    # Who is woken inside a call of the other thread follows its beginning: its return came too late.
    is_over = hosts.end_ns[waker] <= hosts.start_ns[woken]
    ready = np.where(is_over, hosts.end_ns[waker], hosts.start_ns[waker])
    latest = np.full(len(hosts), np.iinfo(np.int64).min, np.int64)
    np.maximum.at(latest, woken, ready)
    before = hosts.end_ns[own - 1]
    own_binds = before >= latest[own]
    gaps = hosts.start_ns[1:] - hosts.end_ns[:-1]
    typical = usual(gaps[~hosts.is_first[1:]])
    gap = hosts.start_ns[own] - before
    own_lag = np.where(own_binds, gap, np.minimum(gap, typical))
    other_binds = (ready == latest[woken]) & ~np.isin(woken, own[own_binds])
    other_lag = kept_or_usual(hosts.start_ns[woken] - ready, other_binds, np.ones(len(woken), bool))
    source = bare.first + bare.at(2 * waker + is_over)
    return [
        (
            bare.at(2 * own).astype(np.int64),
            (bare.first + bare.at(2 * own - 1)).astype(np.int64),
            2 * own - 1,
            before,
            own_lag,
            np.ones(len(own), bool),
            own_binds,
        ),
        (
            bare.at(2 * woken).astype(np.int64),
            source.astype(np.int64),
            2 * waker + is_over,
            ready,
            other_lag,
            np.zeros(len(woken), bool),
            other_binds,
        ),
    ]


def _returns(
    trace: Trace, bare: Anchors, hosts: HostCalls, graph: DependencyGraph, blocked: Int64
) -> list[_Pairs]:
    """Return the pairs of calls that block: what they wait for, and their own time."""
    own = np.unique(blocked)
    ended = graph.operations.end_ns[graph.return_edges.source]
    latest = np.full(len(hosts), np.iinfo(np.int64).min, np.int64)
    np.maximum.at(latest, blocked, ended)
    # A call whose operations had all ended before it began did not wait: it took its own time.
    waited = latest > hosts.start_ns
    returned = hosts.end_ns[blocked]
    binds = waited[blocked] & (ended == latest[blocked])
    lag = kept_or_usual(returned - ended, binds, np.ones(len(blocked), bool))
    length = hosts.end_ns[own] - hosts.start_ns[own]
    otherwise = usual((returned - ended)[binds], EXPLAINED_NS)
    usual_ns = _own_time(trace, hosts, own, waited[own], otherwise)
    own_ns = np.where(waited[own], np.minimum(length, usual_ns), length)
    return [
        (
            bare.at(2 * own + 1).astype(np.int64),
            (bare.first + bare.at(2 * own)).astype(np.int64),
            2 * own,
            hosts.start_ns[own],
            own_ns,
            np.ones(len(own), bool),
            ~waited[own],
        ),
        (
            bare.at(2 * blocked + 1).astype(np.int64),
            graph.return_edges.source.astype(np.int64),
            np.full(len(blocked), -1, np.int64),
            ended,
            lag,
            np.zeros(len(blocked), bool),
            binds,
        ),
    ]


def _own_time(trace: Trace, hosts: HostCalls, calls: Int64, waited: Mask, otherwise: int) -> Int64:
    """Return how long calls that waited take where there is nothing to wait for, ns.

    The median of those of the same name that did not wait; `otherwise` where all waited. A run of queries
    takes the time of one.
    """
    length = trace.api.end_ns[hosts.row[calls]] - hosts.start_ns[calls]
    name = trace.api.name_id[hosts.row[calls]]
    own = np.full(len(calls), otherwise, np.int64)
    for of_name in np.unique(name):
        rows = np.flatnonzero(name == of_name)
        free = rows[~waited[rows]]
        if len(free):
            own[rows] = int(np.median(length[free]))
    return np.asarray(np.minimum(own, length))
