"""Finds what may mark the iterations: the NVTX ranges that repeat, with their numbers.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.core.nvtx_texts import is_library_domain, users_own
from viewer.analysis.iterations.periodicity import guess
from viewer.analysis.launches.attribution import Indices, ranges_of
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.names import normalise_numbers

MIN_INSTANCES = 3
MIN_SHARE = 0.5
MAX_OFFERED = 40

_WHAT = {"range": "NVTX range", "kernel": "guess by kernel", "copy": "guess by copy", "none": ""}


@dataclass(frozen=True, eq=False)
class Candidate:
    """What may mark the iterations.

    Attributes
    ----------
    name : str
        The range's text with its numbers as ``#``; for a guess the kernel's or the copy's name.
    domain : str
        The NVTX domain, "" for the default one.
    what : {"range", "kernel", "copy", "none"}
        "none" comes first where nothing qualifies: there are no iterations until one is chosen.
    count : int
        Instances, the fewest over the processes that have it.
    gpu_share : float
        The share of a process's GPU operation time that its instances launch; the least over the processes.
    even_share : float
        Of the instances, those whose number of operations is within 10 % of the median.
    cpu_ns : int
        Time on the CPU inside its instances, the sum over the processes.
    qualifies : bool
        Whether it meets the rule for an iteration.
    processes : tuple of int
        Those that have it.
    disagreement : str
        In what the ranks differ, "" where they agree.
    ranges : mapping of int to ndarray
        Per process the instances, indices into `trace.nvtx`, in order of time.
    key : int
        Of a guess: the key of the operation, see `viewer.analysis.iterations.periodicity.keys_of`.
    """

    name: str
    domain: str
    what: Literal["range", "kernel", "copy", "none"]
    count: int
    gpu_share: float
    even_share: float
    cpu_ns: int
    qualifies: bool
    processes: tuple[int, ...] = ()
    disagreement: str = ""
    ranges: dict[int, Indices] = field(default_factory=dict, repr=False)
    key: int = 0

    @property
    def guess(self) -> bool:
        """Whether no range marks the iterations, only how regularly an operation comes back."""
        return self.what in ("kernel", "copy")


_NONE = Candidate("no iterations", "", "none", 0, 0.0, 0.0, 0, qualifies=False)


def candidates(
    trace: Trace, projected: pd.DataFrame, order_of: Callable[[int], GpuOrder]
) -> tuple[Candidate, ...]:
    """Return what may mark the iterations, best first; without a range that qualifies, a guess leads.

    Parameters
    ----------
    projected : DataFrame
        The NVTX ranges on the GPU with the launches of all threads, see `project`.
    order_of : callable
        Gives a GPU's operations by start; called only where there is something to guess.
    """
    repeated = _merged(trace, _numbers(trace, projected))
    qualified = sorted((c for c in repeated if c.qualifies), key=lambda c: (-len(c.processes), -c.cpu_ns))
    others = sorted(
        (c for c in repeated if not c.qualifies and c.gpu_share > 0), key=lambda c: (-c.gpu_share, -c.cpu_ns)
    )
    lead = qualified or _guessed(trace, order_of) or ([_NONE] if others else [])
    return (*lead, *others)[:MAX_OFFERED]


def table(candidates: tuple[Candidate, ...]) -> pd.DataFrame:
    """Return the candidates as a table: their numbers, and whether they meet the rule."""
    return pd.DataFrame(
        {
            "name": [c.name for c in candidates],
            "what": [_WHAT[c.what] for c in candidates],
            "domain": [c.domain for c in candidates],
            "count": [c.count for c in candidates],
            "gpu_share": [c.gpu_share for c in candidates],
            "even_share": [c.even_share for c in candidates],
            "cpu_ns": [c.cpu_ns for c in candidates],
            "qualifies": [c.qualifies for c in candidates],
            "disagreement": [c.disagreement for c in candidates],
        }
    )


def _numbers(trace: Trace, projected: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each name of each track that repeats without overlapping itself."""
    # By range: how many operations it launches, and their time on the GPU.
    ops = np.zeros(len(trace.nvtx), np.int64)
    busy = np.zeros(len(trace.nvtx), np.int64)
    ops[projected["range"]], busy[projected["range"]] = projected["ops"], projected["busy_ns"]
    gpu_time = _gpu_time(trace)
    texts = _Texts(trace)
    rows = []
    for track in trace.tracks:
        process = trace.threads[track.thread].process
        if is_library_domain(track.domain) or not gpu_time[process]:
            continue
        ranges = ranges_of(trace, track.index)
        for name, instances in texts.groups(ranges):
            kept = _disjoint(trace, instances)
            if len(kept) < MIN_INSTANCES:
                continue
            counts = ops[kept]
            rows.append(
                {
                    "name": name,
                    "domain": track.domain,
                    "process": process,
                    "instances": kept,
                    "gpu_share": int(busy[kept].sum()) / gpu_time[process],
                    "even_share": _even_share(counts),
                    "cpu_ns": int((trace.nvtx.end_ns[kept] - trace.nvtx.start_ns[kept]).sum()),
                }
            )
    columns = ["name", "domain", "process", "instances", "gpu_share", "even_share", "cpu_ns"]
    return pd.DataFrame(rows, columns=columns)


class _Texts:
    """The users' own texts with their numbers normalised, each text once."""

    def __init__(self, trace: Trace) -> None:
        used = np.flatnonzero(np.bincount(trace.nvtx.name_id, minlength=len(trace.names))).astype(np.uint32)
        own = used[users_own(trace.names, used)]
        group_of: dict[str, int] = {}
        self._group = np.full(len(trace.names), -1, np.int64)
        for name_id, text in zip(own.tolist(), trace.names.take(own), strict=True):
            self._group[name_id] = group_of.setdefault(normalise_numbers(text), len(group_of))
        self._names = list(group_of)
        self._name_ids = trace.nvtx.name_id

    def groups(self, ranges: Indices) -> list[tuple[str, Indices]]:
        """Return (normalised text, its ranges in order of time) for texts with enough ranges."""
        group = self._group[self._name_ids[ranges]]
        order = np.argsort(group, kind="stable")
        cuts = np.flatnonzero(np.diff(group[order])) + 1
        pieces = [ranges[piece] for piece in np.split(order, cuts)]
        groups = [(int(self._group[self._name_ids[p[0]]]), p) for p in pieces if len(p) >= MIN_INSTANCES]
        return [(self._names[g], piece) for g, piece in groups if g >= 0]


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


def _gpu_time(trace: Trace) -> list[int]:
    """Return per process the sum of the durations of its GPU operations, without the driver's own, ns."""
    total = np.zeros(len(trace.processes), np.int64)
    process_of = np.array([trace.gpus[s.gpu].process for s in trace.streams], np.int64)
    for kind in GPU_KINDS:
        events = trace.events[kind]
        if len(events):
            own = np.where(events.migrations(), 0, events.end_ns - events.start_ns)
            # Events are grouped by stream: differences of running sums at the offsets are sums by stream.
            before = np.append(0, np.cumsum(own))
            np.add.at(total, process_of, np.diff(before[events.offsets]))
    return total.tolist()


def _merged(trace: Trace, numbers: pd.DataFrame) -> list[Candidate]:
    """Join the processes' numbers by name; a process counts with the thread that spends most time inside."""
    working = {g.process for g in trace.gpus}
    merged = []
    for (name, domain), rows in numbers.groupby(["name", "domain"], sort=False):
        best = rows.sort_values("cpu_ns", ascending=False, kind="stable").drop_duplicates("process")
        good = (best["gpu_share"] >= MIN_SHARE) & (best["even_share"] >= MIN_SHARE)
        used = (best[good] if good.any() else best).sort_values("process")
        ranges = dict(zip(used["process"].tolist(), used["instances"].tolist(), strict=True))
        counts = {p: len(r) for p, r in ranges.items()}
        merged.append(
            Candidate(
                name=str(name),
                domain=str(domain),
                what="range",
                count=min(counts.values()),
                gpu_share=float(used["gpu_share"].min()),
                even_share=float(used["even_share"].min()),
                cpu_ns=int(used["cpu_ns"].sum()),
                qualifies=bool(good.any()),
                processes=tuple(counts),
                disagreement=_disagreement(trace, counts, working),
                ranges=ranges,
            )
        )
    return merged


def _disagreement(trace: Trace, counts: dict[int, int], working: set[int]) -> str:
    """Return which processes lack the marker, and the counts of instances where they differ."""
    parts = []
    if missing := sorted(working - counts.keys()):
        parts.append("not on " + ", ".join(trace.process_label(p) for p in missing))
    if len(set(counts.values())) > 1:
        parts.append("; ".join(f"{trace.process_label(p)}: {n}" for p, n in sorted(counts.items())))
    return ". ".join(parts)


def _guessed(trace: Trace, order_of: Callable[[int], GpuOrder]) -> list[Candidate]:
    """Return the guess as the only candidate, none where nothing comes back regularly."""
    guessed = guess(trace, order_of)
    if guessed is None:
        return []
    processes = tuple(sorted({trace.gpus[g].process for g in guessed.gpus}))
    missing = [trace.gpu_label(g.index) for g in trace.gpus if g.index not in guessed.gpus]
    return [
        Candidate(
            name=guessed.name,
            domain="",
            what=guessed.what,
            count=guessed.count,
            gpu_share=guessed.share,
            even_share=guessed.even_share,
            cpu_ns=0,
            qualifies=True,
            processes=processes,
            disagreement="not on " + ", ".join(missing) if missing else "",
            key=guessed.key,
        )
    ]
