"""What several groups do together: sets of a larger group that end together in each of the smaller ones too.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.collectives.pairs import nearest_of
from viewer.trace.events import Events, Int64

_TOGETHER_NS = 1_000
_FROM_OUTSIDE_NS = 10_000


def partitions(groups: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Return groups of GPUs, by position, in lists in which no GPU is in two of them."""
    result: list[list[int]] = []
    # The first list that takes a group keeps it. Groups of one parallel dimension come in order and share no
    # GPU, so that each dimension becomes a list.
    for number, gpus in enumerate(groups):
        for partition in result:
            if not any(set(gpus) & set(groups[other]) for other in partition):
                partition.append(number)
                break
        else:
            result.append([number])
    return result


def common_sets(kernels: Events, sets: Sequence[Int64]) -> list[Int64]:
    """Return which sets of several groups of different GPUs are one set of all of them.

    They end together in all groups, though in one of them all members had come before: they waited for the
    members of another one.

    Parameters
    ----------
    sets : sequence of ndarray of int64, shape (members, sets)
        Of each group, `MISSING` where a member lacks its kernel.

    Returns
    -------
    list of ndarray of int64
        The columns of each group, as many of each, those of one set at the same place.
    """
    # A set that lacks a member has no known last start, which is what tells a wait for somebody outside.
    full = [np.flatnonzero((s >= 0).all(axis=0)) for s in sets]
    none = [np.empty(0, np.int64) for _ in sets]
    if len(sets) < 2 or not all(map(len, full)):
        return none
    ends = [kernels.end_ns[s[:, f]].max(axis=0) for s, f in zip(sets, full, strict=True)]
    latest = [kernels.start_ns[s[:, f]].max(axis=0) for s, f in zip(sets, full, strict=True)]
    fewest = min(range(len(sets)), key=lambda group: len(full[group]))
    # (groups, sets of the smallest group): the set of each group that ends next to it.
    at = np.empty((len(sets), len(full[fewest])), np.int64)
    for group, of_group in enumerate(ends):
        order = np.argsort(of_group, kind="stable")
        at[group] = order[nearest_of(of_group[order], ends[fewest])]
    their_ends = np.stack([e[a] for e, a in zip(ends, at, strict=True)])
    their_latest = np.stack([s[a] for s, a in zip(latest, at, strict=True)])
    # Both are needed: groups in step end together by chance, but then each of them waited for a member of its
    # own, and their last starts lie as close as their ends.
    together = their_ends.max(axis=0) - their_ends.min(axis=0) <= _TOGETHER_NS
    from_outside = their_latest.max(axis=0) - their_latest.min(axis=0) > _FROM_OUTSIDE_NS
    chosen = np.flatnonzero(together & from_outside)
    return [f[a[chosen]] for f, a in zip(full, at, strict=True)]


def is_usual(kernels: Events, sets: Int64, column: Int64) -> bool:
    """Return whether a set of a group takes as long from its last start to its end as others of the group.

    Parameters
    ----------
    sets : ndarray of int64, shape (members, sets)
    column : ndarray of int64, shape (1,)
    """
    full = np.setdiff1d(np.flatnonzero((sets >= 0).all(axis=0)), column)
    if not len(full):
        return False
    # Who waits for somebody outside transfers later than its last start: longer than ever, as it seems.
    others, own = sets[:, full], sets[:, column]
    lasts = kernels.end_ns[others].max(axis=0) - kernels.start_ns[others].max(axis=0)
    last = kernels.end_ns[own].max(axis=0) - kernels.start_ns[own].max(axis=0)
    return bool((lasts.min() <= last).all() and (last <= lasts.max()).all())
