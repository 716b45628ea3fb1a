"""Which iterations are steady: the warm-up, outliers, and the last one, whose length is not known.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viewer.trace.events import Int64

TOLERANCE_PERCENT = 5
"""How far an iteration may lie from the median and still be steady."""
LEAST_STEADY = 3
WARM_UP, CHECKPOINT, EVALUATION, OUTLIER, LAST = "warm-up", "checkpoint", "evaluation", "outlier", "last"

Reason = tuple[str, str]
"""A flag and why."""


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady iterations, within 5 % of the median of all after the warm-up; their own median length."""

    indices: tuple[int, ...]
    median_ns: int


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What the lengths of the iterations say.

    Attributes
    ----------
    flags, why : tuple, shape (iterations,)
        The flag (None, "warm-up", "checkpoint", "evaluation", "outlier" or "last") and its reason ("" without
        one).
    warm_up : int
        How many iterations at the beginning are warm-up.
    known : int
        How many iterations have a length: all, or all but the last.
    steady : Steady or None
        None where there is no steady state.
    """

    flags: tuple[str | None, ...]
    why: tuple[str, ...]
    warm_up: int
    known: int
    steady: Steady | None


def steadiness(durations_ns: Int64, special: Mapping[int, Reason] | None = None) -> Steadiness:
    """Return the flags of the iterations, and which are steady.

    Parameters
    ----------
    durations_ns : ndarray of int64, shape (iterations,)
    special : mapping of int to (flag, why), optional
        Iterations that contain a checkpoint or an evaluation.
    """
    warm, known = warm_up(durations_ns), known_lengths(durations_ns)
    # The same median decides the flags and the steady state; a special iteration counts for it, so that flags
    # found later cannot move what is an outlier.
    median = int(np.median(durations_ns[warm:known]))
    reasons: dict[int, Reason] = {}
    for iteration, duration in enumerate(durations_ns.tolist()):
        if iteration < warm:
            reasons[iteration] = (WARM_UP, f"{duration / max(median, 1):.2f} times the median of the rest")
        elif special and iteration in special:
            reasons[iteration] = special[iteration]
        elif _within(duration, median):
            continue
        elif iteration >= known:
            text = f"{_deviation(duration, median)}: nothing says when the next one would begin"
            reasons[iteration] = (LAST, text)
        elif known - warm >= LEAST_STEADY:
            # Of two that differ neither is the usual one.
            reasons[iteration] = (OUTLIER, _deviation(duration, median))
    numbers = range(len(durations_ns))
    return Steadiness(
        tuple(reasons[number][0] if number in reasons else None for number in numbers),
        tuple(reasons[number][1] if number in reasons else "" for number in numbers),
        warm,
        known,
        steady_iterations(durations_ns, warm, frozenset(reasons)),
    )


def known_lengths(durations_ns: Int64) -> int:
    """Return how many iterations have a length: all, or all but the last.

    The last one ends with its own work, and not when the next one begins. It has a length where that work
    alone lasts as long as the median of the others.
    """
    others = durations_ns[:-1]
    if not len(others) or int(durations_ns[-1]) >= int(np.median(others[warm_up(durations_ns) :])):
        return len(durations_ns)
    return len(others)


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
    median. The last one counts for no median where its length is not known; it is steady where it lasts as
    long as the others by its own work, up to the same 5 %.
    """
    if len(durations_ns) <= warm:
        return None
    known = known_lengths(durations_ns)
    median = int(np.median(durations_ns[warm:known]))
    alike = [i for i in range(warm, len(durations_ns)) if _within(int(durations_ns[i]), median)]
    steady = [iteration for iteration in alike if iteration not in left_out]
    of = len(range(warm, known)) + (known in alike)
    if len(steady) < LEAST_STEADY or 2 * len(steady) < of:
        return None
    lengths = durations_ns[[iteration for iteration in steady if iteration < known] or steady]
    return Steady(tuple(steady), int(np.median(lengths)))


def _within(duration: int, median: int) -> bool:
    # In whole numbers: exactly 5 % is inside, which the rounding of floats would decide either way.
    return 100 * abs(duration - median) <= TOLERANCE_PERCENT * median


def _deviation(duration: int, median: int) -> str:
    share = abs(duration - median) / max(median, 1)
    return f"{share:.1%} {'longer' if duration > median else 'shorter'} than the median"
