"""The report's facts of the dependency graph (docs/definitions.md, section 11)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.dependencies.graph import GRADE_NAMES, Grade

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def edge_facts(study: Study) -> dict[str, Any]:
    """Return the key `edges`: how many edges are known how, and the share of starts that they explain."""
    return {"edges": asdict(study.dependencies.counts)}


def wait_facts(study: Study, within: tuple[int, int] | None = None) -> dict[str, Any]:
    """Return the key `waits`: every wait of a stream with what it waited for, by the time of its call.

    Parameters
    ----------
    within : (int, int), optional
        Only the waits that are called in this time range [start, end), ns.
    """
    trace, graph = study.trace, study.dependencies
    waits, api = graph.waits, trace.api
    pid_of_thread = np.array([trace.processes[t.process].pid for t in trace.threads], np.int64)
    pid_of_stream = np.array(
        [trace.processes[trace.gpus[s.gpu].process].pid for s in trace.streams], np.int64
    )
    called = api.start_ns[waits.call] if len(waits) else np.empty(0, np.int64)
    rows = np.argsort(called, kind="stable")
    if within is not None:
        rows = rows[(called[rows] >= within[0]) & (called[rows] < within[1])]
    thread = np.searchsorted(api.offsets, waits.call, side="right") - 1
    facts = []
    for row in rows.tolist():
        producers = []
        for number in waits.of(row).tolist():
            kind, index = graph.operations.event_of(number)
            correlation = int(trace.events[kind].columns["correlation"][index])
            pid = int(pid_of_stream[graph.operations.stream[number]])
            producers.append({"pid": pid, "correlation_id": correlation})
        facts.append(
            {
                "pid": int(pid_of_thread[thread[row]]),
                "correlation_id": int(api.columns["correlation"][waits.call[row]]),
                "producers": producers,
                "grade": GRADE_NAMES[Grade(waits.grade[row])],
            }
        )
    return {"waits": facts}
