"""Which ranks do collectives together: by NCCL's communicator, else by how their kernels run (section 8)."""

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
    found = []
    every = np.flatnonzero(classes.is_comm(kernels.name_id))
    owner = np.searchsorted(kernels.offsets, every, side="right") - 1
    for low, high in zip(*(edges.tolist() for edges in runs(owner)), strict=True):
        stream, comm = trace.streams[int(owner[low])], every[low:high]
        for name in np.unique(kernels.name_id[comm]).tolist():
            held = comm[kernels.name_id[comm] == name]
            found.append(Sequence(stream.gpu, stream.index, name, held, payloads.communicator(held)))
    return found


def find_groups(trace: Trace, held: list[Sequence]) -> list[FoundGroups]:
    """Join the sequences that belong together."""
    known: dict[tuple[int, int], list[Sequence]] = defaultdict(list)
    for one in held:
        if one.communicator is not None:
            known[one.name_id, one.communicator].append(one)
    found = [
        FoundGroups(tuple(sorted(members, key=lambda s: s.gpu)), "communicator")
        for members in known.values()
        if len(members) > 1 and _is_whole(members)
    ]
    taken = {id(s) for group in found for s in group.members}
    rest = [s for s in held if id(s) not in taken]
    return found + [FoundGroups(tuple(members), "timing") for members in _by_timing(trace, rest)]


def _is_whole(members: Iterable[Sequence]) -> bool:
    """Return whether the members are of different GPUs and as many kernels each."""
    gpus = [s.gpu for s in members]
    return len(set(gpus)) == len(gpus) and len({len(s.rows) for s in members}) == 1


def _by_timing(trace: Trace, held: list[Sequence]) -> list[list[Sequence]]:
    """Join the sequences that run together, those that end together most steadily first.

    Neighbouring groups that do the same work in step also end within 50 µs: what they lack is the steadiness
    of a kernel that can only end together with the others.
    """
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position, sequence in enumerate(held):
        alike[sequence.name_id, len(sequence.rows)].append(position)
    pairs = [pair for positions in alike.values() for pair in _matching(trace, held, positions)]
    group_of = list(range(len(held)))
    members = {i: [i] for i in group_of}
    within: dict[int, int] = {}
    for unsteady, a, b in sorted(pairs):
        one, other = group_of[a], group_of[b]
        gpus = [held[i].gpu for i in (*members[one], *members[other])]
        known = [within[g] for g in (one, other) if g in within]
        limit = max(_STEADY_NS, _TIMES_AS_STEADY * min(known)) if known else None
        if one == other or len(set(gpus)) < len(gpus) or (limit is not None and unsteady > limit):
            continue
        members[one] += members.pop(other)
        within[one] = max(unsteady, *known) if known else unsteady
        for i in members[one]:
            group_of[i] = one
    joined = [[held[i] for i in found] for found in members.values() if len(found) > 1]
    return [sorted(found, key=lambda s: s.gpu) for found in joined]


def _matching(trace: Trace, held: list[Sequence], positions: list[int]) -> Iterable[tuple[int, int, int]]:
    """Yield which two sequences run together, of those at `positions`: of one name, equally long.

    They do if enough of the k-th kernels overlap and end within 50 µs. How unsteady that is, ns, comes first:
    the median deviation of the difference between the ends; clocks that differ by a constant do not matter.
    A sequence is compared with all that follow at once: there may be hundreds of streams.
    """
    gpus = np.array([held[at].gpu for at in positions])
    if len(set(gpus.tolist())) < 2:
        return
    rows = np.stack([held[at].rows for at in positions])
    start, end = trace.kernels.start_ns[rows], trace.kernels.end_ns[rows]
    for one in range(len(positions) - 1):
        others = one + 1 + np.flatnonzero(gpus[one + 1 :] != gpus[one])
        overlap = np.maximum(start[one], start[others]) < np.minimum(end[one], end[others])
        apart: Int64 = end[one] - end[others]
        close = np.abs(apart) <= MAX_END_APART_NS
        together = (overlap & close).mean(axis=1) >= MIN_MATCHING
        others, apart = others[together], apart[together]
        middle = np.median(apart, axis=1).astype(np.int64)
        unsteady = np.median(np.abs(apart - middle[:, None]), axis=1).astype(np.int64)
        for other, deviation in zip(others.tolist(), unsteady.tolist(), strict=True):
            yield deviation, positions[one], positions[other]


class _Payloads:
    """NCCL's own NVTX ranges around the launches, and the communicator in their payload."""

    def __init__(self, launches: Launches) -> None:
        trace = launches.trace
        self._launches, self._trace = launches, trace
        self._tracks: dict[int, list[int]] = defaultdict(list)
        if trace.source is not None:
            for track in trace.tracks:
                if "nccl" in track.domain.casefold():
                    self._tracks[track.thread].append(track.index)
        self._asked = self._answered = 0

    def communicator(self, rows: Indices) -> int | None:
        """Return the communicator of some kernels, asking a few of them; None where they do not agree."""
        if not self._tracks or not len(rows) or (self._asked >= _SAMPLES and not self._answered):
            return None
        calls = self._launches.api_of(Kind.KERNEL)
        sample = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(np.int64))]
        found = {self._of_call(int(calls[row])) for row in sample.tolist()}
        return found.pop() if len(found) == 1 else None

    def _of_call(self, call: int) -> int | None:
        if call < 0:
            return None
        api, nvtx = self._trace.api, self._trace.nvtx
        start, end = api.start_ns[call : call + 1], api.end_ns[call : call + 1]
        for track in self._tracks.get(api.owner_of(call), ()):
            ranges = ranges_of(self._trace, track)
            at = int(outermost(nvtx.start_ns[ranges], nvtx.end_ns[ranges], start, end)[0])
            if at < 0:
                continue
            inner = ranges[(nvtx.start_ns[ranges] <= start[0]) & (nvtx.end_ns[ranges] >= end[0])]
            for one in inner[::-1].tolist():
                if (found := self._of_range(int(nvtx.columns["file_row"][one]))) is not None:
                    return found
        return None

    def _of_range(self, file_row: int) -> int | None:
        assert self._trace.source is not None
        row: dict[str, Any] = self._trace.source.row(Kind.NVTX, file_row)
        held = _COMMUNICATOR.search(f"{row.get('jsonText') or ''} {row.get('jsonTextId') or ''}")
        self._asked += 1
        self._answered += held is not None
        return int(held[1], 0) if held else None
