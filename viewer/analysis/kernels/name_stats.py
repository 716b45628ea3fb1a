"""Statistics of the operations of one name: by GPU, and alone against beside communication."""

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
    """How many operations, and how long they take on average, ns; 0 without any."""

    count: int
    mean_ns: float


@dataclass(frozen=True, eq=False)
class NameStats:
    """All operations of one name.

    Attributes
    ----------
    alone, beside, partly : Durations
        Those beside which no communication kernel runs, those beside which one runs for at least half of
        their duration, and the rest. For communication kernels it is computation that runs beside them.
    per_gpu : DataFrame
        `gpu`, `rank` (its label), `count`, `total_ns`, `mean_ns`, `min_ns`, `max_ns`, `alone_count`,
        `alone_mean_ns`, `beside_count`, `beside_mean_ns`, `price`; without the GPUs that have none.
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
        """The mean duration, ns; 0 without operations."""
        return self.total_ns / self.count if self.count else 0.0

    @property
    def price(self) -> float | None:
        """How much longer they take beside communication than alone, a share; None if either is missing."""
        return _price(self.alone, self.beside)


def name_stats(
    trace: Trace,
    classes: KernelClasses,
    coverage: Callable[[int], BusyIntervals],
    name_id: int,
    kind: Kind = Kind.KERNEL,
) -> NameStats:
    """Return the statistics of the operations of one name; `coverage` is that of `Study`."""
    events = trace.events[kind]
    rows: list[tuple[object, ...]] = []
    # An empty piece in front, so that a name without any operation concatenates to nothing instead of
    # failing.
    lengths, shares = [np.empty(0, np.int64)], [np.empty(0, np.float64)]
    for gpu in trace.gpus:
        of_name = rows_of_gpu(trace, kind, gpu.index)
        # The id, not the short name: kernels of one family with other template arguments are other kernels.
        of_name = of_name[events.name_id[of_name] == name_id]
        if not len(of_name):
            continue
        start, end = events.start_ns[of_name], events.end_ns[of_name]
        length = end - start
        other = _others(classes, coverage(gpu.index), name_id, kind)
        # Operations of length zero have a share of 0 and count as alone.
        share = np.asarray(other.covered(start, end) / np.maximum(length, 1), np.float64)
        alone, beside, _ = _split(length, share)
        rows.append(
            (
                gpu.index,
                trace.gpu_label(gpu.index),
                len(of_name),
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
        # Split over all operations at once: a mean of the GPUs' means would give each GPU the same weight,
        # however few it ran.
        *_split(length, np.concatenate(shares)),
        pd.DataFrame(rows, columns=_COLUMNS),
    )


_COLUMNS = [
    "gpu", "rank", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "alone_count", "alone_mean_ns",
    "beside_count", "beside_mean_ns", "price",
]  # fmt: skip


def neighbour(trace: Trace, kind: Kind, index: int, direction: int) -> int | None:
    """Return the next (`direction` 1) or previous (-1) event of the same name, by start; None at either end.

    It is an index into the events of that kind: for operations on the same GPU, else of the same owner (a
    thread, an NVTX track).
    """
    events = trace.events[kind]
    owner = events.owner_of(index)
    if kind in GPU_KINDS:
        rows = rows_of_gpu(trace, kind, trace.streams[owner].gpu).astype(np.int64)
    else:
        of_owner = events.of(owner)
        rows = np.arange(of_owner.start, of_owner.stop)
    rows = rows[events.name_id[rows] == events.name_id[index]]
    # By index where several start together, so that going on and back visits each of them.
    rows = rows[np.lexsort((rows, events.start_ns[rows]))]
    position = int(np.flatnonzero(rows == index)[0]) + (1 if direction > 0 else -1)
    return int(rows[position]) if 0 <= position < len(rows) else None


def _others(classes: KernelClasses, covered: BusyIntervals, name_id: int, kind: Kind) -> Intervals:
    """Return what may run beside operations of a name: communication, for communication computation."""
    # Communication is always beside itself; what it can be slowed by is computation.
    is_comm = kind is Kind.KERNEL and bool(classes.is_comm(np.array([name_id]))[0])
    return covered.compute if is_comm else covered.communication


def _split(length: Int64, share: npt.NDArray[np.float64]) -> tuple[Durations, Durations, Durations]:
    """Return (alone, beside, partly), from the durations and the shares that something runs beside them."""
    # What runs beside for less than half says neither how long it takes alone nor what company costs.
    alone, beside = share == 0, share >= 0.5
    return _durations(length[alone]), _durations(length[beside]), _durations(length[~alone & ~beside])


def _durations(length: Int64) -> Durations:
    return Durations(len(length), float(length.mean()) if len(length) else 0.0)


def _price(alone: Durations, beside: Durations) -> float | None:
    return beside.mean_ns / alone.mean_ns - 1 if alone.mean_ns and beside.count else None
