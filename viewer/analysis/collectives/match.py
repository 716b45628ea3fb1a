"""Collectives matched over the ranks: who waited for whom, and how long the transfer itself took.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.collectives.groups import FoundGroups, How, Sequence, find_groups, sequences
from viewer.analysis.core.arrays import Whole, narrowed
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import EMPTY, Intervals, union
from viewer.analysis.launches.attribution import Indices, Mask
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace import Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property
from viewer.trace.names import short_name

CONSTANT = 0.75
"""A GPU that is the last arrival in at least this share of its sets is so persistently; else it varies."""
SELDOM = 0.1
"""Below this share of its sets a GPU is seldom the last arrival."""


@dataclass(frozen=True, eq=False)
class CollectiveGroup:
    """Ranks that do the same collectives together.

    Attributes
    ----------
    name_id : int
        The kernel's name.
    gpus, streams : tuple of int
        Its members, in order of the GPUs: indices into `Trace.gpus` and `Trace.streams`.
    kernels : ndarray of int64, shape (members, sets)
        The k-th kernel of each member, an index into ``trace.kernels``.
    matched : ndarray of bool, shape (sets,)
        The sets whose members all overlap.
    how : {"communicator", "timing"}
        Whether NCCL's own record joins them, or how the kernels run.
    communicator : int or None
        NCCL's own identifier, where it is recorded.
    """

    name_id: int
    gpus: tuple[int, ...]
    streams: tuple[int, ...]
    kernels: Indices
    matched: Mask
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
        is not matched. The rest of the duration is transfer.
    last_gpu : ndarray of int16, shape (kernels,)
        The last arrival of its set, -1 where it is not matched.
    notes : tuple of str
        The kernels that could not be matched, and why.
    """

    trace: Trace
    parts: tuple[TimeBreakdown, ...]
    groups: tuple[CollectiveGroup, ...]
    wait_ns: Whole
    last_gpu: npt.NDArray[np.int16]
    notes: tuple[str, ...]

    def waits(self, gpu: int) -> Intervals:
        """Return when a GPU waited in a collective for a later rank."""
        kernels, rows = self.trace.kernels, self._rows[gpu]
        # At the head of each kernel: nothing is transferred before the last rank has started.
        rows = rows[self.wait_ns[rows] > 0]
        return union(kernels.start_ns[rows], kernels.start_ns[rows] + self.wait_ns[rows])

    def transfers(self, gpu: int) -> Intervals:
        """Return when a GPU was in a matched collective and waited in none."""
        kernels, rows = self.trace.kernels, self._rows[gpu]
        rows = rows[self.wait_ns[rows] >= 0]
        return union(kernels.start_ns[rows], kernels.end_ns[rows]) - self.waits(gpu)

    def exposed(self, gpu: int, within: Intervals | None = None) -> tuple[int, int, int]:
        """Return the exposed communication of a GPU: wait time, transfer, and not matched, ns.

        Parameters
        ----------
        within : Intervals, optional
            Where to look; by default the trace's window.
        """
        exposed = self.parts[gpu].intervals("exposed_comm")
        if within is not None and len(within):
            low, high = int(within.start_ns[0]), int(within.end_ns[-1])
            exposed = self.parts[gpu].intervals("exposed_comm", start_ns=low, end_ns=high) & within
        elif within is not None:
            exposed = EMPTY
        if not len(exposed):
            return 0, 0, 0
        wait = (exposed & self.waits(gpu)).total()
        # What is left of exposed communication belongs to kernels in no set: it is neither.
        transfer = (exposed & self.transfers(gpu)).total()
        return wait, transfer, exposed.total() - wait - transfer

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return one row per GPU.

        `gpu`, `sets` (matched), `wait_ns`, `transfer_ns` (sums over its matched kernels), `last` (sets in
        which it was the last arrival), `others_waited_ns` (wait caused: the wait time of the others in those
        sets), `exposed_wait_ns`, `exposed_transfer_ns`, `exposed_unmatched_ns` (which sum to the exposed
        communication), `last_share` (`last` over `sets`), `pattern` ("constant": it is persistently late,
        "rotating", "seldom", "").
        """
        kernels, gpus = self.trace.kernels, len(self.trace.gpus)
        columns = {c: np.zeros(gpus, np.int64) for c in _COLUMNS}
        for group in self.groups:
            rows = group.kernels[:, group.matched]
            # (members, sets); all members of a set have the same last arrival.
            waits, last = self.wait_ns[rows], self.last_gpu[rows[0]]
            lengths = kernels.end_ns[rows] - kernels.start_ns[rows]
            # Unbuffered: a GPU is the last arrival of many sets, and `+=` by index would count it once.
            np.add.at(columns["last"], last, 1)
            np.add.at(columns["others_waited_ns"], last, waits.sum(axis=0))
            for member, gpu in enumerate(group.gpus):
                columns["sets"][gpu] += rows.shape[1]
                columns["wait_ns"][gpu] += int(waits[member].sum())
                columns["transfer_ns"][gpu] += int((lengths[member] - waits[member]).sum())
        exposed = np.array([self.exposed(g) for g in range(gpus)], np.int64).reshape(-1, len(_EXPOSED))
        share = columns["last"] / np.maximum(columns["sets"], 1)
        patterns = np.select(
            [columns["sets"] == 0, share >= CONSTANT, share >= SELDOM], ["", *_PATTERNS], "seldom"
        )
        return pd.DataFrame(
            {
                "gpu": np.arange(gpus),
                **columns,
                **{name: exposed[:, i] for i, name in enumerate(_EXPOSED)},
                "last_share": share,
                "pattern": patterns.astype(object),
            }
        )

    @cached_property
    def groups_table(self) -> pd.DataFrame:
        """Return one row per group.

        `group`, `name`, `members` ("Rank 0 GPU 0, ..."), `how`, `sets`, `matched`, `unmatched`, `wait_ns` (of
        all members), `last_gpu` (the most frequent last arrival, -1 without sets), `last_share`, `pattern`
        ("constant", "rotating", "").
        """
        lines = []
        for number, group in enumerate(self.groups):
            rows = group.kernels[:, group.matched]
            # At least one bin, so that a group without sets has a maximum, of 0.
            count = np.bincount(self.last_gpu[rows[0]], minlength=1)
            sets, last = rows.shape[1], int(count.argmax()) if rows.shape[1] else -1
            share = int(count.max()) / sets if sets else 0.0
            lines.append(
                (
                    number,
                    short_name(self.trace.names[group.name_id]),
                    ", ".join(self.trace.gpu_label(g) for g in group.gpus),
                    group.how,
                    len(group.matched),
                    sets,
                    len(group.matched) - sets,
                    int(self.wait_ns[rows].sum()),
                    last,
                    share,
                    _PATTERNS[0 if share >= CONSTANT else 1] if sets else "",
                )
            )
        return pd.DataFrame(lines, columns=_GROUP_COLUMNS)

    @cached_property
    def sets_table(self) -> pd.DataFrame:
        """Return one row per matched set, by `start_ns`.

        `group`, `set`, `start_ns` (first arrival), `end_ns`, `shortest_ns`, `wait_ns` (of all members),
        `spread_ns` (last start - first start), `last_gpu`, `kernel` (of the last arrival, into
        ``trace.kernels``).
        """
        kernels, pieces = self.trace.kernels, []
        for number, group in enumerate(self.groups):
            rows = group.kernels[:, group.matched]
            starts, ends = kernels.start_ns[rows], kernels.end_ns[rows]
            # Of equals the first member: the same trace names the same rank every time.
            latest = starts.argmax(axis=0)
            pieces.append(
                pd.DataFrame(
                    {
                        "group": np.full(rows.shape[1], number, np.int32),
                        "set": np.flatnonzero(group.matched),
                        "start_ns": starts.min(axis=0),
                        "end_ns": ends.max(axis=0),
                        "shortest_ns": (ends - starts).min(axis=0),
                        "wait_ns": self.wait_ns[rows].sum(axis=0),
                        "spread_ns": starts.max(axis=0) - starts.min(axis=0),
                        "last_gpu": self.last_gpu[rows[0]],
                        "kernel": rows[latest, np.arange(rows.shape[1])],
                    }
                )
            )
        if not pieces:
            return pd.DataFrame({name: np.empty(0, np.int64) for name in _SET_COLUMNS})
        return pd.concat(pieces).sort_values("start_ns", kind="stable", ignore_index=True)

    @cached_property
    def _rows(self) -> list[Indices]:
        """The kernels of each GPU that are in a group."""
        pieces: list[list[Indices]] = [[np.empty(0, np.int64)] for _ in self.trace.gpus]
        for group in self.groups:
            for gpu, rows in zip(group.gpus, group.kernels, strict=True):
                pieces[gpu].append(rows)
        return [np.concatenate(of_gpu) for of_gpu in pieces]


_COLUMNS = ("sets", "wait_ns", "transfer_ns", "last", "others_waited_ns")
_EXPOSED = ("exposed_wait_ns", "exposed_transfer_ns", "exposed_unmatched_ns")
_PATTERNS = ("constant", "rotating")
_GROUP_COLUMNS = [
    "group", "name", "members", "how", "sets", "matched", "unmatched", "wait_ns", "last_gpu", "last_share",
    "pattern",
]  # fmt: skip
_SET_COLUMNS = (
    "group", "set", "start_ns", "end_ns", "shortest_ns", "wait_ns", "spread_ns", "last_gpu", "kernel",
)  # fmt: skip


def find_collectives(
    launches: Launches, classes: KernelClasses, parts: tuple[TimeBreakdown, ...]
) -> Collectives:
    """Find the ranks that do collectives together, match their k-th kernels, and find the wait times."""
    trace = launches.trace
    comm = sequences(launches, classes)
    groups = [group for found in find_groups(trace, comm) if (group := _matched(trace, found)) is not None]
    # By kernel of the trace, not by set: drawing, cards and stalls look it up by their own index.
    wait = np.full(len(trace.kernels), -1, np.int64)
    last = np.full(len(trace.kernels), -1, np.int16)
    for group in groups:
        # (members, matched sets): nobody transfers before the last member of the set has started.
        rows = group.kernels[:, group.matched]
        starts, ends = trace.kernels.start_ns[rows], trace.kernels.end_ns[rows]
        wait[rows] = np.clip(starts.max(axis=0) - starts, 0, ends - starts)
        last[rows] = np.array(group.gpus, np.int16)[starts.argmax(axis=0)]
    notes = _unmatched(trace, comm, groups, wait) if len(trace.gpus) > 1 else ()
    return Collectives(trace, parts, tuple(groups), narrowed(wait), last, notes)


def _matched(trace: Trace, found: FoundGroups) -> CollectiveGroup | None:
    """Return a group with its matched sets; None for send and receive kernels of more than two ranks."""
    members = found.members
    if _is_send(trace, members[0]) and len(members) != 2:
        return None
    kernels = np.stack([m.rows for m in members])
    starts, ends = trace.kernels.start_ns[kernels], trace.kernels.end_ns[kernels]
    return CollectiveGroup(
        members[0].name_id,
        tuple(m.gpu for m in members),
        tuple(m.stream for m in members),
        kernels,
        starts.max(axis=0) < ends.min(axis=0),
        found.how,
        members[0].communicator if found.how == "communicator" else None,
    )


def _is_send(trace: Trace, sequence: Sequence) -> bool:
    return "sendrecv" in trace.names[sequence.name_id].lower()


def _unmatched(
    trace: Trace, comm: list[Sequence], groups: list[CollectiveGroup], wait: Int64
) -> tuple[str, ...]:
    """Return a line for each kind of kernel that is not matched, with why and on which GPUs."""
    in_group = {(s, g.name_id) for g in groups for s in g.streams}
    running: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for sequence in comm:
        running[sequence.name_id,].add(sequence.gpu)
        running[sequence.name_id, len(sequence.rows)].add(sequence.gpu)
    unmatched: dict[tuple[int, int, int, str], list[str]] = defaultdict(list)
    for sequence in comm:
        # A group may match in part: its first or last kernel is often cut off on one rank.
        missing, count = int((wait[sequence.rows] < 0).sum()), len(sequence.rows)
        if not missing:
            continue
        if (sequence.stream, sequence.name_id) in in_group:
            why = "the ranks' kernels do not all overlap"
        else:
            why = _why_alone(trace, sequence, running)
        unmatched[sequence.name_id, missing, count, why].append(trace.gpu_label(sequence.gpu))
    notes = []
    for (name, missing, count, why), where in unmatched.items():
        what = f"{missing:,} of {count:,} × {short_name(trace.names[name])}"
        notes.append(f"{what} are not matched: {why} ({', '.join(where)})")
    return tuple(notes)


def _why_alone(trace: Trace, sequence: Sequence, running: Mapping[tuple[int, ...], set[int]]) -> str:
    """Return why a sequence is in no group.

    `running` has the GPUs that run kernels of (name,), and those that run (name, this many kernels).
    """
    if running[sequence.name_id,] == {sequence.gpu}:
        return "no other rank runs them"
    if running[sequence.name_id, len(sequence.rows)] == {sequence.gpu}:
        return "their number differs between the ranks"
    if _is_send(trace, sequence):
        return "send and receive of more than two ranks"
    return "no other rank's run and end together with them"
