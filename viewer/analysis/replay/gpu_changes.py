"""What changes to operations do: they last longer or shorter, or are no longer waited for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.collective_kinds import collective_kind
from viewer.analysis.collectives.rank_comparison import same_work_of
from viewer.analysis.core.classify import CLASS_LABELS, CLASSES
from viewer.analysis.dependencies.graph import EdgeKind
from viewer.analysis.kernels.copies import before_first_kernel
from viewer.analysis.replay.changes import ChangeError, Hide, NoWait, RemoveCopies, Scale
from viewer.analysis.replay.effects import Effects, Mask
from viewer.analysis.replay.host_changes import free_calls, named_ranges
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.events import Int64

_MEMCPY = GPU_KINDS.index(Kind.MEMCPY)


def flatten_ranks(replay: Replay, effects: Effects, iterations: Iterations | None) -> Effects:
    """Give each compute kernel the median of its twins' durations over the ranks that do the same work.

    Twins are the k-th kernels of one name in an iteration, in the order of their launches.
    """
    inputs, network = replay.inputs, replay.network
    if iterations is None:
        raise ChangeError("ranks can only be flattened iteration by iteration, and none were found")
    groups = [g for g in same_work_of(inputs.trace, iterations, inputs.collectives) if len(g) > 1]
    if not groups:
        raise ChangeError("no two ranks do the same work: there is nothing to flatten")
    work = effects.work_ns.copy()
    kernels, ops, api = inputs.trace.kernels, network.operations, inputs.trace.api
    for group in groups:
        rows, keys = [], []
        for gpu in group:
            own = inputs.trace.kernels.rows_of([s.index for s in inputs.trace.streams_of(gpu)])
            own = own[~inputs.classes.is_comm(kernels.name_id[own])].astype(np.int64)
            iteration = np.searchsorted(iterations.starts[gpu], kernels.start_ns[own], side="right") - 1
            inside = (iteration >= 0) & (iteration < iterations.count)
            own, iteration = own[inside], iteration[inside]
            call = ops.call[own]
            launched = (
                np.where(call >= 0, api.start_ns[call], ops.start_ns[own]) if len(api) else ops.start_ns[own]
            )
            order = np.lexsort((launched, kernels.name_id[own], iteration))
            own, name, iteration = own[order], kernels.name_id[own][order].astype(np.int64), iteration[order]
            rows.append(own)
            keys.append(np.stack((iteration, name, _nth(iteration, name))))
        operation = np.concatenate(rows)
        lasts = ops.end_ns[operation] - ops.start_ns[operation]
        work[operation] = _medians(np.concatenate(keys, axis=1), lasts)
    return replace(effects, work_ns=work)


def _nth(*sorted_by: Int64) -> Int64:
    """Return the place of each element in its run of equal values of some columns."""
    if not len(sorted_by[0]):
        return np.empty(0, np.int64)
    begins = np.concatenate(([True], np.any([c[1:] != c[:-1] for c in sorted_by], axis=0)))
    places = np.arange(len(begins))
    return np.asarray(places - np.maximum.accumulate(np.where(begins, places, 0)))


def _medians(keys: Int64, values: Int64) -> Int64:
    """Return for each value the median of those with its key, shape (n,); `keys` has shape (columns, n)."""
    if not len(values):
        return values
    order = np.lexsort((values, *keys[::-1]))
    ranked = keys[:, order]
    begins = np.concatenate(([True], (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)))
    first = np.flatnonzero(begins)
    count = np.diff(np.append(first, len(values)))
    in_order = values[order]
    middle = (in_order[first + (count - 1) // 2] + in_order[first + count // 2]) // 2
    result = np.empty(len(values), np.int64)
    result[order] = np.repeat(middle, count)
    return result


def scale(replay: Replay, effects: Effects, change: Scale) -> Effects:
    """Multiply the durations of kernels, of matched collectives their transfers."""
    inputs = replay.inputs
    trace = inputs.trace
    used = np.unique(trace.kernels.name_id)
    text = change.pattern.casefold()
    labels = {CLASS_LABELS.get(c, c).casefold(): i for i, c in enumerate(CLASSES)}
    labels |= {c.casefold(): i for i, c in enumerate(CLASSES)}
    if text in labels:
        ids = used[inputs.classes.class_of[used] == labels[text]]
    else:
        names = trace.names.take(used)
        ids = used[[text in name.casefold() for name in names]]
    if not len(ids):
        there = sorted({CLASS_LABELS.get(c, c) for c in map(inputs.classes.class_name, used.tolist())})
        which = (
            f"there are kernels of the classes {', '.join(there)}" if there else "the trace has no kernels"
        )
        raise ChangeError(f"no kernel's name holds {change.pattern!r}, and no class is called so; {which}")
    chosen = np.flatnonzero(np.isin(trace.kernels.name_id, ids))
    return _scaled(replay, effects, chosen, change.factor, change.pattern)


def hide(replay: Replay, effects: Effects, change: Hide) -> Effects:
    """Let the collectives of a kind transfer in no time."""
    return _scaled(replay, effects, _of_kind(replay, change.kind), 0.0, change.kind)


def _scaled(replay: Replay, effects: Effects, kernels: Int64, factor: float, what: str) -> Effects:
    inputs, network = replay.inputs, replay.network
    is_comm = inputs.classes.is_comm(inputs.trace.kernels.name_id[kernels])
    # Of a collective that is not matched nobody knows how much of it is transfer; it stays as it is.
    known = kernels[~is_comm | (network.in_set[kernels] >= 0)]
    if not len(known):
        raise ChangeError(
            f"the collectives {what!r} are not matched over the ranks: their transfer is not known"
        )
    work = effects.work_ns.copy()
    work[known] = np.rint(work[known] * factor).astype(np.int64)
    return replace(effects, work_ns=work)


def _of_kind(replay: Replay, kind: str) -> Int64:
    """Return the communication kernels of a kind of collective, indices into ``trace.kernels``."""
    inputs = replay.inputs
    names = inputs.trace.kernels.name_id
    used = np.unique(names)
    used = used[inputs.classes.is_comm(used)]
    kinds = {i: collective_kind(inputs.trace.names[i]) for i in used.tolist()}
    ids = [i for i, of_name in kinds.items() if of_name.casefold() == kind.casefold()]
    if not ids:
        there = sorted(set(kinds.values()))
        which = f"there are {', '.join(there)}" if there else "the trace has no collectives"
        raise ChangeError(f"there is no collective of the kind {kind!r}; {which}")
    return np.flatnonzero(np.isin(names, ids))


def remove_copies(
    replay: Replay, effects: Effects, change: RemoveCopies, iterations: Iterations | None
) -> Effects:
    """Let the copies of a kind before each iteration's first kernel take no time, nor their calls."""
    inputs, network = replay.inputs, replay.network
    trace, copies = inputs.trace, inputs.trace.events[Kind.MEMCPY]
    if iterations is None:
        raise ChangeError(
            "which copies lie before an iteration's first kernel is not known without iterations"
        )
    used = np.unique(copies.name_id)
    kinds = {i: trace.names[i].rsplit(" ", 1)[-1] for i in used.tolist()}
    ids = [i for i, kind in kinds.items() if kind.casefold() == change.kind.casefold()]
    if not ids:
        which = f"there are {', '.join(sorted(kinds.values()))}" if kinds else "the trace has no copies"
        raise ChangeError(f"there are no copies {change.kind!r}; {which}")
    chosen = [np.empty(0, np.int64)]
    for gpu in trace.gpus:
        rows = copies.rows_of([s.index for s in trace.streams_of(gpu.index)]).astype(np.int64)
        rows = rows[np.isin(copies.name_id[rows], ids)]
        low, first = before_first_kernel(trace, inputs.classes, iterations, gpu.index)
        place = np.searchsorted(low, copies.start_ns[rows], side="right") - 1
        chosen.append(rows[(place >= 0) & (copies.start_ns[rows] < first[place])])
    numbers = int(network.operations.first[_MEMCPY]) + np.concatenate(chosen)
    if not len(numbers):
        raise ChangeError(f"no {change.kind} copy lies before the first kernel of an iteration")
    work = effects.work_ns.copy()
    work[numbers] = 0
    calls = network.operations.call[numbers]
    return free_calls(replay, replace(effects, work_ns=work), calls[calls >= 0])


def no_wait(replay: Replay, effects: Effects, change: NoWait) -> Effects:
    """Drop the edges of stream waits whose producer is a collective of a kind."""
    inputs, network = replay.inputs, replay.network
    graph = inputs.graph
    waits = graph.waits
    is_awaited = np.zeros(len(network.operations), bool)
    is_awaited[_of_kind(replay, change.kind)] = True
    of_wait = np.repeat(np.arange(len(waits)), np.diff(waits.offsets))
    is_dropped = np.zeros(len(waits), bool)
    is_dropped[of_wait[is_awaited[waits.producers]]] = True
    if change.range_name is not None:
        is_dropped &= _called_in(replay, waits.call, change.range_name)
    if not is_dropped.any():
        where = f" is called in {change.range_name!r}" if change.range_name is not None else " is known"
        raise ChangeError(f"no stream wait for {change.kind}{where}")
    target = waits.target[of_wait]
    # Two waits before one launch may wait for the same: the edge goes with the last of them.
    pair = target.astype(np.int64) * len(network.operations) + waits.producers
    kept = pair[~is_dropped[of_wait] & (target >= 0)]
    gone = np.setdiff1d(pair[is_dropped[of_wait] & (target >= 0)], kept)
    edges = graph.op_edges
    of_edge = edges.target.astype(np.int64) * len(network.operations) + edges.source
    drops = (edges.kind == EdgeKind.EVENT) & np.isin(of_edge, gone)
    return replace(effects, dropped=effects.dropped | drops[network.extra_edge])


def _called_in(replay: Replay, calls: npt.NDArray[np.int32], name: str) -> Mask:
    """Return which calls begin inside a range of a name on their own thread."""
    inputs, hosts = replay.inputs, replay.network.hosts
    called = inputs.trace.api.start_ns[calls]
    thread = hosts.thread[hosts.outer_of[calls]]
    inside = np.zeros(len(calls), bool)
    for of_range, ranges in named_ranges(replay, name).items():
        own = thread == of_range
        inside[own] = ranges.covered(called[own], called[own] + 1) > 0
    return inside
