"""Iterations, start to start on each GPU, and what marks them.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.units import duration_text
from viewer.analysis.time.steadiness import LEAST_STEADY, Reason, Steadiness, Steady, steadiness
from viewer.analysis.time.time_breakdown import CATEGORIES, TimeBreakdown
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

MarkerKind = Literal["named", "derived", "guess"]
_WORDS: dict[MarkerKind, str] = {"named": "named", "derived": "derived", "guess": "a guess"}


@dataclass(frozen=True, slots=True)
class Marker:
    """What marks the iterations.

    Attributes
    ----------
    name : str
        The text that marks them, with ``#`` for numbers; the name of an operation for a guess.
    kind : {"named", "derived", "guess"}
        Whether a text in the trace says that these are the iterations, they are cut at the optimizer, or
        only guessed.
    why : str
        Why they are not named, "" where they are.
    unit : str
        What one of them is called: "iteration", or the part of one that the marker is ("backward").
    """

    name: str
    kind: MarkerKind = "named"
    why: str = ""
    unit: str = "iteration"


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
    by : Marker
        What marks them.
    names : tuple of str
        The marker's own text of each iteration.
    starts : ndarray of int64, shape (gpus, iterations + 1)
        Each GPU's own boundaries in ns: iteration ``k`` runs from ``starts[g, k]`` to ``starts[g, k + 1]``.
        It begins with the first operation launched in the marker; the last one ends with its last operation.
    has_own : ndarray of bool, shape (gpus,)
        False where the marker launched nothing on a GPU: it has the earliest boundaries of the others.
    steadiness : Steadiness
        The flag of each and why, the warm-up, the steady ones.
    notes : tuple of str
        Where the ranks disagree, how ranges were split, and the like.
    warnings : tuple of str
        Those of the notes that speak against them.
    """

    by: Marker
    names: tuple[str, ...]
    starts: Int64
    has_own: npt.NDArray[np.bool_]
    steadiness: Steadiness
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def marker(self) -> str:
        """The text that marks them, with ``#`` for numbers."""
        return self.by.name

    @property
    def guess(self) -> bool:
        """Whether no text in the trace says that these are the iterations: derived, or guessed."""
        return self.by.kind != "named"

    @property
    def doubt(self) -> str:
        """The word that stands wherever they are shown: "derived", "guess", or "" where they are named."""
        return "" if self.by.kind == "named" else self.by.kind

    @property
    def in_doubt(self) -> str:
        """The word as it follows their name, " (guess)"; "" where they are named."""
        return f" ({self.doubt})" if self.doubt else ""

    @property
    def doubt_text(self) -> str:
        """The word and why as a sentence, "" where they are named."""
        return f"The iterations are {_WORDS[self.by.kind]}: {self.by.why}." if self.doubt else ""

    @property
    def plural(self) -> str:
        """What several of them are called: "iterations", or the part of one that the marker is."""
        # A part is named by a text of the trace, which has no plural that is known; it is quoted.
        plural = {"iteration": "iterations", "micro-batch": "micro-batches"}
        return plural.get(self.by.unit, f"“{self.by.unit}”")

    @property
    def count_text(self) -> str:
        """How many there are: "8 iterations", "16 × backward"."""
        if self.by.unit != "iteration":
            return f"{self.count:,} × {self.by.unit}"
        return f"{self.count:,} iteration{'s' * (self.count != 1)}"

    def called(self, iteration: int) -> str:
        """Return what one of them is called: "iteration 3", "backward 3"."""
        return f"{self.by.unit} {iteration}"

    @property
    def flags(self) -> tuple[str | None, ...]:
        """The flag of each: None, "warm-up", "checkpoint", "evaluation", "outlier" or "last"."""
        return self.steadiness.flags

    @property
    def why(self) -> tuple[str, ...]:
        """The reason of each flag, "" without one."""
        return self.steadiness.why

    @property
    def warm_up(self) -> int:
        """How many at the beginning are warm-up."""
        return self.steadiness.warm_up

    @property
    def steady(self) -> Steady | None:
        """The steady ones, None where there is no steady state."""
        return self.steadiness.steady

    @property
    def count(self) -> int:
        """How many iterations there are; they are numbered from 0."""
        return len(self.names)

    @cached_property
    def edges_ns(self) -> Int64:
        """Earliest boundary over the GPUs, of the last end the latest; shape (iterations + 1,), ns."""
        # GPUs without boundaries of their own only repeat those of the others.
        own = self.starts[self.has_own]
        # Starts by the earliest and the very end by the latest: so no operation of an iteration lies outside
        # of it, and neighbours share one edge, so that the lengths add up.
        return np.append(own[:, :-1].min(axis=0), own[:, -1].max())

    @cached_property
    def duration_ns(self) -> Int64:
        """Length of each iteration, from its earliest start to the next one's, shape (iterations,), ns."""
        return np.diff(self.edges_ns)

    @cached_property
    def skew_ns(self) -> Int64:
        """Latest start over the GPUs minus the earliest, shape (iterations,), ns."""
        own = self.starts[self.has_own][:, :-1]
        # Of the starts alone: the last end is no boundary that the GPUs could agree on.
        return np.asarray(own.max(axis=0) - own.min(axis=0))

    @cached_property
    def after_warm_up(self) -> tuple[int, ...]:
        """The iterations after the warm-up."""
        return tuple(range(self.warm_up, self.count))

    @property
    def basis(self) -> tuple[int, ...]:
        """The iterations that numbers are taken from: the steady ones, else all after the warm-up.

        Without the last one where its length is not known: the time that follows its work is not in it.
        """
        # One place decides what numbers are taken from, so that report, page and panels can never disagree on
        # it.
        return self.steady.indices if self.steady else tuple(self.with_length(self.after_warm_up))

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
        # By the edges over all GPUs: a range that cuts an iteration on one GPU does not hold it.
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
        # A set: two ranges in one iteration count its length once, or the share would be half of what it is.
        counted = tuple(sorted({iteration for iteration in around if iteration is not None}))
        whole = int(self.duration_ns[list(counted)].sum()) if counted else 0
        # A share of some of the ranges would be taken for that of all; and iterations of length zero have no
        # share.
        if None in around or not whole:
            return None
        # The ranges may begin before the first iteration and end after the last.
        first = self.iteration_at(max(windows[0][0], self.start_ns(0)))
        last = self.iteration_at(min(windows[-1][1], self.end_ns(self.count - 1)) - 1)
        # In gaps before the first iteration there is none at an end; then what the middles found bounds it.
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
        # All iterations of a GPU in one call: the sums are looked up at their edges, which costs the same for
        # one and for a thousand.
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

    def with_length(self, iterations: Sequence[int]) -> list[int]:
        """Return those of some iterations whose lengths are known, all where none is.

        The last one ends with its own work: nothing says when the next one would have begun.
        """
        # All, if there would be none: one iteration alone has a length to show, though it may be short.
        return [i for i in iterations if i < self.steadiness.known] or list(iterations)

    def median_of(self, iterations: Sequence[int]) -> int:
        """Return the median length of some iterations, of those whose length is known, ns."""
        return int(np.median(self.duration_ns[self.with_length(iterations)]))

    @property
    def median_ns(self) -> int:
        """Median length of the iterations after the warm-up, of those whose length is known."""
        return self.median_of(self.after_warm_up)

    @property
    def not_steady(self) -> str:
        """Why there is no steady state, "" where there is one."""
        if self.steady is not None:
            return ""
        lengths = self.duration_ns[self.with_length(self.after_warm_up)]
        # The spread is the reason: a reader who reads that there is no steady state asks how far it is from
        # one.
        low, middle, high = (duration_text(int(f(lengths))) for f in (np.min, np.median, np.max))
        if self.count < LEAST_STEADY:
            count = "1 iteration is" if self.count == 1 else f"{self.count} iterations are"
            return f"{count} too few for a steady state: {middle if low == high else f'{low} and {high}'}"
        return f"no steady state: {low} to {high}, median {middle}"


def make_iterations(
    by: Marker,
    names: Sequence[str],
    starts: Int64,
    has_own: npt.NDArray[np.bool_],
    special: Mapping[int, Reason] | None = None,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Iterations:
    """Return the iterations with their flags: warm-up, special, outliers; the rest may be steady.

    Parameters
    ----------
    by, names, starts, has_own, notes, warnings
        See `Iterations`.
    special : mapping of int to (flag, why), optional
        Iterations that contain a checkpoint or an evaluation.
    """
    # As `Iterations.duration_ns`, which the flags are needed to make.
    own = starts[has_own]
    durations = np.diff(np.append(own[:, :-1].min(axis=0), own[:, -1].max()))
    steady = steadiness(durations, special)
    return Iterations(by, tuple(names), starts, has_own, steady, (*warnings, *notes), warnings)
