"""The report's critical paths (docs/definitions.md, section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.replay.path_table import path_table
from viewer.analysis.time.scope import Scope

if TYPE_CHECKING:
    from viewer.analysis.replay.critical_path import CriticalPath
    from viewer.analysis.study import Study
    from viewer.trace import Process


def critical_path_facts(study: Study, asked: Scope | None, *, pieces: bool = False) -> dict[str, Any]:
    """Return the key `critical_path`: one entry an iteration, none without iterations.

    Parameters
    ----------
    asked : Scope, optional
        Of a time range the iterations that lie wholly inside; by default all.
    pieces : bool
        Whether to list the pieces of each path.
    """
    iterations = study.iterations()
    if iterations is None:
        return {"critical_path": []}
    chosen = range(iterations.count) if asked is None else asked.iterations_of(iterations)
    paths = study.critical_paths()
    return {"critical_path": [_facts(study, paths[iteration], pieces) for iteration in chosen]}


def _facts(study: Study, path: CriticalPath, pieces: bool) -> dict[str, Any]:
    table = path_table(study.replay, path)
    process, lasts = table["process"].to_numpy(), table["duration_ns"].to_numpy()
    known = {p: int(lasts[process == p].sum()) for p in np.unique(process).tolist() if p >= 0}
    facts = {
        "iteration": path.iteration,
        "length_ns": path.length_ns,
        **path.sums,
        "by_rank": {_key(study.trace.processes[process]): ns for process, ns in known.items()},
    }
    if pieces:
        ranks = [study.trace.processes[p].rank if p >= 0 else None for p in table["process"].tolist()]
        rows = table[["where", "kind", "name", "start_ns", "end_ns"]].to_dict("records")
        facts["pieces"] = [{"rank": rank, **row} for rank, row in zip(ranks, rows, strict=True)]
    return facts


def _key(process: Process) -> str:
    return str(process.rank) if process.rank is not None else f"pid {process.pid}"
