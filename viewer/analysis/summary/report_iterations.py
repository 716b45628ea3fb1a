"""The iterations' part of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.iterations.phase_table import phase_table
from viewer.analysis.time.scope import lap_scope
from viewer.analysis.time.time_breakdown import PARTS

if TYPE_CHECKING:
    from viewer.analysis.iterations.phases import Phases
    from viewer.analysis.study import Study
    from viewer.analysis.time.iteration_bounds import Laps


def lap_facts(study: Study) -> dict[str, Any]:
    """Return the keys `marker`, `iterations`, `steady`, `phases`, `forward_ns` and `backward_ns`.

    Definitions, sections 5 and 6. They speak of the whole trace, whatever the report's window. Without
    iterations `iterations` and `phases` are empty; `marker` is None where nothing at all may mark them,
    `steady` where there is no steady state. `forward_ns` and `backward_ns` are medians over the steady laps
    (all after the warm-up where none are steady), means over the GPUs; None where there is no such phase.
    """
    laps = study.laps()
    steady = laps.steady if laps else None
    phases = study.phases()
    return {
        "marker": _marker(study, laps),
        "iterations": _iterations(study, laps) if laps else [],
        "steady": {"indices": list(steady.indices), "median_ns": steady.median_ns} if steady else None,
        "phases": _phases(study, laps, phases) if laps and phases else [],
        "forward_ns": phases.forward_ns if phases else None,
        "backward_ns": phases.backward_ns if phases else None,
    }


def _phases(study: Study, laps: Laps, phases: Phases) -> list[dict[str, Any]]:
    rows = phase_table(study, laps, phases, lap_scope(laps)).to_dict("records")
    return [
        {
            "name": row["phase"],
            "how": row["how"],
            **{key: row[key] for key in _PHASE_NUMBERS},
            "classes": {c: row[f"{c}_ns"] for c in CLASSES},
            "top": list(row["top_kernels"]),
        }
        for row in rows
    ]


_PHASE_NUMBERS = (
    "compute_ns",
    "length_ns",
    "kernels",
    "small_kernels",
    "seas",
    "sea_kernels",
    "sea_ns",
    "idle_ns",
)


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
