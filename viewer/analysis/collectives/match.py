"""Collectives matched over the ranks: who waited for whom, and how long the transfer itself took.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.collectives.collective_kinds import ROOTED, CollectiveKind, collective_kind
from viewer.analysis.collectives.groups import FoundGroup, How, find_groups, sequences
from viewer.analysis.collectives.pairs import KernelSequence
from viewer.analysis.collectives.peers import find_peers
from viewer.analysis.collectives.rooted import with_roots
from viewer.analysis.collectives.roots import root_waits
from viewer.analysis.collectives.stages import find_stages
from viewer.analysis.core.arrays import Whole, narrowed
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import EMPTY, Intervals, union
from viewer.analysis.launches.attribution import Mask
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property
from viewer.trace.names import short_name


@dataclass(frozen=True, eq=False)
class CollectiveGroup:
    """Ranks that do the same collectives together.

    Attributes
    ----------
    name_id : int
        The kernel's name.
    kind : CollectiveKind
        What it does; of sends and receives "SendRecv", where all exchange with all "AllToAll".
    gpus, streams : tuple of int
        Its members, in order of the GPUs: indices into `Trace.gpus` and `Trace.streams`.
    kernels : ndarray of int64, shape (members, sets)
        The kernel of each member, an index into ``trace.kernels``; -1 where it lacks its own.
    matched : ndarray of bool, shape (sets,)
        The sets that have all their members, which all overlap, and whose root is known where there is one.
    partial : ndarray of bool, shape (sets,)
        The sets that lack members: what the others waited is a lower bound, and nobody is called the last.
    roots : ndarray of int64, shape (sets,)
        The member that is the root, -1 where there is none or it is not known.
    how : {"communicator", "timing"}
        Whether NCCL's own record joins them, or how the kernels run.
    communicator : int or None
        NCCL's own identifier, where it is recorded.
    """

    name_id: int
    kind: CollectiveKind
    gpus: tuple[int, ...]
    streams: tuple[int, ...]
    kernels: Int64
    matched: Mask
    partial: Mask
    roots: Int64
    how: How = "timing"
    communicator: int | None = None


@dataclass(frozen=True, eq=False)
class Collectives:
    """The matched collectives of a trace.

    Attributes
    ----------
    parts : tuple of TimeBreakdown, one per GPU
        What says which communication is exposed.
    wait_ns : ndarray of int32 or int64, shape (kernels,)
        For each kernel of the trace: latest start of its set - own start, at most its duration; -1 where it
        is not known. The rest of the duration is transfer.
    last_gpu : ndarray of int16, shape (kernels,)
        Whom it waited for: the last arrival of its set, or its root; -1 where it is not known.
    is_bound : ndarray of bool, shape (kernels,)
        Whether `wait_ns` is a lower bound: its set lacks a member.
    stages : tuple of tuple of int
        The GPUs of each stage of a pipeline, in order; () without one, or where it is not known.
    is_pipeline : bool
        Whether more than two ranks send to one another, not all to all.
    unrecorded : int
        How many ranks the job has besides those in the recording; 0 where that is not known.
    notes : tuple of str
        The kernels that could not be matched, and why.
    """

    trace: Trace
    parts: tuple[TimeBreakdown, ...]
    groups: tuple[CollectiveGroup, ...]
    wait_ns: Whole
    last_gpu: npt.NDArray[np.int16]
    is_bound: Mask
    stages: tuple[tuple[int, ...], ...]
    is_pipeline: bool
    unrecorded: int
    notes: tuple[str, ...]

    def waits(self, gpu: int) -> Intervals:
        """Return when a GPU waited in a collective for a later rank, and transferred in none."""
        return self._wait_and_transfer[gpu][0]

    def transfers(self, gpu: int) -> Intervals:
        """Return when a GPU transferred in a matched collective."""
        return self._wait_and_transfer[gpu][1]

    def exposed(self, gpu: int, within: Intervals | None = None) -> tuple[int, int, int]:
        """Return the exposed communication of a GPU: wait time, transfer, and not matched, ns.

        Parameters
        ----------
        within : Intervals, optional
            Where to look; by default the trace's window.
        """
        exposed = self.parts[gpu].intervals("exposed_comm")
        if within is not None and len(within):
            # The breakdown is asked for the whole extent first, as its window need not reach as far as
            # `within` does.
            low, high = int(within.start_ns[0]), int(within.end_ns[-1])
            exposed = self.parts[gpu].intervals("exposed_comm", start_ns=low, end_ns=high) & within
        elif within is not None:
            exposed = EMPTY
        if not len(exposed):
            return 0, 0, 0
        wait = (exposed & self.waits(gpu)).total()
        transfer = (exposed & self.transfers(gpu)).total()
        # What is left is not matched: the three sum to the exposed communication to the nanosecond.
        return wait, transfer, exposed.total() - wait - transfer

    def rows(self, gpu: int) -> Int64:
        """Return the kernels of a GPU whose wait time is known."""
        rows = rows_of_gpu(self.trace, Kind.KERNEL, gpu)
        return rows[self.wait_ns[rows] >= 0].astype(np.int64)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return one row per GPU, over the whole trace; see `collective_tables.rank_rows`."""
        from viewer.analysis.collectives.collective_tables import rank_rows

        return rank_rows(self)

    @cached_property
    def groups_table(self) -> pd.DataFrame:
        """Return one row per group, over the whole trace; see `collective_tables.group_rows`."""
        from viewer.analysis.collectives.collective_tables import group_rows

        return group_rows(self)

    @cached_property
    def sets_table(self) -> pd.DataFrame:
        """Return one row per set, by `start_ns`; see `collective_tables.set_rows`."""
        from viewer.analysis.collectives.collective_tables import set_rows

        return set_rows(self)

    @cached_property
    def _wait_and_transfer(self) -> list[tuple[Intervals, Intervals]]:
        """When each GPU waits, and when it transfers. Where it does both at once, it transfers."""
        kernels, result = self.trace.kernels, []
        for gpu in self.trace.gpus:
            rows = self.rows(gpu.index)
            # A kernel waits first and transfers then: nothing moves before the last member is there.
            begin = kernels.start_ns[rows] + self.wait_ns[rows]
            transfers = union(begin, kernels.end_ns[rows])
            result.append((union(kernels.start_ns[rows], begin) - transfers, transfers))
        return result


def find_collectives(
    launches: Launches, classes: KernelClasses, parts: tuple[TimeBreakdown, ...]
) -> Collectives:
    """Find the ranks that do collectives together, match their kernels, and find the wait times."""
    trace = launches.trace
    comm = sequences(launches, classes)
    ranks = len({gpu.process for gpu in trace.gpus})
    unrecorded = max((trace.session.world_size or 0) - ranks, 0) if ranks else 0
    found = with_roots(trace, comm, find_groups(trace, comm))
    groups = [_group(trace, group, unrecorded) for group in found]
    wait = np.full(len(trace.kernels), -1, np.int64)
    pipes: tuple[tuple[int, int], ...] = ()
    # What NCCL's record or the timing has joined is not given to the search for peers, which would pair it
    # again.
    joined = {(s.stream, s.name_id) for group in found for s in group.members}
    sends: dict[int, list[KernelSequence]] = defaultdict(list)
    for sequence in comm:
        is_send = collective_kind(trace.names[sequence.name_id]) == "SendRecv"
        if is_send and (sequence.stream, sequence.name_id) not in joined:
            sends[sequence.name_id].append(sequence)
    for same_name in sends.values():
        peers = find_peers(trace, same_name)
        groups += [_group(trace, group, unrecorded) for group in peers.groups]
        # Sends that found their peer waiting did not wait themselves; that is known although they are in no
        # group.
        wait[peers.prompt] = 0
        pipes += peers.pipes
    # In one order, whichever way they were found: a kernel of two groups takes the later of equal waits.
    groups.sort(key=lambda group: (group.streams, group.name_id))
    last = np.full(len(trace.kernels), -1, np.int16)
    is_bound = np.zeros(len(trace.kernels), bool)
    for group in groups:
        _wait_in(trace, group, wait, last, is_bound)
    # With one GPU alone nothing can be matched, and a note of every kernel would say so.
    notes = _unmatched(trace, comm, groups, wait, unrecorded) if len(trace.gpus) > 1 else ()
    is_pipeline = any(len({s.gpu for s in same_name}) > 2 for same_name in sends.values()) and not any(
        group.kind == "AllToAll" for group in groups
    )
    sending = {s.gpu for same_name in sends.values() for s in same_name}
    stages = find_stages(trace, pipes, sending)
    return Collectives(
        trace, parts, tuple(groups), narrowed(wait), last, is_bound, stages, is_pipeline, unrecorded, notes
    )


def _group(trace: Trace, found: FoundGroup, unrecorded: int) -> CollectiveGroup:
    """Return a group with what is known of its sets."""
    sets, is_there = found.sets, found.sets >= 0
    # A missing member must neither be the last to start nor the first to end, so it gets the values that
    # lose.
    starts = np.where(is_there, trace.kernels.start_ns[sets], np.iinfo(np.int64).min)
    ends = np.where(is_there, trace.kernels.end_ns[sets], np.iinfo(np.int64).max)
    kind = collective_kind(trace.names[found.members[0].name_id])
    # With a root a member may be done before another one comes.
    overlap = (is_there.sum(axis=0) > 1) & ((starts.max(axis=0) < ends.min(axis=0)) | (kind in ROOTED))
    is_whole = is_there.all(axis=0) & (unrecorded == 0)
    first = found.members[0]
    if kind == "SendRecv" and len(found.members) > 2:
        kind = "AllToAll"
    return CollectiveGroup(
        first.name_id,
        kind,
        tuple(m.gpu for m in found.members),
        tuple(m.stream for m in found.members),
        sets,
        overlap & is_whole,
        overlap & ~is_whole,
        np.full(sets.shape[1], -1, np.int64),
        found.how,
        first.communicator if found.how == "communicator" else None,
    )


def _wait_in(
    trace: Trace, group: CollectiveGroup, wait: Int64, last: npt.NDArray[np.int16], is_bound: Mask
) -> None:
    """Fill in the wait time of a group's kernels, whom they waited for, and what is a lower bound."""
    kernels, gpus = trace.kernels, np.array(group.gpus, np.int16)
    columns = np.flatnonzero(group.matched)
    rows = group.kernels[:, columns]
    starts, ends = kernels.start_ns[rows], kernels.end_ns[rows]
    if group.kind in ROOTED and rows.size:
        root, waited = root_waits(starts, ends, group.kind)
        wait[rows] = waited
        group.roots[columns] = root
        known = root >= 0
        for_whom = root if group.kind == "Broadcast" else starts.argmax(axis=0)
        last[rows[:, known]] = gpus[for_whom[known]]
        # Without its root a set is no set: who waited for whom in it would be a guess.
        group.matched[columns[(waited < 0).any(axis=0)]] = False
    elif rows.size:
        # Nobody transfers before the last member of the set has started. A kernel that waits for two peers
        # waits for the later one.
        waited = np.clip(starts.max(axis=0) - starts, 0, ends - starts)
        later = waited >= wait[rows]
        wait[rows[later]] = waited[later]
        last[rows[later]] = np.broadcast_to(gpus[starts.argmax(axis=0)], rows.shape)[later]
    if group.partial.any() and group.kind not in ROOTED:
        rows = group.kernels[:, group.partial]
        is_there = rows >= 0
        starts, ends = kernels.start_ns[rows], kernels.end_ns[rows]
        # The missing member may have come later still: what is found is a lower bound, which is marked as
        # one.
        latest = np.where(is_there, starts, np.iinfo(np.int64).min).max(axis=0)
        waited = np.clip(latest - starts, 0, ends - starts)
        wait[rows[is_there]] = waited[is_there]
        is_bound[rows[is_there]] = True


def _unmatched(
    trace: Trace, comm: list[KernelSequence], groups: list[CollectiveGroup], wait: Int64, unrecorded: int
) -> tuple[str, ...]:
    """Return a line for each kind of kernel that is not matched, or only in part, with why and where."""
    in_group = {(s, g.name_id) for g in groups for s in g.streams}
    running: dict[int, set[int]] = defaultdict(set)
    for sequence in comm:
        running[sequence.name_id].add(sequence.gpu)
    # By counts and reason: what goes wrong mostly goes wrong on all ranks alike, and is one line then.
    unmatched: dict[tuple[int, int, int, str], list[str]] = defaultdict(list)
    for sequence in comm:
        missing, count = int((wait[sequence.rows] < 0).sum()), len(sequence.rows)
        if missing:
            joined = (sequence.stream, sequence.name_id) in in_group
            why = _why(trace, sequence, running[sequence.name_id], joined)
            unmatched[sequence.name_id, missing, count, why].append(trace.gpu_label(sequence.gpu))
    notes = []
    if unrecorded:
        notes.append(
            f"{unrecorded} of the job's ranks are not in the recording: every wait is a lower bound, and who "
            "came last is not known"
        )
    for (name, missing, count, why), where in unmatched.items():
        what = f"{missing:,} of {count:,} × {short_name(trace.names[name])}"
        notes.append(f"{what} are not matched: {why} ({', '.join(where)})")
    for group in groups:
        if not unrecorded and (lacking := int(group.partial.sum())):
            absent = np.asarray((group.kernels[:, group.partial] < 0).any(axis=1))
            who = ", ".join(trace.gpu_label(g) for g, a in zip(group.gpus, absent.tolist(), strict=True) if a)
            notes.append(
                f"{lacking:,} of {group.kernels.shape[1]:,} sets of {short_name(trace.names[group.name_id])} "
                f"lack a member ({who}): the others' waits in them are lower bounds"
            )
    return tuple(notes)


def _why(trace: Trace, sequence: KernelSequence, running: set[int], joined: bool) -> str:
    """Return why kernels of a sequence are in no set; `running` are the GPUs that run their name."""
    kind = collective_kind(trace.names[sequence.name_id])
    if running == {sequence.gpu}:
        return "no other rank runs them"
    if kind == "SendRecv":
        return "their peers are not known"
    if joined and kind in ROOTED:
        return "their root is not known"
    if joined:
        return "the ranks' kernels do not all overlap, or that of a partner is missing"
    return "no other rank's run and end together with them"
