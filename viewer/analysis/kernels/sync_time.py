"""Time in synchronising calls, and how much of it the GPU is idle (docs/definitions.md, section 7)."""

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
"""Stands for all names in the column `call`."""
_COLUMNS = ["gpu", "call", "count", "sum_ns", "union_ns", "idle_ns", "start_ns", "end_ns"]


def syncs(launches: Launches, breakdowns: Sequence[TimeBreakdown], scope: Scope) -> pd.DataFrame:
    """Return a table of the synchronising calls inside a scope, by GPU and name of the call.

    Calls that copy from or to pageable memory are among them, since they wait for the GPU too. A call that
    waits while the GPU works costs nothing; `idle_ns` is the part in which the GPU has nothing to do.

    Parameters
    ----------
    breakdowns : sequence of TimeBreakdown
        One per GPU, see `Study.parts`.

    Returns
    -------
    DataFrame
        `gpu`, `call` (`ALL_CALLS` in the last row of a GPU), `count`, `sum_ns` (clipped to the scope),
        `union_ns` over the threads of the GPU's process, and of that `idle_ns`; `start_ns` and `end_ns` of
        the longest idle interval in them, else of the longest interval that they cover.
    """
    trace, api = launches.trace, launches.trace.api
    waits = np.flatnonzero(blocking_calls(launches))
    thread = np.searchsorted(api.offsets, waits, side="right") - 1
    process = np.array([t.process for t in trace.threads], np.int64)[thread] if len(waits) else thread
    rows: list[tuple[object, ...]] = []
    for gpu in trace.gpus:
        within = scope.within[gpu.index]
        idle = scope.stalls(breakdowns, gpu.index, "idle")
        own = waits[process == gpu.process]
        # A thread waits for all GPUs of its process: its call counts once for each of them, which the table's
        # heads say.
        own = own[within.covered(api.start_ns[own], api.end_ns[own]) > 0]
        names = np.unique(api.name_id[own]).tolist()
        # The last row, None, is that of all calls: calls of several threads overlap, so it is no sum of rows.
        for name in [*names, None] if names else []:
            calls = own if name is None else own[api.name_id[own] == name]
            start, end = api.start_ns[calls], api.end_ns[calls]
            covered = union(start, end) & within
            label = ALL_CALLS if name is None else trace.names[name]
            total, idle_within = int(within.covered(start, end).sum()), covered & idle
            # A click leads to where the wait cost something; where it cost nothing, to the longest wait.
            shown = idle_within if len(idle_within) else covered
            longest = int(shown.lengths.argmax())
            spot = (int(shown.start_ns[longest]), int(shown.end_ns[longest]))
            rows.append((gpu.index, label, len(calls), total, covered.total(), idle_within.total(), *spot))
    return pd.DataFrame(rows, columns=_COLUMNS)
