"""Tables of collectives: by rank, by group, by set, of the whole trace or of a time range.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.intervals import window
from viewer.analysis.launches.attribution import Mask
from viewer.trace.events import Int64
from viewer.trace.names import short_name

if TYPE_CHECKING:
    from viewer.analysis.collectives.match import CollectiveGroup, Collectives

CONSTANT = 0.75
"""A GPU that is the last arrival in at least this share of its sets is so persistently; else it varies."""
SELDOM = 0.1
"""Below this share of its sets a GPU is seldom the last arrival."""
MIN_SHARE = 0.001
"""Waits of less than this share of the time are too short for whoever caused them to be called persistent."""
_PATTERNS = ("constant", "rotating", "seldom")
_EXPOSED = ("exposed_wait_ns", "exposed_transfer_ns", "exposed_unmatched_ns")
_SUMS = ("sets", "partial", "wait_ns", "transfer_ns", "last", "others_waited_ns")
_GROUP_COLUMNS = [
    "group", "name", "kind", "members", "how", "sets", "matched", "partial", "unmatched", "wait_ns",
    "last_gpu", "last_share", "pattern",
]  # fmt: skip
_SET_COLUMNS = (
    "group", "set", "start_ns", "end_ns", "shortest_ns", "wait_ns", "spread_ns", "last_gpu", "kernel",
    "missing",
)  # fmt: skip

Range = tuple[int, int]


def rank_rows(collectives: Collectives, within: Range | None = None) -> pd.DataFrame:
    """Return one row per GPU.

    Parameters
    ----------
    within : (int, int), optional
        A time range [start, end), ns: times are clipped to it, and sets count that touch it.

    Returns
    -------
    DataFrame
        `gpu`, `sets` (matched), `partial` (sets that lack a member), `wait_ns`, `transfer_ns` (sums over its
        kernels of known wait time), `last` (sets in which it was the last arrival), `others_waited_ns` (wait
        caused: the wait time of the others in those sets), `exposed_wait_ns`, `exposed_transfer_ns`,
        `exposed_unmatched_ns` (which sum to the exposed communication), `last_share` (`last` over `sets`),
        `pattern` ("constant": it is persistently late, "rotating", "seldom", "" where the waits are too
        short to say), `is_bound` (whether waits of sets that lack a member are among its own).
    """
    gpus = len(collectives.trace.gpus)
    low, high = within or collectives.trace.window_ns
    columns = {c: np.zeros(gpus, np.int64) for c in _SUMS}
    by_clock = np.zeros(gpus, np.int64)
    for group in collectives.groups:
        waits = _waits(collectives, group, within)
        touching = _touching(collectives, group, within)
        own = np.array(group.gpus)
        columns["sets"][own] += int((group.matched & touching).sum())
        columns["partial"][own] += ((group.kernels >= 0) & (group.partial & touching)).sum(axis=1)
        known = group.matched & touching
        last = _last(collectives, group)[known]
        # Unbuffered: a GPU is the last arrival of many sets, and `+=` by index would count it once.
        np.add.at(columns["last"], last[last >= 0], 1)
        np.add.at(columns["others_waited_ns"], last[last >= 0], waits[:, known].sum(axis=0)[last >= 0])
        by_clock[own] += _by_clock(collectives, group, waits, known)
    kernels = collectives.trace.kernels
    is_bound = np.zeros(gpus, bool)
    for gpu in range(gpus):
        rows = collectives.rows(gpu)
        start, end = kernels.start_ns[rows], kernels.end_ns[rows]
        turn = start + collectives.wait_ns[rows]
        columns["wait_ns"][gpu] = _clipped(start, turn, within).sum()
        columns["transfer_ns"][gpu] = _clipped(turn, end, within).sum()
        is_bound[gpu] = bool((collectives.is_bound[rows] & _touches(start, end, within)).any())
    around = None if within is None else window(low, high)
    exposed = np.array([collectives.exposed(g, around) for g in range(gpus)], np.int64).reshape(-1, 3)
    share = columns["last"] / np.maximum(columns["sets"], 1)
    sure = columns["others_waited_ns"] - by_clock
    small = sure < MIN_SHARE * gpus * (high - low)
    return pd.DataFrame(
        {
            "gpu": np.arange(gpus),
            **columns,
            **{name: exposed[:, i] for i, name in enumerate(_EXPOSED)},
            "last_share": share,
            "pattern": _pattern(share, (columns["sets"] == 0) | (small & (share >= SELDOM))),
            "is_bound": is_bound,
        }
    )


def group_rows(collectives: Collectives, within: Range | None = None) -> pd.DataFrame:
    """Return one row per group; `within` as in `rank_rows`.

    `group`, `name`, `kind`, `members` ("Rank 0 GPU 0, ..."), `how`, `sets`, `matched`, `partial`, `unmatched`
    (the rest), `wait_ns` (of all members), `last_gpu` (the most frequent last arrival, -1 where there is
    none), `last_share`, `pattern` ("constant", "rotating", "" where the waits are too short to say).
    """
    trace, lines = collectives.trace, []
    low, high = within or trace.window_ns
    for number, group in enumerate(collectives.groups):
        touching = _touching(collectives, group, within)
        last = _last(collectives, group)[group.matched & touching]
        known = last[last >= 0]
        count = np.bincount(known, minlength=1)
        waits = _waits(collectives, group, within)
        wait = int(waits.sum())
        by_clock = int(_by_clock(collectives, group, waits, group.matched & touching).sum())
        share = int(count.max()) / len(known) if len(known) else 0.0
        too_short = wait - by_clock < MIN_SHARE * len(group.gpus) * (high - low) or not len(known)
        sets, matched = int(touching.sum()), int((group.matched & touching).sum())
        partial = int((group.partial & touching).sum())
        lines.append(
            (
                number,
                short_name(trace.names[group.name_id]),
                group.kind,
                ", ".join(trace.gpu_label(g) for g in group.gpus),
                group.how,
                sets,
                matched,
                partial,
                sets - matched - partial,
                wait,
                int(count.argmax()) if len(known) else -1,
                share,
                "" if too_short else _PATTERNS[0 if share >= CONSTANT else 1],
            )
        )
    return pd.DataFrame(lines, columns=_GROUP_COLUMNS)


def set_rows(collectives: Collectives) -> pd.DataFrame:
    """Return one row per set with a known wait time, by `start_ns`.

    `group`, `set`, `start_ns` (first arrival), `end_ns`, `shortest_ns`, `wait_ns` (of all members),
    `spread_ns` (last start - first start), `last_gpu` (-1 where it is not known), `kernel` (of the last
    arrival that is there, into ``trace.kernels``), `missing` (how many members it lacks).
    """
    kernels, pieces = collectives.trace.kernels, []
    for number, group in enumerate(collectives.groups):
        known = group.matched | group.partial
        rows = group.kernels[:, known]
        is_there = rows >= 0
        limits = np.iinfo(np.int64)
        starts, ends = kernels.start_ns[rows], kernels.end_ns[rows]
        first, last = np.where(is_there, starts, limits.max), np.where(is_there, starts, limits.min)
        latest = last.argmax(axis=0)
        pieces.append(
            pd.DataFrame(
                {
                    "group": np.full(rows.shape[1], number, np.int32),
                    "set": np.flatnonzero(known),
                    "start_ns": first.min(axis=0),
                    "end_ns": np.where(is_there, ends, limits.min).max(axis=0),
                    "shortest_ns": np.where(is_there, ends - starts, limits.max).min(axis=0),
                    "wait_ns": _waits(collectives, group, None)[:, known].sum(axis=0),
                    "spread_ns": last.max(axis=0) - first.min(axis=0),
                    "last_gpu": np.where(group.matched, _last(collectives, group), -1)[known],
                    "kernel": rows[latest, np.arange(rows.shape[1])],
                    "missing": (~is_there).sum(axis=0),
                }
            )
        )
    if not pieces:
        return pd.DataFrame({name: np.empty(0, np.int64) for name in _SET_COLUMNS})
    return pd.concat(pieces).sort_values("start_ns", kind="stable", ignore_index=True)


def _waits(collectives: Collectives, group: CollectiveGroup, within: Range | None) -> Int64:
    """Return the known wait time of each kernel of a group inside the range, (members, sets), ns."""
    rows, kernels = group.kernels, collectives.trace.kernels
    wait = np.where(rows >= 0, np.maximum(collectives.wait_ns[rows], 0), 0).astype(np.int64)
    start = kernels.start_ns[rows]
    clipped = _clipped(start, start + wait, within)
    return np.asarray(np.where(group.matched | group.partial, clipped, 0))


def _last(collectives: Collectives, group: CollectiveGroup) -> Int64:
    """Return the GPU that each set waited for, -1 where that is not known, shape (sets,)."""
    rows = group.kernels
    last = np.where(rows >= 0, collectives.last_gpu[rows], -1)
    return np.asarray(last.max(axis=0)).astype(np.int64)


def _by_clock(collectives: Collectives, group: CollectiveGroup, waits: Int64, known: Mask) -> Int64:
    """Return how much of what the others waited for each member its clock may explain, (members,), ns.

    It may be off by as much as its collectives usually end apart from the others'.
    """
    rows, kernels = group.kernels[:, known], collectives.trace.kernels
    if not rows.size:
        return np.zeros(len(group.gpus), np.int64)
    ends, starts = kernels.end_ns[rows], kernels.start_ns[rows]
    apart = np.abs(np.median(ends - np.median(ends, axis=0), axis=1)).astype(np.int64)
    latest = starts.argmax(axis=0)
    explained = np.minimum(waits[:, known], apart[latest]).sum(axis=0)
    return np.bincount(latest, weights=explained, minlength=len(group.gpus)).astype(np.int64)


def _touching(collectives: Collectives, group: CollectiveGroup, within: Range | None) -> Mask:
    """Return which sets of a group touch the range."""
    rows, kernels = group.kernels, collectives.trace.kernels
    touches = _touches(kernels.start_ns[rows], kernels.end_ns[rows], within) & (rows >= 0)
    return np.asarray(touches.any(axis=0))


def _touches(start_ns: Int64, end_ns: Int64, within: Range | None) -> Mask:
    if within is None:
        return np.ones(start_ns.shape, bool)
    return np.asarray((start_ns < within[1]) & (end_ns > within[0]))


def _clipped(start_ns: Int64, end_ns: Int64, within: Range | None) -> Int64:
    """Return the length of each interval inside the range, ns."""
    if within is None:
        return np.asarray(end_ns - start_ns)
    return np.asarray(np.maximum(np.minimum(end_ns, within[1]) - np.maximum(start_ns, within[0]), 0))


def _pattern(share: npt.NDArray[np.float64], unknown: Mask) -> npt.NDArray[np.object_]:
    known = np.select([share >= CONSTANT, share >= SELDOM], list(_PATTERNS[:2]), _PATTERNS[2])
    return np.where(unknown, "", known).astype(object)
