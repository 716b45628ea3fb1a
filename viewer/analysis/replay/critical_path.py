"""The critical path of an iteration: the chain of binding edges from its end back to its beginning.

See docs/definitions.md, section 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from viewer.analysis.replay.binding_edges import Bindings
from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.iteration_times import first_of, last_of
from viewer.analysis.replay.lags import EXPLAINED_NS
from viewer.analysis.replay.recurrence import Times
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.events import Int64

PieceKind = Literal[
    "compute",
    "transfer",
    "communication",
    "copy",
    "launch call",
    "other call",
    "blocking call",
    "host code",
    "lag",
    "unexplained",
]
PIECE_KINDS: tuple[PieceKind, ...] = get_args(PieceKind)
"""What a piece of the path is; a lag is a gap of 10 µs at most, a longer one is unexplained."""
SUMS: dict[str, tuple[PieceKind, ...]] = {
    "compute_ns": ("compute",),
    "communication_ns": ("transfer", "communication"),
    "copy_ns": ("copy",),
    "host_ns": ("launch call", "other call", "blocking call", "host code"),
    "gap_ns": ("lag", "unexplained"),
}
"""The sums of the report, of which kinds each is; together they are the length of the path."""
_KERNEL = GPU_KINDS.index(Kind.KERNEL)
_COPIES = tuple(GPU_KINDS.index(kind) for kind in (Kind.MEMCPY, Kind.MEMSET))


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """The critical path of one iteration, as pieces in order of time that fill it.

    Attributes
    ----------
    iteration : int
    kind : ndarray of uint8, shape (pieces,)
        Positions in `PIECE_KINDS`.
    start_ns, end_ns : ndarray of int64, shape (pieces,)
        Each begins where the one before it ends.
    operation : ndarray of int32, shape (pieces,)
        The operation that runs, or whose start a gap leads to, numbered as in `Operations`; -1 on the host.
    call : ndarray of int32, shape (pieces,)
        The call that runs, or that host code leads to, an index into ``trace.api``; -1 on the GPU.
    starts, explained : int
        How many starts of operations are on the path, and how many follow what bound them within 10 µs.
    """

    iteration: int
    kind: npt.NDArray[np.uint8]
    start_ns: Int64
    end_ns: Int64
    operation: npt.NDArray[np.int32]
    call: npt.NDArray[np.int32]
    starts: int
    explained: int

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def length_ns(self) -> int:
        """Its length: that of the iteration, ns."""
        return int((self.end_ns - self.start_ns).sum())

    def sum_ns(self, kinds: Sequence[PieceKind]) -> int:
        """Return the time on pieces of some kinds, ns."""
        chosen = np.isin(self.kind, [PIECE_KINDS.index(kind) for kind in kinds])
        return int((self.end_ns - self.start_ns)[chosen].sum())

    @property
    def sums(self) -> dict[str, int]:
        """The sums of the report by their keys, ns."""
        return {key: self.sum_ns(kinds) for key, kinds in SUMS.items()}


def critical_path(
    replay: Replay, effects: Effects, times: Times, iterations: Iterations, edges_ns: Int64, iteration: int
) -> CriticalPath:
    """Return the critical path of one iteration in a replay.

    It is followed back from the end of the iteration's last operation over all ranks; where the next
    iteration begins only later, from the operation that begins it: so it fills the iteration in any case.

    Parameters
    ----------
    edges_ns : ndarray of int64, shape (iterations + 1,)
        The boundaries of the iterations in the replay.
    """
    begin, end = int(edges_ns[iteration]), int(edges_ns[iteration + 1])
    walk = _Walk(replay, Bindings(replay, effects, times), begin, end)
    last = last_of(replay, iterations, times, iteration)
    if int(times.end_ns[last]) >= end or iteration + 1 == iterations.count:
        walk.back_from_end(last)
    else:
        walk.back_from_start(first_of(replay, iterations, times, iteration + 1))
    return walk.path(iteration)


class _Walk:
    """Follows binding edges back in time and collects the pieces between them.

    `time` is how far back it has come: it only ever decreases, so that the pieces fill the iteration also
    where clocks are apart and an end is later than the start that it allowed.
    """

    def __init__(self, replay: Replay, bindings: Bindings, begin: int, end: int) -> None:
        self._network, self._bindings = replay.network, bindings
        self._inputs = replay.inputs
        self._begin, self.time = begin, end
        self._pieces: list[tuple[int, int, int, int, int]] = []
        self._starts = self._explained = 0
        self._launching = _launching(replay)

    def path(self, iteration: int) -> CriticalPath:
        """Return what was collected; where nothing known comes before it, the rest is unexplained."""
        self._add("unexplained", self._begin)
        columns = np.array(self._pieces[::-1], np.int64).reshape(-1, 5).T
        kind, start, end, operation, call = columns
        return CriticalPath(
            iteration, kind.astype(np.uint8), start, end, operation.astype(np.int32), call.astype(np.int32),
            self._starts, self._explained,
        )  # fmt: skip

    def _add(self, kind: PieceKind, start: int, operation: int = -1, call: int = -1) -> None:
        start = max(start, self._begin)
        if start < self.time:
            self._pieces.append((PIECE_KINDS.index(kind), start, self.time, operation, call))
            self.time = start

    def back_from_end(self, operation: int) -> None:
        """Follow the path back from the end of an operation."""
        self._follow(self._end(operation))

    def back_from_start(self, operation: int) -> None:
        """Follow the path back from the start of an operation."""
        self._follow(self._start(operation))

    def _follow(self, at: tuple[str, int] | None) -> None:
        step = {"end": self._end, "start": self._start, "called": self._called, "returned": self._returned}
        while at is not None and self.time > self._begin:
            where, number = at
            at = step[where](number)

    def _end(self, operation: int) -> tuple[str, int] | None:
        starts = self._bindings.times.start_ns
        last = self._bindings.last_starter(operation)
        begun = operation if last is None else last
        self._add(self._kind_of(operation, last is not None), int(starts[begun]), operation)
        return "start", begun

    def _start(self, operation: int) -> tuple[str, int] | None:
        start = int(self._bindings.times.start_ns[operation])
        bound = self._bindings.of_start(operation)
        self._starts += 1
        if bound is None:
            return None
        self._explained += start - bound.time_ns <= EXPLAINED_NS
        self._gap(bound.time_ns, start, operation)
        return bound.where, bound.number

    def _gap(self, allowed: int, start: int, operation: int) -> None:
        self._add("lag" if start - allowed <= EXPLAINED_NS else "unexplained", allowed, operation)

    def _returned(self, call: int) -> tuple[str, int] | None:
        times, row = self._bindings.times, int(self._network.hosts.row[call])
        bound = self._bindings.of_return(call)
        if bound is None:
            kind: PieceKind = "launch call" if self._launching[call] else "other call"
            self._add(kind, int(times.call_start_ns[call]), call=row)
            return "called", call
        self._add("blocking call", bound.time_ns, call=row)
        return bound.where, bound.number

    def _called(self, call: int) -> tuple[str, int] | None:
        bound = self._bindings.of_call(call)
        if bound is None:
            return None
        self._add("host code", bound.time_ns, call=int(self._network.hosts.row[call]))
        return bound.where, bound.number

    def _kind_of(self, operation: int, is_matched: bool) -> PieceKind:
        if is_matched:
            return "transfer"
        first = self._network.operations.first
        place = int(np.searchsorted(first, operation, side="right")) - 1
        if place in _COPIES:
            return "copy"
        if place == _KERNEL:
            name = self._inputs.trace.kernels.name_id[operation - int(first[place])]
            return "communication" if self._inputs.classes.is_comm(name) else "compute"
        return "compute"


def _launching(replay: Replay) -> npt.NDArray[np.bool_]:
    """Return which host calls launch an operation, shape (host calls,)."""
    network = replay.network
    call = network.operations.call
    launching = np.zeros(len(network.hosts), bool)
    launching[network.hosts.outer_of[call[call >= 0]]] = True
    return launching
