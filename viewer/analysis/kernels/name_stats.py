"""Statistics of one kernel name: over ranks, and what running beside communication costs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.time.time_breakdown import BusyIntervals
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64


@dataclass(frozen=True, slots=True)
class Durations:
    """How many, and how long on average (ns; 0 where there are none)."""

    count: int
    mean_ns: float


@dataclass(frozen=True, eq=False)
class NameStats:
    """All operations of one name.

    Attributes
    ----------
    alone, beside, partly : Durations
        Those that meet no communication kernel of another stream, those that do for at least half of their
        duration, and the rest.
    per_gpu : DataFrame
        `gpu`, `rank` (its label), `count`, `total_ns`, `mean_ns`, `min_ns`, `max_ns`, `alone_count`,
        `alone_mean_ns`, `beside_count`, `beside_mean_ns`, `price`; GPUs without any are left out.
    """

    name_id: int
    kind: Kind
    count: int
    total_ns: int
    min_ns: int
    max_ns: int
    alone: Durations
    beside: Durations
    partly: Durations
    per_gpu: pd.DataFrame

    @property
    def mean_ns(self) -> float:
        """The mean duration, 0 without operations."""
        return self.total_ns / self.count if self.count else 0.0

    @property
    def price(self) -> float | None:
        """By how much longer it takes beside communication than alone, a share; None where either lacks."""
        return _price(self.alone, self.beside)


def name_stats(
    trace: Trace,
    classes: KernelClasses,
    coverage: Callable[[int], BusyIntervals],
    name_id: int,
    kind: Kind = Kind.KERNEL,
) -> NameStats:
    """Return the statistics of the operations of one name."""
    events = trace.events[kind]
    rows: list[tuple[object, ...]] = []
    lengths, shares = [np.empty(0, np.int64)], [np.empty(0, np.float64)]
    for gpu in trace.gpus:
        held = rows_of_gpu(trace, kind, gpu.index)
        held = held[events.name_id[held] == name_id]
        if not len(held):
            continue
        start, end = events.start_ns[held], events.end_ns[held]
        length = end - start
        other = _others(classes, coverage(gpu.index), name_id, kind)
        share = np.asarray(other.covered(start, end) / np.maximum(length, 1), np.float64)
        alone, beside, _ = _split(length, share)
        rows.append(
            (
                gpu.index,
                trace.gpu_label(gpu.index),
                len(held),
                int(length.sum()),
                float(length.mean()),
                int(length.min()),
                int(length.max()),
                alone.count,
                alone.mean_ns,
                beside.count,
                beside.mean_ns,
                _price(alone, beside),
            )
        )
        lengths.append(length)
        shares.append(share)
    length = np.concatenate(lengths)
    low, high = (int(length.min()), int(length.max())) if len(length) else (0, 0)
    return NameStats(
        name_id,
        kind,
        len(length),
        int(length.sum()),
        low,
        high,
        *_split(length, np.concatenate(shares)),
        pd.DataFrame(rows, columns=_COLUMNS),
    )


_COLUMNS = [
    "gpu", "rank", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "alone_count", "alone_mean_ns",
    "beside_count", "beside_mean_ns", "price",
]  # fmt: skip


def neighbour(trace: Trace, kind: Kind, index: int, direction: int) -> int | None:
    """Return the next (1) or previous (-1) event of the same name, by start: an index into its table.

    Of an operation on the same GPU, else of the same owner (thread, track).
    """
    events = trace.events[kind]
    owner = events.owner_of(index)
    if kind in GPU_KINDS:
        held = rows_of_gpu(trace, kind, trace.streams[owner].gpu).astype(np.int64)
    else:
        rows = events.of(owner)
        held = np.arange(rows.start, rows.stop)
    held = held[events.name_id[held] == events.name_id[index]]
    held = held[np.lexsort((held, events.start_ns[held]))]
    at = int(np.flatnonzero(held == index)[0]) + (1 if direction > 0 else -1)
    return int(held[at]) if 0 <= at < len(held) else None


def _others(classes: KernelClasses, covered: BusyIntervals, name_id: int, kind: Kind) -> Intervals:
    """Return what operations of a name may run beside: communication, of communication computation."""
    is_comm = kind is Kind.KERNEL and bool(classes.is_comm(np.array([name_id]))[0])
    return covered.compute if is_comm else covered.communication


def _split(length: Int64, share: npt.NDArray[np.float64]) -> tuple[Durations, Durations, Durations]:
    alone, beside = share == 0, share >= 0.5
    return _durations(length[alone]), _durations(length[beside]), _durations(length[~alone & ~beside])


def _durations(length: Int64) -> Durations:
    return Durations(len(length), float(length.mean()) if len(length) else 0.0)


def _price(alone: Durations, beside: Durations) -> float | None:
    return beside.mean_ns / alone.mean_ns - 1 if alone.mean_ns and beside.count else None
