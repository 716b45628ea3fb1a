"""Iterations, start to start on each GPU, and which of them are steady.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.time.time_breakdown import CATEGORIES, TimeBreakdown
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

TOLERANCE_PERCENT = 5
"""How far an iteration may lie from the median and still be steady."""
WARM_UP, CHECKPOINT, EVALUATION, OUTLIER = "warm-up", "checkpoint", "evaluation", "outlier"

Reason = tuple[str, str]
"""A flag and why."""


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady iterations, within 5 % of the median of all after the warm-up; their own median length."""

    indices: tuple[int, ...]
    median_ns: int


@dataclass(frozen=True, slots=True)
class IterationShare:
    """The length of a range as a share of that of the iteration around its middle.

    Of several ranges it is their length together, over that of the iterations around their middles, each of
    which counts once.

    Attributes
    ----------
    counted : tuple of int
        The iterations around the middles, which `share` is of.
    iterations : tuple of int
        All from the first to the last that a range touches.
    """

    counted: tuple[int, ...]
    share: float
    iterations: tuple[int, ...]

    @property
    def iteration(self) -> int:
        """The iteration around the middle of the first range."""
        return self.counted[0]


@dataclass(frozen=True, eq=False)
class Iterations:
    """The iterations by one marker. Each ends where the next one starts, so that numbers over them add up.

    Attributes
    ----------
    marker : str
        The text that marks them, with ``#`` for numbers.
    guess : bool
        Whether no text marks them: then the operations that come back regularly do.
    names : tuple of str
        The marker's own text of each iteration.
    starts : ndarray of int64, shape (gpus, iterations + 1)
        Each GPU's own boundaries in ns: iteration ``k`` runs from ``starts[g, k]`` to ``starts[g, k + 1]``.
        It begins with the first operation launched in the marker; the last one ends with its last operation.
    has_own : ndarray of bool, shape (gpus,)
        False where the marker launched nothing on a GPU: it has the earliest boundaries of the others.
    flags, why : tuple, shape (iterations,)
        The flag (None, "warm-up", "checkpoint", "evaluation" or "outlier") and its reason ("" without one).
    warm_up : int
        How many iterations at the beginning are warm-up.
    steady : Steady or None
        None where there is no steady state.
    notes : tuple of str
        Where the ranks disagree, how ranges were split, and the like.
    """

    marker: str
    guess: bool
    names: tuple[str, ...]
    starts: Int64
    has_own: npt.NDArray[np.bool_]
    flags: tuple[str | None, ...]
    why: tuple[str, ...]
    warm_up: int
    steady: Steady | None
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many iterations there are; they are numbered from 0."""
        return len(self.names)

    @cached_property
    def edges_ns(self) -> Int64:
        """Earliest boundary over the GPUs, of the last end the latest; shape (iterations + 1,), ns."""
        # GPUs without boundaries of their own only repeat those of the others.
        own = self.starts[self.has_own]
        return np.append(own[:, :-1].min(axis=0), own[:, -1].max())

    @cached_property
    def duration_ns(self) -> Int64:
        """Length of each iteration, from its earliest start to the next one's, shape (iterations,), ns."""
        return np.diff(self.edges_ns)

    @cached_property
    def skew_ns(self) -> Int64:
        """Latest start over the GPUs minus the earliest, shape (iterations,), ns."""
        own = self.starts[self.has_own][:, :-1]
        return np.asarray(own.max(axis=0) - own.min(axis=0))

    @cached_property
    def after_warm_up(self) -> tuple[int, ...]:
        """The iterations after the warm-up."""
        return tuple(range(self.warm_up, self.count))

    @property
    def basis(self) -> tuple[int, ...]:
        """The iterations that numbers are taken from: the steady ones, else all after the warm-up."""
        return self.steady.indices if self.steady else self.after_warm_up

    def start_ns(self, iteration: int) -> int:
        """Return when an iteration starts, the earliest over the GPUs, ns."""
        return int(self.edges_ns[iteration])

    def end_ns(self, iteration: int) -> int:
        """Return when an iteration ends, which is when the next one starts, ns."""
        return int(self.edges_ns[iteration + 1])

    def windows(self, gpu: int) -> tuple[Int64, Int64]:
        """Return the starts and the ends of a GPU's iterations, shape (iterations,) each, ns."""
        return self.starts[gpu, :-1], self.starts[gpu, 1:]

    def iteration_at(self, time_ns: int) -> int | None:
        """Return the iteration around an instant, by the earliest boundaries; None outside all."""
        # Half-open: an instant on a boundary belongs to the iteration that begins there, and the end of the
        # last one to none.
        iteration = int(np.searchsorted(self.edges_ns, time_ns, side="right")) - 1
        return iteration if 0 <= iteration < self.count else None

    def inside(self, start_ns: int, end_ns: int) -> list[int]:
        """Return the iterations that lie wholly inside a range."""
        is_inside = (self.edges_ns[:-1] >= start_ns) & (self.edges_ns[1:] <= end_ns)
        return [int(iteration) for iteration in np.flatnonzero(is_inside)]

    def share(self, start_ns: int, end_ns: int) -> IterationShare | None:
        """Return the length of a range over that of the iteration around its middle, None outside all."""
        return self.share_of(((start_ns, end_ns),))

    def share_of(self, windows: Sequence[tuple[int, int]]) -> IterationShare | None:
        """Return the length of disjoint ranges, by start, over that of the iterations around their middles.

        None where the middle of one lies outside all iterations.
        """
        # Not the starts: who drags over an iteration starts a little before it, in its neighbour.
        around = [self.iteration_at((start + end) // 2) for start, end in windows]
        counted = tuple(sorted({iteration for iteration in around if iteration is not None}))
        whole = int(self.duration_ns[list(counted)].sum()) if counted else 0
        if None in around or not whole:
            return None
        # The ranges may begin before the first iteration and end after the last.
        first = self.iteration_at(max(windows[0][0], self.start_ns(0)))
        last = self.iteration_at(min(windows[-1][1], self.end_ns(self.count - 1)) - 1)
        low, high = (counted[0] if first is None else first), (counted[-1] if last is None else last)
        share = sum(end - start for start, end in windows) / whole
        return IterationShare(counted, share, tuple(range(low, max(low, high) + 1)))

    def table(self, breakdowns: Sequence[TimeBreakdown]) -> pd.DataFrame:
        """Return one row per iteration and GPU.

        Parameters
        ----------
        breakdowns : sequence of TimeBreakdown
            One per GPU, see `Study.parts`.

        Returns
        -------
        DataFrame
            `lap` (the iteration), `name`, `flag`, `why`, `gpu`, `start_ns`, `end_ns`, `duration_ns` (of that
            GPU), `deviation` (of the iteration's length from the median, a share), `skew_ns` and the five
            categories, `compute_only_ns` and so on.
        """
        # Iteration by iteration, GPU by GPU within: the transposed boundaries in one line.
        gpus = len(self.starts)
        starts, ends = self.starts[:, :-1].T.ravel(), self.starts[:, 1:].T.ravel()
        iteration = np.repeat(np.arange(self.count), gpus)
        gpu = np.tile(np.arange(gpus), self.count)
        parts = np.zeros((len(iteration), len(CATEGORIES)), np.int64)
        for position, breakdown in enumerate(breakdowns):
            of_gpu = gpu == position
            parts[of_gpu] = breakdown.totals(starts[of_gpu], ends[of_gpu])
        median = self.median_ns
        return pd.DataFrame(
            {
                "lap": iteration,
                "name": np.array(self.names, object)[iteration],
                "flag": np.array(self.flags, object)[iteration],
                "why": np.array(self.why, object)[iteration],
                "gpu": gpu,
                "start_ns": starts,
                "end_ns": ends,
                "duration_ns": ends - starts,
                "deviation": (self.duration_ns[iteration] - median) / max(median, 1),
                "skew_ns": self.skew_ns[iteration],
                **{f"{part}_ns": parts[:, i] for i, part in enumerate(CATEGORIES)},
            }
        )

    def mean_parts(self, breakdowns: Sequence[TimeBreakdown]) -> pd.DataFrame:
        """Return the five categories of each iteration as means over the GPUs, rounded to whole ns.

        One row an iteration, the index `lap`; columns as in `table`.
        """
        parts = [f"{part}_ns" for part in CATEGORIES]
        # Rounded once, at the end: rounded on each GPU the five would no longer sum to the mean length.
        means = self.table(breakdowns).groupby("lap")[parts].mean()
        return means.round().astype(np.int64)

    def median_of(self, iterations: Sequence[int]) -> int:
        """Return the median length of some iterations, ns."""
        return int(np.median(self.duration_ns[list(iterations)]))

    @property
    def median_ns(self) -> int:
        """Median length of the iterations after the warm-up, of all where there is none."""
        return int(np.median(self.duration_ns[self.warm_up :]))


def make_iterations(
    marker: str,
    names: Sequence[str],
    starts: Int64,
    has_own: npt.NDArray[np.bool_],
    special: Mapping[int, Reason] | None = None,
    guess: bool = False,
    notes: tuple[str, ...] = (),
) -> Iterations:
    """Return the iterations with their flags: warm-up, special, outliers; the rest may be steady.

    Parameters
    ----------
    marker, names, starts, has_own, guess, notes
        See `Iterations`.
    special : mapping of int to (flag, why), optional
        Iterations that contain a checkpoint or an evaluation.
    """
    # As `Iterations.duration_ns`, which the flags are needed to make.
    own = starts[has_own]
    durations = np.diff(np.append(own[:, :-1].min(axis=0), own[:, -1].max()))
    warm = warm_up(durations)
    # The same median decides the flags and the steady state; a special iteration counts for it, so that flags
    # found later cannot move what is an outlier.
    median = int(np.median(durations[warm:]))
    reasons: dict[int, Reason] = {}
    for iteration, duration in enumerate(durations.tolist()):
        if iteration < warm:
            reasons[iteration] = (WARM_UP, f"{duration / max(median, 1):.2f} times the median of the rest")
        elif special and iteration in special:
            reasons[iteration] = special[iteration]
        elif not _within(duration, median):
            reasons[iteration] = (OUTLIER, _deviation(duration, median, iteration == len(names) - 1))
    numbers = range(len(names))
    flags = tuple(reasons[number][0] if number in reasons else None for number in numbers)
    why = tuple(reasons[number][1] if number in reasons else "" for number in numbers)
    steady = steady_iterations(durations, warm, frozenset(reasons))
    return Iterations(marker, guess, tuple(names), starts, has_own, flags, why, warm, steady, notes)


def warm_up(durations_ns: Int64) -> int:
    """Return how many iterations at the beginning are longer than 1.05 times the median of those after them.

    At most a quarter of all are warm-up.
    """
    count = 0
    while count < len(durations_ns) // 4:
        # Against those after it, never against all: the slow ones themselves would lift the median that they
        # are judged by.
        rest = float(np.median(durations_ns[count + 1 :]))
        if 100 * int(durations_ns[count]) <= (100 + TOLERANCE_PERCENT) * rest:
            break
        count += 1
    return count


def steady_iterations(
    durations_ns: Int64, warm: int, left_out: frozenset[int] = frozenset()
) -> Steady | None:
    """Return the steady iterations: after the warm-up, within 5 % of the median of all that come after it.

    None if they are fewer than three, or fewer than half. `left_out` are never steady, but count for the
    median.
    """
    rest = durations_ns[warm:]
    if not len(rest):
        return None
    median = int(np.median(rest))
    steady = [
        iteration
        for iteration, duration in enumerate(rest.tolist(), start=warm)
        if _within(duration, median) and iteration not in left_out
    ]
    # Two may agree by chance, and a minority is not how the job runs.
    if len(steady) < 3 or 2 * len(steady) < len(rest):
        return None
    return Steady(tuple(steady), int(np.median(durations_ns[steady])))


def _within(duration: int, median: int) -> bool:
    # In whole numbers: exactly 5 % is inside, which the rounding of floats would decide either way.
    return 100 * abs(duration - median) <= TOLERANCE_PERCENT * median


def _deviation(duration: int, median: int, is_last: bool) -> str:
    share = abs(duration - median) / max(median, 1)
    text = f"{share:.1%} {'longer' if duration > median else 'shorter'} than the median"
    if is_last and duration < median:
        return text + "; the last iteration ends with its last operation"
    return text
