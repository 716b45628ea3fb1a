"""Finds who computes longer than the others that do the same work: ranks, and stages of a pipeline.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.families import kernel_families
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.time_breakdown import CATEGORIES, TimeBreakdown
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

SAME_WORK = 0.05
"""Ranks whose kernel counts by family differ by no more than this share do the same work."""
SAME_STAGE = 0.001
"""The same in a pipeline whose stages are not known: the first and the last one differ by a few kernels."""
MIN_EXCESS = 0.02
"""A rank computes longer from this share above the lower half of its group on."""
TIMES_NOISE = 3
"""It exceeds them by more than this many times what varies from iteration to iteration."""
_ENOUGH = 5
_TO_DEVIATION = 1.4826
"""From the median deviation to the standard one."""


@dataclass(frozen=True)
class RankComparison:
    """GPUs that do the same work, compared over some iterations.

    Attributes
    ----------
    gpus : tuple of int
    compute_ns : ndarray of int64, shape (gpus,)
        Time with a compute kernel per iteration, median over the iterations.
    wait_ns : ndarray of int64, shape (gpus,), or None
        Time waiting in collectives per iteration, median; None where none is matched.
    excess_ns : ndarray of int64, shape (gpus,)
        Compute time above the median of the lower half of them, median over the iterations.
    noise_ns : ndarray of int64, shape (gpus,)
        How much that varies from one iteration to the next (standard deviation, by the median one).
    """

    gpus: tuple[int, ...]
    compute_ns: Int64
    wait_ns: Int64 | None
    excess_ns: Int64
    noise_ns: Int64

    @property
    def lower_half(self) -> tuple[int, ...]:
        """The GPUs that the others are measured against."""
        return tuple(self.gpus[i] for i in _lower_half(self.compute_ns))

    @property
    def longer(self) -> tuple[int, ...]:
        """The GPUs that compute longer than the lower half of the group: a rank, several, a node; or none."""
        if len(self.gpus) < 2:
            return ()
        # Against the lower half: with several slow ranks the median of all would be one of them.
        base = int(np.median(self.compute_ns[_lower_half(self.compute_ns)]))
        is_longer = (self.excess_ns > MIN_EXCESS * base) & (self.excess_ns > TIMES_NOISE * self.noise_ns)
        return tuple(gpu for gpu, longer in zip(self.gpus, is_longer, strict=True) if longer)

    def excess_share(self, gpu: int) -> float:
        """Return by which share a GPU of the group computes longer than it would without its excess."""
        at = self.gpus.index(gpu)
        excess = int(self.excess_ns[at])
        # A GPU that did nothing but the excess must not divide by zero.
        return excess / max(int(self.compute_ns[at]) - excess, 1)

    @property
    def spread(self) -> float:
        """(Longest - shortest) / median of the compute time."""
        middle = float(np.median(self.compute_ns))
        return float(self.compute_ns.max() - self.compute_ns.min()) / middle if middle else 0.0


def compare_ranks(
    trace: Trace,
    parts: tuple[TimeBreakdown, ...],
    iterations: Iterations,
    waits: Collectives | None = None,
    chosen: tuple[int, ...] | None = None,
) -> tuple[RankComparison, ...]:
    """Compare the GPUs that do the same work, largest group first.

    Parameters
    ----------
    waits : Collectives, optional
        Their wait times, and the stages of a pipeline, which are not compared rank by rank.
    chosen : tuple of int, optional
        The iterations to compare over; by default the steady ones, else all after the warm-up.
    """
    basis = list(iterations.basis if chosen is None else chosen)
    if not basis:
        return ()
    # Each GPU over its own boundaries, so that the skew between them counts for none.
    compute = np.array([_compute(parts[g.index], iterations, g.index)[basis] for g in trace.gpus])
    waiting = _waiting(iterations, waits) if waits is not None and waits.groups else None
    compared = [
        _compared(
            members,
            compute[list(members)],
            waiting[list(members)][:, basis] if waiting is not None else None,
        )
        for members in same_work_of(trace, iterations, waits)
    ]
    return tuple(sorted(compared, key=lambda c: -len(c.gpus)))


def compare_stages(
    comparisons: tuple[RankComparison, ...], collectives: Collectives
) -> RankComparison | None:
    """Compare the stages of a pipeline, each by the lower half of its ranks; None without a pipeline.

    The `gpus` of the result are the numbers of the stages.
    """
    stages = collectives.stages
    if not stages:
        return None
    of_gpu = {gpu: (c, i) for c in comparisons for i, gpu in enumerate(c.gpus)}
    compute, noise = [], []
    for stage in stages:
        known = [of_gpu[gpu] for gpu in stage if gpu in of_gpu]
        if not known:
            return None
        compute.append(int(np.median(np.sort([c.compute_ns[i] for c, i in known])[: (len(known) + 1) // 2])))
        noise.append(max(int(c.noise_ns[i]) for c, i in known))
    # Stage against stage: inside a stage the ranks have been compared with one another.
    times = np.array(compute, np.int64)
    base = int(np.median(times[_lower_half(times)]))
    return RankComparison(tuple(range(len(stages))), times, None, times - base, np.array(noise, np.int64))


def rank_table(trace: Trace, comparisons: tuple[RankComparison, ...]) -> pd.DataFrame:
    """Return one row per GPU.

    `gpu`, `rank`, `group`, `compute_ns`, `excess_ns` (above the lower half of its group), `wait_ns` (-1: not
    known), `slowest` (whether it computes longer).
    """
    rows = [
        (
            gpu,
            trace.gpu_label(gpu),
            number,
            int(group.compute_ns[member]),
            int(group.excess_ns[member]),
            int(group.wait_ns[member]) if group.wait_ns is not None else -1,
            gpu in group.longer,
        )
        for number, group in enumerate(comparisons)
        for member, gpu in enumerate(group.gpus)
    ]
    columns = ["gpu", "rank", "group", "compute_ns", "excess_ns", "wait_ns", "slowest"]
    return pd.DataFrame(sorted(rows), columns=columns)


def same_work_of(
    trace: Trace, iterations: Iterations | None, waits: Collectives | None
) -> list[tuple[int, ...]]:
    """Return the GPUs in groups that do the same work; of a pipeline those of one stage."""
    if waits is None or not waits.is_pipeline:
        return same_work(trace, iterations)
    return same_work(trace, iterations, waits.stages, SAME_WORK if waits.stages else SAME_STAGE)


def same_work(
    trace: Trace,
    iterations: Iterations | None,
    stages: tuple[tuple[int, ...], ...] = (),
    within: float = SAME_WORK,
) -> list[tuple[int, ...]]:
    """Return the GPUs in groups that run the same kernels by family, as often, in an iteration.

    Without iterations: as often in the whole trace.

    GPUs of different stages of a pipeline do not do the same work. One whose peers are not known belongs to
    the stage that is nearest to it by its kernels, or is left alone. `within` is the share of its
    kernels by which a GPU's counts may differ.
    """
    # One row per GPU: its kernels by family. A GPU joins the first group whose first member is like it.
    prints = np.array([_fingerprint(trace, iterations, g.index) for g in trace.gpus])
    stage_of = _stage_of_each(prints, stages)
    groups: list[list[int]] = []
    for gpu in range(len(prints)):
        total = max(int(prints[gpu].sum()), 1)
        for group in groups:
            is_alike = np.abs(prints[gpu] - prints[group[0]]).sum() <= within * total
            if is_alike and stage_of[gpu] == stage_of[group[0]]:
                group.append(gpu)
                break
        else:
            groups.append([gpu])
    return [tuple(group) for group in groups]


def _stage_of_each(prints: Int64, stages: tuple[tuple[int, ...], ...]) -> list[int]:
    """Return the stage of each GPU; those of which it is not known have numbers of their own.

    `prints` has shape (gpus, names).
    """
    known = {gpu: number for number, stage in enumerate(stages) for gpu in stage}
    result = []
    for gpu, own in enumerate(prints):
        if not stages or gpu in known:
            result.append(known.get(gpu, 0))
            continue
        # Stages may be so alike that any would pass for the same work, so only the single nearest one counts.
        apart = [min(int(np.abs(own - prints[g]).sum()) for g in stage) for stage in stages]
        nearest = int(np.argmin(apart))
        result.append(nearest if apart.count(apart[nearest]) == 1 else len(stages) + gpu)
    return result


def _compared(members: tuple[int, ...], compute: Int64, waiting: Int64 | None) -> RankComparison:
    """Compare some GPUs; `compute` and `waiting` have shape (members, iterations)."""
    # Over the iterations first: a single slow iteration makes no rank slow.
    median = np.median(compute, axis=1).astype(np.int64)
    # Iteration by iteration: what makes an iteration longer on all of them is no difference between them.
    above = compute - np.median(compute[_lower_half(median)], axis=0)
    excess = np.median(above, axis=1)
    if compute.shape[1] >= _ENOUGH:
        noise = _TO_DEVIATION * np.median(np.abs(above - excess[:, None]), axis=1)
    else:
        # The median of three may be near by chance, where the farthest is not.
        noise = np.abs(above - excess[:, None]).max(axis=1)
    return RankComparison(
        members,
        median,
        np.median(waiting, axis=1).astype(np.int64) if waiting is not None else None,
        excess.astype(np.int64),
        noise.astype(np.int64),
    )


def _lower_half(compute_ns: Int64) -> list[int]:
    """Return the half of some ranks that compute least, with an odd number one more, at least one."""
    return [int(i) for i in np.argsort(compute_ns, kind="stable")[: (len(compute_ns) + 1) // 2]]


def _compute(of_gpu: TimeBreakdown, iterations: Iterations, gpu: int) -> Int64:
    """Return the time with a compute kernel in each iteration on one GPU, ns."""
    times = of_gpu.totals(*iterations.windows(gpu))
    return np.asarray(times[:, CATEGORIES.index("compute_only")] + times[:, CATEGORIES.index("hidden_comm")])


def _waiting(iterations: Iterations, waits: Collectives) -> Int64:
    """Return the wait time in each iteration, shape (gpus, iterations), ns."""
    return np.array([waits.waits(g.index).covered(*iterations.windows(g.index)) for g in waits.trace.gpus])


def _fingerprint(trace: Trace, iterations: Iterations | None, gpu: int) -> Int64:
    """Return how many kernels of each family the GPU runs in the iterations of the basis, shape (names,)."""
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    if iterations is not None:
        iteration = np.searchsorted(iterations.starts[gpu], kernels.start_ns[rows], side="right") - 1
        rows = rows[np.isin(iteration, iterations.basis)]
    family = kernel_families(trace, rows)
    return np.bincount(family.astype(np.int64), minlength=len(trace.names)).astype(np.int64)
