"""The recurrence: computes all times of a network, one node after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.network import NEVER_NS, Network, Rows
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class Lags:
    """The lags of a network under some effects, all int64 nanoseconds.

    Attributes
    ----------
    launch : ndarray, shape (operations,)
        From the anchor before the launch to the start.
    pair : ndarray, shape (pairs,)
        From the source of each pair to its anchor; `NEVER_NS` where it no longer holds.
    extra : ndarray, shape (extra edges,)
    """

    launch: Int64
    pair: Int64
    extra: Int64


@dataclass(frozen=True, eq=False)
class Times:
    """The times of a replay.

    Attributes
    ----------
    start_ns, end_ns : ndarray of int64, shape (operations,)
    anchor_ns : ndarray of int64, shape (anchors,)
    call_start_ns, call_end_ns : ndarray of int64, shape (host calls,)
    """

    start_ns: Int64
    end_ns: Int64
    anchor_ns: Int64
    call_start_ns: Int64
    call_end_ns: Int64


def lags(network: Network, effects: Effects) -> Lags:
    """Return the lags under some effects."""
    anchors, hosts = network.anchors, network.hosts
    called = (
        hosts.start_ns[network.launch_call] if len(hosts) else np.zeros(len(network.operations), np.int64)
    )
    count = len(network.operations)
    at = network.launch_source - count
    is_launched = (at >= 0) & (at < len(anchors))
    launch = network.launch_lag.copy()
    of = at[is_launched]
    launch[is_launched] += _passed(network, effects, of, called[is_launched])

    # From the anchor of the source to `since_ns` on its thread, and from there on that of the pair itself.
    pair = anchors.lag_ns.copy()
    source = anchors.source - count
    on_host = np.flatnonzero((source >= 0) & (source < len(anchors)))
    thread = anchors.thread[anchors.anchor]
    since = anchors.since_ns
    if effects.cuts:
        cut = effects.cut_before(thread, anchors.time_ns[anchors.anchor])
        cut -= effects.cut_before(thread, since)
        # A lag that is negative, as where clocks are apart, is none that could be cut.
        cuttable = (cut > 0) & (source != len(anchors))
        pair[cuttable] = np.maximum(pair[cuttable] - cut[cuttable], np.minimum(pair[cuttable], 0))
    pair[on_host] += _passed(network, effects, source[on_host], since[on_host])
    is_freed = ~anchors.is_own & anchors.returns()[anchors.anchor]
    is_freed &= effects.freed[anchors.point[anchors.anchor] // 2] if len(hosts) else False
    pair[is_freed] = NEVER_NS
    extra = np.where(effects.dropped, NEVER_NS, network.extra_lag)
    return Lags(launch, pair, extra)


def _passed(network: Network, effects: Effects, anchor: Rows, times: Int64) -> Int64:
    """Return the time from anchors to later instants on their threads, without what is cut, ns."""
    anchors = network.anchors
    passed: Int64 = times - anchors.time_ns[anchor]
    if effects.cuts:
        thread = anchors.thread[anchor]
        passed -= effects.cut_before(thread, times) - effects.cut_before(thread, anchors.time_ns[anchor])
    return passed


def replayed(network: Network, effects: Effects) -> Times:
    """Return all times under some effects."""
    by = lags(network, effects)
    starts, values = _run(network, effects.work_ns, by)
    anchor_ns = values[len(starts) : network.zero]
    hosts = network.hosts
    numbers = np.arange(len(hosts), dtype=np.int64)
    begun, ended = (network.anchors.at(2 * numbers + edge) for edge in (0, 1))
    call_start = anchor_ns[begun] + _passed(network, effects, begun, hosts.start_ns)
    call_end = anchor_ns[ended] + _passed(network, effects, ended, hosts.end_ns)
    return Times(starts, values[: len(starts)], anchor_ns, call_start, call_end)


def _run(network: Network, work_ns: Int64, by: Lags) -> tuple[Int64, Int64]:
    """Return the starts of the operations and all values.

    One turn a node over plain lists: faster in Python than arrays, whose elements would be boxed each time.
    """
    count, zero, nodes = len(network.operations), network.zero, len(network.order)
    begun = zero + 2
    values = [0] * zero + [0, NEVER_NS] + [0] * count
    launch, launch_lag = network.launch_source.tolist(), by.launch.tolist()
    stream, stream_lag = network.stream_source.tolist(), network.stream_lag.tolist()
    work = work_ns.tolist()
    extra, extra_lag = network.extra_source.tolist(), by.extra.tolist()
    extra_first = network.extra_first.tolist()
    pair, pair_lag = network.anchors.source.tolist(), by.pair.tolist()
    pair_first = network.pair_first.tolist()
    starter, member = network.ends.starter.tolist(), network.ends.member.tolist()
    starter_first, member_first = network.ends.starter_first.tolist(), network.ends.member_first.tolist()
    # Operations with further edges get numbers of their own behind all others, so that the many without any
    # do not ask for them.
    has_extra = np.zeros(nodes, np.int64)
    has_extra[network.extra_target] = nodes
    for node in (network.order + has_extra[network.order]).tolist():
        if node < count:
            start = values[launch[node]] + launch_lag[node]
            time = values[stream[node]] + stream_lag[node]
            if time > start:
                start = time
            values[begun + node] = start
            values[node] = start + work[node]
        elif node >= nodes:
            number = node - nodes
            start = values[launch[number]] + launch_lag[number]
            time = values[stream[number]] + stream_lag[number]
            if time > start:
                start = time
            for edge in range(extra_first[number], extra_first[number + 1]):
                time = values[extra[edge]] + extra_lag[edge]
                if time > start:
                    start = time
            values[begun + number] = start
            values[number] = start + work[number]
        elif node < zero:
            latest = NEVER_NS
            for edge in range(pair_first[node - count], pair_first[node - count + 1]):
                time = values[pair[edge]] + pair_lag[edge]
                if time > latest:
                    latest = time
            values[node] = latest
        else:
            number = node - zero
            low, high = starter_first[number], starter_first[number + 1]
            latest = max([values[begun + other] for other in starter[low:high]])
            for other in member[member_first[number] : member_first[number + 1]]:
                values[other] = latest + work[other]
    return np.array(values[begun:], np.int64), np.array(values[:zero], np.int64)
