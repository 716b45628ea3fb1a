"""Scopes: a time range, or some iterations with each GPU's own boundaries, that numbers are taken over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.analysis.core.intervals import Intervals, union, window
from viewer.analysis.core.units import duration_text
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.measure import clip_windows
from viewer.analysis.time.steadiness import LEAST_STEADY
from viewer.analysis.time.time_breakdown import IDLE, TimeBreakdown
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64

_MOST_SPANS = 3
"""How many ranges a note spells out."""


@dataclass(frozen=True, eq=False)
class Scope:
    """The time on every GPU that numbers are taken over.

    Attributes
    ----------
    what : str
        Its name, such as "steady state: 6 of 10 iterations".
    within : tuple of Intervals, one per GPU
    time : Intervals
        The union over the GPUs, for what belongs to no GPU: CPU threads, the ruler.
    iterations : tuple of int
        The iterations that it consists of; () for a time range.
    is_steady : bool
        False where numbers are labelled "not steady".
    notes : tuple of str
        Lines for whoever reads its numbers: that it was clipped, that no GPU does anything in it.
    """

    what: str
    within: tuple[Intervals, ...]
    time: Intervals
    iterations: tuple[int, ...] = ()
    is_steady: bool = False
    notes: tuple[str, ...] = ()

    @property
    def hull(self) -> tuple[int, int]:
        """From the earliest start to the latest end, ns; (0, 0) if the scope holds no time."""
        if not len(self.time):
            return 0, 0
        return int(self.time.start_ns[0]), int(self.time.end_ns[-1])

    def of(self, gpu: int | None) -> Intervals:
        """Return the time of one GPU, for None that of all GPUs together."""
        return self.time if gpu is None else self.within[gpu]

    def iterations_of(self, iterations: Iterations) -> tuple[int, ...]:
        """Return the iterations that medians are taken over: its own, or those wholly inside a time range."""
        return self.iterations or tuple(iterations.inside(*self.hull))

    def length_ns(self, gpu: int) -> int:
        """Return the length of the time of one GPU, ns."""
        return self.within[gpu].total()

    @property
    def total_ns(self) -> int:
        """The lengths of the time of all GPUs, added up, ns."""
        return sum(w.total() for w in self.within)

    def stalls(self, breakdowns: Sequence[TimeBreakdown], gpu: int, *categories: str) -> Intervals:
        """Return the maximal intervals of some categories together, on one GPU, inside the scope."""
        within = self.within[gpu]
        if not len(within):
            return within
        # Asked for only as far as the scope reaches, then cut to it: an idle stall that crosses an
        # iteration's edge counts with its part inside.
        start, end = int(within.start_ns[0]), int(within.end_ns[-1])
        return breakdowns[gpu].intervals(*categories, start_ns=start, end_ns=end) & within

    def parts(self, breakdowns: Sequence[TimeBreakdown]) -> Int64:
        """Return the five categories of each GPU inside the scope, shape (gpus, 5), ns."""
        # One row of totals an interval of the GPU, none without any: the sum is five numbers in each case.
        return np.array(
            [
                breakdown.totals(within.start_ns, within.end_ns).reshape(-1, 5).sum(axis=0)
                for breakdown, within in zip(breakdowns, self.within, strict=True)
            ],
            np.int64,
        ).reshape(-1, 5)


def range_scope(
    trace: Trace, breakdowns: Sequence[TimeBreakdown], start_ns: int, end_ns: int, what: str = "range"
) -> Scope:
    """Return the same time range on every GPU, clipped to the recording.

    Every range that a user asks for is clipped here, whatever is counted over it.

    Raises
    ------
    ValueError
        If nothing of it lies inside the recording, or it is empty.
    """
    return ranges_scope(trace, breakdowns, ((start_ns, end_ns),), what)


def ranges_scope(
    trace: Trace,
    breakdowns: Sequence[TimeBreakdown],
    windows: Iterable[tuple[int, int]],
    what: str = "ranges",
) -> Scope:
    """Return several disjoint time ranges, the same on every GPU, clipped to the recording.

    Raises
    ------
    ValueError
        If nothing of them lies inside the recording.
    """
    inside, clipped = clip_windows(trace, windows)
    where = ", ".join(_span(start, end) for start, end in inside[:_MOST_SPANS])
    where += f" and {len(inside) - _MOST_SPANS} more" if len(inside) > _MOST_SPANS else ""
    notes = [f"Range clipped to the recording: {where}."] if clipped else []
    starts, ends = np.array(inside, np.int64).T
    # One object for all GPUs: with thousands of them the same intervals are not made thousands of times.
    time = union(starts, ends)
    scope = Scope(f"{what}, clipped to the recording" if clipped else what, (time,) * len(trace.gpus), time)
    # Idle from end to end is worth a line only where the trace holds operations that lie elsewhere.
    has_operations = any(len(trace.events[kind]) for kind in GPU_KINDS)
    if has_operations and int(scope.parts(breakdowns)[:, IDLE].sum()) == scope.total_ns:
        where = _span(*trace.window_ns)
        notes.append(f"No GPU does anything in this range; the GPU operations lie from {where}.")
    return replace(scope, notes=tuple(notes))


def _span(start_ns: int, end_ns: int) -> str:
    return f"{duration_text(start_ns) if start_ns else '0'} to {duration_text(end_ns)}"


def iteration_scope(iterations: Iterations, chosen: Collection[int] | None = None) -> Scope:
    """Return some iterations as a scope, with each GPU's own boundaries.

    Parameters
    ----------
    chosen : collection of int, optional
        What the user chose; by default the steady iterations, without a steady state all after the warm-up.
    """
    # Sorted, since the windows below must be increasing for the union to be of neighbours.
    picked = tuple(iterations.basis if chosen is None else sorted(chosen))
    within = []
    for gpu in range(len(iterations.starts)):
        start, end = iterations.windows(gpu)
        # A union: neighbouring iterations meet in one boundary, which must not cut a stall across it in two.
        within.append(union(start[list(picked)], end[list(picked)]))
    start = np.concatenate([w.start_ns for w in within])
    end = np.concatenate([w.end_ns for w in within])
    # What the user chose by hand is never labelled "not steady": he knows what he chose.
    steady = chosen is not None or iterations.steady is not None
    return Scope(_what(iterations, chosen, picked), tuple(within), union(start, end), picked, steady)


def _what(iterations: Iterations, chosen: Collection[int] | None, picked: tuple[int, ...]) -> str:
    of_all = f"{len(picked)} of {iterations.count} {iterations.plural}"
    if iterations.steady and picked == iterations.steady.indices:
        what = f"steady state: {of_all}"
    elif chosen is None:
        what = f"not steady: {of_all}{', too few' if iterations.count < LEAST_STEADY else ''}"
    elif len(picked) == 1:
        flag = iterations.flags[picked[0]]
        what = iterations.called(picked[0]) + (f", {flag}" if flag else "")
    else:
        what = f"chosen: {of_all}"
    return what + iterations.in_doubt


def left_out(
    trace: Trace, breakdowns: Sequence[TimeBreakdown], iterations: Iterations | None, scope: Scope
) -> str:
    """Return a line about all that a scope of several iterations leaves out of the recording; "" for nothing.

    That is what lies before the first iteration and after the last one, and those in between that are not in
    the scope; times are means over the GPUs.
    """
    if iterations is None or not scope.iterations:
        return ""
    if len(scope.iterations) == 1 and scope.iterations != iterations.basis:
        return ""
    whole, gpus = window(*trace.span_ns), range(len(iterations.starts))
    first, last = iterations.starts[:, 0], iterations.starts[:, -1]
    rest = tuple(whole - within for within in scope.within)
    pieces = (
        ("before the first iteration", [window(int(whole.start_ns[0]), int(first[g])) for g in gpus]),
        (_others(iterations, scope), [rest[g] & window(int(first[g]), int(last[g])) for g in gpus]),
        ("after the last one", [window(int(last[g]), int(whole.end_ns[0])) for g in gpus]),
    )
    means = [(text, sum(time.total() for time in times) / len(gpus)) for text, times in pieces]
    if not (total := sum(ns for _, ns in means)):
        return ""
    idle = int(replace(scope, within=rest).parts(breakdowns)[:, IDLE].sum())
    parts = "; ".join(f"{text} {duration_text(ns)}" for text, ns in means if ns >= 1)
    return (
        f"Left out: {100 * total / whole.total():.1f} % of the recording ({parts}), "
        f"idle {100 * idle / max(sum(time.total() for time in rest), 1):.1f} %."
    )


def _others(iterations: Iterations, scope: Scope) -> str:
    """Return how many iterations a scope leaves out, and by which flags."""
    others = sorted(set(range(iterations.count)) - set(scope.iterations))
    flags = Counter(flag for iteration in others if (flag := iterations.flags[iteration])).most_common()
    by_flag = f" ({', '.join(f'{count} {flag}' for flag, count in flags)})" if flags else ""
    return f"{len(others)} of {iterations.count} {iterations.plural}{by_flag}"
