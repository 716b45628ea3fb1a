"""Which ranks do collectives together: by NCCL's communicator, else by how their kernels run.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import runs
from viewer.analysis.launches.attribution import Indices, outermost, ranges_of
from viewer.analysis.launches.launches import Launches
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

MAX_END_APART_NS = 50_000
MIN_MATCHING = 0.95
_STEADY_NS = 2_000
_TIMES_AS_STEADY = 8
_SAMPLES = 5
_COMMUNICATOR = re.compile(r'"[^"]*communicator[^"]*"\s*:\s*"?(0x[0-9a-f]+|\d+)', re.IGNORECASE)

How = Literal["communicator", "timing"]


@dataclass(frozen=True, eq=False)
class Sequence:
    """The communication kernels of one name on one stream, in order; `communicator` where recorded."""

    gpu: int
    stream: int
    name_id: int
    rows: Indices
    communicator: int | None


@dataclass(frozen=True, eq=False)
class FoundGroups:
    """Sequences of different GPUs that belong together, in order of the GPUs."""

    members: tuple[Sequence, ...]
    how: How


def sequences(launches: Launches, classes: KernelClasses) -> list[Sequence]:
    """Return the communication kernels of every stream by name."""
    trace, kernels = launches.trace, launches.trace.kernels
    payloads = _Payloads(launches)
    result = []
    every = np.flatnonzero(classes.is_comm(kernels.name_id))
    owner = np.searchsorted(kernels.offsets, every, side="right") - 1
    for low, high in zip(*(edges.tolist() for edges in runs(owner)), strict=True):
        stream, comm = trace.streams[int(owner[low])], every[low:high]
        for name in np.unique(kernels.name_id[comm]).tolist():
            # By name within the stream: one communicator runs several kinds, which are sets of their own.
            rows = comm[kernels.name_id[comm] == name]
            result.append(Sequence(stream.gpu, stream.index, name, rows, payloads.communicator(rows)))
    return result


def find_groups(trace: Trace, sequences: list[Sequence]) -> list[FoundGroups]:
    """Return the sequences that belong together, those that NCCL's communicator joins first."""
    known: dict[tuple[int, int], list[Sequence]] = defaultdict(list)
    for sequence in sequences:
        if sequence.communicator is not None:
            known[sequence.name_id, sequence.communicator].append(sequence)
    groups = [
        FoundGroups(tuple(sorted(members, key=lambda s: s.gpu)), "communicator")
        for members in known.values()
        if len(members) > 1 and _is_complete(members)
    ]
    # By identity: two sequences may be equal in every field but their rows.
    joined = {id(s) for group in groups for s in group.members}
    rest = [s for s in sequences if id(s) not in joined]
    return groups + [FoundGroups(tuple(members), "timing") for members in _by_timing(trace, rest)]


def _is_complete(members: Iterable[Sequence]) -> bool:
    """Return whether the members are on different GPUs and have the same number of kernels."""
    gpus = [s.gpu for s in members]
    return len(set(gpus)) == len(gpus) and len({len(s.rows) for s in members}) == 1


def _by_timing(trace: Trace, sequences: list[Sequence]) -> list[list[Sequence]]:
    """Join the sequences that run together, those that end together most steadily first.

    Neighbouring groups that do the same work in step also end within 50 µs: what they lack is the steadiness
    of a kernel that can only end together with the others.
    """
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position, sequence in enumerate(sequences):
        alike[sequence.name_id, len(sequence.rows)].append(position)
    pairs = [pair for positions in alike.values() for pair in _matching(trace, sequences, positions)]
    # Join pairs to groups, the steadiest pair first. A group is named by one of its sequences; `unsteadiness`
    # is that of its least steady pair.
    group_of = list(range(len(sequences)))
    members = {i: [i] for i in group_of}
    unsteadiness: dict[int, int] = {}
    for unsteady, a, b in sorted(pairs):
        first, second = group_of[a], group_of[b]
        gpus = [sequences[i].gpu for i in (*members[first], *members[second])]
        known = [unsteadiness[g] for g in (first, second) if g in unsteadiness]
        limit = max(_STEADY_NS, _TIMES_AS_STEADY * min(known)) if known else None
        # A group has one sequence of a GPU, and takes no pair that is far less steady than its own.
        if first == second or len(set(gpus)) < len(gpus) or (limit is not None and unsteady > limit):
            continue
        members[first] += members.pop(second)
        unsteadiness[first] = max(unsteady, *known) if known else unsteady
        for i in members[first]:
            group_of[i] = first
    joined = [[sequences[i] for i in group] for group in members.values() if len(group) > 1]
    return [sorted(group, key=lambda s: s.gpu) for group in joined]


def _matching(
    trace: Trace, sequences: list[Sequence], positions: list[int]
) -> Iterable[tuple[int, int, int]]:
    """Yield the pairs of sequences that run together, as (how unsteady, position, position).

    The sequences at `positions` have one name and the same number of kernels. Two of them run together if
    enough of their k-th kernels overlap and end within 50 µs. How unsteady they are, ns, is the median
    deviation of the difference between the ends: clocks that differ by a constant do not matter.
    """
    gpus = np.array([sequences[position].gpu for position in positions])
    if len(set(gpus.tolist())) < 2:
        return
    # Shape (sequences, kernels). Each sequence is compared with all later ones in one step: there may be
    # hundreds of streams.
    rows = np.stack([sequences[position].rows for position in positions])
    start, end = trace.kernels.start_ns[rows], trace.kernels.end_ns[rows]
    for first in range(len(positions) - 1):
        others = first + 1 + np.flatnonzero(gpus[first + 1 :] != gpus[first])
        overlap = np.maximum(start[first], start[others]) < np.minimum(end[first], end[others])
        apart: Int64 = end[first] - end[others]
        close = np.abs(apart) <= MAX_END_APART_NS
        together = (overlap & close).mean(axis=1) >= MIN_MATCHING
        others, apart = others[together], apart[together]
        middle = np.median(apart, axis=1).astype(np.int64)
        unsteady = np.median(np.abs(apart - middle[:, None]), axis=1).astype(np.int64)
        for other, deviation in zip(others.tolist(), unsteady.tolist(), strict=True):
            yield deviation, positions[first], positions[other]


class _Payloads:
    """Reads communicators from the payloads of NCCL's own NVTX ranges around the launches."""

    def __init__(self, launches: Launches) -> None:
        trace = launches.trace
        self._launches, self._trace = launches, trace
        self._tracks: dict[int, list[int]] = defaultdict(list)
        if trace.source is not None:
            for track in trace.tracks:
                if "nccl" in track.domain.casefold():
                    self._tracks[track.thread].append(track.index)
        self._rows_read = self._rows_with_communicator = 0

    def communicator(self, rows: Indices) -> int | None:
        """Return the communicator of some kernels by a few of them; None where these do not agree."""
        if not self._tracks or not len(rows):
            return None
        # Reading a row is slow: without a communicator in the first ones there is none in the others.
        if self._rows_read >= _SAMPLES and not self._rows_with_communicator:
            return None
        calls = self._launches.api_of(Kind.KERNEL)
        sample = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(np.int64))]
        communicators = {self._of_call(int(calls[row])) for row in sample.tolist()}
        return communicators.pop() if len(communicators) == 1 else None

    def _of_call(self, call: int) -> int | None:
        """Return the communicator in the innermost NCCL range around a call that names one."""
        if call < 0:
            return None
        api, nvtx = self._trace.api, self._trace.nvtx
        start, end = api.start_ns[call : call + 1], api.end_ns[call : call + 1]
        for track in self._tracks.get(api.owner_of(call), ()):
            ranges = ranges_of(self._trace, track)
            around = int(outermost(nvtx.start_ns[ranges], nvtx.end_ns[ranges], start, end)[0])
            if around < 0:
                continue
            inner = ranges[(nvtx.start_ns[ranges] <= start[0]) & (nvtx.end_ns[ranges] >= end[0])]
            for row in inner[::-1].tolist():
                if (known := self._of_range(int(nvtx.columns["file_row"][row]))) is not None:
                    return known
        return None

    def _of_range(self, file_row: int) -> int | None:
        assert self._trace.source is not None
        row: dict[str, Any] = self._trace.source.row(Kind.NVTX, file_row)
        match = _COMMUNICATOR.search(f"{row.get('jsonText') or ''} {row.get('jsonTextId') or ''}")
        self._rows_read += 1
        self._rows_with_communicator += match is not None
        return int(match[1], 0) if match else None
