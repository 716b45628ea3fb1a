"""All numbers of a range of time: what the selection card shows, and the report's classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import NONE, union
from viewer.analysis.time.stream_gaps import StreamGapNumbers
from viewer.analysis.time.time_breakdown import CATEGORIES, without_kernel
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.study import Study
    from viewer.analysis.time.iteration_bounds import Iterations, IterationShare


@dataclass(frozen=True, slots=True)
class Family:
    """Kernels of one short name in a range: durations clipped to it, and their share of all kernels'."""

    name: str
    sum_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class GpuNumbers:
    """One GPU in a range of time.

    Attributes
    ----------
    kernels : int
        Kernels that touch the range: of those that straddle an edge, too, and of those of length zero.
    launches : int
        API calls whose operations on this GPU, from the first's start to the last's end, touch the range.
    families : tuple of Family
        The three with most time, most first.
    gap_stream : int or None
        Stream number of the compute stream, to which `stream_gaps` belong.
    """

    gpu: int
    kernels: int
    launches: int
    families: tuple[Family, ...]
    stream_gaps: StreamGapNumbers
    gap_stream: int | None


@dataclass(frozen=True, slots=True)
class RangeNumbers:
    """A range of time on all GPUs (docs/definitions.md, section 1).

    Attributes
    ----------
    start_ns, end_ns : int
        The range, clipped to the recording; `clipped` says that it was.
    parts_ns : ndarray of int64, shape (gpus, 5)
        In order of `CATEGORIES`; each row sums to the length.
    families : tuple of Family
        The three with most time over all GPUs.
    iteration : IterationShare or None
        The range beside the iteration that holds its middle, where there is one.
    """

    start_ns: int
    end_ns: int
    clipped: bool
    parts_ns: Int64
    gpus: tuple[GpuNumbers, ...]
    families: tuple[Family, ...]
    iteration: IterationShare | None

    @property
    def length_ns(self) -> int:
        """The length of the range."""
        return self.end_ns - self.start_ns

    @property
    def all_ns(self) -> Int64:
        """The five parts summed over the GPUs, shape (5,); percentages are of gpus x length."""
        return np.asarray(self.parts_ns.sum(axis=0))

    @property
    def no_kernel_ns(self) -> Int64:
        """Time in which no kernel runs on any stream: copy only and idle, shape (gpus,)."""
        return without_kernel(self.parts_ns)

    @property
    def kernels(self) -> int:
        """Kernels over all GPUs that touch the range."""
        return sum(g.kernels for g in self.gpus)

    @property
    def launches(self) -> int:
        """Launches over all GPUs; a call that launched on two counts twice."""
        return sum(g.launches for g in self.gpus)


@dataclass(frozen=True, slots=True)
class ClassNumbers:
    """The kernels of one class in a window: sum and union of what is inside, and how many touch it."""

    name: str
    sum_ns: int
    union_ns: int
    kernels: int


def clip_window(trace: Trace, start_ns: int, end_ns: int) -> tuple[int, int, bool]:
    """Clip a window to the recording; the third value says whether that changed it.

    See docs/definitions.md, section 1.

    Raises
    ------
    ValueError
        If nothing of it lies inside, or it is empty.
    """
    low, high = trace.span_ns
    start, end = max(start_ns, low), min(end_ns, high)
    if end <= start:
        raise ValueError(
            f"nothing was recorded from {start_ns} to {end_ns} ns; the recording runs from {low} to {high} ns"
        )
    return start, end, (start, end) != (start_ns, end_ns)


def parts_of(study: Study, start_ns: int, end_ns: int) -> Int64:
    """Return the five parts of every GPU in [start, end), shape (gpus, 5), in ns."""
    before = np.array([p.cumulative((start_ns, end_ns)) for p in study.parts], np.int64)
    return np.diff(before.reshape(-1, len(CATEGORIES), 2), axis=2)[..., 0]


def measure(
    study: Study, start_ns: int, end_ns: int, iterations: Iterations | None = None, *, details: bool = True
) -> RangeNumbers:
    """Measure the range [start, end).

    Parameters
    ----------
    details : bool
        False: the parts only, which cost well under a millisecond; `gpus` and `families` are empty. So
        they are where the study is partial: its launches are not known.

    Raises
    ------
    ValueError
        If nothing of the range lies inside the recording.
    """
    start, end, clipped = clip_window(study.trace, start_ns, end_ns)
    over_all: dict[int, int] = {}
    gpus = []
    for gpu in study.trace.gpus if details and not study.partial else ():
        prefix_sums, stream_gaps = study.families(gpu.index), study.stream_gaps(gpu.index)
        sums = dict(zip(prefix_sums.keys.tolist(), prefix_sums.sums(start, end).tolist(), strict=True))
        for key, ns in sums.items():
            over_all[key] = over_all.get(key, 0) + ns
        stream = stream_gaps.stream
        gpus.append(
            GpuNumbers(
                gpu.index,
                prefix_sums.count(start, end),
                study.launches.count(gpu.index, start, end),
                _top(study, sums),
                stream_gaps.totals(start, end),
                None if stream is None else study.trace.streams[stream].stream_id,
            )
        )
    return RangeNumbers(
        start, end, clipped, parts_of(study, start, end), tuple(gpus), _top(study, over_all),
        iterations.share(start, end) if iterations else None,
    )  # fmt: skip


def class_numbers(study: Study, gpu: int, start_ns: int, end_ns: int) -> tuple[ClassNumbers, ...]:
    """Return the kernels of a GPU by class inside [start, end), all of `CLASSES`.

    See docs/definitions.md, section 3.
    """
    kernels = study.trace.kernels
    rows = rows_of_gpu(study.trace, Kind.KERNEL, gpu)
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    touches = (start < end_ns) & (np.maximum(end, start + 1) > start_ns)
    of = study.classes.class_of[kernels.name_id[rows[touches]]]
    start, end = np.maximum(start[touches], start_ns), np.minimum(end[touches], end_ns)
    held = np.bincount(of, minlength=len(CLASSES))
    numbers = []
    for position, name in enumerate(CLASSES):
        s, e = (start[of == position], end[of == position]) if held[position] else (NONE, NONE)
        numbers.append(ClassNumbers(name, int((e - s).sum()), union(s, e).total(), len(s)))
    return tuple(numbers)


def _top(study: Study, sums: dict[int, int]) -> tuple[Family, ...]:
    """Return the three families with most time."""
    total = sum(sums.values())
    names = study.trace.names
    best = sorted((-ns, key) for key, ns in sums.items() if ns)[:3]
    return tuple(Family(names[key], -ns, -ns / total) for ns, key in best)
