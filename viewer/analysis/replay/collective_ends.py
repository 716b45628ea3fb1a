"""Which operations end together: the end of a collective follows the latest start of those it waits for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.dependencies.graph import DependencyGraph

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CollectiveEnds:
    """Sets of operations, each with the operations whose latest start lets others transfer and end.

    Attributes
    ----------
    starter, starter_first : ndarray of int32, shapes (starters,) and (sets + 1,)
        Those waited for in set `k` are ``starter[starter_first[k]:starter_first[k + 1]]``, operations.
    member, member_first : ndarray of int32, shapes (members,) and (sets + 1,)
        Those that end in set `k`. Each operation ends in one set at most.
    """

    starter: Rows
    starter_first: Rows
    member: Rows
    member_first: Rows

    def __len__(self) -> int:
        return len(self.starter_first) - 1

    def starter_set(self) -> Rows:
        """Return the set of each entry of `starter`."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starter_first))

    def member_set(self) -> Rows:
        """Return the set of each entry of `member`."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.member_first))


def collective_ends(graph: DependencyGraph) -> CollectiveEnds:
    """Return who waits for whom in the matched collectives (docs/definitions.md, section 8).

    Kernels of partial sets, and those that are not matched, keep their own durations and are in no set. So
    does a kernel that ended before the latest start: it cannot have waited for it.
    """
    ops, sets = graph.operations, graph.sets
    size = np.diff(sets.offsets)
    number = np.repeat(np.arange(len(sets)), size)
    operation = sets.operations
    # A kernel of two sets ends once: with that which it waited for longer.
    ends_here = graph.set_of[operation] == number
    root = sets.root[number]
    is_root, has_root = operation == root, root >= 0
    # Without a root each waits for all, and in a reduction the root does: one set each. In a broadcast each
    # of the others waits for the root alone, and may end before another one begins: a set for each member.
    alone = has_root & ~sets.root_waits[number]
    ends_here &= ~has_root | (is_root ^ alone)
    together = ~alone
    pieces = [
        (number[together], operation[together]),
        (len(sets) + np.flatnonzero(alone), operation[alone]),
        (len(sets) + np.flatnonzero(alone), root[alone]),
    ]
    starter_set, starter = (np.concatenate(column) for column in zip(*pieces, strict=True))
    member_set = np.where(alone, len(sets) + np.arange(len(operation)), number)[ends_here]
    member = operation[ends_here]
    latest = np.full(len(sets) + len(operation), np.iinfo(np.int64).min, np.int64)
    np.maximum.at(latest, starter_set, ops.start_ns[starter])
    waits = ops.end_ns[member] >= latest[member_set]
    member, member_set = member[waits], member_set[waits]
    used = np.unique(member_set)
    is_used = np.isin(starter_set, used)
    return CollectiveEnds(
        *_by_set(starter[is_used], np.searchsorted(used, starter_set[is_used]), len(used)),
        *_by_set(member, np.searchsorted(used, member_set), len(used)),
    )


def _by_set(operation: Rows, of_set: npt.NDArray[np.int64], sets: int) -> tuple[Rows, Rows]:
    """Return operations by their sets, and where the run of each set begins and the last one ends."""
    order = np.argsort(of_set, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(of_set, minlength=sets))))
    return operation[order].astype(np.int32), first.astype(np.int32)
