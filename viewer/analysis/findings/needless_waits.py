"""Compute kernels that wait for a collective whose result they do not need.

Nothing in a trace says what a kernel needs. What is taken for it: the same kernel, after the same kernel on
its stream, runs at least as often in the same iteration before any collective of that kind was there to be
waited for (in earlier micro-batches). Only reductions count: what is gathered, sent or broadcast is needed by
what follows it, once it is there. See docs/definitions.md, section 14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.collective_kinds import collective_kind
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.trace.events import Int64

REDUCTIONS = ("ReduceScatter", "AllReduce", "Reduce")
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NeedlessWaits:
    """Kernels that wait for the collectives of one kind on one stream number, and need not.

    Attributes
    ----------
    kind : str
        The kind of collective.
    waits : ndarray of int64
        All of them, indices into `DependencyGraph.waits`.
    kernels : ndarray of int64, shape (n,)
        The kernels whose starts they bind, indices into ``trace.kernels``.
    ready_ns : ndarray of int64, shape (n,)
        When each could have started without the wait.
    elsewhere : int
        How many kernels like these ran before any such collective, in the same iterations.
    is_proven : bool
        Whether all the waits are proven by ids; else by handle.
    """

    kind: str
    waits: Int64
    kernels: Int64
    ready_ns: Int64
    elsewhere: int
    is_proven: bool


def needless_waits(inputs: FindingInputs) -> Iterator[NeedlessWaits]:
    """Yield the needless waits in the used iterations, one for each kind of collective."""
    graph, trace = inputs.study.dependencies, inputs.trace
    waits, ops, kernels = graph.waits, graph.operations, trace.kernels
    classes = inputs.study.classes
    if not len(waits) or not inputs.used:
        return
    kinds = reduction_kinds(inputs)
    # One row for each producer of each wait.
    wait_of = np.repeat(np.arange(len(waits)), np.diff(waits.offsets))
    next_op = waits.target[wait_of]
    is_compute = np.zeros(len(ops), bool)
    # Kernels are the first operations of all, so that their numbers are indices into their table too.
    is_compute[: len(kernels)] = ~classes.is_comm(kernels.name_id)
    known = (next_op >= 0) & (waits.producer_grade >= Grade.HANDLE)
    known &= is_compute[np.maximum(next_op, 0)] & (waits.producers < len(kernels))
    of_wait, target, source = (a[known].astype(np.int64) for a in (wait_of, next_op, waits.producers))
    unit = _unit_of(inputs, ops.start_ns, ops.stream)
    name = np.full(len(ops), -1, np.int64)
    name[: len(kernels)] = kernels.name_id
    before = np.where(ops.previous >= 0, name[np.maximum(ops.previous, 0)], -1)
    for kind in REDUCTIONS:
        of_kind = (kinds[source] == REDUCTIONS.index(kind)) & (unit[target] >= 0)
        if not of_kind.any():
            continue
        chosen = np.zeros(len(of_kind), bool)
        elsewhere = 0
        for stream in np.unique(ops.stream[source[of_kind]]).tolist():
            # Of one communicator: its stream. What other ones do says nothing of these.
            of_stream = of_kind & (ops.stream[source] == stream)
            first = _first_start(inputs, kinds == REDUCTIONS.index(kind), stream)
            early = is_compute & (unit >= 0) & (ops.start_ns < first[np.maximum(unit, 0)])
            chosen[of_stream], count = _runs_without(early, unit, name, before, target[of_stream])
            elsewhere += count
        binds = chosen & (graph.binding[target] == EdgeKind.EVENT) & (graph.binder[target] == source)
        if binds.any():
            held = np.unique(target[binds])
            is_proven = bool((graph.grade[held] == Grade.PROVEN).all())
            yield NeedlessWaits(kind, of_wait[chosen], held, _ready(inputs, held), elsewhere, is_proven)


def reduction_kinds(inputs: FindingInputs) -> Int64:
    """Return which of `REDUCTIONS` each kernel is, -1 for none of them, shape (kernels,)."""
    kernels, classes = inputs.trace.kernels, inputs.study.classes
    of_name = np.full(len(inputs.trace.names), -1, np.int64)
    for name in np.unique(kernels.name_id).tolist():
        if classes.is_comm(np.array([name], np.uint32))[0]:
            kind = collective_kind(inputs.trace.names[name])
            of_name[name] = REDUCTIONS.index(kind) if kind in REDUCTIONS else -1
    return of_name[kernels.name_id]


def _unit_of(inputs: FindingInputs, start: Int64, stream: npt.NDArray[np.int32]) -> Int64:
    """Return the unit of each operation, by its GPU's own boundaries; -1 outside all."""
    gpu_of = np.array([s.gpu for s in inputs.trace.streams], np.int64)
    gpu = gpu_of[stream]
    unit = np.full(len(start), -1, np.int64)
    for number in range(len(inputs.trace.gpus)):
        own = np.flatnonzero(gpu == number)
        low, high = inputs.windows[0][number], inputs.windows[1][number]
        place = np.searchsorted(low, start[own], side="right") - 1
        inside = (place >= 0) & (start[own] < high[np.maximum(place, 0)])
        # The GPU is part of the number, so that what is of one unit is of one GPU too.
        unit[own] = np.where(inside, place * len(inputs.trace.gpus) + number, -1)
    return unit


def _first_start(inputs: FindingInputs, is_kind: Mask, stream: int) -> Int64:
    """Return when the first collective of a kind on a stream starts in each unit, shape (units × GPUs,)."""
    kernels = inputs.trace.kernels
    rows = np.arange(*kernels.of(stream).indices(len(kernels))[:2])
    rows = rows[is_kind[rows]]
    unit = _unit_of(inputs, kernels.start_ns[rows], np.full(len(rows), stream, np.int32))
    first = np.full(inputs.windows[0].size, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first, unit[unit >= 0], kernels.start_ns[rows][unit >= 0])
    return first


def _runs_without(early: Mask, unit: Int64, name: Int64, before: Int64, target: Int64) -> tuple[Mask, int]:
    """Return which of some kernels run as often before any of the collectives, and how often all those do.

    `early` are the kernels before the first collective of their unit, `name` and `before` the names of each
    kernel and of the one before it.
    """
    early = early & np.isin(unit, np.unique(unit[target]))
    base = int(name.max(initial=0)) + 2
    # A kernel and the one before it on its stream, as one number; -1 stands for no kernel before.
    like = name * base + before + 1
    names, count = np.unique(like[early], return_counts=True)
    asked, of_asked, times = np.unique(like[target], return_inverse=True, return_counts=True)
    place = np.minimum(np.searchsorted(names, asked), max(len(names) - 1, 0))
    found = np.where(names[place] == asked, count[place], 0) if len(names) else np.zeros(len(asked), int)
    free = found >= times
    return free[of_asked], int(found[free].sum())


def _ready(inputs: FindingInputs, target: Int64) -> Int64:
    """Return when each kernel had been launched, and the one before it on its stream was done, ns."""
    ops, api = inputs.study.dependencies.operations, inputs.trace.api
    previous, call = ops.previous[target], ops.call[target]
    done = np.where(previous >= 0, ops.end_ns[np.maximum(previous, 0)], 0)
    launched = np.where(call >= 0, api.end_ns[np.maximum(call, 0)], 0)
    return np.minimum(np.maximum(done, launched), ops.start_ns[target])
