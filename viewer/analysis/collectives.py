"""Collectives matched over ranks: who waited for whom, and how long the transfer itself took (section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.intervals import Intervals, union
from viewer.analysis.launched import Indices, Mask
from viewer.trace import Trace
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.study import Study

MAX_END_APART_NS = 50_000
MIN_MATCHING = 0.95


@dataclass(frozen=True)
class _Sequence:
    """The communication kernels of one name on one stream, in order."""

    gpu: int
    stream: int
    name_id: int
    rows: Indices


@dataclass(frozen=True, eq=False)
class Group:
    """Ranks that do the same collectives together.

    Attributes
    ----------
    name_id : int
        The kernel's name.
    gpus, streams : tuple of int
        Its members: indices into the trace.
    kernels : ndarray of int64, shape (members, sets)
        The k-th kernel of each member, an index into ``trace.kernels``.
    matched : ndarray of bool, shape (sets,)
        The sets whose members all overlap.
    """

    name_id: int
    gpus: tuple[int, ...]
    streams: tuple[int, ...]
    kernels: Indices
    matched: Mask


@dataclass(frozen=True, eq=False)
class Collectives:
    """The matched collectives of a trace.

    Attributes
    ----------
    wait_ns : ndarray of int64, shape (kernels,)
        Of each kernel of the trace: latest start of its set - own start, at most its duration; -1 where it is
        not matched. The rest of the duration is transfer.
    last_gpu : ndarray of int16, shape (kernels,)
        The last arriver of its set, -1 where it is not matched.
    notes : tuple of str
        What could not be matched, and why.
    """

    trace: Trace
    groups: tuple[Group, ...]
    wait_ns: Int64
    last_gpu: npt.NDArray[np.int16]
    notes: tuple[str, ...]

    def waits(self, gpu: int) -> Intervals:
        """Return when a GPU waited in a collective for a later rank."""
        kernels = self.trace.kernels
        rows = np.concatenate(
            [np.empty(0, np.int64), *(g.kernels[g.gpus.index(gpu)] for g in self.groups if gpu in g.gpus)]
        )
        rows = rows[self.wait_ns[rows] > 0]
        return union(kernels.start_ns[rows], kernels.start_ns[rows] + self.wait_ns[rows])

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return one row per GPU.

        `gpu`, `sets` (matched), `wait_ns`, `transfer_ns` (sums over its matched kernels), `last` (sets in
        which it came last), `others_waited_ns` (what the others waited in those sets).
        """
        kernels, gpus = self.trace.kernels, len(self.trace.gpus)
        columns = {c: np.zeros(gpus, np.int64) for c in _COLUMNS}
        for group in self.groups:
            rows = group.kernels[:, group.matched]
            waits, last = self.wait_ns[rows], self.last_gpu[rows[0]]
            lengths = kernels.end_ns[rows] - kernels.start_ns[rows]
            np.add.at(columns["last"], last, 1)
            np.add.at(columns["others_waited_ns"], last, waits.sum(axis=0))
            for member, gpu in enumerate(group.gpus):
                columns["sets"][gpu] += rows.shape[1]
                columns["wait_ns"][gpu] += int(waits[member].sum())
                columns["transfer_ns"][gpu] += int((lengths[member] - waits[member]).sum())
        return pd.DataFrame({"gpu": np.arange(gpus), **columns})


_COLUMNS = ("sets", "wait_ns", "transfer_ns", "last", "others_waited_ns")


def find_collectives(study: Study) -> Collectives:
    """Find which ranks do collectives together, match the k-th with the k-th, and take the waits apart."""
    trace = study.trace
    sequences = _sequences(study)
    notes: list[str] = []
    groups = []
    for members in _grouped(trace, sequences):
        group = _matched(trace, members)
        if group is not None:
            groups.append(group)
    wait = np.full(len(trace.kernels), -1, np.int64)
    last = np.full(len(trace.kernels), -1, np.int16)
    for group in groups:
        rows = group.kernels[:, group.matched]
        starts, ends = trace.kernels.start_ns[rows], trace.kernels.end_ns[rows]
        wait[rows] = np.clip(starts.max(axis=0) - starts, 0, ends - starts)
        last[rows] = np.array(group.gpus, np.int16)[starts.argmax(axis=0)]
    for sequence in sequences:
        unmatched = int((wait[sequence.rows] < 0).sum())
        if unmatched and len(trace.gpus) > 1:
            where = f"{trace.gpu_label(sequence.gpu)}, stream {trace.streams[sequence.stream].stream_id}"
            name = trace.names[sequence.name_id]
            notes.append(f"{where}: {unmatched:,} of {len(sequence.rows):,} × {name} are not matched")
    return Collectives(trace, tuple(groups), wait, last, tuple(notes))


def _sequences(study: Study) -> list[_Sequence]:
    trace, kernels = study.trace, study.trace.kernels
    found = []
    for stream in trace.streams:
        rows = kernels.of(stream.index)
        names = kernels.name_id[rows]
        comm = rows.start + np.flatnonzero(study.classes.is_comm(names))
        for name in np.unique(kernels.name_id[comm]).tolist():
            held = comm[kernels.name_id[comm] == name]
            found.append(_Sequence(stream.gpu, stream.index, name, held))
    return found


def _grouped(trace: Trace, sequences: list[_Sequence]) -> list[list[_Sequence]]:
    """Join the sequences of different GPUs that run together, the best matching first."""
    pairs = [
        (share, a, b)
        for a, b in combinations(range(len(sequences)), 2)
        if (share := _matching(trace, sequences[a], sequences[b])) >= MIN_MATCHING
    ]
    group_of = list(range(len(sequences)))
    members = {i: [i] for i in group_of}
    for _, a, b in sorted(pairs, reverse=True):
        one, other = group_of[a], group_of[b]
        gpus = [sequences[i].gpu for i in (*members[one], *members[other])]
        if one != other and len(set(gpus)) == len(gpus):
            members[one] += members.pop(other)
            for i in members[one]:
                group_of[i] = one
    joined = [[sequences[i] for i in held] for held in members.values() if len(held) > 1]
    return [sorted(held, key=lambda s: s.gpu) for held in joined]


def _matching(trace: Trace, a: _Sequence, b: _Sequence) -> float:
    """Return the share of the k-th kernels that overlap and end within 50 µs, 0 where counts differ."""
    if a.gpu == b.gpu or a.name_id != b.name_id or len(a.rows) != len(b.rows):
        return 0.0
    start, end = trace.kernels.start_ns, trace.kernels.end_ns
    overlap = np.maximum(start[a.rows], start[b.rows]) < np.minimum(end[a.rows], end[b.rows])
    close = np.abs(end[a.rows] - end[b.rows]) <= MAX_END_APART_NS
    return float((overlap & close).mean())


def _matched(trace: Trace, members: list[_Sequence]) -> Group | None:
    """Make a group; send and receive kernels are matched in pairs or not at all."""
    name_id = members[0].name_id
    if "sendrecv" in trace.names[name_id].lower() and len(members) != 2:
        return None
    kernels = np.stack([m.rows for m in members])
    starts, ends = trace.kernels.start_ns[kernels], trace.kernels.end_ns[kernels]
    return Group(
        name_id,
        tuple(m.gpu for m in members),
        tuple(m.stream for m in members),
        kernels,
        starts.max(axis=0) < ends.min(axis=0),
    )
