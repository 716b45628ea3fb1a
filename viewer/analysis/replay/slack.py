"""Slack: how much longer an operation or a call could last before its iteration does.

See docs/definitions.md, section 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.iteration_times import first_of, last_ones
from viewer.analysis.replay.recurrence import lags
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace.events import Int64

ALWAYS_NS = 2**61
"""The latest end of what nothing in the iteration waits for."""


@dataclass(frozen=True, eq=False)
class Slack:
    """The slack of what happens in one iteration, from its beginning to that of the next one.

    Attributes
    ----------
    replay : Replay
    end_ns : dict of int to int
        By value of the network (see `Network`): until when it may be without the iteration lasting longer;
        what is not in it has all the time.
    start_ns : dict of int to int
        The same of the starts of operations.
    """

    replay: Replay
    end_ns: dict[int, int]
    start_ns: dict[int, int]

    def of_operation(self, operation: int) -> int | None:
        """Return the slack of an operation, ns; None where nothing in the iteration waits for it."""
        latest = self.end_ns.get(operation)
        return None if latest is None else latest - int(self.replay.times.end_ns[operation])

    def of_call(self, call: int) -> int | None:
        """Return the slack of an outermost call, see `HostCalls`, ns; None where nothing waits for it."""
        network, times = self.replay.network, self.replay.times
        anchors, count = network.anchors, len(network.operations)
        returned = 2 * call + 1
        anchor = int(anchors.at(returned))
        if int(anchors.point[anchor]) == returned:
            latest = self.end_ns.get(count + anchor)
            return None if latest is None else latest - int(times.anchor_ns[anchor])
        # Up to the next anchor all that follows on the thread moves as far as the call lasts longer.
        by = lags(network, Effects.none(network))
        value = int(times.anchor_ns[anchor])
        follows = np.flatnonzero(network.launch_source == count + anchor)
        later = network.launch_call[follows] > call
        own = network.launch_call[follows] == call
        own &= times.start_ns[follows] >= times.call_end_ns[call]
        found = [
            self.start_ns[i] - value - int(by.launch[i])
            for i in follows[later | own].tolist()
            if i in self.start_ns
        ]
        pairs = np.flatnonzero((anchors.source == count + anchor) & (anchors.source_point >= returned))
        for pair in pairs.tolist():
            latest = self.end_ns.get(count + int(anchors.anchor[pair]))
            if latest is not None:
                found.append(latest - value - int(by.pair[pair]))
        return min(found, default=None)


def find_slack(replay: Replay, iterations: Iterations, iteration: int) -> Slack:
    """Return until when everything in an iteration may end without it lasting longer.

    One turn a node of the iteration, backwards: what waits for a node is known before the node is.
    """
    network, times = replay.network, replay.times
    by = lags(network, Effects.none(network))
    count, zero, never = len(network.operations), network.zero, network.never
    begin, deadline = (int(iterations.edges_ns[iteration + i]) for i in (0, 1))
    ends: dict[int, int] = {}
    starts: dict[int, int] = {}
    if iteration + 1 < iterations.count:
        starts[first_of(replay, iterations, times, iteration + 1)] = deadline
    else:
        ends = dict.fromkeys(last_ones(replay, iterations), deadline)

    def allow(value: int, latest: int) -> None:
        """Let a value be at `latest` at most."""
        if value > never:
            starts[value - never - 1] = min(starts.get(value - never - 1, ALWAYS_NS), latest)
        elif value < zero:
            ends[value] = min(ends.get(value, ALWAYS_NS), latest)

    for node in _nodes(replay, begin, deadline)[::-1].tolist():
        if node < count:
            latest = starts.get(node, ALWAYS_NS)
            if network.in_set[node] < 0:
                latest = min(latest, ends.get(node, ALWAYS_NS) - int(network.work_ns[node]))
            if latest >= ALWAYS_NS // 2:
                continue
            starts[node] = latest
            allow(int(network.launch_source[node]), latest - int(by.launch[node]))
            allow(int(network.stream_source[node]), latest - int(network.stream_lag[node]))
            for edge in range(*network.extra_first[node : node + 2].tolist()):
                allow(int(network.extra_source[edge]), latest - int(by.extra[edge]))
        elif node < zero:
            if node in ends:
                for pair in range(*network.pair_first[node - count : node - count + 2].tolist()):
                    allow(int(network.anchors.source[pair]), ends[node] - int(by.pair[pair]))
        else:
            _through_set(replay, node - zero, ends, starts)
    return Slack(replay, ends, starts)


def _through_set(replay: Replay, number: int, ends: dict[int, int], starts: dict[int, int]) -> None:
    """Let those that a set waits for start so late at most that its members end in time."""
    network = replay.network
    sets = network.ends
    members = sets.member[sets.member_first[number] : sets.member_first[number + 1]].tolist()
    latest = min(
        (ends[m] - int(network.work_ns[m]) for m in members if m in ends),
        default=ALWAYS_NS,
    )
    if latest < ALWAYS_NS:
        for starter in sets.starter[sets.starter_first[number] : sets.starter_first[number + 1]].tolist():
            starts[starter] = min(starts.get(starter, ALWAYS_NS), latest)


def _nodes(replay: Replay, begin: int, end: int) -> Int64:
    """Return the nodes of the network that lie in [begin, end], in their order."""
    network, times = replay.network, replay.times
    sets = network.ends
    begun = times.start_ns[sets.starter]
    latest = np.maximum.reduceat(begun, sets.starter_first[:-1]) if len(sets) else begun
    at = np.concatenate((times.start_ns, times.anchor_ns, latest))[network.order]
    return np.asarray(network.order[(at >= begin) & (at <= end)], np.int64)
