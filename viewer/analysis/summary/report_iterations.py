"""The report's numbers of iterations and phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.iterations.phase_table import phase_table
from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.analysis.time.time_breakdown import CATEGORIES

if TYPE_CHECKING:
    from viewer.analysis.iterations.phases import Phases
    from viewer.analysis.study import Study
    from viewer.analysis.time.iteration_bounds import Iterations


def iteration_facts(study: Study, asked: Scope | None = None) -> dict[str, Any]:
    """Return the keys `marker`, `iterations`, `steady`, `phases`, `forward_ns` and `backward_ns`.

    See docs/definitions.md, sections 5 and 6. The first three are over the whole trace. Without iterations
    `iterations` and `phases` are empty; `marker` is None where nothing can mark them, `steady` where there is
    no steady state. `forward_ns` and `backward_ns` are medians over the iterations of `asked`, means over the
    GPUs; None where there is no such phase.

    Parameters
    ----------
    asked : Scope, optional
        What phases are taken over: of a time range the iterations that lie wholly inside. By default the
        steady iterations, all after the warm-up where none are steady.
    """
    iterations = study.iterations()
    steady = iterations.steady if iterations else None
    phases = study.phases()
    scope = None
    if iterations and phases:
        # The phases over the same iterations as the summary, or the two would not agree on the ratio.
        scope = asked or iteration_scope(iterations)
        phases = phases.over(scope.iterations_of(iterations))
    return {
        "marker": _marker(study, iterations),
        "iterations": _iterations(study, iterations) if iterations else [],
        "steady": {"indices": list(steady.indices), "median_ns": steady.median_ns} if steady else None,
        "phases": _phases(study, iterations, phases, scope) if iterations and phases and scope else [],
        "forward_ns": phases.forward_ns if phases else None,
        "backward_ns": phases.backward_ns if phases else None,
    }


def _phases(study: Study, iterations: Iterations, phases: Phases, scope: Scope) -> list[dict[str, Any]]:
    rows = phase_table(phases, iterations, scope, study.parts).to_dict("records")
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


_NONE = "nothing that repeats launches half of the GPU's work"


def _marker(study: Study, iterations: Iterations | None) -> dict[str, Any] | None:
    if not study.candidates:
        return None
    return {
        "name": iterations.marker if iterations else None,
        "kind": iterations.by.kind if iterations else None,
        "why": iterations.by.why if iterations else _NONE,
        "guess": bool(iterations and iterations.guess),
        "unit": iterations.by.unit if iterations else None,
        "notes": list(iterations.notes) if iterations else [],
        "not_steady": iterations.not_steady if iterations else "",
        "candidates": [
            {
                "name": c.name,
                "domain": c.domain,
                "what": c.what,
                "kind": c.kind,
                "count": c.count,
                "gpu_share": c.gpu_share,
                "even_share": c.even_share,
                "cpu_ns": c.cpu_ns,
                "qualifies": c.qualifies,
            }
            for c in study.candidates
            # "none" stands for having no iterations: the window offers it, but it marks nothing.
            if c.what != "none"
        ],
    }


def _iterations(study: Study, iterations: Iterations) -> list[dict[str, Any]]:
    trace = study.trace
    # All iterations of a GPU at once: the sums are looked up at the edges, not added up again for each.
    bounds = [(iterations.starts[g, :-1], iterations.starts[g, 1:]) for g in range(len(trace.gpus))]
    parts = [of_gpu.totals(*edges).tolist() for of_gpu, edges in zip(study.parts, bounds, strict=True)]
    return [
        {
            "index": iteration,
            "name": iterations.names[iteration],
            "start_ns": iterations.start_ns(iteration),
            "end_ns": iterations.end_ns(iteration),
            "duration_ns": iterations.end_ns(iteration) - iterations.start_ns(iteration),
            "flag": iterations.flags[iteration],
            "gpus": [
                {
                    "pid": trace.processes[gpu.process].pid,
                    "device": gpu.device,
                    "start_ns": int(bounds[gpu.index][0][iteration]),
                    "end_ns": int(bounds[gpu.index][1][iteration]),
                    **{f"{p}_ns": ns for p, ns in zip(CATEGORIES, parts[gpu.index][iteration], strict=True)},
                }
                for gpu in trace.gpus
            ],
        }
        for iteration in range(iterations.count)
    ]
