"""The matched sets of collectives, as operations."""

from __future__ import annotations

import numpy as np

from viewer.analysis.collectives.collective_kinds import ROOTED
from viewer.analysis.collectives.match import Collectives
from viewer.analysis.dependencies.graph import CollectiveSets, Operations, Rows
from viewer.trace import GPU_KINDS, Kind


def collective_sets(collectives: Collectives, operations: Operations) -> tuple[CollectiveSets, Rows]:
    """Return the matched sets, and of each operation its set, shape (operations,), -1 for none."""
    first = int(operations.first[GPU_KINDS.index(Kind.KERNEL)])
    sizes, members, roots, root_waits, groups = [], [], [], [], []
    for number, group in enumerate(collectives.groups):
        columns = np.flatnonzero(group.matched)
        kernels = group.kernels[:, columns]
        root = group.roots[columns]
        has_root = (root >= 0) & (group.kind in ROOTED)
        sizes.append(np.full(len(columns), len(kernels), np.int64))
        members.append(kernels.T.ravel() + first)
        roots.append(np.where(has_root, kernels[root, np.arange(len(columns))] + first, -1))
        root_waits.append(has_root & (group.kind != "Broadcast"))
        groups.append(np.full(len(columns), number, np.int32))
    none = np.empty(0, np.int64)
    sets = CollectiveSets(
        np.concatenate(([0], np.cumsum(np.concatenate([none, *sizes])))),
        np.concatenate([none, *members]).astype(np.int32),
        np.concatenate([none, *roots]).astype(np.int32),
        np.concatenate([none, *root_waits]).astype(bool),
        np.concatenate([none, *groups]).astype(np.int32),
    )
    set_of = np.full(len(operations), -1, np.int32)
    of_member = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.offsets))
    # Of two sets of one kernel the one whose last member came later: the last writer wins.
    last = np.maximum.reduceat(operations.start_ns[sets.operations], sets.offsets[:-1]) if len(sets) else none
    by_last = np.argsort(last[of_member], kind="stable")
    set_of[sets.operations[by_last]] = of_member[by_last]
    return sets, set_of
