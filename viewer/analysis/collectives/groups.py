"""Which ranks do collectives together: by NCCL's communicator, else by how their kernels run.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from viewer.analysis.collectives.collective_kinds import collective_kind
from viewer.analysis.collectives.common_sets import common_sets, is_usual, partitions
from viewer.analysis.collectives.pairs import KernelSequence, PairFit, PairFits, nearest_of
from viewer.analysis.collectives.payloads import Payloads
from viewer.analysis.collectives.sets import MISSING, sets_of, spread_of_ends
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import runs
from viewer.analysis.launches.launches import Launches
from viewer.trace import Trace
from viewer.trace.events import Int64

MIN_TOGETHER = 0.9
"""The share of the kernels that end together from which on two sequences are of one group."""
MIN_MIXED = 0.1
"""The same, where a stream mixes collectives of several groups under one name."""
MIN_SETS = 3
"""So many kernels that do not end with their group's others are a group of their own."""
_STEADY_NS = 2_000
_TIMES_AS_STEADY = 8
_ROUNDS = 4

How = Literal["communicator", "timing"]
_Key = Callable[[PairFit], float]


@dataclass(frozen=True, eq=False)
class FoundGroup:
    """Sequences of different GPUs that belong together, in order of the GPUs, and their sets.

    `sets` has shape (members, sets): indices into ``trace.kernels``, `MISSING` where a member lacks its own.
    """

    members: tuple[KernelSequence, ...]
    how: How
    sets: Int64


def sequences(launches: Launches, classes: KernelClasses) -> list[KernelSequence]:
    """Return the communication kernels of every stream by name."""
    trace, kernels = launches.trace, launches.trace.kernels
    payloads = Payloads(launches)
    result = []
    every = np.flatnonzero(classes.is_comm(kernels.name_id))
    owner = np.searchsorted(kernels.offsets, every, side="right") - 1
    for low, high in zip(*(edges.tolist() for edges in runs(owner)), strict=True):
        stream, comm = trace.streams[int(owner[low])], every[low:high]
        for name in np.unique(kernels.name_id[comm]).tolist():
            # By name within the stream: one communicator runs several kinds, which are sets of their own.
            rows = comm[kernels.name_id[comm] == name]
            result.append(KernelSequence(stream.gpu, stream.index, name, rows, payloads.communicator(rows)))
    return result


def find_groups(trace: Trace, sequences: Sequence[KernelSequence]) -> list[FoundGroup]:
    """Return the sequences that belong together, those that NCCL's communicator joins first.

    Sends and receives without a communicator are left out: see `viewer.analysis.collectives.peers`.
    """
    known: dict[tuple[int, int], list[KernelSequence]] = defaultdict(list)
    for sequence in sequences:
        if sequence.communicator is not None:
            known[sequence.name_id, sequence.communicator].append(sequence)
    groups = [
        _found(trace, members, "communicator")
        for members in known.values()
        if len(members) > 1 and len({s.gpu for s in members}) == len(members)
    ]
    # By identity: two sequences may be equal in every field but their rows.
    joined = {id(s) for group in groups for s in group.members}
    by_name: dict[int, list[KernelSequence]] = defaultdict(list)
    for sequence in sequences:
        if id(sequence) not in joined and collective_kind(trace.names[sequence.name_id]) != "SendRecv":
            by_name[sequence.name_id].append(sequence)
    for same_name in by_name.values():
        groups += by_timing(trace, same_name)
    return groups


def _found(trace: Trace, members: Iterable[KernelSequence], how: How) -> FoundGroup:
    ordered = tuple(sorted(members, key=lambda s: s.gpu))
    return FoundGroup(ordered, how, sets_of(trace.kernels, ordered))


def by_timing(
    trace: Trace, sequences: list[KernelSequence], allowed: Callable[[PairFit], bool] | None = None
) -> list[FoundGroup]:
    """Return the sequences of one name that run together.

    Parameters
    ----------
    allowed : callable, optional
        Which pairs may be joined at all; by default all. With it all pairs of a group have to fit, and no
        stream is taken to mix groups.

    Notes
    -----
    Usually all kernels of a sequence are of one group. Where a stream mixes groups under one name, as XLA
    does, the kernels that do not end with the others of the first group found are looked at again, by
    themselves, until no further group is found.
    """

    def together(fit: PairFit) -> bool:
        is_one = fit.together >= MIN_TOGETHER and not fit.is_only_in_step
        return is_one and (allowed is None or allowed(fit))

    def mixed(fit: PairFit) -> bool:
        return fit.is_mixed and fit.tight >= MIN_MIXED

    joined = _join(trace, sequences, together, lambda f: f.unsteady_ns, allowed is not None)
    whole = [_found(trace, members, "timing") for members in joined]
    if allowed is not None:
        return whole
    kept: list[FoundGroup] = []
    pool: dict[int, list[Int64]] = defaultdict(list)
    for group in whole:
        tight, loose = _loose(trace, group)
        kept.append(tight)
        for position, rows in enumerate(loose):
            pool[group.members[position].stream].append(rows)
    # A sequence that fitted no other as a whole may be of several groups in turn, and its kernels all go to
    # the pool.
    in_whole = {s.stream for group in whole for s in group.members}
    for sequence in sequences:
        if sequence.stream not in in_whole:
            pool[sequence.stream].append(sequence.rows)
    of_stream = {s.stream: s for s in sequences}
    further: list[FoundGroup] = []
    for _ in range(_ROUNDS):
        rest = [replace(of_stream[s], rows=rows) for s, r in pool.items() if len(rows := _joined(r))]
        joined = _join(trace, rest, mixed, lambda f: -f.tight)
        found = [g for m in joined if (g := _tight_sets(trace, m)) is not None]
        if not found:
            break
        further += found
        taken = {s.stream: s.rows for group in found for s in group.members}
        for stream, rows in taken.items():
            # Each kernel is of one set: those that are taken are out of the rounds that follow, which
            # therefore end.
            pool[stream] = [np.setdiff1d(_joined(pool[stream]), rows, assume_unique=True)]
    if not further:
        return _with_common(trace, whole)
    further = [_with_skipped(trace, g, of_stream) for g in further]
    return _with_common(trace, _settled(trace, kept, further, pool))


def _joined(rows: list[Int64]) -> Int64:
    return np.sort(np.concatenate([np.empty(0, np.int64), *rows]))


def _join(
    trace: Trace,
    sequences: list[KernelSequence],
    fits: Callable[[PairFit], bool],
    order: _Key,
    all_pairs: bool = False,
) -> list[list[KernelSequence]]:
    """Join the sequences that fit one another, in order of the pairs' key.

    Neighbouring groups that do the same work in step also end within 50 µs: what they lack is the steadiness
    of kernels that can only end together. A group has one sequence of a GPU, and takes no pair that is far
    less steady than its own. With `all_pairs` each of its pairs has to fit.
    """
    if len({s.gpu for s in sequences}) < 2:
        return []
    starts = [trace.kernels.start_ns[s.rows] for s in sequences]
    ends = [trace.kernels.end_ns[s.rows] for s in sequences]
    # Pairs first, groups from them: to try all subsets of the ranks would grow exponentially.
    pairs = [pair for pair in PairFits(starts, ends, [s.gpu for s in sequences]) if fits(pair)]
    fitting = {(pair.first, pair.second) for pair in pairs}
    group_of = list(range(len(sequences)))
    members = {i: [i] for i in group_of}
    unsteadiness: dict[int, int] = {}
    for pair in sorted(pairs, key=lambda p: (order(p), p.unsteady_ns, p.first, p.second)):
        first, second = group_of[pair.first], group_of[pair.second]
        gpus = [sequences[i].gpu for i in (*members[first], *members[second])]
        known = [unsteadiness[g] for g in (first, second) if g in unsteadiness]
        # Measured by the steadier of the two groups: one loose pair must not open the door to others.
        limit = max(_STEADY_NS, _TIMES_AS_STEADY * min(known)) if known else None
        # A rank is in a group once: two streams of one GPU that end together do so for another reason.
        if first == second or len(set(gpus)) < len(gpus) or (limit is not None and pair.unsteady_ns > limit):
            continue
        across = product(members[first], members[second])
        if all_pairs and not fitting.issuperset((min(ab), max(ab)) for ab in across):
            continue
        # The second group ceases to be; whoever pointed at it is pointed at the first below.
        members[first] += members.pop(second)
        unsteadiness[first] = max(pair.unsteady_ns, *known) if known else pair.unsteady_ns
        for i in members[first]:
            group_of[i] = first
    return [[sequences[i] for i in group] for group in members.values() if len(group) > 1]


def _tight(trace: Trace, sets: Int64) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which sets of a group end together as steadily as most of them."""
    # The first quartile as a measure: where groups are mixed, most sets may be loose.
    spread = spread_of_ends(trace.kernels, sets)
    return spread <= max(_STEADY_NS // 2, _TIMES_AS_STEADY * int(np.percentile(spread, 25)))


def _loose(trace: Trace, group: FoundGroup) -> tuple[FoundGroup, list[Int64]]:
    """Return a group without the sets that do not end together, and the kernels of these by member."""
    full = (group.sets >= 0).all(axis=0)
    loose = full & ~_tight(trace, group.sets)
    if loose.sum() < MIN_SETS:
        return group, []
    rows = [np.sort(of_member[loose]) for of_member in group.sets]
    return _of_sets(group.members, group.sets[:, ~loose]), rows


def _tight_sets(trace: Trace, members: list[KernelSequence]) -> FoundGroup | None:
    """Return the sets of some sequences whose members end together, None where they are too few."""
    group = _found(trace, members, "timing")
    # A kernel alone ends together with itself, and would make any group look tight.
    several = (group.sets >= 0).sum(axis=0) > 1
    if not several.any():
        return None
    sets = group.sets[:, several]
    sets = sets[:, _tight(trace, sets)]
    return _of_sets(group.members, sets) if sets.shape[1] >= MIN_SETS else None


def _of_sets(members: tuple[KernelSequence, ...], sets: Int64) -> FoundGroup:
    rows = [np.sort(of_member[of_member >= 0]) for of_member in sets]
    return FoundGroup(tuple(replace(m, rows=r) for m, r in zip(members, rows, strict=True)), "timing", sets)


def _with_common(trace: Trace, groups: list[FoundGroup]) -> list[FoundGroup]:
    """Return groups of one name, with what several of them do together as a group of its own.

    A single such set is left out, as its members waited for ranks outside the group; unless it is like the
    others of each group, which then ended together by chance.
    """
    result: list[FoundGroup] = []
    for partition in partitions([tuple(m.gpu for m in g.members) for g in groups]):
        parts = [groups[number] for number in partition]
        columns = common_sets(trace.kernels, [g.sets for g in parts])
        is_one = len(columns[0]) == 1
        if not len(columns[0]) or (
            is_one and all(is_usual(trace.kernels, g.sets, c) for g, c in zip(parts, columns, strict=True))
        ):
            result += parts
            continue
        rest = [np.delete(g.sets, c, axis=1) for g, c in zip(parts, columns, strict=True)]
        # Groups whose sets were all of the larger group are left out: they never existed by themselves.
        result += [_of_sets(g.members, r) for g, r in zip(parts, rest, strict=True) if r.shape[1]]
        if len(columns[0]) > 1:
            members = [m for g in parts for m in g.members]
            sets = np.concatenate([g.sets[:, c] for g, c in zip(parts, columns, strict=True)])
            # In order of the GPUs, as in all groups: members are compared by position.
            order = np.argsort([m.gpu for m in members], kind="stable")
            result.append(_of_sets(tuple(members[i] for i in order), sets[order]))
    return result


def _with_skipped(trace: Trace, group: FoundGroup, of_stream: dict[int, KernelSequence]) -> FoundGroup:
    """Return a group found later with the sets that by chance ended with their first groups' others too.

    Its sets come every so many kernels of the stream: where one or more of them are skipped, and the kernels
    at their places end together, they are sets of this group.
    """
    full = group.sets[:, (group.sets >= 0).all(axis=0)]
    if full.shape[1] < MIN_SETS:
        return group
    rows = [of_stream[m.stream].rows for m in group.members]
    at = np.array([np.searchsorted(r, s) for r, s in zip(rows, full, strict=True)])
    # The commonest distance: where sets were skipped the distance is a multiple of it.
    period = int(np.bincount(np.diff(at[0])).argmax())
    # (members, sets): the places half-way along are as many periods on from each set as are skipped after it.
    steps = np.diff(at, axis=1) // max(period, 1)
    regular = (np.diff(at, axis=1) == steps * period).all(axis=0) & (steps == steps[0]).all(axis=0)
    skipped = np.where(regular, np.maximum(steps[0] - 1, 0), 0)
    begin = np.repeat(np.arange(len(skipped)), skipped)
    number = np.arange(len(begin)) - np.repeat(np.cumsum(skipped) - skipped, skipped) + 1
    if not len(begin):
        return group
    places = at[:, begin] + number * period
    sets = np.array([r[p] for r, p in zip(rows, places, strict=True)])
    known = np.concatenate((full, sets), axis=1)
    together = spread_of_ends(trace.kernels, known)[full.shape[1] :] <= _STEADY_NS
    every = np.concatenate((group.sets, sets[:, together]), axis=1)
    return _of_sets(
        group.members,
        every[:, np.argsort(np.where(every >= 0, trace.kernels.end_ns[every], 0).max(axis=0), kind="stable")],
    )


def _settled(
    trace: Trace, kept: list[FoundGroup], further: list[FoundGroup], pool: dict[int, list[Int64]]
) -> list[FoundGroup]:
    """Return all groups, with the kernels that ended with their first group's others by chance put right.

    Where a set of a group found later lacks a member, that member's kernel is looked for in the groups found
    before. What is left over goes back to the group whose streams it is of.
    """
    owner = {s.stream: number for number, group in enumerate(kept) for s in group.members}
    sets = [group.sets.copy() for group in kept]
    taken = np.concatenate([group.sets[group.sets >= 0] for group in further])
    for of_group in sets:
        # A kernel is in one set of one group: those that were found elsewhere are dropped here.
        of_group[np.isin(of_group, taken)] = MISSING
    completed = []
    for group in further:
        filled = group.sets.copy()
        ends = np.where(filled >= 0, trace.kernels.end_ns[filled], 0).max(axis=0)
        for position, member in enumerate(group.members):
            if (number := owner.get(member.stream)) is None:
                continue
            row = [m.stream for m in kept[number].members].index(member.stream)
            theirs = sets[number][row]
            missing = np.flatnonzero(filled[position] < 0)
            candidates = np.flatnonzero(theirs >= 0)
            if not len(missing) or not len(candidates):
                continue
            candidates = candidates[np.argsort(trace.kernels.end_ns[theirs[candidates]], kind="stable")]
            their_ends = trace.kernels.end_ns[theirs[candidates]]
            best = nearest_of(their_ends, ends[missing])
            # Twice as far as steady ones end: it is one of two that ended together by chance.
            close = np.abs(their_ends[best] - ends[missing]) <= 2 * _STEADY_NS
            filled[position, missing[close]] = theirs[candidates[best[close]]]
            theirs[candidates[best[close]]] = MISSING
        completed.append(_of_sets(group.members, filled))
    result = []
    for number, group in enumerate(kept):
        left = [
            np.concatenate((of_member[of_member >= 0], *pool.get(member.stream, [])))
            for member, of_member in zip(group.members, sets[number], strict=True)
        ]
        members = tuple(replace(m, rows=np.sort(r)) for m, r in zip(group.members, left, strict=True))
        result.append(FoundGroup(members, "timing", sets_of(trace.kernels, members)))
    return result + completed
