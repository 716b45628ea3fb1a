"""The iterations' part of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.parts import PARTS

if TYPE_CHECKING:
    from viewer.analysis.laps import Laps
    from viewer.analysis.study import Study


def lap_facts(study: Study) -> dict[str, Any]:
    """Return the keys `marker`, `iterations` and `steady` (definitions, section 6).

    They speak of the whole trace, whatever the report's window. Without iterations `iterations` is empty;
    `marker` is None where nothing at all may mark them, `steady` where there is no steady state.
    """
    laps = study.laps()
    steady = laps.steady if laps else None
    return {
        "marker": _marker(study, laps),
        "iterations": _iterations(study, laps) if laps else [],
        "steady": {"indices": list(steady.indices), "median_ns": steady.median_ns} if steady else None,
    }


def _marker(study: Study, laps: Laps | None) -> dict[str, Any] | None:
    if not study.candidates:
        return None
    return {
        "name": laps.marker if laps else None,
        "guess": bool(laps and laps.guess),
        "candidates": [
            {
                "name": c.name,
                "domain": c.domain,
                "what": c.what,
                "count": c.count,
                "gpu_share": c.gpu_share,
                "even_share": c.even_share,
                "cpu_ns": c.cpu_ns,
                "qualifies": c.qualifies,
            }
            for c in study.candidates
            if c.what != "none"
        ],
    }


def _iterations(study: Study, laps: Laps) -> list[dict[str, Any]]:
    trace = study.trace
    bounds = [(laps.starts[g, :-1], laps.starts[g, 1:]) for g in range(len(trace.gpus))]
    parts = [of_gpu.totals(*edges).tolist() for of_gpu, edges in zip(study.parts, bounds, strict=True)]
    return [
        {
            "index": lap,
            "name": laps.names[lap],
            "start_ns": laps.start_ns(lap),
            "end_ns": laps.end_ns(lap),
            "duration_ns": laps.end_ns(lap) - laps.start_ns(lap),
            "flag": laps.flags[lap],
            "gpus": [
                {
                    "pid": trace.processes[gpu.process].pid,
                    "device": gpu.device,
                    "start_ns": int(bounds[gpu.index][0][lap]),
                    "end_ns": int(bounds[gpu.index][1][lap]),
                    **{f"{p}_ns": ns for p, ns in zip(PARTS, parts[gpu.index][lap], strict=True)},
                }
                for gpu in trace.gpus
            ],
        }
        for lap in range(laps.count)
    ]
