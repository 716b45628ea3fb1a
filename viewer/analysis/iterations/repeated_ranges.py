"""The NVTX ranges of one name that may be instances of a marker, on each track, with their figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from viewer.analysis.core.nvtx_texts import is_library_domain, users_or_profilers
from viewer.analysis.iterations.candidate import Instances
from viewer.analysis.iterations.launch_times import LaunchTimes
from viewer.analysis.iterations.marker_texts import is_numbered_step, is_part
from viewer.analysis.launches.attribution import Indices, ranges_of
from viewer.trace import Trace
from viewer.trace.names import normalise_numbers

MIN_INSTANCES = 3
MIN_SHARE = 0.5
_LEAST_OF_ALL = 0.1
_GLUED = re.compile(r"(?<=[A-Za-z])\d+")
_COMPILER = re.compile(r"TSL|XLA", re.IGNORECASE)
"""The domains of a compiler that runs the user's own function as one module."""
_MODULE = re.compile(r"XlaModule|step_num", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class RepeatedRange:
    """The ranges of one name on one track, those inside each other left out.

    Attributes
    ----------
    name, domain : str
        The text with its numbers as ``#``.
    numbered : bool
        Whether it says step or iteration, and its number.
    part : bool
        Whether it names a part of a step: a phase, a micro-batch, a layer.
    ops : ndarray of int64, shape (instances,)
        The operations that each launches, by all threads (docs/definitions.md, section 5).
    gpu_share, even_share, cpu_ns
        As `Candidate` has them.
    whole_share : float
        What it launches of all that the process launches.
    owns : bool
        Whether its own thread launches anything inside it.
    """

    name: str
    domain: str
    process: int
    numbered: bool
    part: bool
    instances: Instances
    ops: Indices
    gpu_share: float
    even_share: float
    cpu_ns: int
    whole_share: float
    owns: bool

    @property
    def qualifies(self) -> bool:
        """Whether it launches at least half of what is launched meanwhile, and does not change much.

        A numbered step may, as long as most launch something: lengths of sequences vary. One or two must
        launch a tenth of all: a checkpoint "at step 500" launches all that is launched meanwhile, too.
        """
        if len(self.instances) < MIN_INSTANCES and self.whole_share < _LEAST_OF_ALL:
            return False
        is_even = self.even_share >= MIN_SHARE or (self.numbered and np.median(self.ops) > 0)
        return self.gpu_share >= MIN_SHARE and bool(is_even)


def repeated_ranges(
    trace: Trace, projected: pd.DataFrame, times: Mapping[int, LaunchTimes]
) -> Iterator[RepeatedRange]:
    """Yield the names of each track that repeat without overlapping themselves; one numbered step suffices.

    Parameters
    ----------
    projected : DataFrame
        The NVTX ranges on the GPU with the launches of all threads, see `project`.
    times : mapping of int to LaunchTimes
        Of each process that launches anything.
    """
    ops = np.zeros(len(trace.nvtx), np.int64)
    # Ranges that launched nothing are not in the projection: they stay 0.
    ops[projected["range"]] = projected["ops"]
    texts = _Texts(trace)
    for track in trace.tracks:
        process = trace.threads[track.thread].process
        is_compiler = _COMPILER.fullmatch(track.domain) is not None
        if process not in times or (is_library_domain(track.domain) and not is_compiler):
            continue
        for name, rows in texts.groups(ranges_of(trace, track.index)):
            # Cheap tests first: a trace has thousands of names, and most are asked for their count alone.
            if is_compiler and not _MODULE.search(name):
                continue
            if len(rows) < MIN_INSTANCES and not is_numbered_step(name):
                continue
            kept = _disjoint(trace, rows)
            if not len(kept):
                continue
            name_ids = trace.nvtx.name_id[kept]
            # Counters give every instance another text; a size or a layer comes back.
            varies = len(kept) >= MIN_INSTANCES and len(np.unique(name_ids)) == len(kept)
            numbered = is_numbered_step(name, varies=varies)
            if len(kept) < MIN_INSTANCES and not numbered:
                continue
            start, end = trace.nvtx.start_ns[kept], trace.nvtx.end_ns[kept]
            part = is_part(name, numbered=numbered)
            # Hooks of a layer launch nothing, and still tell how many layers there are.
            if not (part or ops[kept].any()):
                continue
            yield RepeatedRange(
                name=name,
                domain=track.domain,
                process=process,
                numbered=numbered,
                part=part,
                instances=Instances(track.thread, track.domain, start, end, name_ids, not (numbered or part)),
                ops=ops[kept],
                gpu_share=times[process].share(start, end),
                even_share=_even_share(ops[kept]),
                cpu_ns=int((end - start).sum()),
                whole_share=times[process].whole_share(start, end),
                owns=times[process].by_thread(track.thread, start, end) > 0,
            )


class _Texts:
    """The users' own texts with their numbers normalised, each text once."""

    def __init__(self, trace: Trace) -> None:
        times = np.bincount(trace.nvtx.name_id, minlength=len(trace.names))
        # Texts of NVTX alone: the names of kernels and calls are in the same table.
        used = np.flatnonzero(times).astype(np.uint32)
        own = used[users_or_profilers(trace.names, used)]
        group_of: dict[str, int] = {}
        self._group = np.full(len(trace.names), -1, np.int64)
        normalised = [normalise_numbers(text) for text in trace.names.take(own)]
        normalised = _counters(normalised, times[own], len(trace.tracks))
        for name_id, text in zip(own.tolist(), normalised, strict=True):
            self._group[name_id] = group_of.setdefault(text, len(group_of))
        self._names = list(group_of)
        self._name_ids = trace.nvtx.name_id

    def groups(self, ranges: Indices) -> Iterator[tuple[str, Indices]]:
        """Yield (normalised text, its ranges in order of time)."""
        group = self._group[self._name_ids[ranges]]
        # Stable: ranges come by time, and each group of them still does.
        order = np.argsort(group, kind="stable")
        cuts = np.flatnonzero(np.diff(group[order])) + 1
        for piece in np.split(order, cuts):
            if len(piece) and group[piece[0]] >= 0:
                yield self._names[int(group[piece[0]])], ranges[piece]


def _counters(texts: list[str], times: Indices, tracks: int) -> list[str]:
    """Return texts in which numbers glued to a letter count where they tell the ranges apart.

    ``batch3of8`` or ``train12`` are counters where three or more texts differ in that number alone and none
    comes more often than there are tracks; ``layer4``, which comes back, is a name.
    """
    loose = [_GLUED.sub("#", text) for text in texts]
    often: dict[str, list[int]] = {}
    for text, changed, count in zip(texts, loose, times.tolist(), strict=True):
        if changed != text:
            often.setdefault(changed, []).append(count)
    counters = {t for t, counts in often.items() if len(counts) >= MIN_INSTANCES and max(counts) <= tracks}
    return [changed if changed in counters else text for text, changed in zip(texts, loose, strict=True)]


def _disjoint(trace: Trace, instances: Indices) -> Indices:
    """Return the outermost instances; none if some overlap without nesting."""
    start, end = trace.nvtx.start_ns[instances], trace.nvtx.end_ns[instances]
    # The farthest end of all earlier instances: one that ends no later lies inside another one.
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end)[:-1])
    nested = end <= before
    if (start[~nested] < before[~nested]).any():
        return instances[:0]
    return instances[~nested]


def _even_share(counts: Indices) -> float:
    """Return the share of counts within 10 % of their median."""
    middle = np.median(counts)
    return float((np.abs(counts - middle) <= 0.1 * middle).mean()) if middle else 0.0
