"""Finds the stalls: where a GPU is idle, only copies, or communicates exposed, and why.

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


@dataclass(frozen=True, eq=False)
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
        - `place` (category of `PLACES`), `lap`, `lap_after`: the iterations of the operation before and of
          the one after
        - `before_kind`, `before_index`, `after_kind`, `after_index`: operations, kinds as in `GPU_KINDS`
        - `launch` (into ``trace.api``): the call that launched the operation after; `thread`: its thread
        - `cause` (category of `CAUSES`)
        - idle: `SHARES` in ns, which sum to `duration_ns`; `followed` (the thread taken instead),
          `blocking_call`, `other_call` (the longest of the name with most time, into ``trace.api``),
          `os_call`
        - `drained_by` (into ``trace.api``), `inside` (into ``trace.nvtx``)
        - GPU side: `awaited` (into ``trace.api``), the wait for an event in the stream before the operation
          after
        - copy only: `copy_kind`, `copy_index` (the operation with most of the stall), `copies`, `bytes`
          (of all that touch it), `throughput_gb_s` (of that operation), `pageable`, `in_front` (before an
          iteration's first kernel)
        - exposed communication: `wait_ns`, `transfer_ns`, `unmatched_ns`, which sum to `duration_ns`,
          `waits_for` (a GPU), `collective` (into ``trace.kernels``)
    short : DataFrame
        `kind`, `gpu`, `count`, `total_ns` of those shorter than `min_ns`.
    in_doubt : bool
        Whether the iterations are derived or guessed.
    """

    trace: Trace
    min_ns: int
    table: pd.DataFrame
    short: pd.DataFrame
    in_doubt: bool = False

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
        # The shortest length goes first since it is always there and makes the mask: the others only narrow
        # it.
        mask = self._duration >= min_ns
        for column, wanted in (("kind", kinds), ("cause", causes), ("place", places), ("gpu", gpus)):
            if wanted is not None:
                mask &= self.table[column].isin(list(wanted)).to_numpy()
        return np.flatnonzero(mask)

    def exactly(self, start_ns: int, end_ns: int) -> int | None:
        """Return the first stall that begins and ends just there, None where there is none."""
        low, high = np.searchsorted(self._start, (start_ns, start_ns + 1))
        same = np.flatnonzero(self.table["end_ns"].to_numpy()[low:high] == end_ns)
        return int(low + same[0]) if len(same) else None

    def at(self, gpu: int, time_ns: int) -> int | None:
        """Return the stall of a GPU that holds an instant, None outside all."""
        numbers, starts, ends = self._of_gpu[gpu]
        # The stalls of a GPU are disjoint and sorted: only the last one that has begun can hold the instant.
        last = int(np.searchsorted(starts, time_ns, side="right")) - 1
        return int(numbers[last]) if last >= 0 and time_ns < ends[last] else None

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
        """Return similar stalls as one line each, see `viewer.analysis.stalls.stall_tables.groups`."""
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
        # Copies by GPU, kept: `at` is asked for every movement of the mouse, and must not search all GPUs'
        # stalls.
        rows = [np.flatnonzero(gpu == g.index) for g in self.trace.gpus]
        return [(numbers, self._start[numbers], end[numbers]) for numbers in rows]


def find_stalls(inputs: StallInputs, iterations: Iterations | None, min_ns: int = MIN_STALL_NS) -> Stalls:
    """Find the stalls of every GPU in the trace's window, and the cause of each one.

    Parameters
    ----------
    iterations : Iterations or None
        They say which stalls lie inside an iteration and which between two; None without iterations.
    min_ns : int
        The shortest stall to list.
    """
    # One for all GPUs: the threads of a process launch on several, and what they did is the same for each.
    hosts = Hosts(inputs.launches)
    pieces: list[dict[str, Any]] = []
    short: list[tuple[str, int, int, int]] = []
    for gpu in inputs.trace.gpus:
        neighbours = _Neighbours(inputs.order_of(gpu.index))
        for kind in STALL_KINDS:
            intervals = inputs.parts[gpu.index].intervals(kind)
            long = intervals.lengths >= min_ns
            brief = intervals.lengths[~long]
            short.append((kind, gpu.index, len(brief), int(brief.sum())))
            start, end = intervals.start_ns[long], intervals.end_ns[long]
            pieces.append(_of_kind(inputs, hosts, iterations, gpu.index, kind, start, end, neighbours))
    table = _table(pieces)
    brief_ones = pd.DataFrame(short, columns=["kind", "gpu", "count", "total_ns"])
    return Stalls(inputs.trace, min_ns, table, brief_ones, iterations is not None and iterations.guess)


@dataclass
class _Neighbours:
    """The operation that ended last before an instant, and the first that starts at or after it."""

    order: GpuOrder

    @cached_property
    def by_end(self) -> Indices:
        # The order is by start; by end it is another one wherever operations overlap. It is made once for all
        # kinds of stalls.
        return np.argsort(self.order.end_ns, kind="stable")

    def before(self, times: Int64) -> Indices:
        ends = self.order.end_ns[self.by_end]
        # On the right: a stall begins at the very nanosecond at which the operation before it ends.
        rank = np.searchsorted(ends, times, side="right") - 1
        # Both branches of `where` are computed: -1 is clipped so that it indexes something.
        return np.where(rank >= 0, self.by_end[np.maximum(rank, 0)] if len(ends) else -1, -1)

    def after(self, times: Int64) -> Indices:
        # On the left: the operation after starts when the stall ends, and of several the first is meant.
        position = np.searchsorted(self.order.start_ns, times, side="left")
        return np.where(position < len(self.order), position, -1)


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
    """Return the columns of the stalls of one kind on one GPU, all of shape (stalls,)."""
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
    # `before` and `after` are positions in the order; the table has kind and index, which outlive it.
    for name, position in (("before", before), ("after", after)):
        known, clipped = position >= 0, np.maximum(position, 0)
        for field, values, dtype in (("kind", order.kind, np.int8), ("index", order.index, np.int32)):
            picked = values[clipped].astype(np.int64) if len(order) else clipped
            columns[f"{name}_{field}"] = np.where(known, picked, -1).astype(dtype)
    columns["launch"] = launch.astype(np.int32)
    if kind == IDLE:
        causes = find_causes(hosts, inputs.trace.gpus[gpu].process, start, end, launch, queued)
    else:
        # What is busy has no idle time to split; only the thread and the range around are asked for.
        causes = placed(hosts, start, end, launch)
    columns |= _columns_of(causes)
    # All kinds have all columns, since the pieces are joined column by column.
    columns["awaited"] = np.full(len(start), -1, np.int32)
    if kind == IDLE:
        # Only an operation that was already in the queue can have been held up by a wait for an event.
        on_gpu = np.flatnonzero(causes.cause == IDLE_CAUSES.index(ON_GPU_SIDE))
        following = columns["after_kind"][on_gpu], columns["after_index"][on_gpu]
        columns["awaited"][on_gpu] = event_waits(inputs.launches, gpu, *following)
    is_copy, is_comm = kind == COPY_ONLY, kind == EXPOSED
    front = None
    if is_copy and iterations is not None:
        front = before_first_kernel(inputs.trace, inputs.classes, iterations, gpu)
    columns |= copy_facts(inputs.trace, gpu, start, end, front, wanted=is_copy)
    columns |= comm_facts(inputs.collectives, inputs.classes, gpu, start, end, wanted=is_comm)
    if kind == COPY_ONLY:
        columns["cause"] = np.full(len(start), CAUSES.index(COPY_CAUSE), np.int8)
    elif kind == EXPOSED:
        # The largest of `COMM_COLUMNS` is the cause; `CAUSES` has `COMM_CAUSES` in the same order.
        shares = np.stack([columns[name] for name in COMM_COLUMNS])
        columns["cause"] = (shares.argmax(axis=0) + CAUSES.index(COMM_CAUSES[0])).astype(np.int8)
    return {name: narrowed(values) if name in _SIZES else values for name, values in columns.items()}


def _launch(launches: Launches, order: GpuOrder, after: Indices) -> tuple[Indices, Int64]:
    """Return the call that launched each operation (-1), and how long it was queued (`UNKNOWN`)."""
    # A kind at a time: the launching calls are kept per table, and an index means nothing without its kind.
    call = np.full(len(after), -1, np.int64)
    clipped = np.maximum(after, 0)
    for position, kind in enumerate(GPU_KINDS):
        if len(launches.trace.events[kind]) and len(order):
            of_kind = (after >= 0) & (order.kind[clipped] == position)
            call[of_kind] = launches.api_of(kind)[order.index[clipped[of_kind]]]
    queued = np.full(len(after), UNKNOWN, np.int64)
    known = call >= 0
    # A call may return after its operation has started; that one was not queued, rather than queued for a
    # negative time.
    queued[known] = np.maximum(order.start_ns[after[known]] - launches.trace.api.end_ns[call[known]], 0)
    return call, queued


def _iterations(
    iterations: Iterations | None, gpu: int, order: GpuOrder, before: Indices, after: Indices
) -> dict[str, npt.NDArray[Any]]:
    """Return the place of each stall, and the iterations of the operations around it, -1 for none."""
    if iterations is None:
        none = np.full(len(before), -1, np.int32)
        code = np.full(len(before), PLACES.index(NO_ITERATIONS), np.int8)
        return {"place": code, "lap": none, "lap_after": none.copy()}
    numbers = []
    for position in (before, after):
        starts = order.start_ns[np.maximum(position, 0)] if len(order) else np.zeros(len(position), np.int64)
        iteration = np.searchsorted(iterations.starts[gpu], starts, side="right") - 1
        # An operation of length zero may start where the last iteration ends, with it.
        known = (position >= 0) & (iteration >= 0) & (iteration < iterations.count)
        numbers.append(np.where(known, iteration, -1).astype(np.int32))
    earlier, later = numbers
    # The first condition that holds is taken. It has to be the missing iteration, as -1 == -1 would be
    # inside.
    place = np.select(
        [(earlier < 0) | (later < 0), earlier == later],
        [PLACES.index(OUTSIDE), PLACES.index(INSIDE)],
        PLACES.index(BETWEEN),
    )
    return {"place": place.astype(np.int8), "lap": earlier, "lap_after": later}


def _columns_of(causes: Causes) -> dict[str, npt.NDArray[Any]]:
    columns: dict[str, npt.NDArray[Any]] = {"cause": causes.cause}
    columns |= {name: causes.shares[i] for i, name in enumerate(SHARES)}
    for name in _CAUSE_COLUMNS:
        columns[name] = getattr(causes, name).astype(np.int32)
    return columns


_SIZES = (*SHARES, *COMM_COLUMNS, "bytes")
_ORDER = (
    "kind", "gpu", "start_ns", "end_ns", "duration_ns", "place", "lap", "lap_after", "cause",
    "before_kind", "before_index", "after_kind", "after_index", "launch", *_CAUSE_COLUMNS, "awaited",
    *SHARES, *COPY_COLUMNS, *COMM_COLUMNS, "waits_for", "collective",
)  # fmt: skip


def _table(pieces: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the table of all pieces by (start_ns, gpu)."""
    none = np.empty(0, np.int64)

    def taken(name: str) -> npt.NDArray[Any]:
        """Join a column of all pieces and remove it from them, so that it is not in memory twice."""
        return np.concatenate([piece.pop(name) for piece in pieces]) if pieces else none

    # The keys of the order come first; every other column is then put in order as it is joined, and only one
    # of them is there twice at a time.
    first = {name: taken(name) for name in ("start_ns", "gpu")}
    # `lexsort` takes its last key first. The GPU breaks ties, so that a stall's number does not depend on the
    # order in which the GPUs were searched.
    order = np.lexsort((first["gpu"], first["start_ns"]))
    columns: dict[str, Any] = {
        name: (first[name] if name in first else taken(name))[order] for name in _ORDER
    }
    # Codes, not texts: a million stalls have a handful of kinds, and a filter compares bytes.
    columns["kind"] = pd.Categorical.from_codes(columns["kind"], pd.Index(STALL_KINDS))
    columns["place"] = pd.Categorical.from_codes(columns["place"], pd.Index(PLACES))
    columns["cause"] = pd.Categorical.from_codes(columns["cause"], pd.Index(CAUSES))
    return pd.DataFrame(columns, copy=False)
