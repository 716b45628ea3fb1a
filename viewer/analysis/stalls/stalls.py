"""Stalls: where a GPU is idle, only copies, or communicates exposed, and why.

See docs/definitions.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.arrays import narrowed
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.kernels.copies import before_first_kernel
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.launches.event_waits import event_waits
from viewer.analysis.launches.launches import UNKNOWN, Launches
from viewer.analysis.stalls.causes import IDLE_CAUSES, ON_GPU_SIDE, SHARES, Causes, find_causes, placed
from viewer.analysis.stalls.host_time import Hosts
from viewer.analysis.stalls.stall_kinds import (
    COMM_CAUSES,
    COMM_COLUMNS,
    COPY_CAUSE,
    COPY_COLUMNS,
    comm_facts,
    copy_facts,
)
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

MIN_STALL_NS = 10_000
"""Shorter stalls are counted, not listed."""

IDLE, COPY_ONLY, EXPOSED = "idle", "copy_only", "exposed_comm"
STALL_KINDS = (IDLE, COPY_ONLY, EXPOSED)
INSIDE, BETWEEN, OUTSIDE, NO_ITERATIONS = "inside", "between", "outside", ""
PLACES = (INSIDE, BETWEEN, OUTSIDE, NO_ITERATIONS)
CAUSES = (*IDLE_CAUSES, COPY_CAUSE, *COMM_CAUSES)

_CAUSE_COLUMNS = ("thread", "followed", "blocking_call", "other_call", "os_call", "drained_by", "inside")


@dataclass(frozen=True)
class StallInputs:
    """What the stalls of a trace and their causes are found in.

    Attributes
    ----------
    launches : Launches
    order_of : callable
        Gives a GPU's operations by start.
    classes : KernelClasses
    parts : tuple of TimeBreakdown, one per GPU
        Where each GPU is idle, only copies, or communicates exposed.
    collectives : Collectives
    """

    launches: Launches
    order_of: Callable[[int], GpuOrder]
    classes: KernelClasses
    parts: tuple[TimeBreakdown, ...]
    collectives: Collectives

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.launches.trace


@dataclass(frozen=True, eq=False)
class Stalls:
    """The stalls of a trace.

    Attributes
    ----------
    table : DataFrame
        One row a stall, by (start_ns, gpu); its index is the stall's number. Indices into tables of the
        trace are -1 for none.

        - `kind` (category of `STALL_KINDS`), `gpu`, `start_ns`, `end_ns`, `duration_ns`
        - `place` (category of `PLACES`), `iteration`, `iteration_after`: those of the operation before and
        after
        - `before_kind`, `before_index`, `after_kind`, `after_index`: operations, kinds as in `GPU_KINDS`
        - `launch` (into ``trace.api``): the call that launched the operation after; `thread`: its thread
        - `cause` (category of `CAUSES`)
        - idle: `SHARES` in ns, which sum to `duration_ns`; `followed` (the thread taken instead),
          `blocking_call`, `other_call` (the longest of each, into ``trace.api``), `os_call`
        - `drained_by` (into ``trace.api``), `inside` (into ``trace.nvtx``)
        - GPU side: `event_waits` (into ``trace.api``), the wait for an event in front of the operation after
        - copy only: `copy_kind`, `copy_index` (the operation with most of the stall), `copies`, `bytes`
          (of all that touch it), `throughput_gb_s` (of that operation), `pageable`, `in_front` of an
          iteration
        - exposed communication: `wait_ns`, `transfer_ns`, `unmatched_ns`, which sum to `duration_ns`,
          `waits_for` (a GPU), `collective` (into ``trace.kernels``)
    short : DataFrame
        `kind`, `gpu`, `count`, `total_ns` of those shorter than `min_ns`.
    """

    trace: Trace
    min_ns: int
    table: pd.DataFrame
    short: pd.DataFrame

    def __len__(self) -> int:
        return len(self.table)

    def select(
        self,
        kinds: Sequence[str] | None = None,
        causes: Sequence[str] | None = None,
        places: Sequence[str] | None = None,
        gpus: Sequence[int] | None = None,
        min_ns: int = 0,
    ) -> Indices:
        """Return the numbers of the stalls that are one of each of these, and at least so long."""
        held = self._duration >= min_ns
        for column, wanted in (("kind", kinds), ("cause", causes), ("place", places), ("gpu", gpus)):
            if wanted is not None:
                held &= self.table[column].isin(list(wanted)).to_numpy()
        return np.flatnonzero(held)

    def exactly(self, start_ns: int, end_ns: int) -> int | None:
        """Return the first stall that begins and ends just there, None where there is none."""
        low, high = np.searchsorted(self._start, (start_ns, start_ns + 1))
        same = np.flatnonzero(self.table["end_ns"].to_numpy()[low:high] == end_ns)
        return int(low + same[0]) if len(same) else None

    def at(self, gpu: int, time_ns: int) -> int | None:
        """Return the stall of a GPU that holds an instant, None outside all."""
        numbers, starts, ends = self._of_gpu[gpu]
        at = int(np.searchsorted(starts, time_ns, side="right")) - 1
        return int(numbers[at]) if at >= 0 and time_ns < ends[at] else None

    @property
    def shown(self) -> pd.DataFrame:
        """The table in words, made anew; see `viewer.analysis.stalls.words.words`."""
        from viewer.analysis.stalls.words import frame_of

        return frame_of(self)

    def words(self, number: int) -> dict[str, Any]:
        """Return one stall in words, see `viewer.analysis.stalls.words.words`."""
        from viewer.analysis.stalls.words import words

        return {key: column[0] for key, column in words(self, np.array([number])).items()}

    def totals(self, rows: npt.ArrayLike | None = None) -> pd.DataFrame:
        """Return the time by kind and cause, see `viewer.analysis.stalls.stall_tables.totals`."""
        from viewer.analysis.stalls.stall_tables import totals

        table = self.table[["kind", "cause", "duration_ns"]]
        return totals(table if rows is None else table.iloc[np.asarray(rows)])

    def groups(self, rows: npt.ArrayLike | None = None) -> pd.DataFrame:
        """Return stalls alike as one line each, see `viewer.analysis.stalls.stall_tables.groups`."""
        from viewer.analysis.stalls.stall_tables import groups

        return groups(self, np.arange(len(self)) if rows is None else np.arange(len(self))[np.asarray(rows)])

    @cached_property
    def _start(self) -> Int64:
        return self.table["start_ns"].to_numpy()

    @cached_property
    def _duration(self) -> Int64:
        return self.table["duration_ns"].to_numpy()

    @cached_property
    def _of_gpu(self) -> list[tuple[Indices, Int64, Int64]]:
        gpu, end = self.table["gpu"].to_numpy(), self.table["end_ns"].to_numpy()
        rows = [np.flatnonzero(gpu == g.index) for g in self.trace.gpus]
        return [(held, self._start[held], end[held]) for held in rows]


def find_stalls(inputs: StallInputs, iterations: Iterations | None, min_ns: int = MIN_STALL_NS) -> Stalls:
    """Find the stalls of every GPU in the trace's window, and the cause of each.

    Parameters
    ----------
    iterations : Iterations or None
        What is between iterations and what inside; None: not known.
    min_ns : int
        The shortest stall to list.
    """
    hosts = Hosts(inputs.launches)
    pieces: list[dict[str, Any]] = []
    short: list[tuple[str, int, int, int]] = []
    for gpu in inputs.trace.gpus:
        neighbours = _Neighbours(inputs.order_of(gpu.index))
        for kind in STALL_KINDS:
            found = inputs.parts[gpu.index].intervals(kind)
            long = found.lengths >= min_ns
            brief = found.lengths[~long]
            short.append((kind, gpu.index, len(brief), int(brief.sum())))
            start, end = found.start_ns[long], found.end_ns[long]
            pieces.append(_of_kind(inputs, hosts, iterations, gpu.index, kind, start, end, neighbours))
    table = _table(pieces)
    return Stalls(
        inputs.trace, min_ns, table, pd.DataFrame(short, columns=["kind", "gpu", "count", "total_ns"])
    )


@dataclass
class _Neighbours:
    """The operation that ended last before an instant, and the first that starts at or after it."""

    order: GpuOrder

    @cached_property
    def by_end(self) -> Indices:
        return np.argsort(self.order.end_ns, kind="stable")

    def before(self, times: Int64) -> Indices:
        ends = self.order.end_ns[self.by_end]
        at = np.searchsorted(ends, times, side="right") - 1
        return np.where(at >= 0, self.by_end[np.maximum(at, 0)] if len(ends) else -1, -1)

    def after(self, times: Int64) -> Indices:
        at = np.searchsorted(self.order.start_ns, times, side="left")
        return np.where(at < len(self.order), at, -1)


def _of_kind(
    inputs: StallInputs,
    hosts: Hosts,
    iterations: Iterations | None,
    gpu: int,
    kind: str,
    start: Int64,
    end: Int64,
    neighbours: _Neighbours,
) -> dict[str, Any]:
    before, after = neighbours.before(start), neighbours.after(end)
    order = neighbours.order
    launch, queued = _launch(inputs.launches, order, after)
    columns: dict[str, Any] = {
        "kind": np.full(len(start), STALL_KINDS.index(kind), np.int8),
        "gpu": np.full(len(start), gpu, np.int16),
        "start_ns": start,
        "end_ns": end,
        "duration_ns": end - start,
        **_iterations(iterations, gpu, order, before, after),
    }
    for name, at in (("before", before), ("after", after)):
        known, held = at >= 0, np.maximum(at, 0)
        for field, values, dtype in (("kind", order.kind, np.int8), ("index", order.index, np.int32)):
            picked = values[held].astype(np.int64) if len(order) else held
            columns[f"{name}_{field}"] = np.where(known, picked, -1).astype(dtype)
    columns["launch"] = launch.astype(np.int32)
    if kind == IDLE:
        found = find_causes(hosts, start, end, launch, queued)
    else:
        found = placed(hosts, start, end, launch)
    columns |= _columns_of(found)
    columns["awaited"] = np.full(len(start), -1, np.int32)
    if kind == IDLE:
        queued_on = np.flatnonzero(found.cause == IDLE_CAUSES.index(ON_GPU_SIDE))
        ahead = columns["after_kind"][queued_on], columns["after_index"][queued_on]
        columns["awaited"][queued_on] = event_waits(inputs.launches, gpu, *ahead)
    is_copy, is_comm = kind == COPY_ONLY, kind == EXPOSED
    front = None
    if is_copy and iterations is not None:
        front = before_first_kernel(inputs.trace, inputs.classes, iterations, gpu)
    columns |= copy_facts(inputs.trace, gpu, start, end, front, wanted=is_copy)
    columns |= comm_facts(inputs.collectives, inputs.classes, gpu, start, end, wanted=is_comm)
    if kind == COPY_ONLY:
        columns["cause"] = np.full(len(start), CAUSES.index(COPY_CAUSE), np.int8)
    elif kind == EXPOSED:
        figures = np.stack([columns[name] for name in COMM_COLUMNS])
        columns["cause"] = (figures.argmax(axis=0) + CAUSES.index(COMM_CAUSES[0])).astype(np.int8)
    return {name: narrowed(held) if name in _FIGURES else held for name, held in columns.items()}


def _launch(launches: Launches, order: GpuOrder, after: Indices) -> tuple[Indices, Int64]:
    """Return the call that launched each operation (-1), and how long it was queued (`UNKNOWN`)."""
    call = np.full(len(after), -1, np.int64)
    held = np.maximum(after, 0)
    for position, kind in enumerate(GPU_KINDS):
        if len(launches.trace.events[kind]) and len(order):
            mine = (after >= 0) & (order.kind[held] == position)
            call[mine] = launches.api_of(kind)[order.index[held[mine]]]
    queued = np.full(len(after), UNKNOWN, np.int64)
    known = call >= 0
    queued[known] = np.maximum(order.start_ns[after[known]] - launches.trace.api.end_ns[call[known]], 0)
    return call, queued


def _iterations(
    iterations: Iterations | None, gpu: int, order: GpuOrder, before: Indices, after: Indices
) -> dict[str, npt.NDArray[Any]]:
    if iterations is None:
        none = np.full(len(before), -1, np.int32)
        code = np.full(len(before), PLACES.index(NO_ITERATIONS), np.int8)
        return {"place": code, "lap": none, "lap_after": none.copy()}
    held = []
    for at in (before, after):
        starts = order.start_ns[np.maximum(at, 0)] if len(order) else np.zeros(len(at), np.int64)
        iteration = np.searchsorted(iterations.starts[gpu], starts, side="right") - 1
        # An operation of length zero may start where the last iteration ends, with it.
        known = (at >= 0) & (iteration >= 0) & (iteration < iterations.count)
        held.append(np.where(known, iteration, -1).astype(np.int32))
    one, other = held
    place = np.select(
        [(one < 0) | (other < 0), one == other],
        [PLACES.index(OUTSIDE), PLACES.index(INSIDE)],
        PLACES.index(BETWEEN),
    )
    return {"place": place.astype(np.int8), "lap": one, "lap_after": other}


def _columns_of(found: Causes) -> dict[str, npt.NDArray[Any]]:
    columns: dict[str, npt.NDArray[Any]] = {"cause": found.cause}
    columns |= {name: found.shares[i] for i, name in enumerate(SHARES)}
    for name in _CAUSE_COLUMNS:
        columns[name] = getattr(found, name).astype(np.int32)
    return columns


_FIGURES = (*SHARES, *COMM_COLUMNS, "bytes")
_ORDER = (
    "kind", "gpu", "start_ns", "end_ns", "duration_ns", "place", "lap", "lap_after", "cause",
    "before_kind", "before_index", "after_kind", "after_index", "launch", *_CAUSE_COLUMNS, "awaited",
    *SHARES, *COPY_COLUMNS, *COMM_COLUMNS, "waits_for", "collective",
)  # fmt: skip


def _table(pieces: list[dict[str, Any]]) -> pd.DataFrame:
    none = np.empty(0, np.int64)

    def taken(name: str) -> npt.NDArray[Any]:
        """Join a column of all pieces, which let go of it."""
        return np.concatenate([piece.pop(name) for piece in pieces]) if pieces else none

    first = {name: taken(name) for name in ("start_ns", "gpu")}
    order = np.lexsort((first["gpu"], first["start_ns"]))
    columns: dict[str, Any] = {
        name: (first[name] if name in first else taken(name))[order] for name in _ORDER
    }
    columns["kind"] = pd.Categorical.from_codes(columns["kind"], pd.Index(STALL_KINDS))
    columns["place"] = pd.Categorical.from_codes(columns["place"], pd.Index(PLACES))
    columns["cause"] = pd.Categorical.from_codes(columns["cause"], pd.Index(CAUSES))
    return pd.DataFrame(columns, copy=False)
