"""Vitals of work: phases, launch seas, copies and synchronisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.core.intervals import Intervals, runs, union
from viewer.analysis.iterations.phases import OWN_IN_BACKWARD, PHASES, Phases
from viewer.analysis.kernels.kernel_tables import compute_only, kernels_in, seas_in, small_in
from viewer.analysis.kernels.small_kernel_bursts import SMALL_NS, Seas
from viewer.analysis.kernels.sync_time import ALL_CALLS
from viewer.analysis.launches.attribution import Mask, Rows
from viewer.analysis.summary.metric import Evidence, Vital, longest, longest_slices
from viewer.analysis.time.iteration_bounds import Laps
from viewer.analysis.time.scope import Scope

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_PHASES, _SEAS, _COPIES, _SYNC = "phases", "launch seas", "copies", "synchronisation"
NORMAL_RATIO = (1.6, 2.5)
"""Backward over forward, from and to."""


def phase_vitals(phases: Phases, laps: Laps, scope: Scope, rows: pd.DataFrame) -> Iterator[Vital]:
    """Yield what each phase takes, and backward over forward."""
    chosen = phases.over(scope.laps_of(laps))
    spots = {
        p.name: longest_slices([e & w for e, w in zip(p.extent, scope.within, strict=True)])
        for p in phases.phases
    }
    at = {
        str(row["phase"]): Evidence(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
        for row in rows.to_dict("records")
    }
    for name in (*PHASES, OWN_IN_BACKWARD):
        phase = phases.phase(name)
        if phase is None and name == OWN_IN_BACKWARD:
            continue
        yield Vital(
            name.replace(" ", "_"),
            _PHASES,
            name,
            chosen.median_ns(name),
            "ns",
            "Union of the compute kernels that it launched, no communication: per iteration, median over "
            f"those taken, mean over the GPUs. Found by: {phase.how if phase else 'no such range'}.",
            per_gpu=chosen.medians_ns(name),
            evidence=at.get(name),
            spots=spots.get(name, ()),
        )
    ratio = chosen.ratio
    yield Vital(
        "backward_to_forward",
        _PHASES,
        "backward over forward",
        ratio,
        "ratio",
        "Kernels launched in backward, the optimizer and the owner's own launches there left out, over those "
        "in forward, by length. About 2 is normal; 3 points at activation checkpointing.",
        normal="about 2",
        is_normal=None if ratio is None else NORMAL_RATIO[0] <= ratio <= NORMAL_RATIO[1],
        per_gpu=chosen.ratios,
        evidence=at.get("backward"),
        spots=spots.get("backward", ()),
    )


def sea_vitals(study: Study, scope: Scope, phases: Phases | None) -> Iterator[Vital]:
    """Yield small kernels and launch seas, and those seas that are not the optimizer's."""
    optimizer = phases.phase("optimizer") if phases else None
    none = np.empty(0, np.int64)
    held = [
        _small_on(study, gpu, within, optimizer.kernels[gpu] if optimizer else none)
        for gpu, within in enumerate(scope.within)
    ]
    small = [one.small for one in held]
    time = [int(one.seas.sum_ns.sum()) for one in held]
    outside = [int(one.is_strange.sum()) for one in held]
    worst = [one.worst() for one in held]
    largest = max((found for found in worst if found), key=lambda found: found[:2], default=None)
    evidence = largest[2] if largest else None
    of_gpu = tuple(found[2] if found else None for found in worst)
    small_at = longest_slices([one.runs for one in held])
    text = "Runs of compute kernels in which every hundred in a row average under 10 µs, no gap over 1 ms."
    yield _counted("small_kernels", "small kernels", small, "Compute kernels under 10 µs.", small_at)
    yield Vital(
        "small_share",
        _SEAS,
        "small ones among the compute kernels",
        sum(small) / max(sum(one.computed for one in held), 1),
        "share",
        "Number of compute kernels under 10 µs over that of all compute kernels.",
        per_gpu=tuple(one.small / max(one.computed, 1) for one in held),
        evidence=longest(small_at),
        spots=small_at,
    )
    yield _counted("launch_seas", "launch seas", [len(one.seas) for one in held], text, of_gpu)
    kernels = [int(one.seas.kernels.sum()) for one in held]
    yield _counted("sea_kernels", "kernels in launch seas", kernels, text, of_gpu)
    yield Vital(
        "sea_time",
        _SEAS,
        "time of those kernels",
        sum(time),
        "ns",
        "Sum of their durations. " + text,
        share=sum(time) / max(scope.total_ns, 1),
        per_gpu=tuple(time),
        evidence=evidence,
        spots=of_gpu,
    )
    yield Vital(
        "seas_outside_optimizer",
        _SEAS,
        "launch seas outside the optimizer",
        sum(outside),
        "count",
        "Launch seas of which the optimizer launched less than half of the kernels."
        + ("" if optimizer else " No range is called optimizer here: some of them may be its own."),
        per_gpu=tuple(outside),
        normal="none",
        is_normal=None if sum(outside) and not optimizer else not sum(outside),
        evidence=evidence,
        spots=of_gpu,
    )


def copy_vitals(study: Study, table: pd.DataFrame) -> Iterator[Vital]:
    """Yield for each kind of copy what nothing hides, with its speed and streams."""
    gpus = len(study.trace.gpus)
    for kind, rows in table.groupby("kind", sort=False):
        per_gpu = np.zeros(gpus, np.int64)
        per_gpu[rows["gpu"]] = rows["copy_only_ns"]
        size, time, number = int(rows["bytes"].sum()), int(rows["sum_ns"].sum()), int(rows["count"].sum())
        hidden, streams = int(rows["hidden_ns"].sum()), ", ".join(sorted(set(rows["streams"])))
        queued = int(rows["on_compute_stream"].sum())
        spots = _spots_of(rows, gpus)
        yield Vital(
            f"copy_{str(kind).lower().replace(' ', '_')}",
            _COPIES,
            f"{kind}: not hidden",
            int(per_gpu.sum()),
            "ns",
            f"{number:,} copies, {size / 1e9:,.3f} GB at {size / max(time, 1):,.2f} GB/s (bytes over "
            f"duration, 10⁹); on streams {streams}; {queued:,} of them on a stream that also computes, "
            f"where a copy queues with the kernels and cannot hide; {hidden / 1e6:,.3f} ms beside a kernel.",
            per_gpu=tuple(per_gpu.tolist()),
            evidence=longest(spots),
            spots=spots,
        )


def sync_vitals(study: Study, scope: Scope, table: pd.DataFrame) -> Iterator[Vital]:
    """Yield the time in synchronising calls, and how much of it the GPU is idle."""
    all_calls = table[table["call"] == ALL_CALLS]
    gpus = len(study.trace.gpus)
    spots = _spots_of(all_calls, gpus)
    for column, key, name, text in (
        (
            "union_ns",
            "sync_time",
            "CPU in synchronising calls",
            "Time with a thread of the process in a synchronising call; one that copies pageable memory "
            "waits, too. By itself it is no stall: the GPU may well be working.",
        ),
        (
            "idle_ns",
            "sync_idle",
            "of that the GPU is idle",
            "The intersection of synchronising calls with the idle time of the GPU: this is what counts.",
        ),
    ):
        per_gpu = np.zeros(gpus, np.int64)
        per_gpu[all_calls["gpu"].to_numpy(np.int64)] = all_calls[column]
        total = int(per_gpu.sum())
        yield Vital(
            key,
            _SYNC,
            name,
            total,
            "ns",
            text,
            share=total / max(scope.total_ns, 1),
            per_gpu=tuple(per_gpu.tolist()),
            evidence=longest(spots),
            spots=spots,
        )


@dataclass(frozen=True)
class _Small:
    """The small kernels of one GPU among its compute kernels.

    Attributes
    ----------
    computed, small : int
        How many compute kernels there are, and how many of them last under 10 µs.
    runs : Intervals
        From where to where small ones follow each other.
    is_strange : ndarray of bool, shape (seas,)
        The seas of which the optimizer launched less than half.
    """

    gpu: int
    computed: int
    small: int
    runs: Intervals
    seas: Seas
    is_strange: Mask

    def worst(self) -> tuple[bool, int, Evidence] | None:
        """Return the sea to look at: the largest of the strange ones, else of all. None without seas."""
        if not len(self.seas):
            return None
        keys = list(zip(self.is_strange.tolist(), self.seas.kernels.tolist(), strict=True))
        at = keys.index(max(keys))
        place = Evidence(int(self.seas.start_ns[at]), int(self.seas.end_ns[at]), self.gpu)
        return *keys[at], place


def _small_on(study: Study, gpu: int, within: Intervals, of_optimizer: Rows) -> _Small:
    rows = compute_only(study, kernels_in(study, gpu, within))
    seas = seas_in(study, rows)
    is_strange = ~_mostly(seas, rows, of_optimizer)
    return _Small(gpu, len(rows), small_in(study, rows), _runs_of_small(study, rows), seas, is_strange)


def _mostly(seas: Seas, rows: Rows, own: Rows) -> Mask:
    """Return which seas have at least half of their kernels in `own`."""
    before = np.append(0, np.cumsum(np.isin(rows, own)))
    return np.asarray((before[seas.stop] - before[seas.first]) * 2 >= seas.kernels)


def _runs_of_small(study: Study, rows: Rows) -> Intervals:
    """Return from where to where kernels under 10 µs follow each other, without a longer one between."""
    kernels = study.trace.kernels
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    is_small = end - start < SMALL_NS
    first, stop = runs(is_small)
    first, stop = first[is_small[first]], stop[is_small[first]]
    return union(start[first], end[stop - 1])


def _counted(key: str, name: str, per_gpu: list[int], text: str, spots: tuple[Evidence | None, ...]) -> Vital:
    return Vital(
        key,
        _SEAS,
        name,
        sum(per_gpu),
        "count",
        text,
        per_gpu=tuple(per_gpu),
        evidence=longest(spots),
        spots=spots,
    )


def _spots_of(rows: pd.DataFrame, gpus: int) -> tuple[Evidence | None, ...]:
    """Return the places that a table names, one a GPU."""
    found: list[Evidence | None] = [None] * gpus
    for row in rows.to_dict("records"):
        found[row["gpu"]] = Evidence(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
    return tuple(found)
