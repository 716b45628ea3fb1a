"""The report: the facts and the numbers of a trace as one JSON-ready object (docs/definitions.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.summary.report_collectives import collective_facts, exposed_facts
from viewer.analysis.summary.report_critical_path import critical_path_facts
from viewer.analysis.summary.report_dependencies import edge_facts, wait_facts
from viewer.analysis.summary.report_doubts import unreliable
from viewer.analysis.summary.report_findings import finding_facts
from viewer.analysis.summary.report_iterations import iteration_facts
from viewer.analysis.summary.report_late_ranks import late_rank_facts
from viewer.analysis.summary.report_locations import gpu_fact
from viewer.analysis.summary.report_overlap_tax import overlap_tax_facts
from viewer.analysis.summary.report_reasons import overlap_facts, stall_reason_facts
from viewer.analysis.summary.report_stalls import stall_facts
from viewer.analysis.summary.report_summary import summary_facts
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.measure import class_numbers, parts_of
from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.analysis.time.shared_gpus import SharedGpu
from viewer.analysis.time.time_breakdown import CATEGORIES, without_kernel
from viewer.trace import GPU_KINDS, Gpu, Kind, Trace

if TYPE_CHECKING:
    from viewer.analysis.study import Study

SCHEMA = 1
# As a window, where none was asked for: the window of a trace is empty where all lies at one instant.
_ALL_TIMES = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
WHOLE_TRACE = (
    "trace",
    "counts",
    "unread",
    "recording",
    "marker",
    "iterations",
    "steady",
    "edges",
    "findings",
    "findings_summary",
)
"""The keys that are of the whole trace, whatever the window."""


def report(
    study: Study,
    window: tuple[int, int] | None = None,
    iteration: int | None = None,
    *,
    waits: bool = False,
    pieces: bool = False,
) -> dict[str, Any]:
    """Return everything that `lightbox report --json` prints.

    Parameters
    ----------
    window : (int, int), optional
        A range [start, end) in ns; it is clipped to the recording.
    iteration : int, optional
        An iteration's number instead. With neither: from the earliest to the latest GPU operation, and
        `summary` and `kernels` over the steady state, as `scope` says.
    waits : bool
        Whether to list every wait of a stream for an event.
    pieces : bool
        Whether to list the pieces of each critical path.

    Returns
    -------
    dict
        `trace_facts`, the findings, and what is counted over the same time: `scope`, `summary`, `kernels`,
        `tables`, `stalls`, `stall_reasons`, `overlap_reasons`, `critical_path` and `unreliable`. Keys are
        only ever added.

    Raises
    ------
    ValueError
        If the trace has no such iteration, or nothing of the range lies inside the recording.
    """
    facts = trace_facts(study, window, iteration)
    scope = report_scope(study, window, iteration)
    measured = summary(study, study.iterations(), scope) if study.trace.gpus else None
    of_window = facts["window"]["start_ns"], facts["window"]["end_ns"]
    asked = None if window is None and iteration is None else of_window
    return {
        **facts,
        **finding_facts(study),
        **summary_facts(study, measured),
        **late_rank_facts(study, measured),
        "stalls": stall_facts(study, scope) if measured else [],
        "stall_reasons": stall_reason_facts(study, facts["window"]["start_ns"], facts["window"]["end_ns"]),
        "overlap_reasons": overlap_facts(study, measured),
        **overlap_tax_facts(study, scope),
        "unreliable": unreliable(study, measured),
        **critical_path_facts(study, scope, pieces=pieces),
        **edge_facts(study),
        **(wait_facts(study, asked) if waits else {}),
    }


def report_scope(study: Study, window: tuple[int, int] | None, iteration: int | None) -> Scope | None:
    """Return what was asked for as the summary takes it; None: it chooses, the steady state first."""
    iterations = study.iterations()
    if iteration is not None and iterations is not None:
        return iteration_scope(iterations, [iteration])
    return study.range_scope(*window) if window else None


def trace_facts(
    study: Study, window: tuple[int, int] | None = None, iteration: int | None = None
) -> dict[str, Any]:
    """Return the facts of the trace, its GPUs, its iterations and its collectives.

    All that can be taken over a window is of the window, which `notes` explains; `whole_trace` names the keys
    that cannot. An operation that straddles an edge of the window counts, its times clipped to it.

    Raises
    ------
    ValueError
        As `report`.
    """
    trace = study.trace
    start, end, what, notes = _window(study, window, iteration)
    asked = None if window is None and iteration is None else (start, end)
    physical_numbers = {
        gpu: _categories(physical_gpu, start, end)
        for physical_gpu in study.shared_gpus
        for gpu in physical_gpu.gpus
    }
    return {
        "schema": SCHEMA,
        "trace": {
            "path": str(trace.path),
            "nsys_version": trace.session.nsys_version,
            "recorded_by": trace.session.recorded_version,
            "exported_by": trace.session.nsys_version,
            "schema_version": trace.session.schema_version,
            "duration_ns": trace.session.duration_ns,
        },
        "gpus": [
            {
                **_gpu_facts(trace, gpu, asked),
                **numbers,
                "board": physical_numbers.get(gpu.index),
                "bounds": _bounds(study, gpu.index),
            }
            for gpu, numbers in zip(trace.gpus, _gpu_numbers(study, start, end), strict=True)
        ],
        "shared_boards": [
            _physical_gpu(study, physical_gpu, start, end) for physical_gpu in study.shared_gpus
        ],
        "counts": dict(trace.counts),
        "unread": dict(trace.unread),
        "recording": [_diagnostic(study, diagnostic) for diagnostic in study.diagnostics],
        "window": {"start_ns": start, "end_ns": end, "what": what},
        "notes": list(notes),
        "whole_trace": list(WHOLE_TRACE),
        **iteration_facts(study, report_scope(study, window, iteration)),
        **collective_facts(study, asked),
        "rules": study.rules.hash,
    }


def _window(
    study: Study, window: tuple[int, int] | None, iteration: int | None
) -> tuple[int, int, str, tuple[str, ...]]:
    if iteration is not None:
        iterations = study.iterations()
        if iterations is None or not 0 <= iteration < iterations.count:
            raise ValueError(
                f"there is no iteration {iteration}; {iterations.count if iterations else 'none'} were found"
            )
        return iterations.start_ns(iteration), iterations.end_ns(iteration), f"iteration {iteration}", ()
    if window is None:
        return *study.trace.window_ns, _name_of_all(study.trace), ()
    scope = study.range_scope(*window)
    return *scope.hull, scope.what, scope.notes


def _name_of_all(trace: Trace) -> str:
    """Return what the trace's window reaches from and to."""
    if any(len(trace.events[kind]) for kind in GPU_KINDS):
        return "first to last GPU operation"
    return "first to last event" if any(map(len, trace.events.values())) else "the session"


def _gpu_facts(trace: Trace, gpu: Gpu, window: tuple[int, int] | None) -> dict[str, Any]:
    """Return who a GPU is, and what of its operations touches [start, end) of a window, None for all."""
    process = trace.processes[gpu.process]
    rows = {kind: rows_of_gpu(trace, kind, gpu.index) for kind in GPU_KINDS}
    start_ns, end_ns = window or _ALL_TIMES
    for kind, of_kind in rows.items():
        start, end = trace.events[kind].start_ns[of_kind], trace.events[kind].end_ns[of_kind]
        touches = (start < end_ns) & (np.maximum(end, start + 1) > start_ns)
        # One of length zero at the very end of all belongs to it.
        touches |= (start == trace.window_ns[1]) & (end_ns == trace.window_ns[1])
        rows[kind] = of_kind[touches]
    used = [(trace.events[kind], of_kind) for kind, of_kind in rows.items() if len(of_kind)]
    streams = [np.searchsorted(e.offsets, of_kind, side="right") - 1 for e, of_kind in used]
    first = min((int(e.start_ns[r].min()) for e, r in used), default=None)
    last = max((int(e.end_ns[r].max()) for e, r in used), default=None)
    return {
        "rank": process.rank,
        "rank_from": process.rank_from or None,
        "pid": process.pid,
        "device": gpu.device,
        "name": gpu.name,
        "streams": len(np.unique(np.concatenate(streams))) if streams else 0,
        "kernels": len(rows[Kind.KERNEL]),
        "memcpys": len(rows[Kind.MEMCPY]),
        "memsets": len(rows[Kind.MEMSET]),
        "graph_launches": len(rows[Kind.GRAPH]),
        "first_op_ns": None if first is None else max(first, start_ns),
        "last_op_ns": None if last is None else min(last, end_ns),
    }


def _diagnostic(study: Study, diagnostic: Diagnostic) -> dict[str, Any]:
    """Return what Diagnostics says, with the process and GPU concerned where it is of one."""
    return {
        "severity": diagnostic.severity,
        "title": diagnostic.title,
        "meaning": diagnostic.meaning,
        **gpu_fact(study, diagnostic.gpu, diagnostic.process),
    }


def _physical_gpu(study: Study, physical_gpu: SharedGpu, start_ns: int, end_ns: int) -> dict[str, Any]:
    gpus = [study.trace.gpus[g] for g in physical_gpu.gpus]
    return {
        "physical": physical_gpu.physical,
        "gpus": [{"pid": study.trace.processes[g.process].pid, "device": g.device} for g in gpus],
        **_categories(physical_gpu, start_ns, end_ns),
    }


def _bounds(study: Study, gpu: int) -> dict[str, str]:
    """Return which of a GPU's numbers are bounds: "at least", "at most"."""
    marks = {category: study.bounds.of(category, gpu) for category in (*CATEGORIES, "no_kernel")}
    return {f"{category}_ns": mark.strip("()") for category, mark in marks.items() if mark}


def _categories(physical_gpu: SharedGpu, start_ns: int, end_ns: int) -> dict[str, int]:
    """Return the five categories of all processes on a physical GPU together."""
    parts = physical_gpu.parts.totals(start_ns, end_ns).tolist()
    return {f"{part}_ns": ns for part, ns in zip(CATEGORIES, parts, strict=True)}


def _gpu_numbers(study: Study, start_ns: int, end_ns: int) -> list[dict[str, Any]]:
    parts = parts_of(study.parts, start_ns, end_ns)
    return [
        {
            "launches": study.launches.count(gpu, start_ns, end_ns),
            **{f"{part}_ns": ns for part, ns in zip(CATEGORIES, of_gpu.tolist(), strict=True)},
            "no_kernel_ns": int(without_kernel(of_gpu)),
            "spinning_ns": int(study.parts[gpu].spinning.covered(start_ns, end_ns)),
            **exposed_facts(study, gpu, start_ns, end_ns),
            "classes": {
                c.name: {"sum_ns": c.sum_ns, "union_ns": c.union_ns, "kernels": c.kernels}
                for c in class_numbers(study.trace, study.classes, gpu, start_ns, end_ns)
            },
        }
        for gpu, of_gpu in enumerate(parts)
    ]
