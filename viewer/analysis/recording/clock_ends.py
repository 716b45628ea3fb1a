"""Clocks of GPUs compared by the ends of collectives: offsets too small for launches and syncs to show.

See docs/definitions.md, section 10.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import runs
from viewer.trace import Trace
from viewer.trace.events import Int64

LEAST_NS = 10_000
"""An offset from which on a clock is off."""
_MOST_NS = 500_000
_STEADY_NS = 3_000
_SAMPLES, _LEAST_SAMPLES, _MOST_SEQUENCES = 192, 3, 128
_ENOUGH, _LEAST_OF_DRIFT = 12, 6
"""With fewer samples than enough half of them being steady may be chance: then all have to be."""
_OVERLAPPING = 0.9
_ALIKE = 0.2
_CLASSES = 2
_NEXT_SIZE = 1.5
_TIMES_STEADIEST, _ENOUGH_STEADY_NS = 3, 1_000
"""The GPUs of one group vary against each other by no more than these allow."""

Float = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EndOffset:
    """How a GPU's collectives end apart from those of the others: its clock is off by that.

    Attributes
    ----------
    offset_ns : int
        Later (positive) or earlier, in the middle of the trace's window.
    drift_ns : int
        How much the offset grows over the trace's window; 0 for a plain shift.
    kinds : int
        In how many kinds and sizes of collective it shows.
    partner : int or None
        The one other GPU that it was compared with: either of the two clocks may be off.
    """

    gpu: int
    offset_ns: int
    drift_ns: int
    kinds: int
    partner: int | None

    @property
    def is_drift(self) -> bool:
        """Whether the offset grows with time."""
        return self.drift_ns != 0


@dataclass(frozen=True, slots=True)
class _Edge:
    """Two GPUs whose collectives of one kind and size end steadily apart: the first less the second, ns.

    The offset is that in the middle of the trace's window, the drift its growth over it; `unsteady_ns`
    is by how much both leave the single ends off (median).
    """

    other: int
    kind: tuple[int, int]
    offset_ns: float
    drift_ns: float
    unsteady_ns: float


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some kernels of a sequence, equally many of each sequence of its name; shape (samples,) each."""

    gpu: int
    start_ns: Int64
    end_ns: Int64


def end_offsets(trace: Trace, classes: KernelClasses) -> tuple[EndOffset, ...]:
    """Return the GPUs whose collectives end 10 µs or more apart from all others', by GPU.

    The same offset has to stand in two kinds or sizes of collective, or stand alone: all others end together
    ten times closer. A constant lag of one collective alone is that of its ring or tree.
    """
    edges: dict[int, list[_Edge]] = defaultdict(list)
    for name, samples in _samples(trace, classes):
        for first, second, edge in _edges(name, samples, trace.window_ns):
            edges[first].append(edge)
            edges[second].append(_Edge(first, edge.kind, -edge.offset_ns, -edge.drift_ns, edge.unsteady_ns))
    edges = _among_partners(edges)
    result: dict[int, EndOffset] = {}
    # The GPU that is off most is taken out before the next is judged, so that it spoils no other's evidence.
    while True:
        rest = {
            gpu: [e for e in of_gpu if e.other not in result]
            for gpu, of_gpu in edges.items()
            if gpu not in result
        }
        found = [
            o for gpu, of_gpu in rest.items() if of_gpu and (o := _judged(gpu, of_gpu, rest)) is not None
        ]
        if not found:
            return tuple(result[gpu] for gpu in sorted(result))
        most = max(found, key=lambda o: (abs(o.offset_ns) + abs(o.drift_ns), o.gpu))
        result[most.gpu] = most


def _among_partners(edges: dict[int, list[_Edge]]) -> dict[int, list[_Edge]]:
    """Return the edges between GPUs of one group.

    Another group of the same kind that runs in step overlaps too, and over few samples it may seem to drift.
    Its ends vary far more than those of a GPU's partners, which one last arriver sets.
    """
    steadiest: dict[tuple[int, tuple[int, int]], float] = {}
    for gpu, of_gpu in edges.items():
        for edge in of_gpu:
            key = gpu, edge.kind
            steadiest[key] = min(edge.unsteady_ns, steadiest.get(key, edge.unsteady_ns))

    def is_of_group(gpu: int, edge: _Edge) -> bool:
        # By both ends: of a GPU without any partner a stranger is the steadiest.
        least = min(steadiest[gpu, edge.kind], steadiest[edge.other, edge.kind])
        return edge.unsteady_ns <= max(_TIMES_STEADIEST * least, _ENOUGH_STEADY_NS)

    return {gpu: [e for e in of_gpu if is_of_group(gpu, e)] for gpu, of_gpu in edges.items()}


def _samples(trace: Trace, classes: KernelClasses) -> Iterator[tuple[int, list[_Sample]]]:
    """Yield each name of collectives, and the sequences of it that have equally many kernels."""
    kernels = trace.kernels
    every = np.flatnonzero(classes.is_comm(kernels.name_id))
    owner = np.searchsorted(kernels.offsets, every, side="right") - 1
    by_length: dict[tuple[int, int], list[_Sample]] = defaultdict(list)
    for low, high in zip(*(edges.tolist() for edges in runs(owner)), strict=True):
        comm = every[low:high]
        gpu = trace.streams[int(owner[low])].gpu
        for name in np.unique(kernels.name_id[comm]).tolist():
            rows = comm[kernels.name_id[comm] == name]
            # Sends and receives end with their own peer, whoever that is.
            if len(rows) < _LEAST_SAMPLES or "sendrecv" in trace.names[name].lower():
                continue
            # Equal positions in every sequence: the k-th samples of two ranks are one collective.
            picked = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(np.int64))]
            sample = _Sample(gpu, kernels.start_ns[picked], kernels.end_ns[picked])
            by_length[name, len(rows)].append(sample)
    for (name, _), samples in by_length.items():
        yield name, samples[:_MOST_SEQUENCES]


def _edges(name: int, samples: list[_Sample], window: tuple[int, int]) -> Iterator[tuple[int, int, _Edge]]:
    """Yield the pairs of GPUs that end steadily apart, in each size of the collective."""
    if len({sample.gpu for sample in samples}) < 2:
        return
    start = np.stack([sample.start_ns for sample in samples])
    end = np.stack([sample.end_ns for sample in samples])
    gpus = np.array([sample.gpu for sample in samples])
    # Apart by size: a ring ends at another time for each, which is no clock's fault.
    size = _sizes((end - start).min(axis=0))
    sizes = [s for s, count in enumerate(np.bincount(size).tolist()) if count >= _LEAST_SAMPLES]
    for first in range(len(samples) - 1):
        others = first + 1 + np.flatnonzero(gpus[first + 1 :] != gpus[first])
        overlap = np.maximum(start[first], start[others]) < np.minimum(end[first], end[others])
        for other in others[overlap.mean(axis=1) >= _OVERLAPPING].tolist():
            for of_size in sizes:
                picked = size == of_size
                apart = (end[first] - end[other])[picked]
                fit = _fit(end[first][picked], apart, window)
                if fit is not None:
                    edge = _Edge(int(gpus[other]), (name, of_size), *fit)
                    yield int(gpus[first]), int(gpus[other]), edge


def _sizes(shortest: Int64) -> Int64:
    """Return the size of each collective as a number: by jumps in the shortest duration of its set.

    The shortest duration over the ranks holds no waiting; one size's durations vary by less than the jump.
    """
    order = np.argsort(shortest, kind="stable")
    ordered = np.maximum(shortest[order], 1)
    number = np.concatenate(([0], np.cumsum(ordered[1:] > _NEXT_SIZE * ordered[:-1])))
    size = np.empty(len(order), np.int64)
    size[order] = number
    return size


def _fit(times: Int64, apart: Int64, window: tuple[int, int]) -> tuple[float, float, float] | None:
    """Return the offset in the middle of a window, its growth over it, and what varies; None if unsteady.

    All three in ns.
    """
    # Medians of the first and the last third: a slope by least squares would follow a few outliers.
    third = max(len(times) // 3, 1)
    between = float(np.median(times[-third:]) - np.median(times[:third]))
    growth = float(np.median(apart[-third:]) - np.median(apart[:third]))
    rate = growth / between if between > 0 else 0.0
    plain = apart - np.median(apart)
    straight = apart - rate * (times - sum(window) // 2)
    middle = float(np.median(straight))
    # GPUs that only run in step are steady to the median in some half of a few collectives, and a line goes
    # through the medians of two pairs: such an edge would contradict what the real partners show.
    of = np.median if len(apart) >= _ENOUGH else np.max
    unsteady = [float(of(np.abs(rest))) for rest in (plain, straight - middle)]
    # A drift has to explain most of what a shift leaves.
    if len(apart) < _LEAST_OF_DRIFT or abs(growth) < LEAST_NS / 2 or 3 * unsteady[1] > unsteady[0]:
        rate, middle, unsteady = 0.0, float(np.median(apart)), unsteady[:1]
    drift = rate * (window[1] - window[0])
    if unsteady[-1] > _STEADY_NS or np.abs(apart).max() > _MOST_NS:
        return None
    return middle, drift, unsteady[-1]


def _judged(gpu: int, edges: list[_Edge], every: dict[int, list[_Edge]]) -> EndOffset | None:
    """Return by how much a GPU's clock is off, None where not all its edges say the same."""
    offset, drift = (np.array([getattr(e, n) for e in edges], float) for n in ("offset_ns", "drift_ns"))
    partners = {edge.other for edge in edges}
    kinds = {edge.kind for edge in edges}
    middle, growth = float(np.median(offset)), float(np.median(drift))
    # Relative for large offsets, since a drift that is fitted twice differs by a share of itself.
    tolerance = max(_STEADY_NS, _ALIKE * (abs(middle) + abs(growth)))
    # Its own partners end with it, whatever runs in step besides: one that does clears it, as all have to say
    # the same.
    is_off = abs(middle) + abs(growth) >= LEAST_NS
    is_alike = bool(
        (np.abs(offset - middle) <= tolerance).all() and (np.abs(drift - growth) <= tolerance).all()
    )
    if not is_off or not is_alike:
        return None
    if len(kinds) < _CLASSES and not _stands_alone(gpu, partners, abs(middle) + abs(growth), every):
        return None
    partner = None
    if len(partners) == 1:
        (partner,) = partners
        # Of two that end apart the one with other partners, which it ends together with, is sound.
        if any(e.other != gpu for e in every[partner]) or partner > gpu:
            is_other_sound = any(e.other != gpu and abs(e.offset_ns) < LEAST_NS for e in every[partner])
            if not is_other_sound:
                return None
            partner = None
    return EndOffset(gpu, round(middle), round(growth), len(kinds), partner)


def _stands_alone(gpu: int, partners: set[int], off_ns: float, every: dict[int, list[_Edge]]) -> bool:
    """Return whether all the others, at least two, end ten times closer to one another."""
    if len(partners) < 2:
        return False
    among = [
        abs(e.offset_ns) + abs(e.drift_ns)
        for partner in partners
        for e in every.get(partner, ())
        if e.other != gpu and e.other in partners
    ]
    return bool(among) and max(among) * 10 <= off_ns
