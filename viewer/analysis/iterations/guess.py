"""Guesses the iterations where no range marks them: by the optimizer's kernels, else by what comes back.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.iterations.candidate import Candidate
from viewer.analysis.iterations.less_often import less_often
from viewer.analysis.iterations.optimizer_steps import CLOSE, OPTIMIZER, alternation, runs_of, updates
from viewer.analysis.iterations.periodicity import (
    DRIVERS,
    MIN_EVEN_SHARE,
    commonest_count,
    keys_of,
    named,
    rhythms,
)
from viewer.analysis.launches.attribution import Indices
from viewer.trace import Trace
from viewer.trace.events import Int64

_ALIKE = 0.1
_NO_RANGE = "no range marks one"

Basis = Literal["optimizer", "less often", "rhythm"]


@dataclass(frozen=True, eq=False)
class _Cut:
    """A guess on one GPU.

    Attributes
    ----------
    key : int
        What it is cut at, see `keys_of`.
    basis : {"optimizer", "less often", "rhythm"}
    begins : ndarray of int64, shape (iterations + 1,)
        Where the iterations begin among the operations by start, and where the last one ends.
    even_share, span : float
        As `Candidate.even_share`; the share of all operations inside.
    every : int
        How many of what comes back most regularly make one, 1 where that was not asked.
    """

    key: int
    basis: Basis
    begins: Indices
    even_share: float
    span: float
    every: int = 1


def guesses(trace: Trace, order_of: Callable[[int], GpuOrder], classes: KernelClasses) -> list[Candidate]:
    """Return what is guessed, the best first; none where nothing comes back regularly."""
    cuts: dict[Basis, dict[int, _Cut]] = {"optimizer": {}, "less often": {}, "rhythm": {}}
    for gpu in trace.gpus:
        for cut in _cuts(trace, order_of(gpu.index), classes):
            cuts[cut.basis][gpu.index] = cut
    return [
        _candidate(trace, by_gpu, max(by_gpu, key=lambda gpu: len(order_of(gpu))))
        for by_gpu in cuts.values()
        if by_gpu
    ]


def _cuts(trace: Trace, order: GpuOrder, classes: KernelClasses) -> list[_Cut]:
    """Return the guesses on one GPU, without the driver's migrations, which mark nothing."""
    every_key = keys_of(trace, order)
    # Without them first, not after: a migration between two operations would change their distance.
    own = np.flatnonzero(every_key != DRIVERS)
    keys, lengths = every_key[own], (order.end_ns - order.start_ns)[own]
    cuts = []
    if (by_optimizer := _by_optimizer(trace, keys, classes)) is not None:
        cuts.append(by_optimizer)
    if (by_rhythm := _by_rhythm(keys)) is not None:
        slower = less_often(keys, lengths, by_rhythm.begins[:-1]) if not cuts else None
        if slower is not None:
            begins = _closed(slower.positions, len(keys))
            span = (int(begins[-1]) - int(begins[0])) / len(keys)
            cuts.append(_Cut(slower.key, "less often", begins, _even(begins), span, slower.every))
        cuts.append(by_rhythm)
    # Back to the positions among all operations; the end is one past the last.
    back = np.append(own, len(order))
    return [_Cut(c.key, c.basis, back[c.begins], c.even_share, c.span, c.every) for c in cuts]


def _by_optimizer(trace: Trace, keys: Int64, classes: KernelClasses) -> _Cut | None:
    """Cut after each run of the optimizer's kernels."""
    is_kernel = keys >= 0
    kernels = np.flatnonzero(is_kernel)
    kernels = kernels[classes.class_of[keys[kernels]] == OPTIMIZER]
    if len(kernels) < 2:
        return None
    kernels = kernels[updates(trace, keys[kernels].astype(np.uint32), kernels, CLOSE)]
    _, last = runs_of(kernels, CLOSE)
    ends = kernels[last] + 1
    if len(ends) < 2:
        return None
    # From the last one back: the recording may begin in the middle of a turn, but ends with a whole one.
    ends = ends[len(ends) - 1 :: -alternation(np.diff(ends))][::-1]
    if len(ends) < 2:
        return None
    typical = int(np.median(np.diff(ends)))
    # Before the first run: an iteration as long as the median one, where there is as much.
    begin = max(0, int(ends[0]) - typical)
    begins = np.append(begin, ends) if ends[0] - begin >= (1 - _ALIKE) * typical else ends
    even = _even(begins)
    if len(begins) < 3 or even < MIN_EVEN_SHARE:
        return None
    span = (int(begins[-1]) - int(begins[0])) / len(keys)
    return _Cut(int(keys[kernels[-1]]), "optimizer", begins, even, span)


def _by_rhythm(keys: Int64) -> _Cut | None:
    regular = rhythms(keys)
    if not regular:
        return None
    count = commonest_count(regular)
    first = min((r for r in regular if r.count == count), key=lambda r: r.first)
    # The earliest of those that come equally often begins the iteration; the others are inside it.
    begins = _closed(np.flatnonzero(keys == first.key), len(keys))
    return _Cut(first.key, "rhythm", begins, first.even_share, first.span)


def _closed(positions: Indices, operations: int) -> Indices:
    """Append the end: nothing marks it, so the last iteration has as many operations as the median one."""
    spacing = int(np.median(np.diff(positions)))
    return np.append(positions, min(int(positions[-1]) + spacing, operations))


def _even(begins: Indices) -> float:
    """Return the share of the iterations whose number of operations is within 10 % of the median."""
    counts = np.diff(begins)
    middle = float(np.median(counts))
    return float((np.abs(counts - middle) <= _ALIKE * middle).mean())


def _candidate(trace: Trace, by_gpu: dict[int, _Cut], lead: int) -> Candidate:
    # One edge more than iterations: the last one is the end.
    count = len(by_gpu[lead].begins) - 1
    # A GPU that counts otherwise follows another rhythm: its boundaries would not be those of the others.
    same = {gpu: cut for gpu, cut in by_gpu.items() if len(cut.begins) - 1 == count}
    missing = [trace.gpu_label(gpu.index) for gpu in trace.gpus if gpu.index not in same]
    name, what = named(trace, by_gpu[lead].key)
    return Candidate(
        name=name,
        domain="",
        what=what,
        count=count,
        gpu_share=min(cut.span for cut in same.values()),
        even_share=min(cut.even_share for cut in same.values()),
        cpu_ns=0,
        qualifies=True,
        kind="guess",
        why=_why(by_gpu[lead], name),
        tested=by_gpu[lead].basis != "rhythm",
        processes=tuple(sorted({trace.gpus[gpu].process for gpu in same})),
        disagreement="not on " + ", ".join(missing) if missing else "",
        positions={gpu: cut.begins for gpu, cut in same.items()},
    )


def _why(cut: _Cut, name: str) -> str:
    if cut.basis == "optimizer":
        return f"{_NO_RANGE}, and the kernels of the optimizer ({name}) come in runs"
    if cut.basis == "less often":
        return (
            f"{_NO_RANGE}, and {name} comes once in every {cut.every} repetitions of what comes back most "
            "regularly"
        )
    return f"{_NO_RANGE}, and {name} comes back regularly; it may be a part of an iteration"
