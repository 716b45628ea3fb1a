"""Finds the iterations by a marker: where each one begins on each GPU.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.core.parallel import each
from viewer.analysis.iterations.flags import special_iterations
from viewer.analysis.iterations.markers import Candidate
from viewer.analysis.iterations.periodicity import keys_of
from viewer.analysis.iterations.unroll import copies
from viewer.analysis.launches.attribution import Cover, Indices
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.iteration_bounds import Iterations, make_iterations
from viewer.trace import Trace
from viewer.trace.events import Int64

_LATEST, _EARLIEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


@dataclass(frozen=True)
class _Marked:
    """One process's marker: the iteration of each operation, and when each iteration begins on the CPU.

    Attributes
    ----------
    iteration : ndarray of int64, shape (operations,)
        -1 for operations outside all instances.
    copies : int
        Iterations per instance.
    cpu_edges : ndarray of int64, shape (iterations + 1,)
    """

    cover: Cover
    iteration: Indices
    copies: int
    cpu_edges: Int64


def find_iterations(
    launches: Launches, order_of: Callable[[int], GpuOrder], marker: Candidate
) -> Iterations | None:
    """Return the iterations by a marker, None where it marks none or all of them are empty.

    Parameters
    ----------
    order_of : callable
        Gives a GPU's operations by start; a guess counts them.
    """
    if marker.what == "none":
        return None
    if marker.guess:
        iterations = _guessed_iterations(launches.trace, order_of, marker)
    else:
        iterations = _marked_iterations(launches, marker)
    if iterations is None or not (iterations.starts[:, -1] > iterations.starts[:, 0]).any():
        return None
    return iterations


def _marked_iterations(launches: Launches, marker: Candidate) -> Iterations | None:
    """Return the iterations that the instances of an NVTX range launched."""
    trace = launches.trace
    names, ranges, notes = _aligned(trace, marker)
    if not names:
        return None
    marked = dict(zip(ranges, each(lambda p: _mark(launches, p, ranges[p]), ranges), strict=True))
    count, marked = _agreed_copies(marked)
    if count > 1:
        names = [f"{name} {copy + 1}/{count}" for name in names for copy in range(count)]
        notes = [
            *notes,
            f"each range holds {count} copies of one sequence of kernels: the iterations are those",
        ]
    starts = np.zeros((len(trace.gpus), len(names) + 1), np.int64)
    has_own = np.zeros(len(trace.gpus), bool)
    for gpu in trace.gpus:
        if gpu.process in marked:
            edges = _boundaries(marked[gpu.process], gpu.index, len(names))
            if edges is not None:
                starts[gpu.index], has_own[gpu.index] = edges, True
    special = special_iterations(trace, {p: m.cpu_edges for p, m in marked.items()})
    return _completed(trace, marker, names, starts, has_own, special, notes)


def _mark(launches: Launches, process: int, ranges: Indices) -> _Marked:
    """Give each operation of a process the instance that launched it, or its copy within the instance."""
    trace, nvtx = launches.trace, launches.trace.nvtx
    cover = Cover(launches, process)
    track = trace.tracks[nvtx.owner_of(int(ranges[0]))]
    start, end = nvtx.start_ns[ranges], nvtx.end_ns[ranges]
    instance = cover.outermost(track.thread, track.domain, start, end, "process")
    count, iteration = copies(cover.launched, instance, trace.names[int(nvtx.name_id[ranges[0]])])
    if count == 1:
        return _Marked(cover, iteration, 1, np.append(start, end[-1]))
    first_call = _reduced(np.minimum, iteration, cover.launched.call_start_ns, len(ranges) * count, _LATEST)
    # The first copy of an instance begins with the instance, not with its first launch.
    first_call[::count] = start
    return _Marked(cover, iteration, count, np.append(first_call, end[-1]))


def _agreed_copies(marked: dict[int, _Marked]) -> tuple[int, dict[int, _Marked]]:
    """Return the number of copies that all processes share, else 1 with the instances unsplit."""
    counts = {m.copies for m in marked.values()}
    if len(counts) == 1:
        return counts.pop(), marked
    unsplit = {
        p: _Marked(
            m.cover,
            np.where(m.iteration < 0, -1, m.iteration // m.copies),
            1,
            _unsplit(m.cpu_edges, m.copies),
        )
        for p, m in marked.items()
    }
    return 1, unsplit


def _unsplit(edges: Int64, count: int) -> Int64:
    """Return the edges of the instances, of which each has `count` copies."""
    return np.append(edges[:-1:count], edges[-1])


def _boundaries(marked: _Marked, gpu: int, iterations: int) -> Int64 | None:
    """Return when each iteration begins on a GPU, and when the last ends: shape (iterations + 1,), or None.

    An iteration that launched nothing there is empty: it begins where the next one does.
    """
    ops = marked.cover.launched
    iteration = np.where(ops.gpu == gpu, marked.iteration, -1)
    if not (iteration >= 0).any():
        return None
    first = _reduced(np.minimum, iteration, ops.start_ns, iterations, _LATEST)
    last_iteration = int(iteration.max())
    end = int(ops.end_ns[iteration == last_iteration].max())
    # Running minimum from the end: an empty iteration takes the start of the next one, and starts never fall.
    first = np.minimum.accumulate(np.minimum(first, end)[::-1])[::-1]
    return np.append(first, max(end, int(first[-1])))


def _reduced(how: np.ufunc, group: Indices, values: Int64, groups: int, empty: int) -> Int64:
    """Reduce the values of each group by a ufunc, `empty` for groups without values: shape (groups,)."""
    out = np.full(groups, empty, np.int64)
    in_group = (group >= 0) & (group < groups)
    how.at(out, group[in_group], values[in_group])
    return out


def _aligned(trace: Trace, marker: Candidate) -> tuple[list[str], dict[int, Indices], list[str]]:
    """Return the iterations' names and each process's instances, iteration by iteration.

    Instances are matched by their texts where each process has every text once ("step 12"), else by their
    order, as many as every process has.
    """
    texts = {p: trace.names.take(trace.nvtx.name_id[rows]) for p, rows in marker.ranges.items()}
    notes = [f"the ranks do not agree: {marker.disagreement}"] if marker.disagreement else []
    lead = next(iter(texts.values()))
    if all(t == lead for t in texts.values()):
        return lead, dict(marker.ranges), notes
    if all(max(Counter(t).values()) == 1 for t in texts.values()):
        shared = [text for text in lead if all(text in t for t in texts.values())]
        if len(shared) >= 2:
            notes.append(f"iterations are those {len(shared)} that all ranks have, matched by their texts")
            picked = {p: rows[[texts[p].index(s) for s in shared]] for p, rows in marker.ranges.items()}
            return shared, picked, notes
    count = min(len(t) for t in texts.values())
    if any(len(t) != count for t in texts.values()):
        notes.append(f"iterations are the first {count} of each rank, matched by their order")
    return lead[:count], {p: rows[:count] for p, rows in marker.ranges.items()}, notes


def _guessed_iterations(
    trace: Trace, order_of: Callable[[int], GpuOrder], marker: Candidate
) -> Iterations | None:
    """Return the iterations that begin with an operation that comes back regularly."""
    starts = np.zeros((len(trace.gpus), marker.count + 1), np.int64)
    has_own = np.zeros(len(trace.gpus), bool)
    for gpu in trace.gpus:
        order = order_of(gpu.index)
        first = np.flatnonzero(keys_of(trace, order) == marker.key)
        if len(first) != marker.count:
            continue
        # Nothing marks the end of the last iteration: it has as many operations as the median one.
        spacing = int(np.median(np.diff(first)))
        starts[gpu.index, :-1] = order.start_ns[first]
        starts[gpu.index, -1] = order.end_ns[first[-1] : first[-1] + spacing].max()
        has_own[gpu.index] = True
    names = [f"{marker.name} {iteration}" for iteration in range(marker.count)]
    notes = [f"no range marks an iteration: guessed by the rhythm of {marker.name}"]
    return _completed(trace, marker, names, starts, has_own, {}, notes)


def _completed(
    trace: Trace,
    marker: Candidate,
    names: list[str],
    starts: Int64,
    has_own: npt.NDArray[np.bool_],
    special: dict[int, tuple[str, str]],
    notes: list[str],
) -> Iterations | None:
    """Give the GPUs without boundaries of their own the earliest of the others, and make the iterations.

    None where no GPU has any, or where most last no time: their times are damaged.
    """
    if not has_own.any():
        return None
    own = starts[has_own]
    edges = np.append(own[:, :-1].min(axis=0), own[:, -1].max())
    if np.median(np.diff(edges)) <= 0:
        return None
    starts[~has_own] = edges
    if not has_own.all():
        without = ", ".join(trace.gpu_label(g) for g in np.flatnonzero(~has_own).tolist())
        notes = [*notes, f"launches nothing on {without}: shown with the earliest boundaries of the others"]
    return make_iterations(marker.name, names, starts, has_own, special, marker.guess, tuple(notes))
