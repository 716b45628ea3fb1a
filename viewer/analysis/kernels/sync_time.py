"""Time that the CPU spends in synchronising calls, and how much of it the GPU is idle (section 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from viewer.analysis.core.intervals import union
from viewer.analysis.launches.blocking_calls import blocking_calls
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import TimeBreakdown

ALL_CALLS = "all"
_COLUMNS = ["gpu", "call", "count", "sum_ns", "union_ns", "idle_ns", "start_ns", "end_ns"]


def syncs(launches: Launches, breakdowns: Sequence[TimeBreakdown], scope: Scope) -> pd.DataFrame:
    """Return the time in synchronising calls inside a scope, by GPU and call; the last row of a GPU is all.

    Calls that copy from or to pageable memory are among them: they wait for the GPU, too. Time in a call is
    no stall by itself: what counts is `idle_ns`, where the GPU has nothing to do meanwhile.

    Returns
    -------
    DataFrame
        `gpu`, `call` ("all" for any of them), `count`, `sum_ns` (clipped to the scope), `union_ns` over the
        threads of the GPU's process, and of that `idle_ns`; where to look: `start_ns` and `end_ns` of the
        longest idle stretch of them, else of the longest call.
    """
    trace, api = launches.trace, launches.trace.api
    waits = np.flatnonzero(blocking_calls(launches))
    thread = np.searchsorted(api.offsets, waits, side="right") - 1
    process = np.array([t.process for t in trace.threads], np.int64)[thread] if len(waits) else thread
    rows: list[tuple[object, ...]] = []
    for gpu in trace.gpus:
        within = scope.within[gpu.index]
        idle = scope.stalls(breakdowns, gpu.index, "idle")
        mine = waits[process == gpu.process]
        mine = mine[within.covered(api.start_ns[mine], api.end_ns[mine]) > 0]
        names = np.unique(api.name_id[mine]).tolist()
        for name in [*names, None] if names else []:
            calls = mine if name is None else mine[api.name_id[mine] == name]
            start, end = api.start_ns[calls], api.end_ns[calls]
            covered = union(start, end) & within
            label = ALL_CALLS if name is None else trace.names[name]
            total = int(within.covered(start, end).sum())
            seen = (covered & idle) if len(covered & idle) else covered
            at = int(seen.lengths.argmax())
            spot = (int(seen.start_ns[at]), int(seen.end_ns[at]))
            rows.append(
                (gpu.index, label, len(calls), total, covered.total(), (covered & idle).total(), *spot)
            )
    return pd.DataFrame(rows, columns=_COLUMNS)
