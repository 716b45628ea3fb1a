"""The summary of a run: its numbers, with their definitions, what is normal and where to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from viewer.analysis.collectives.late_ranks import compare_ranks, rank_table
from viewer.analysis.iterations.phase_table import phase_table
from viewer.analysis.kernels.copies import copies
from viewer.analysis.kernels.kernel_tables import class_table, top_kernels
from viewer.analysis.kernels.sync_time import syncs
from viewer.analysis.recording.finding import Finding
from viewer.analysis.summary.metric import Metric, table
from viewer.analysis.summary.rank_metrics import rank_summary
from viewer.analysis.summary.time_metrics import iteration_summary, time_summary
from viewer.analysis.summary.work_metrics import burst_summary, copy_summary, phase_summary, sync_summary
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope, left_out

if TYPE_CHECKING:
    from viewer.analysis.study import Study

SECTIONS = (
    "time",
    "iterations",
    "phases",
    "small-kernel bursts",
    "copies",
    "synchronisation",
    "ranks",
)


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary over one scope.

    Attributes
    ----------
    scope : Scope
        What the numbers are taken over; ``scope.is_steady`` says whether to label them "not steady".
    numbers : tuple of Metric
    tables : mapping of str to DataFrame
        The longer lists: "classes", "top kernels", "phases", "copies", "synchronisation", "ranks".
        Columns `gpu`, `start_ns` and `end_ns` say where to look.
    doubts : tuple of Finding
        What makes numbers wrong: lost events, shifted clocks. They belong beside every number.
    notes : tuple of str
        What has to be said of the scope, a line each: `Scope.notes`, and which iterations are left out.
    """

    scope: Scope
    numbers: tuple[Metric, ...]
    tables: dict[str, pd.DataFrame]
    gpus: tuple[str, ...]
    doubts: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Metric:
        for metric in self.numbers:
            if metric.key == key:
                return metric
        raise KeyError(key)

    def section(self, name: str) -> tuple[Metric, ...]:
        """Return the numbers of one of the `SECTIONS`."""
        return tuple(v for v in self.numbers if v.section == name)

    def table(self, section: str) -> pd.DataFrame:
        """Return one section as a table."""
        return table(self.section(section), self.gpus)

    @property
    def findings(self) -> tuple[Metric, ...]:
        """The numbers that are not normal."""
        return tuple(v for v in self.numbers if v.is_normal is False)


def summary(study: Study, iterations: Iterations | None = None, scope: Scope | None = None) -> Summary:
    """Return the summary.

    Parameters
    ----------
    iterations : Iterations, optional
        The iterations; without any the numbers are those of the whole trace, and fewer.
    scope : Scope, optional
        Where to take the numbers from; by default the steady iterations, without a steady state all after the
        warm-up.
    """
    if scope is None:
        scope = study.default_scope(iterations)
    copied, waits = (
        copies(study.trace, study.classes, study.parts, scope),
        syncs(study.launches, study.parts, scope),
    )
    lists = {
        "classes": class_table(study.trace, study.classes, scope),
        "top kernels": top_kernels(study.trace, study.classes, scope),
        "copies": copied,
        "synchronisation": waits,
    }
    numbers = list(time_summary(study, scope))
    if iterations is not None:
        phases = study.phases_of(iterations)
        comparisons = compare_ranks(study, iterations, study.collectives, scope.iterations_of(iterations))
        lists["phases"] = phase_table(study, iterations, phases, scope)
        lists["ranks"] = rank_table(study, comparisons)
        numbers += iteration_summary(study, iterations, scope)
        numbers += phase_summary(phases, iterations, scope, lists["phases"])
        numbers += burst_summary(study, scope, phases)
    else:
        comparisons = ()
        numbers += burst_summary(study, scope, None)
    numbers += copy_summary(study, copied)
    numbers += sync_summary(study, scope, waits)
    numbers += rank_summary(study, comparisons, iterations, scope)
    labels = tuple(study.trace.gpu_label(g.index) for g in study.trace.gpus)
    doubts = tuple(f for f in study.findings if f.severity == "error")
    rest = left_out(study.trace, study.parts, iterations, scope)
    notes = (*scope.notes, rest) if rest else scope.notes
    return Summary(scope, tuple(numbers), lists, labels, doubts, notes)
