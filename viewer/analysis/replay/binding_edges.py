"""Which edge binds a start or a return in a replay: the one that allows it last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.recurrence import Lags, Times, lags
from viewer.trace.lazy import cached_property


class Bound(NamedTuple):
    """Where a binding edge comes from: when that was, and what it was.

    `where` is "end" or "start" of an operation, "called" or "returned" of a host call; `number` says which.
    """

    time_ns: int
    where: str
    number: int


@dataclass(frozen=True, eq=False)
class Bindings:
    """Finds binding edges in a replay.

    Attributes
    ----------
    replay : Replay
    effects : Effects
    times : Times
        Of the replay with the effects.
    """

    replay: Replay
    effects: Effects
    times: Times

    @cached_property
    def lags(self) -> Lags:
        """The lags of the replay."""
        return lags(self.replay.network, self.effects)

    def last_starter(self, operation: int) -> int | None:
        """Return the operation whose start lets a collective end; None for one that waits for none."""
        network, starts = self.replay.network, self.times.start_ns
        number = int(network.in_set[operation])
        if number < 0:
            return None
        first = network.ends.starter_first
        starters = network.ends.starter[first[number] : first[number + 1]]
        # Of several that start together itself, else any: no other rank is to blame.
        latest = starts[starters].max()
        return operation if starts[operation] == latest else int(starters[starts[starters].argmax()])

    def of_start(self, operation: int) -> Bound | None:
        """Return what binds the start of an operation, None where nothing known does."""
        network, times = self.replay.network, self.times
        start = int(times.start_ns[operation])
        found: list[Bound] = []
        source = int(network.launch_source[operation])
        if source < network.zero and self._value(source) + int(self.lags.launch[operation]) == start:
            call = int(network.launch_call[operation])
            returned = int(times.call_end_ns[call])
            # What begins inside its call has no gap before it.
            found.append(Bound(min(returned, start), "returned" if returned <= start else "called", call))
        source = int(network.stream_source[operation])
        if source != network.never and self._value(source) + int(network.stream_lag[operation]) == start:
            found.append(self._of_value(source))
        low, high = np.searchsorted(network.extra_target, [operation, operation + 1])
        for edge in range(int(low), int(high)):
            source = int(network.extra_source[edge])
            if self._value(source) + int(self.lags.extra[edge]) == start:
                found.append(self._of_value(source))
        # Several may allow the start at one instant: what was over last is the cause.
        return max(found, default=None)

    def of_return(self, call: int) -> Bound | None:
        """Return the operation that a blocking call returns after, None where it took its own time."""
        found = [
            b for b in self._at_anchor(2 * call + 1, int(self.times.call_end_ns[call])) if b.where == "end"
        ]
        return max(found, default=None)

    def of_call(self, call: int) -> Bound | None:
        """Return what a call comes after: the one before it, one of another thread; None for the first."""
        hosts = self.replay.network.hosts
        found = self._at_anchor(2 * call, int(self.times.call_start_ns[call]))
        if found or hosts.is_first[call]:
            return max(found, default=None)
        return Bound(int(self.times.call_end_ns[call - 1]), "returned", call - 1)

    def _at_anchor(self, point: int, time: int) -> list[Bound]:
        """Return what allows an anchor at just this time; none where there is no anchor."""
        network, anchors = self.replay.network, self.replay.network.anchors
        place = int(np.searchsorted(anchors.point, point))
        if place == len(anchors) or int(anchors.point[place]) != point:
            return []
        found = []
        low, high = np.searchsorted(anchors.anchor, [place, place + 1])
        for pair in range(int(low), int(high)):
            source = int(anchors.source[pair])
            if source == network.zero or self._value(source) + int(self.lags.pair[pair]) != time:
                continue
            from_point = int(anchors.source_point[pair])
            if from_point < 0:
                found.append(self._of_value(source))
                continue
            call, is_return = divmod(from_point, 2)
            ends = self.times.call_end_ns if is_return else self.times.call_start_ns
            found.append(Bound(int(ends[call]), "returned" if is_return else "called", call))
        return found

    def _value(self, source: int) -> int:
        network = self.replay.network
        count = len(network.operations)
        if source < count:
            return int(self.times.end_ns[source])
        if source < network.zero:
            return int(self.times.anchor_ns[source - count])
        return int(self.times.start_ns[source - network.never - 1])

    def _of_value(self, source: int) -> Bound:
        where = "end" if source < len(self.replay.network.operations) else "start"
        number = source if where == "end" else source - self.replay.network.never - 1
        return Bound(self._value(source), where, number)
