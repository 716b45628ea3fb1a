"""Finds the iterations by a marker: where each one begins on each GPU.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.core.parallel import each
from viewer.analysis.iterations.candidate import Candidate, Instances
from viewer.analysis.iterations.flags import special_iterations
from viewer.analysis.iterations.mark import Marked, mark
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.iteration_bounds import Iterations, Marker, make_iterations
from viewer.trace import Trace
from viewer.trace.events import Int64
from viewer.trace.names import strip_arguments


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
    if marker.positions:
        iterations = _guessed_iterations(launches.trace, order_of, marker)
    else:
        iterations = _marked_iterations(launches, marker)
    # Markers of which every instance is empty divide nothing; they would give thousands of iterations of
    # length zero.
    if iterations is None or not (iterations.starts[:, -1] > iterations.starts[:, 0]).any():
        return None
    return iterations


def _marked_iterations(launches: Launches, marker: Candidate) -> Iterations | None:
    """Return the iterations that the instances of a marker launched."""
    trace = launches.trace
    names, instances, warnings = _aligned(trace, marker)
    notes: tuple[str, ...] = ()
    if not names:
        return None
    # Process by process on several threads: each searches its own launches alone.
    each_marked = each(lambda process: mark(launches, process, instances[process]), instances)
    marked = dict(zip(instances, each_marked, strict=True))
    # All or none: iterations are numbered alike on all ranks, or they could not be compared.
    count, marked = _agreed_copies(marked)
    if count > 1:
        names = [f"{name} {copy + 1}/{count}" for name in names for copy in range(count)]
        notes = (f"each range holds {count} copies of one sequence of kernels: the iterations are those",)
    elif marker.warning:
        warnings = [*warnings, marker.warning]
    starts = np.zeros((len(trace.gpus), len(names) + 1), np.int64)
    has_own = np.zeros(len(trace.gpus), bool)
    for gpu in trace.gpus:
        if gpu.process in marked:
            edges = marked[gpu.process].boundaries(gpu.index, len(names))
            # A GPU on which the marker launched nothing has no edges: `_completed` lends it those of the
            # others.
            if edges is not None:
                starts[gpu.index], has_own[gpu.index] = edges, True
    # By the edges on the CPU, where a checkpoint or an evaluation is a range; on the GPU it may be nothing.
    special = special_iterations(trace, {p: m.cpu_edges for p, m in marked.items()})
    return _completed(trace, marker, names, starts, has_own, warnings, special, notes)


def _agreed_copies(marked: dict[int, Marked]) -> tuple[int, dict[int, Marked]]:
    """Return the number of copies that all processes share, else 1 with the instances unsplit."""
    counts = {m.copies for m in marked.values()}
    if len(counts) == 1:
        return counts.pop(), marked
    return 1, {process: m.unsplit() for process, m in marked.items()}


def _aligned(trace: Trace, marker: Candidate) -> tuple[list[str], dict[int, Instances], list[str]]:
    """Return the iterations' names, each process's instances, iteration by iteration, and what is wrong.

    Instances are matched by their texts where each process has every text once ("step 12"), else by their
    order; where some have more, those that begin nearest to each other, as many as every process has.
    """
    wrong = [f"the ranks do not agree: {marker.disagreement}"] if marker.disagreement else []
    count = min(len(of_process) for of_process in marker.instances.values())
    if marker.what == "optimizer":
        texts = {
            p: [f"up to {marker.name} {number}" for number in range(len(of_process))]
            for p, of_process in marker.instances.items()
        }
    else:
        texts = {p: _texts(trace, of_process) for p, of_process in marker.instances.items()}
    lead = next(iter(texts.values()))
    if all(t == lead for t in texts.values()):
        # The common case: all ranks ran the same loop, and nothing is to be matched.
        return lead, dict(marker.instances), wrong
    if marker.what == "range" and all(max(Counter(t).values()) == 1 for t in texts.values()):
        shared = [text for text in lead if all(text in t for t in texts.values())]
        # One text in common may be chance; two make a span that all ranks share.
        if len(shared) >= 2:
            wrong.append(f"iterations are those {len(shared)} that all ranks have, matched by their texts")
            picked = {
                p: of_process.take(np.array([texts[p].index(text) for text in shared]))
                for p, of_process in marker.instances.items()
            }
            return shared, picked, wrong
    if all(len(t) == count for t in texts.values()):
        return lead, dict(marker.instances), wrong
    fewest = next(i for i in marker.instances.values() if len(i) == count)
    picked = {process: _beside(fewest, instances) for process, instances in marker.instances.items()}
    wrong.append(f"iterations are {count} of each rank, matched by their times")
    names = _texts(trace, next(iter(picked.values()))) if marker.what == "range" else lead[:count]
    return names, picked, wrong


def _texts(trace: Trace, instances: Instances) -> list[str]:
    """Return the texts of instances, without the arguments that PyTorch adds."""
    return [strip_arguments(text) for text in trace.names.take(instances.name_ids)]


def _beside(fewest: Instances, instances: Instances) -> Instances:
    """Return as many consecutive instances as another rank has, those that begin nearest to its ones."""
    count = len(fewest)
    shifts = range(len(instances) - count + 1)
    apart = [np.median(np.abs(instances.start_ns[s : s + count] - fewest.start_ns)) for s in shifts]
    shift = int(np.argmin(apart))
    return instances.take(slice(shift, shift + count))


def _guessed_iterations(
    trace: Trace, order_of: Callable[[int], GpuOrder], marker: Candidate
) -> Iterations | None:
    """Return the iterations that begin where a guess says."""
    starts = np.zeros((len(trace.gpus), marker.count + 1), np.int64)
    has_own = np.zeros(len(trace.gpus), bool)
    for gpu, begins in marker.positions.items():
        order = order_of(gpu)
        starts[gpu, :-1] = order.start_ns[begins[:-1]]
        starts[gpu, -1] = order.end_ns[begins[-2] : begins[-1]].max()
        has_own[gpu] = True
    names = [f"{marker.name} {iteration}" for iteration in range(marker.count)]
    warnings = [f"the GPUs do not agree: {marker.disagreement}"] if marker.disagreement else []
    return _completed(trace, marker, names, starts, has_own, warnings)


def _completed(
    trace: Trace,
    marker: Candidate,
    names: list[str],
    starts: Int64,
    has_own: npt.NDArray[np.bool_],
    warnings: list[str],
    special: dict[int, tuple[str, str]] | None = None,
    notes: tuple[str, ...] = (),
) -> Iterations | None:
    """Give the GPUs without boundaries of their own the earliest of the others, and make the iterations.

    None where no GPU has any, or where most last no time: their times are damaged.
    """
    if not has_own.any():
        return None
    own = starts[has_own]
    # As in `Iterations.edges_ns`: what is lent has to agree with what is shown for all GPUs.
    edges = np.append(own[:, :-1].min(axis=0), own[:, -1].max())
    if np.median(np.diff(edges)) <= 0:
        return None
    starts[~has_own] = edges
    if not has_own.all():
        without = ", ".join(trace.gpu_label(g) for g in np.flatnonzero(~has_own).tolist())
        warnings = [
            *warnings,
            f"launches nothing on {without}: shown with the earliest boundaries of the others",
        ]
    by = Marker(marker.name, marker.kind, marker.why, marker.unit)
    return make_iterations(by, names, starts, has_own, special, notes, tuple(warnings))
