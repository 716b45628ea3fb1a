"""What a change would win: the iterations replayed with it (docs/definitions.md, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from viewer.analysis.replay.binding_edges import Bindings
from viewer.analysis.replay.changes import (
    Change,
    ChangeError,
    CloseHole,
    CloseIdle,
    CloseRange,
    FlattenRanks,
    FreeCall,
    FreeLaunches,
    Hide,
    NoWait,
    RemoveCall,
    RemoveCopies,
    Scale,
)
from viewer.analysis.replay.critical_path import CriticalPath, critical_paths
from viewer.analysis.replay.doubts import doubts_of
from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.gpu_changes import flatten_ranks, hide, no_wait, remove_copies, scale
from viewer.analysis.replay.host_changes import (
    close_holes,
    close_idle,
    close_range,
    free_call,
    free_launches,
    remove_call,
)
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.iteration_times import edges_of
from viewer.analysis.replay.recurrence import Times, replayed
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

Chosen = int | Literal["steady"] | None
"""An iteration, the steady ones, or all."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """The length of one iteration, recorded and predicted, ns."""

    index: int
    recorded_ns: int
    predicted_ns: int


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The iterations of a trace as they would have been with some changes.

    Attributes
    ----------
    replay : Replay
    found : Iterations
    changes : tuple of Change
    effects : Effects
        What the changes do to the network.
    times : Times
        When every operation and call would have been.
    edges_ns : ndarray of int64, shape (iterations + 1,)
        As `Iterations.edges_ns`, predicted.
    iterations : tuple of Predicted
        Those that were asked for.
    saving_ns : int
        Median of what the steady ones of them are shorter; of all of them where none is steady.
    saving_range_ns : (int, int)
        The least and the most of it.
    """

    replay: Replay
    found: Iterations
    changes: tuple[Change, ...]
    effects: Effects
    times: Times
    edges_ns: Int64
    iterations: tuple[Predicted, ...]
    saving_ns: int
    saving_range_ns: tuple[int, int]

    @property
    def replay_error_ns(self) -> int:
        """How far the replay without changes is from the recording, ns: 0."""
        return self.replay.error_ns

    @cached_property
    def critical_paths(self) -> tuple[CriticalPath, ...]:
        """The critical paths with the changes, one for each of `iterations`."""
        bindings = Bindings(self.replay, self.effects, self.times)
        chosen = [one.index for one in self.iterations]
        return critical_paths(bindings, self.found, self.edges_ns, chosen)

    @cached_property
    def explained_share(self) -> float | None:
        """The share of the starts on the critical paths that follow what bound them within 10 µs.

        The rest may have waited for something that the trace does not tell: the answer's uncertainty. None
        without a start.
        """
        starts = sum(path.starts for path in self.critical_paths)
        explained = sum(path.explained for path in self.critical_paths)
        return explained / starts if starts else None

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the answer, one sentence each; () where nothing does."""
        counted = _counted(self.found, [one.index for one in self.iterations])
        return doubts_of(self.replay, self.found, self.times, self.edges_ns, counted)

    def times_of(self, kind: Kind) -> tuple[Int64, Int64]:
        """Return the predicted starts and ends of one kind of operation, in the order of its events, ns."""
        first = self.replay.network.operations.first
        position = GPU_KINDS.index(kind)
        rows = slice(int(first[position]), int(first[position + 1]))
        return self.times.start_ns[rows], self.times.end_ns[rows]


def recorded_paths(replay: Replay, iterations: Iterations | None) -> tuple[CriticalPath, ...]:
    """Return the critical path of each iteration as it was recorded; () without iterations."""
    if iterations is None:
        return ()
    bindings = Bindings(replay, Effects.none(replay.network), replay.times)
    return critical_paths(bindings, iterations, iterations.edges_ns, range(iterations.count))


def effects_of(replay: Replay, changes: Sequence[Change], iterations: Iterations | None) -> Effects:
    """Return what some changes do together.

    Raises
    ------
    ChangeError
        If one of them matches nothing.
    """
    holes = [change for change in changes if isinstance(change, CloseHole)]
    effects = close_holes(replay, Effects.none(replay.network), holes)
    # Medians are of what was recorded: flattened first, kernels can be scaled then.
    for change in sorted(changes, key=lambda c: not isinstance(c, FlattenRanks)):
        effects = _with(replay, effects, change, iterations)
    return effects


def _with(replay: Replay, effects: Effects, change: Change, iterations: Iterations | None) -> Effects:
    match change:
        case FlattenRanks():
            return flatten_ranks(replay, effects, iterations)
        case CloseRange():
            return close_range(replay, effects, change)
        case CloseIdle():
            return close_idle(replay, effects, change)
        case CloseHole():
            return effects
        case RemoveCall():
            return remove_call(replay, effects, change)
        case FreeCall():
            return free_call(replay, effects, change)
        case RemoveCopies():
            return remove_copies(replay, effects, change, iterations)
        case Scale():
            return scale(replay, effects, change)
        case Hide():
            return hide(replay, effects, change)
        case NoWait():
            return no_wait(replay, effects, change)
        case FreeLaunches():
            return free_launches(replay, effects)


def what_if(
    replay: Replay, changes: Sequence[Change], iterations: Iterations | None, chosen: Chosen = None
) -> WhatIf:
    """Replay a trace with some changes.

    Hosts run ahead, so that what changes in one iteration moves the next ones too: all are replayed,
    whichever are asked for.

    Parameters
    ----------
    chosen : int, "steady" or None
        Which iterations to tell of; None for all.

    Raises
    ------
    ChangeError
        If there are no iterations, or not the one that is asked for, or a change matches nothing.
    """
    if iterations is None:
        raise ChangeError(
            "no iterations were found in this trace: there is nothing whose length could change"
        )
    asked = _asked(iterations, chosen)
    effects = effects_of(replay, changes, iterations)
    times = replayed(replay.network, effects)
    edges = edges_of(replay, iterations, times)
    recorded, predicted = iterations.duration_ns, np.diff(edges)
    listed = tuple(Predicted(i, int(recorded[i]), int(predicted[i])) for i in asked)
    saving = (recorded - predicted)[_counted(iterations, asked)]
    return WhatIf(
        replay, iterations, tuple(changes), effects, times, edges, listed,
        int(np.median(saving)), (int(saving.min()), int(saving.max())),
    )  # fmt: skip


def _counted(iterations: Iterations, asked: Sequence[int]) -> list[int]:
    """Return the iterations asked for whose lengths are known and like those of the others; else all."""
    return [i for i in asked if i in iterations.basis] or list(asked)


def _asked(iterations: Iterations, chosen: Chosen) -> tuple[int, ...]:
    if chosen is None:
        return tuple(range(iterations.count))
    if chosen == "steady":
        if iterations.steady is None:
            raise ChangeError(f"{iterations.not_steady}; leave out --steady, or name one with --iteration")
        return iterations.steady.indices
    if not 0 <= chosen < iterations.count:
        raise ChangeError(f"there is no iteration {chosen}; the trace has 0 to {iterations.count - 1}")
    return (chosen,)
