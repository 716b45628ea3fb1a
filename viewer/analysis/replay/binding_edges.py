"""Which edge binds a start or a return in a replay: the one that allows it last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.recurrence import Lags, Times, lags
from viewer.trace.lazy import cached_property

Where = Literal["end", "start", "point"]


class Bound(NamedTuple):
    """Where a binding edge comes from: when that was, and what it was.

    `where` is the end or the start of an operation, or a point of a host thread (`Anchors.point`); `number`
    says which.
    """

    time_ns: int
    where: Where
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
            found.append(Bound(min(returned, start), "point", 2 * call + (returned <= start)))
        source = int(network.stream_source[operation])
        if source != network.never and self._value(source) + int(network.stream_lag[operation]) == start:
            found.append(self._of_value(source))
        for edge in range(*network.extra_first[operation : operation + 2].tolist()):
            source = int(network.extra_source[edge])
            if self._value(source) + int(self.lags.extra[edge]) == start:
                found.append(self._of_value(source))
        # Several may allow the start at one instant: what was over last is the cause.
        return max(found, default=None)

    def of_anchor(self, point: int) -> Bound | None:
        """Return what binds an anchor: an operation, or a point of a thread; None for a first call."""
        network, anchors, times = self.replay.network, self.replay.network.anchors, self.times
        place = int(anchors.at(point))
        time = int(times.anchor_ns[place])
        found = []
        for pair in range(*network.pair_first[place : place + 2].tolist()):
            source = int(anchors.source[pair])
            if source == network.zero or self._value(source) + int(self.lags.pair[pair]) != time:
                continue
            from_point = int(anchors.source_point[pair])
            if from_point < 0:
                found.append(self._of_value(source))
                continue
            ends = times.call_end_ns if from_point % 2 else times.call_start_ns
            found.append(Bound(int(ends[from_point // 2]), "point", from_point))
        return max(found, default=None)

    def _value(self, source: int) -> int:
        network = self.replay.network
        count = len(network.operations)
        if source < count:
            return int(self.times.end_ns[source])
        if source < network.zero:
            return int(self.times.anchor_ns[source - count])
        return int(self.times.start_ns[source - network.never - 1])

    def _of_value(self, source: int) -> Bound:
        if source < len(self.replay.network.operations):
            return Bound(self._value(source), "end", source)
        return Bound(self._value(source), "start", source - self.replay.network.never - 1)
