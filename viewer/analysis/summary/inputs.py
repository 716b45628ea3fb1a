"""What metrics are computed from: a scope of a study, and the parts that several of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.collectives.rank_comparison import RankComparison, compare_ranks
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.dependencies.overlap_reasons import overlap_reasons
from viewer.analysis.dependencies.stall_reasons import ReasonSums
from viewer.analysis.iterations.phase_table import phase_table
from viewer.analysis.iterations.phases import Phases
from viewer.analysis.kernels.copies import copies
from viewer.analysis.kernels.sync_time import syncs
from viewer.analysis.late_ranks.late_ranks import LateRanks, late_ranks
from viewer.analysis.stalls.causes import SHARES
from viewer.analysis.summary.small_kernels import SmallKernels, small_kernels
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(eq=False)
class MetricInputs:
    """A scope of a study; what is shared is computed when the first metric asks, and kept.

    Attributes
    ----------
    iterations : Iterations or None
        None where none were found.
    """

    study: Study
    scope: Scope
    iterations: Iterations | None

    @cached_property
    def categories(self) -> Int64:
        """The five categories of each GPU's time in the scope, shape (gpus, 5), ns."""
        return self.scope.parts(self.study.parts)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The iterations that medians are taken over."""
        return self.scope.iterations_of(self.iterations) if self.iterations is not None else ()

    @cached_property
    def phases(self) -> Phases | None:
        """Forward, backward and optimizer, None without iterations."""
        return self.study.phases_of(self.iterations) if self.iterations is not None else None

    @cached_property
    def phase_table(self) -> pd.DataFrame:
        """See `viewer.analysis.iterations.phase_table.phase_table`; empty without iterations."""
        if self.iterations is None or self.phases is None:
            return pd.DataFrame()
        return phase_table(self.phases, self.iterations, self.scope, self.study.parts)

    @cached_property
    def ranks(self) -> tuple[RankComparison, ...]:
        """The GPUs that do the same work, compared; () without iterations."""
        if self.iterations is None:
            return ()
        study = self.study
        return compare_ranks(study.trace, study.parts, self.iterations, study.collectives, self.used)

    @cached_property
    def late_ranks(self) -> LateRanks:
        """Who makes the others wait, and who computes longer."""
        return late_ranks(self.study, self.scope, self.iterations, self.used, self.ranks)

    @cached_property
    def copies(self) -> pd.DataFrame:
        """See `viewer.analysis.kernels.copies.copies`."""
        return copies(self.study.trace, self.study.classes, self.study.parts, self.scope)

    @cached_property
    def syncs(self) -> pd.DataFrame:
        """See `viewer.analysis.kernels.sync_time.syncs`."""
        return syncs(self.study.launches, self.study.parts, self.scope)

    @cached_property
    def small_kernels(self) -> tuple[SmallKernels, ...]:
        """The small kernels of each GPU."""
        optimizer = self.phases.phase("optimizer") if self.phases else None
        return small_kernels(
            self.study.trace, self.study.classes, self.scope, optimizer.kernels if optimizer else None
        )

    @cached_property
    def reasons(self) -> tuple[ReasonSums, ...]:
        """The time of each GPU without compute by reason."""
        reasons = self.study.stall_reasons
        return tuple(reasons.sums(gpu, within) for gpu, within in enumerate(self.scope.within))

    @cached_property
    def starved_by(self) -> Int64:
        """What the launching threads did while each GPU was launch-starved, shape (gpus, 9), ns."""
        reasons = self.study.stall_reasons
        shares = [reasons.shares(gpu, within) for gpu, within in enumerate(self.scope.within)]
        return np.array(shares, np.int64).reshape(-1, len(SHARES))

    @cached_property
    def overlap_reasons(self) -> pd.DataFrame:
        """See `viewer.analysis.dependencies.overlap_reasons.overlap_reasons`."""
        count = len(self.scope.iterations) or None
        return overlap_reasons(self.study.stall_reasons, self.scope.within, count)

    def on_each_gpu(self, intervals: Callable[[int], Intervals]) -> list[Intervals]:
        """Return what some intervals of each GPU, by its index, have inside the scope."""
        return [intervals(gpu) & within for gpu, within in enumerate(self.scope.within)]

    def stalls(self, *categories: str) -> list[Intervals]:
        """Return the maximal intervals of one or several categories together, on each GPU."""
        return [
            self.scope.stalls(self.study.parts, gpu, *categories) for gpu in range(len(self.scope.within))
        ]
