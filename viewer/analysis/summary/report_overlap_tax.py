"""The report's overlap tax: what hidden communication costs the compute beside it, GPU by GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.summary.report_locations import gpu_fact
from viewer.analysis.time.scope import Scope

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def overlap_tax_facts(study: Study, scope: Scope | None) -> dict[str, Any]:
    """Return the key `overlap_tax`, one entry a GPU; over the scope, by default the whole trace."""
    entries = []
    for gpu in study.trace.gpus:
        found = study.overlap_tax.sum_of([gpu.index], None if scope is None else [scope.within[gpu.index]])
        numbers = {"tax_ns": found.tax_ns, "tax_bound_ns": found.bound_ns, "unknown_ns": found.unknown_ns}
        entries.append({**gpu_fact(study, gpu.index), **numbers})
    return {"overlap_tax": entries}
