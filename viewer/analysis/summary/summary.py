"""The case sheet of a run: its numbers, with their definitions, what is normal and where to look."""

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
from viewer.analysis.summary.metric import Vital, table
from viewer.analysis.summary.rank_metrics import rank_vitals
from viewer.analysis.summary.time_metrics import iteration_vitals, time_vitals
from viewer.analysis.summary.work_metrics import copy_vitals, phase_vitals, sea_vitals, sync_vitals
from viewer.analysis.time.iteration_bounds import Laps
from viewer.analysis.time.scope import Scope, default_scope, left_out

if TYPE_CHECKING:
    from viewer.analysis.study import Study

SECTIONS = (
    "time",
    "iterations",
    "phases",
    "launch seas",
    "copies",
    "synchronisation",
    "ranks",
)


@dataclass(frozen=True, eq=False)
class Vitals:
    """The case sheet over one scope.

    Attributes
    ----------
    scope : Scope
        What the numbers are taken over; ``scope.is_steady`` says whether to label them "not steady".
    numbers : tuple of Vital
    tables : mapping of str to DataFrame
        The longer lists: "classes", "top kernels", "phases", "copies", "synchronisation", "ranks".
        Columns `gpu`, `start_ns` and `end_ns` say where to look.
    doubts : tuple of Finding
        What makes numbers wrong: lost events, shifted clocks. They belong beside every number.
    notes : tuple of str
        What has to be said of the scope, a line each: `Scope.notes`, and which iterations are left out.
    """

    scope: Scope
    numbers: tuple[Vital, ...]
    tables: dict[str, pd.DataFrame]
    gpus: tuple[str, ...]
    doubts: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Vital:
        for vital in self.numbers:
            if vital.key == key:
                return vital
        raise KeyError(key)

    def section(self, name: str) -> tuple[Vital, ...]:
        """Return the numbers of one of the `SECTIONS`."""
        return tuple(v for v in self.numbers if v.section == name)

    def table(self, section: str) -> pd.DataFrame:
        """Return one section as a table."""
        return table(self.section(section), self.gpus)

    @property
    def findings(self) -> tuple[Vital, ...]:
        """The numbers that are not normal."""
        return tuple(v for v in self.numbers if v.is_normal is False)


def vitals(study: Study, laps: Laps | None = None, scope: Scope | None = None) -> Vitals:
    """Return the case sheet.

    Parameters
    ----------
    laps : Laps, optional
        The iterations; without any the numbers are those of the whole trace, and fewer.
    scope : Scope, optional
        Where to take the numbers from; by default the steady laps, without a steady state all after the
        warm-up.
    """
    if scope is None:
        scope = default_scope(study, laps)
    copied, waits = copies(study, scope), syncs(study, scope)
    lists = {
        "classes": class_table(study, scope),
        "top kernels": top_kernels(study, scope),
        "copies": copied,
        "synchronisation": waits,
    }
    numbers = list(time_vitals(study, scope))
    if laps is not None:
        phases = study.phases_of(laps)
        comparisons = compare_ranks(study, laps, study.collectives, scope.laps_of(laps))
        lists["phases"] = phase_table(study, laps, phases, scope)
        lists["ranks"] = rank_table(study, comparisons)
        numbers += iteration_vitals(study, laps, scope)
        numbers += phase_vitals(phases, laps, scope, lists["phases"])
        numbers += sea_vitals(study, scope, phases)
    else:
        comparisons = ()
        numbers += sea_vitals(study, scope, None)
    numbers += copy_vitals(study, copied)
    numbers += sync_vitals(study, scope, waits)
    numbers += rank_vitals(study, comparisons, laps, scope)
    labels = tuple(study.trace.gpu_label(g.index) for g in study.trace.gpus)
    doubts = tuple(f for f in study.findings if f.severity == "error")
    rest = left_out(study, laps, scope)
    notes = (*scope.notes, rest) if rest else scope.notes
    return Vitals(scope, tuple(numbers), lists, labels, doubts, notes)
