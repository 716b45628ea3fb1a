"""Forward, backward and optimizer: which kernels each launched, and how long it keeps the GPU.

See docs/definitions.md, section 5.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.intervals import EMPTY, Intervals, runs, union
from viewer.analysis.core.nvtx_texts import in_phase, is_library_domain
from viewer.analysis.launches.attribution import MARK, Cover, Indices, LaunchedOperations, Mask, Rows
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace import GPU_KINDS, Kind, Trace, Track
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

PHASES = ("forward", "backward", "optimizer")
OWN_IN_BACKWARD = "own launches in backward"
_ALL = (*PHASES, OWN_IN_BACKWARD)

BY_RANGE = "NVTX ranges"
BY_THREAD = "launched by the autograd thread: no range is called backward"
NOT_FOUND = "no such range"


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase on every GPU, by the operations that it launched.

    Attributes
    ----------
    name : str
        "forward", "backward", "optimizer", or the range owner's own launches inside backward.
    how : str
        How it was found: by ranges, or by the autograd thread.
    extent : tuple of Intervals, one per GPU
        Its stretches: from the first start to the last end of operations between which none of another phase
        and no boundary of an iteration lies.
    kernels, graphs : tuple of ndarray of int32, one per GPU
        Its kernels, compute and communication, and its CUDA graphs: indices into their tables, by start.
    """

    trace: Trace
    classes: KernelClasses
    name: str
    how: str
    extent: tuple[Intervals, ...]
    kernels: tuple[Rows, ...]
    graphs: tuple[Rows, ...]

    @property
    def compute(self) -> tuple[Intervals, ...]:
        """Union of its compute kernels and graphs on each GPU, without communication; computed anew."""
        kernels, graphs = self.trace.kernels, self.trace.events[Kind.GRAPH]
        return tuple(
            union(
                np.concatenate((kernels.start_ns[compute], graphs.start_ns[graph])),
                np.concatenate((kernels.end_ns[compute], graphs.end_ns[graph])),
            )
            for compute, graph in zip(map(self._compute_kernels, self.kernels), self.graphs, strict=True)
        )

    def _compute_kernels(self, kernels: Rows) -> Rows:
        return kernels[~self.classes.is_comm(self.trace.kernels.name_id[kernels])]


@dataclass(frozen=True, eq=False)
class Phases:
    """The phases over the iterations.

    Attributes
    ----------
    compute_ns : mapping of str to ndarray of int64, shape (gpus, iterations)
        Per phase: the time covered by its compute kernels in each iteration.
    has_both : ndarray of bool, shape (gpus, iterations)
        Iterations that have a forward and a backward.
    basis : tuple of int
        The iterations that medians are taken over.
    """

    phases: tuple[Phase, ...]
    compute_ns: dict[str, Int64]
    has_both: Mask
    basis: tuple[int, ...]

    def phase(self, name: str) -> Phase | None:
        """Return one phase, None if the trace has none of that name."""
        return next((p for p in self.phases if p.name == name), None)

    def over(self, iterations: tuple[int, ...]) -> Phases:
        """Return the same phases with medians over other iterations."""
        return replace(self, basis=iterations)

    def median_ns(self, name: str) -> int | None:
        """Return the median over the basis's iterations, as the mean over the GPUs; None where there is none.

        Forward and backward count in iterations that have both.
        """
        # A mean over GPUs of medians over iterations: one slow iteration moves neither, a slow GPU moves it.
        # A GPU without the phase has no median; a 0 for it would pull the mean down to where no GPU is.
        medians = [m for m in self.medians_ns(name) if m is not None]
        return sum(medians) // len(medians) if medians else None

    def medians_ns(self, name: str) -> tuple[int | None, ...]:
        """Return the median over the iterations of the basis on each GPU; () where there is no such phase."""
        if name not in self.compute_ns or not self.basis:
            return ()
        basis = list(self.basis)
        has_phase = self.compute_ns[name] > 0
        if name in ("forward", "backward"):
            # Evaluation has forward alone: taken with the others it would shift the ratio.
            has_phase = has_phase & (self.has_both if self.has_both.any() else True)
        return tuple(
            int(np.median(lengths[basis][mask[basis]])) if mask[basis].any() else None
            for lengths, mask in zip(self.compute_ns[name], has_phase, strict=True)
        )

    @cached_property
    def forward_ns(self) -> int | None:
        """Median time of compute kernels in forward, ns."""
        return self.median_ns("forward")

    @cached_property
    def backward_ns(self) -> int | None:
        """Median time of compute kernels in backward, ns; without optimizer and owner's own launches."""
        return self.median_ns("backward")

    @property
    def ratio(self) -> float | None:
        """Backward over forward: about 2 is usual, 3 points at activation checkpointing."""
        if not self.forward_ns or self.backward_ns is None:
            return None
        return self.backward_ns / self.forward_ns

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Backward over forward on each GPU, () where one of them is missing."""
        # Not strict: either may be () where the trace has no such phase.
        pairs = zip(self.medians_ns("forward"), self.medians_ns("backward"), strict=False)
        return tuple(b / f if f and b is not None else None for f, b in pairs)


def find_phases(launches: Launches, classes: KernelClasses, iterations: Iterations) -> Phases:
    """Return what each phase launched, and how long it kept each GPU in each iteration."""
    trace = launches.trace
    gpus = len(trace.gpus)
    # GPUs of processes without launches keep this: every phase has one entry for each GPU.
    by_gpu = {name: [_NOTHING] * gpus for name in _ALL}
    how = dict.fromkeys(_ALL, NOT_FOUND)
    named = _Named(trace)
    for process in trace.processes:
        own_gpus = [g.index for g in trace.gpus_of(process.index)]
        if not own_gpus:
            continue
        # Process by process: a range covers launches of its own process only, and of each operation there is
        # a mask for each phase, which need not be there for all processes at once.
        cover = Cover(launches, process.index)
        masks, basis = _attributed(cover, named, process.index)
        # Ranks may find a phase in different ways; the last one that has it is named.
        how |= {name: basis[name] for name in basis if masks[name].any()}
        for gpu in own_gpus:
            for name, on_gpu in _on_gpu(cover.launched, masks, iterations, gpu).items():
                by_gpu[name][gpu] = on_gpu
    how[OWN_IN_BACKWARD] = how["backward"]
    phases = tuple(
        Phase(trace, classes, name, how[name], *(tuple(part) for part in zip(*by_gpu[name], strict=True)))
        for name in _ALL
        if any(len(kernels) for _, kernels, _ in by_gpu[name])
    )
    compute = {
        p.name: np.array([covered.covered(*iterations.windows(g)) for g, covered in enumerate(p.compute)])
        for p in phases
    }
    nothing = np.zeros((gpus, iterations.count), np.int64)
    both = (compute.get("forward", nothing) > 0) & (compute.get("backward", nothing) > 0)
    return Phases(phases, compute, both, iterations.basis)


_OnGpu = tuple[Intervals, Rows, Rows]
_NOTHING: _OnGpu = (EMPTY, np.empty(0, np.int32), np.empty(0, np.int32))


class _Named:
    """The ranges whose text names a phase, by process and track; without those in libraries' domains."""

    def __init__(self, trace: Trace) -> None:
        nvtx = trace.nvtx
        used = np.flatnonzero(np.bincount(nvtx.name_id, minlength=len(trace.names))).astype(np.uint32)
        types = nvtx.columns.get("event_type")
        self._ranges: dict[tuple[str, int], list[tuple[Track, Indices]]] = defaultdict(list)
        for phase in PHASES if types is not None else ():
            # By name, then by event: the pattern is tried once for each text, not for each range.
            is_named = np.zeros(len(trace.names), bool)
            is_named[used] = in_phase(trace.names, used, phase)
            rows = np.flatnonzero(is_named[nvtx.name_id] & (types != MARK))
            owner = np.searchsorted(nvtx.offsets, rows, side="right") - 1
            first, last = runs(owner)
            for low, high in zip(first.tolist(), last.tolist(), strict=True):
                track = trace.tracks[int(owner[low])]
                if not is_library_domain(track.domain):
                    self._ranges[phase, trace.threads[track.thread].process].append((track, rows[low:high]))

    def of(self, phase: str, process: int) -> list[tuple[Track, Indices]]:
        """Return the tracks of a process that have ranges of a phase, each with its ranges."""
        return self._ranges.get((phase, process), [])


def _attributed(cover: Cover, named: _Named, process: int) -> tuple[dict[str, Mask], dict[str, str]]:
    """Return which operations each phase launched, and how each phase was found.

    Of several phases around it, an operation belongs to the optimizer before backward, and to backward before
    forward: recomputation during backward is backward. Operations that the owner of the backward range
    launches itself, while another thread launches the gradients, are a phase of their own.
    """
    # Before precedence: what each phase's ranges cover on their own, overlaps included.
    covered = {name: _covered(cover, named.of(name, process)) for name in PHASES}
    own = _covered(cover, named.of("backward", process), "thread")
    how = dict.fromkeys(PHASES, BY_RANGE)
    optimizer, backward = covered["optimizer"], covered["backward"] & ~covered["optimizer"]
    if not covered["backward"].any():
        backward = _by_autograd_thread(cover, named.of("forward", process)) & ~optimizer
        own, how["backward"] = np.zeros_like(backward), BY_THREAD
    # What is launched inside backward's range by other threads: the gradients, where autograd has a thread of
    # its own.
    adopted = backward & ~own
    # Without another thread's launches, or with few of them, the owner's launches are backward itself.
    apart = backward & own if adopted.sum() > (backward & own).sum() // 4 else np.zeros_like(backward)
    backward = backward & ~apart
    forward = covered["forward"] & ~covered["backward"] & ~optimizer & ~backward
    masks = {"forward": forward, "backward": backward, "optimizer": optimizer, OWN_IN_BACKWARD: apart}
    return masks, how


def _covered(cover: Cover, named: list[tuple[Track, Indices]], mode: str = "process") -> Mask:
    """Return which operations lie in one of some ranges."""
    nvtx = cover.trace.nvtx
    inside = np.zeros(len(cover.launched), bool)
    for track, ranges in named:
        start, end = nvtx.start_ns[ranges], nvtx.end_ns[ranges]
        for operations, around in cover.around(track.thread, track.domain, start, end, mode):
            inside[operations] |= around >= 0
    return inside


def _by_autograd_thread(cover: Cover, forward: list[tuple[Track, Indices]]) -> Mask:
    """Return what the autograd thread launched: by its name, else the other thread with most launches.

    Without that name only a trace with a forward is searched: not every second thread is autograd's.
    """
    threads, launched = cover.trace.threads, cover.launched
    mask = np.zeros(len(launched), bool)
    named = [t for t in launched.threads if threads[t].name.startswith("pt_autograd")]
    if not named and not _covered(cover, forward).any():
        return mask
    if not named:
        # Autograd launches more than any other but the main thread, whose ranges tell which one it is.
        by_launches = sorted(launched.threads, key=lambda t: _length(launched.threads[t]))
        if len(by_launches) < 2:
            return mask
        owner = _owner(cover, forward, by_launches[-1])
        named = [t for t in by_launches if t != owner][-1:]
    for thread in named:
        mask[launched.threads[thread]] = True
    return mask


def _owner(cover: Cover, forward: list[tuple[Track, Indices]], default: int) -> int:
    """Return the thread that has the forward ranges, else the one with most launches."""
    own = _covered(cover, forward, "thread")
    counts = {t: int(own[rows].sum()) for t, rows in cover.launched.threads.items()}
    best = max(counts, key=lambda t: counts[t])
    return best if counts[best] else default


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _on_gpu(
    ops: LaunchedOperations, masks: dict[str, Mask], iterations: Iterations, gpu: int
) -> dict[str, _OnGpu]:
    """Return stretches, kernels and graphs of each phase on one GPU."""
    kernel, graph = GPU_KINDS.index(Kind.KERNEL), GPU_KINDS.index(Kind.GRAPH)
    # The phase of each operation, -1 for none: the masks are disjoint.
    phase = np.full(len(ops), -1, np.int64)
    for number, name in enumerate(_ALL):
        phase[masks[name]] = number
    rows = np.flatnonzero((ops.gpu == gpu) & (phase >= 0))
    # Launched thread by thread; a stretch is a run in the order in which the GPU ran them.
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    stretches = _stretches(ops.start_ns[rows], ops.end_ns[rows], phase[rows], iterations.starts[gpu])
    result = {}
    for number, name in enumerate(_ALL):
        own = rows[phase[rows] == number]
        kinds, index = ops.kind[own], ops.index[own].astype(np.int32)
        result[name] = (stretches[number], index[kinds == kernel], index[kinds == graph])
    return result


def _stretches(start: Int64, end: Int64, phase: Indices, edges: Int64) -> list[Intervals]:
    """Return the stretches of each phase: runs of operations with no other phase between."""
    if not len(start):
        return [EMPTY] * len(_ALL)
    # Cut at iterations too: else idle time between two of them would lie inside a phase.
    iteration = np.searchsorted(edges, start, side="right")
    # A stretch ends where the phase or the iteration changes; it reaches to the last end of its operations.
    new = np.concatenate(([True], (np.diff(phase) != 0) | (np.diff(iteration) != 0)))
    first = np.flatnonzero(new)
    # The last end, not the end of the last: on another stream an operation that began before may still run.
    low, high, owner = start[first], np.maximum.reduceat(end, first), phase[first]
    return [union(low[owner == number], high[owner == number]) for number in range(len(_ALL))]
