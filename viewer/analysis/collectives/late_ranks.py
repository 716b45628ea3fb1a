"""Finds the slowest rank: the one that computes longest of those that do the same work.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.time_breakdown import CATEGORIES, TimeBreakdown
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.collectives.match import Collectives

SAME_WORK = 0.05
"""Ranks whose kernel counts by family differ by no more than this share do the same work."""
STRAGGLER_SPREAD = 0.02
"""The spread of compute time above which the slowest rank stands out."""
STRAGGLER_ITERATIONS = 0.75
"""The share of iterations in which a persistent straggler is the slowest."""


@dataclass(frozen=True)
class RankComparison:
    """GPUs that do the same work, compared.

    Attributes
    ----------
    gpus : tuple of int
    compute_ns : ndarray of int64, shape (gpus,)
        Time with a compute kernel per iteration, median over the iterations of the basis.
    wait_ns : ndarray of int64, shape (gpus,), or None
        Time waiting in collectives per iteration, median; None where none is matched.
    slowest : int
        The GPU with most compute time.
    spread : float
        (max - min) / median of the compute time.
    slowest_share : float
        Of the iterations, those in which it is the slowest.
    waits_least : bool or None
        Whether the slowest also waits least, which confirms it; None where waits are not known.
    """

    gpus: tuple[int, ...]
    compute_ns: Int64
    wait_ns: Int64 | None
    slowest: int
    spread: float
    slowest_share: float
    waits_least: bool | None

    @property
    def is_straggler(self) -> bool:
        """Whether the slowest rank stands out persistently, and its wait time is no evidence against it."""
        stands_out = self.spread > STRAGGLER_SPREAD and self.slowest_share >= STRAGGLER_ITERATIONS
        return stands_out and self.waits_least is not False

    @property
    def pattern(self) -> str:
        """Whether the slowest rank is persistently the same one, in words."""
        if len(self.gpus) < 2:
            return "nothing to compare with"
        if self.slowest_share >= STRAGGLER_ITERATIONS:
            return f"persistent: the same in {self.slowest_share * 100:.0f} % of the iterations"
        return "varies"


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
        Their wait times confirm a straggler, or speak against it.
    chosen : tuple of int, optional
        The iterations to compare over; by default the steady ones, else all after the warm-up.
    """
    basis = list(iterations.basis if chosen is None else chosen)
    # Each GPU over its own boundaries, so that the skew between them counts for none.
    compute = np.array([_compute(parts[g.index], iterations, g.index)[basis] for g in trace.gpus])
    waiting = _waiting(iterations, waits) if waits is not None and waits.groups else None
    compared = [
        _compared(
            members,
            compute[list(members)],
            waiting[list(members)][:, basis] if waiting is not None else None,
        )
        for members in same_work(trace, iterations)
        if len(basis)
    ]
    return tuple(sorted(compared, key=lambda c: -len(c.gpus)))


def rank_table(trace: Trace, comparisons: tuple[RankComparison, ...]) -> pd.DataFrame:
    """Return one row per GPU: `gpu`, `rank`, `group`, `compute_ns`, `wait_ns` (-1: not known), `slowest`."""
    rows = [
        (
            gpu,
            trace.gpu_label(gpu),
            number,
            int(group.compute_ns[member]),
            int(group.wait_ns[member]) if group.wait_ns is not None else -1,
            gpu == group.slowest and group.is_straggler,
        )
        for number, group in enumerate(comparisons)
        for member, gpu in enumerate(group.gpus)
    ]
    return pd.DataFrame(sorted(rows), columns=["gpu", "rank", "group", "compute_ns", "wait_ns", "slowest"])


def same_work(trace: Trace, iterations: Iterations) -> list[tuple[int, ...]]:
    """Return the GPUs in groups that run the same kernels by family, as often, in an iteration."""
    # One row per GPU: its kernels by family. A GPU joins the first group whose first member is like it.
    prints = np.array([_fingerprint(trace, iterations, g.index) for g in trace.gpus])
    groups: list[list[int]] = []
    for gpu in range(len(prints)):
        total = max(int(prints[gpu].sum()), 1)
        for group in groups:
            if np.abs(prints[gpu] - prints[group[0]]).sum() <= SAME_WORK * total:
                group.append(gpu)
                break
        else:
            groups.append([gpu])
    return [tuple(group) for group in groups]


def _compared(members: tuple[int, ...], compute: Int64, waiting: Int64 | None) -> RankComparison:
    """Compare some GPUs; `compute` and `waiting` have shape (members, iterations)."""
    # Over the iterations first: a single slow iteration makes no rank slow.
    median = np.median(compute, axis=1).astype(np.int64)
    slowest = int(median.argmax())
    middle = float(np.median(median))
    wait = np.median(waiting, axis=1).astype(np.int64) if waiting is not None else None
    return RankComparison(
        members,
        median,
        wait,
        members[slowest],
        float(median.max() - median.min()) / middle if middle else 0.0,
        float((compute.argmax(axis=0) == slowest).mean()),
        bool(wait[slowest] == wait.min()) if wait is not None and len(members) > 1 else None,
    )


def _compute(of_gpu: TimeBreakdown, iterations: Iterations, gpu: int) -> Int64:
    """Return the time with a compute kernel in each iteration on one GPU, ns."""
    times = of_gpu.totals(*iterations.windows(gpu))
    return np.asarray(times[:, CATEGORIES.index("compute_only")] + times[:, CATEGORIES.index("hidden_comm")])


def _waiting(iterations: Iterations, waits: Collectives) -> Int64:
    """Return the wait time in each iteration, shape (gpus, iterations), ns."""
    return np.array([waits.waits(g.index).covered(*iterations.windows(g.index)) for g in waits.trace.gpus])


def _fingerprint(trace: Trace, iterations: Iterations, gpu: int) -> Int64:
    """Return how many kernels of each family the GPU runs in the iterations of the basis, shape (names,)."""
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    # Only iterations of the basis: warm-up and checkpoints run other kernels on one rank.
    iteration = np.searchsorted(iterations.starts[gpu], kernels.start_ns[rows], side="right") - 1
    rows = rows[np.isin(iteration, iterations.basis)]
    # By family: autotuning may pick another instance of a template on each rank.
    family = kernels.columns.get("short_id", kernels.name_id)[rows]
    return np.bincount(family.astype(np.int64), minlength=len(trace.names)).astype(np.int64)
