"""The summary of a scope: every metric of the registry with its value, and the longer tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from viewer.analysis.collectives.rank_comparison import rank_table
from viewer.analysis.kernels.kernel_tables import class_table, top_kernels
from viewer.analysis.late_ranks.late_ranks import LateRanks
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.summary import registry
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import MetricValue, Section, table
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope, left_out

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary over one scope.

    Attributes
    ----------
    scope : Scope
        What the numbers are taken over; ``scope.is_steady`` says whether to label them "not steady".
    numbers : tuple of MetricValue
        In the order of the registry.
    tables : mapping of str to DataFrame
        The longer lists: "classes", "top kernels", "phases", "copies", "synchronisation", "ranks",
        "why exposed". Columns
        `gpu`, `start_ns` and `end_ns` say where to look.
    gpus : tuple of str
        The GPUs' labels.
    doubts : tuple of Diagnostic
        What makes numbers wrong: lost events, shifted clocks. They belong beside every number.
    late_ranks : LateRanks
        Who makes the others wait, who computes longer, and what it costs.
    notes : tuple of str
        What has to be said of the scope, a line each: `Scope.notes`, that the iterations are derived or
        guessed, and what is left out.
    iterations : Iterations or None
        Those that it was taken with.
    """

    scope: Scope
    numbers: tuple[MetricValue, ...]
    tables: dict[str, pd.DataFrame]
    gpus: tuple[str, ...]
    late_ranks: LateRanks
    doubts: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    iterations: Iterations | None = None

    def __getitem__(self, key: str) -> MetricValue:
        for number in self.numbers:
            if number.key == key:
                return number
        raise KeyError(key)

    def section(self, section: Section) -> tuple[MetricValue, ...]:
        """Return the numbers of a section."""
        return tuple(number for number in self.numbers if number.section == section)

    def table(self, section: Section) -> pd.DataFrame:
        """Return one section as a table."""
        return table(self.section(section), self.gpus)

    @property
    def unusual(self) -> tuple[MetricValue, ...]:
        """The numbers that are outside the usual range: the largest shares of the time first, then others."""
        unusual = [number for number in self.numbers if number.is_usual is False]
        return tuple(sorted(unusual, key=lambda number: -(number.share or 0.0)))

    @property
    def headline(self) -> tuple[MetricValue, ...]:
        """The numbers outside the usual range, without those that only repeat another one of them."""
        verdicts = {verdict.kind for verdict in self.late_ranks.verdicts}
        # The verdict on late ranks names who computes longer, and what it costs.
        is_named = "ranks" in verdicts and "late_ranks" in {number.key for number in self.unusual}
        return tuple(n for n in self.unusual if not (is_named and n.metric.key == "slowest_rank"))


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
    inputs = MetricInputs(study, scope, iterations)
    numbers = tuple(number for metric in registry.METRICS for number in metric.values(inputs))
    tables = {
        "classes": class_table(study.trace, study.classes, scope),
        "top kernels": top_kernels(study.trace, study.classes, scope),
        "phases": inputs.phase_table,
        "copies": inputs.copies,
        "synchronisation": inputs.syncs,
        "ranks": rank_table(study.trace, inputs.ranks),
        "why exposed": inputs.overlap_reasons,
    }
    labels = tuple(study.trace.gpu_label(gpu.index) for gpu in study.trace.gpus)
    doubts = tuple(diagnostic for diagnostic in study.diagnostics if diagnostic.severity == "error")
    doubt = iterations.doubt_text if iterations else ""
    rest = left_out(study.trace, study.parts, iterations, scope)
    notes = (*scope.notes, *(note for note in (doubt, rest) if note))
    return Summary(scope, numbers, tables, labels, inputs.late_ranks, doubts, notes, iterations)
