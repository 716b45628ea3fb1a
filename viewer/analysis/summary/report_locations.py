"""GPUs and places in the trace, as the report writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.location import Location

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def location_fact(study: Study, location: Location | None) -> dict[str, Any] | None:
    """Return a place in the trace as `pid`, `device` (None: on all GPUs), `start_ns` and `end_ns`."""
    if location is None:
        return None
    return {
        **gpu_fact(study, location.gpu),
        "start_ns": int(location.start_ns),
        "end_ns": int(location.end_ns),
    }


def gpu_fact(study: Study, gpu: int | None, process: int | None = None) -> dict[str, int | None]:
    """Return a GPU as `pid` and `device`; without one the process, None where all are meant."""
    trace = study.trace
    owner = process if gpu is None else trace.gpus[gpu].process
    return {
        "pid": None if owner is None else trace.processes[owner].pid,
        "device": None if gpu is None else trace.gpus[gpu].device,
    }
