"""The report's stalls: idle time, copies and exposed communication by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.location import Location
from viewer.analysis.stalls.stall_kinds import COMM_CAUSES
from viewer.analysis.stalls.stall_tables import totals
from viewer.analysis.stalls.stalls import COPY_ONLY, EXPOSED, IDLE, Stalls
from viewer.analysis.stalls.words import Texts, words
from viewer.analysis.summary.report_locations import location_fact
from viewer.analysis.time.scope import Scope
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers, strip_arguments

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_KINDS = {IDLE: "idle", COPY_ONLY: "copy", EXPOSED: "exposed"}
_CAUSES = dict(zip(COMM_CAUSES, ("collective wait", "collective transfer", "unknown"), strict=True))
"""The report's own names of causes; the others are called as they are."""


def stall_facts(study: Study, scope: Scope | None) -> list[dict[str, Any]]:
    """Return the key `stalls`: one entry for each kind, cause, range around it and call; most time first.

    `total_ns` is the time inside the scope, `longest` the longest of them there; stalls shorter than
    `Stalls.min_ns` are not among them. `inside` is an NVTX range, with numbers as ``#``, None without one.

    Parameters
    ----------
    scope : Scope, optional
        By default the whole trace.
    """
    stalls = study.stalls()
    start, end = _clipped(stalls, scope)
    length = _inside(stalls, scope)
    # Before the texts are made: those are by far the dearest, and a scope has few of the stalls.
    rows = np.flatnonzero(length > 0)
    if not len(rows):
        return []
    start, end, length = start[rows], end[rows], length[rows]
    gpu = stalls.table["gpu"].to_numpy()[rows]
    kind, cause = (stalls.table[name].iloc[rows] for name in ("kind", "cause"))
    texts = words(stalls, rows)
    # Numbers become #: else every iteration would have its own lines, each with a tenth of the time.
    inside, call = _normalised(texts["inside"]), texts["call"]
    codes = np.stack([kind.cat.codes, cause.cat.codes, inside.code, call.code]).astype(np.int64)
    # A group is a column of `codes` that occurs; `group` says which one each stall is in.
    _, first, group = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    # NumPy 2.0 alone gave the inverse in the shape of its input.
    group = group.reshape(-1)
    count, total = np.bincount(group), np.zeros(len(first), np.int64)
    np.add.at(total, group, length)
    # Sorted by group, then length, the last stall of each group is its longest.
    longest = np.lexsort((length, group))[np.cumsum(count) - 1]
    # Stable: of equal totals the first by code, so that two reports of a trace are equal byte for byte.
    order = np.argsort(-total, kind="stable").tolist()
    return [
        {
            "cause": _CAUSES.get(str(cause.iloc[first[g]]), str(cause.iloc[first[g]])),
            "kind": _KINDS[str(kind.iloc[first[g]])],
            "count": int(count[g]),
            "total_ns": int(total[g]),
            "inside": inside[first[g]] or None,
            "call": call[first[g]] or None,
            "longest": location_fact(
                study, Location(int(start[longest[g]]), int(end[longest[g]]), int(gpu[longest[g]]))
            ),
        }
        for g in order
    ]


def time_by_cause(study: Study, scope: Scope | None) -> pd.DataFrame:
    """Return the time of the stalls inside a scope by kind and main cause, as `Stalls.totals`."""
    stalls = study.stalls()
    length = _inside(stalls, scope)
    rows = np.flatnonzero(length > 0)
    return totals(stalls.table[["kind", "cause"]].iloc[rows].assign(duration_ns=length[rows]))


def _clipped(stalls: Stalls, scope: Scope | None) -> tuple[Int64, Int64]:
    """Return where each stall starts and ends, clipped to the scope's first start and last end on its GPU."""
    start, end = (stalls.table[name].to_numpy() for name in ("start_ns", "end_ns"))
    if scope is None:
        return start, end
    # At least one entry: an index into nothing would fail even where no stall uses it.
    low, high = np.zeros((2, max(len(scope.within), 1)), np.int64)
    for gpu, within in enumerate(scope.within):
        if len(within):
            low[gpu], high[gpu] = within.start_ns[0], within.end_ns[-1]
    gpus = stalls.table["gpu"].to_numpy()
    return np.maximum(start, low[gpus]), np.minimum(end, high[gpus])


def _inside(stalls: Stalls, scope: Scope | None) -> Int64:
    """Return how much of each stall lies in the scope, ns."""
    if scope is None:
        return stalls.table["duration_ns"].to_numpy()
    start, end, gpus = (stalls.table[name].to_numpy() for name in ("start_ns", "end_ns", "gpu"))
    length = np.zeros(len(start), np.int64)
    for gpu, within in enumerate(scope.within):
        rows: npt.NDArray[np.intp] = np.flatnonzero(gpus == gpu)
        length[rows] = within.covered(start[rows], end[rows])
    return length


def _normalised(texts: Texts) -> Texts:
    """Return names of ranges without arguments and with numbers as ``#``, so that iterations share one."""
    return Texts.of((normalise_numbers(strip_arguments(text)) for text in texts.texts), texts.code)
