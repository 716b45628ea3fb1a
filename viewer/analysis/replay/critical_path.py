"""The critical path of an iteration: the chain of binding edges from its end back to its beginning.

See docs/definitions.md, section 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from viewer.analysis.replay.binding_edges import Bindings, Bound, Where
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.iteration_times import first_of, last_of
from viewer.analysis.replay.lags import EXPLAINED_NS
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
Mask = npt.NDArray[np.bool_]
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


def critical_paths(
    bindings: Bindings, iterations: Iterations, edges_ns: Int64, chosen: Sequence[int]
) -> tuple[CriticalPath, ...]:
    """Return the critical paths of some iterations in a replay.

    Each is followed back from the end of the iteration's last operation over all ranks; where the next
    iteration begins only later, from the operation that begins it: so it fills the iteration in any case.

    Parameters
    ----------
    edges_ns : ndarray of int64, shape (iterations + 1,)
        The boundaries of the iterations in the replay.
    """
    replay, times = bindings.replay, bindings.times
    launching = _launching(replay)
    paths = []
    for iteration in chosen:
        begin, end = int(edges_ns[iteration]), int(edges_ns[iteration + 1])
        walk = _Walk(bindings, launching, begin, end)
        last = last_of(replay, iterations, times, iteration)
        if int(times.end_ns[last]) >= end or iteration + 1 == iterations.count:
            walk.back_from("end", last)
        else:
            walk.back_from("start", first_of(replay, iterations, times, iteration + 1))
        paths.append(walk.path(iteration))
    return tuple(paths)


class _Walk:
    """Follows binding edges back in time and collects the pieces between them.

    `_time` is how far back it has come: it only ever decreases, so that the pieces fill the iteration also
    where clocks are apart and an end is later than the start that it allowed.
    """

    def __init__(self, bindings: Bindings, launching: Mask, begin: int, end: int) -> None:
        self._bindings, self._launching = bindings, launching
        self._network, self._inputs = bindings.replay.network, bindings.replay.inputs
        self._begin, self._time = begin, end
        # Columns of shape (5, pieces), latest first: kind, start, end, operation, call.
        self._pieces: list[Int64] = []
        self._starts = self._explained = 0

    def path(self, iteration: int) -> CriticalPath:
        """Return what was collected; where nothing known comes before it, the rest is unexplained."""
        self._add("unexplained", self._begin)
        kind, start, end, operation, call = np.concatenate(self._pieces, axis=1)[:, ::-1]
        return CriticalPath(
            iteration, kind.astype(np.uint8), start, end, operation.astype(np.int32), call.astype(np.int32),
            self._starts, self._explained,
        )  # fmt: skip

    def _add(self, kind: PieceKind, start: int, operation: int = -1, call: int = -1) -> None:
        start = max(start, self._begin)
        if start < self._time:
            piece = PIECE_KINDS.index(kind), start, self._time, operation, call
            self._pieces.append(np.array(piece, np.int64)[:, None])
            self._time = start

    def back_from(self, where: Where, number: int) -> None:
        """Follow the path back from the end or the start of an operation."""
        step = {"end": self._end, "start": self._start, "point": self._point}
        at: Bound | None = Bound(self._time, where, number)
        while at is not None and self._time > self._begin:
            at = step[at.where](at.number)

    def _end(self, operation: int) -> Bound:
        last = self._bindings.last_starter(operation)
        begun = operation if last is None else last
        start = int(self._bindings.times.start_ns[begun])
        self._add(self._kind_of(operation, last is not None), start, operation)
        return Bound(start, "start", begun)

    def _start(self, operation: int) -> Bound | None:
        start = int(self._bindings.times.start_ns[operation])
        bound = self._bindings.of_start(operation)
        self._starts += 1
        if bound is not None:
            is_explained = start - bound.time_ns <= EXPLAINED_NS
            self._explained += is_explained
            self._add("lag" if is_explained else "unexplained", bound.time_ns, operation)
        return bound

    def _point(self, point: int) -> Bound | None:
        """Go back on a host thread: to the anchor before a point, or from an anchor to what bound it."""
        anchors, hosts, call = self._network.anchors, self._network.hosts, point // 2
        before = int(anchors.point[int(anchors.at(point))])
        if before < point:
            self._along(before, point)
            return Bound(self._time, "point", before)
        bound = self._bindings.of_anchor(point)
        row = int(hosts.row[call])
        if bound is None:
            # The first call of a thread: what came before it is not known.
            return None
        if point % 2 == 0:
            self._add("host code", bound.time_ns, call=row)
        elif bound.where == "end":
            self._add("blocking call", bound.time_ns, call=row)
        else:
            self._add("launch call" if self._launching[call] else "other call", bound.time_ns, call=row)
        return bound

    def _along(self, before: int, point: int) -> None:
        """Add the calls between two points of a thread, and the code between them, all at once."""
        points = np.arange(before, point + 1)
        times, call = self._bindings.times, points // 2
        at = np.where(points % 2, times.call_end_ns[call], times.call_start_ns[call])
        # As `_add` does: nothing before the beginning, nothing twice.
        at = np.clip(at, self._begin, self._time)
        at[-1] = self._time
        start, end, ending = at[:-1], at[1:], points[1:]
        is_launch = self._launching[ending // 2]
        in_call = np.where(is_launch, PIECE_KINDS.index("launch call"), PIECE_KINDS.index("other call"))
        kind = np.where(ending % 2, in_call, PIECE_KINDS.index("host code"))
        rows = self._network.hosts.row[ending // 2].astype(np.int64)
        columns = np.stack((kind, start, end, np.full(len(kind), -1), rows))
        self._pieces.append(columns[:, end > start][:, ::-1])
        self._time = int(at[0])

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


def _launching(replay: Replay) -> Mask:
    """Return which host calls launch an operation, shape (host calls,)."""
    network = replay.network
    call = network.operations.call
    launching = np.zeros(len(network.hosts), bool)
    launching[network.hosts.outer_of[call[call >= 0]]] = True
    return launching
