"""The report's reasons for the time without compute: the keys `stall_reasons` and `overlap_reasons`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.intervals import window
from viewer.analysis.core.location import Location
from viewer.analysis.stalls.causes import SHARES
from viewer.analysis.summary.report_locations import gpu_fact, location_fact
from viewer.analysis.summary.summary import Summary

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_OF_LINE = (
    "text", "exposed_ns", "share", "count", "gpus", "held_next", "held_start", "starts_after",
)  # fmt: skip


def stall_reason_facts(study: Study, start_ns: int, end_ns: int) -> list[dict[str, Any]]:
    """Return the key `stall_reasons`: the time of each GPU without compute in [start, end), by reason."""
    return [_of_gpu(study, gpu.index, start_ns, end_ns) for gpu in study.trace.gpus]


def _of_gpu(study: Study, gpu: int, start_ns: int, end_ns: int) -> dict[str, Any]:
    within = window(start_ns, end_ns)
    sums = study.stall_reasons.sums(gpu, within)
    shares = study.stall_reasons.shares(gpu, within).tolist()
    return {
        **gpu_fact(study, gpu),
        "compute_absent_ns": sums.compute_absent_ns,
        "launch_starved_ns": sums.launch_starved_ns,
        "blocked_ns": sums.blocked_ns,
        "unresolved_ns": sums.unresolved_ns,
        "after_last_ns": sums.after_last_ns,
        "launch_starved_by": dict(zip(SHARES, shares, strict=True)),
        "blocked_by": {
            "communication": sums.by_communication_ns,
            "communication_wait": sums.communication_wait_ns,
            "copy": sums.by_copy_ns,
            "compute": sums.by_compute_ns,
        },
        "blocked_grade": {
            "proven_ns": sums.proven_ns,
            "by_handle_ns": sums.by_handle_ns,
            "by_timing_ns": sums.by_timing_ns,
        },
        "unresolved_grade": {
            "proven_ns": sums.tried_proven_ns,
            "by_handle_ns": sums.tried_by_handle_ns,
            "by_timing_ns": sums.tried_by_timing_ns,
            "unknown_ns": sums.tried_unknown_ns,
        },
        "exposed_blocking_ns": sums.exposed_blocking_ns,
        "exposed_free_ns": sums.exposed_free_ns,
    }


def overlap_facts(study: Study, summary: Summary | None) -> list[dict[str, Any]]:
    """Return the key `overlap_reasons`: why exposed collectives are not hidden, most time first."""
    if summary is None:
        return []
    return [
        {
            **{key: row[key] for key in _OF_LINE},
            "collective": row["name"],
            "stream": row["stream"],
            "next": row["next"] or None,
            "per_iteration_ns": row["per_iteration_ns"] if row["per_iteration_ns"] >= 0 else None,
            "longest": location_fact(study, Location(row["start_ns"], row["end_ns"], row["gpu"])),
        }
        for row in summary.tables["why exposed"].to_dict("records")
    ]
