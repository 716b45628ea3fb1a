"""Summary of work: phases, small-kernel bursts, copies and synchronisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.core.intervals import Intervals, runs, union
from viewer.analysis.iterations.phases import OWN_IN_BACKWARD, PHASES, Phases
from viewer.analysis.kernels.kernel_tables import bursts_in, compute_only, kernels_in, small_in
from viewer.analysis.kernels.small_kernel_bursts import SMALL_NS, SmallKernelBursts
from viewer.analysis.kernels.sync_time import ALL_CALLS
from viewer.analysis.launches.attribution import Mask, Rows
from viewer.analysis.summary.metric import Location, Metric, longest, longest_stalls
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_PHASES, _BURSTS, _COPIES, _SYNC = "phases", "small-kernel bursts", "copies", "synchronisation"
NORMAL_RATIO = (1.6, 2.5)
"""Backward over forward, from and to."""


def phase_summary(
    phases: Phases, iterations: Iterations, scope: Scope, rows: pd.DataFrame
) -> Iterator[Metric]:
    """Yield what each phase takes, and backward over forward."""
    chosen = phases.over(scope.iterations_of(iterations))
    spots = {
        p.name: longest_stalls([e & w for e, w in zip(p.extent, scope.within, strict=True)])
        for p in phases.phases
    }
    at = {
        str(row["phase"]): Location(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
        for row in rows.to_dict("records")
    }
    for name in (*PHASES, OWN_IN_BACKWARD):
        phase = phases.phase(name)
        if phase is None and name == OWN_IN_BACKWARD:
            continue
        yield Metric(
            name.replace(" ", "_"),
            _PHASES,
            name,
            chosen.median_ns(name),
            "ns",
            "Union of the compute kernels that it launched, no communication: per iteration, median over "
            f"those taken, mean over the GPUs. Found by: {phase.how if phase else 'no such range'}.",
            per_gpu=chosen.medians_ns(name),
            location=at.get(name),
            spots=spots.get(name, ()),
        )
    ratio = chosen.ratio
    yield Metric(
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
        location=at.get("backward"),
        spots=spots.get("backward", ()),
    )


def burst_summary(study: Study, scope: Scope, phases: Phases | None) -> Iterator[Metric]:
    """Yield small kernels and small-kernel bursts, and those bursts that are not the optimizer's."""
    optimizer = phases.phase("optimizer") if phases else None
    none = np.empty(0, np.int64)
    held = [
        _small_on(study, gpu, within, optimizer.kernels[gpu] if optimizer else none)
        for gpu, within in enumerate(scope.within)
    ]
    small = [one.small for one in held]
    time = [int(one.bursts.sum_ns.sum()) for one in held]
    outside = [int(one.is_strange.sum()) for one in held]
    worst = [one.worst() for one in held]
    largest = max((found for found in worst if found), key=lambda found: found[:2], default=None)
    location = largest[2] if largest else None
    of_gpu = tuple(found[2] if found else None for found in worst)
    small_at = longest_stalls([one.runs for one in held])
    text = "Runs of compute kernels in which every hundred in a row average under 10 µs, no gap over 1 ms."
    yield _counted("small_kernels", "small kernels", small, "Compute kernels under 10 µs.", small_at)
    yield Metric(
        "small_share",
        _BURSTS,
        "small ones among the compute kernels",
        sum(small) / max(sum(one.computed for one in held), 1),
        "share",
        "Number of compute kernels under 10 µs over that of all compute kernels.",
        per_gpu=tuple(one.small / max(one.computed, 1) for one in held),
        location=longest(small_at),
        spots=small_at,
    )
    yield _counted("launch_seas", "small-kernel bursts", [len(one.bursts) for one in held], text, of_gpu)
    kernels = [int(one.bursts.kernels.sum()) for one in held]
    yield _counted("sea_kernels", "kernels in small-kernel bursts", kernels, text, of_gpu)
    yield Metric(
        "sea_time",
        _BURSTS,
        "time of those kernels",
        sum(time),
        "ns",
        "Sum of their durations. " + text,
        share=sum(time) / max(scope.total_ns, 1),
        per_gpu=tuple(time),
        location=location,
        spots=of_gpu,
    )
    yield Metric(
        "seas_outside_optimizer",
        _BURSTS,
        "small-kernel bursts outside the optimizer",
        sum(outside),
        "count",
        "Small-kernel bursts of which the optimizer launched less than half of the kernels."
        + ("" if optimizer else " No range is called optimizer here: some of them may be its own."),
        per_gpu=tuple(outside),
        normal="none",
        is_normal=None if sum(outside) and not optimizer else not sum(outside),
        location=location,
        spots=of_gpu,
    )


def copy_summary(study: Study, table: pd.DataFrame) -> Iterator[Metric]:
    """Yield for each kind of copy what nothing hides, with its speed and streams."""
    gpus = len(study.trace.gpus)
    for kind, rows in table.groupby("kind", sort=False):
        per_gpu = np.zeros(gpus, np.int64)
        per_gpu[rows["gpu"]] = rows["copy_only_ns"]
        size, time, number = int(rows["bytes"].sum()), int(rows["sum_ns"].sum()), int(rows["count"].sum())
        hidden, streams = int(rows["hidden_ns"].sum()), ", ".join(sorted(set(rows["streams"])))
        queued = int(rows["on_compute_stream"].sum())
        spots = _spots_of(rows, gpus)
        yield Metric(
            f"copy_{str(kind).lower().replace(' ', '_')}",
            _COPIES,
            f"{kind}: not hidden",
            int(per_gpu.sum()),
            "ns",
            f"{number:,} copies, {size / 1e9:,.3f} GB at {size / max(time, 1):,.2f} GB/s (bytes over "
            f"duration, 10⁹); on streams {streams}; {queued:,} of them on a stream that also computes, "
            f"where a copy queues with the kernels and cannot hide; {hidden / 1e6:,.3f} ms beside a kernel.",
            per_gpu=tuple(per_gpu.tolist()),
            location=longest(spots),
            spots=spots,
        )


def sync_summary(study: Study, scope: Scope, table: pd.DataFrame) -> Iterator[Metric]:
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
        yield Metric(
            key,
            _SYNC,
            name,
            total,
            "ns",
            text,
            share=total / max(scope.total_ns, 1),
            per_gpu=tuple(per_gpu.tolist()),
            location=longest(spots),
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
    is_strange : ndarray of bool, shape (bursts,)
        The bursts of which the optimizer launched less than half.
    """

    gpu: int
    computed: int
    small: int
    runs: Intervals
    bursts: SmallKernelBursts
    is_strange: Mask

    def worst(self) -> tuple[bool, int, Location] | None:
        """Return the burst to look at: the largest of the strange ones, else of all. None without bursts."""
        if not len(self.bursts):
            return None
        keys = list(zip(self.is_strange.tolist(), self.bursts.kernels.tolist(), strict=True))
        at = keys.index(max(keys))
        place = Location(int(self.bursts.start_ns[at]), int(self.bursts.end_ns[at]), self.gpu)
        return *keys[at], place


def _small_on(study: Study, gpu: int, within: Intervals, of_optimizer: Rows) -> _Small:
    kernels, classes = study.trace.kernels, study.classes
    rows = compute_only(kernels, classes, kernels_in(study.trace, gpu, within))
    bursts = bursts_in(kernels, classes, rows)
    is_strange = ~_mostly(bursts, rows, of_optimizer)
    return _Small(gpu, len(rows), small_in(kernels, rows), _runs_of_small(study, rows), bursts, is_strange)


def _mostly(bursts: SmallKernelBursts, rows: Rows, own: Rows) -> Mask:
    """Return which bursts have at least half of their kernels in `own`."""
    before = np.append(0, np.cumsum(np.isin(rows, own)))
    return np.asarray((before[bursts.stop] - before[bursts.first]) * 2 >= bursts.kernels)


def _runs_of_small(study: Study, rows: Rows) -> Intervals:
    """Return from where to where kernels under 10 µs follow each other, without a longer one between."""
    kernels = study.trace.kernels
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    is_small = end - start < SMALL_NS
    first, stop = runs(is_small)
    first, stop = first[is_small[first]], stop[is_small[first]]
    return union(start[first], end[stop - 1])


def _counted(
    key: str, name: str, per_gpu: list[int], text: str, spots: tuple[Location | None, ...]
) -> Metric:
    return Metric(
        key,
        _BURSTS,
        name,
        sum(per_gpu),
        "count",
        text,
        per_gpu=tuple(per_gpu),
        location=longest(spots),
        spots=spots,
    )


def _spots_of(rows: pd.DataFrame, gpus: int) -> tuple[Location | None, ...]:
    """Return the places that a table names, one a GPU."""
    found: list[Location | None] = [None] * gpus
    for row in rows.to_dict("records"):
        found[row["gpu"]] = Location(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
    return tuple(found)
