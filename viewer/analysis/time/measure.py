"""The numbers of a time range: those of the selection card, and the kernel classes of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.classify import CLASSES, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import union
from viewer.analysis.core.prefix_sums import PrefixSums
from viewer.analysis.time.iteration_bounds import Iterations, IterationShare
from viewer.analysis.time.stream_gaps import StreamGapNumbers, StreamGaps
from viewer.analysis.time.time_breakdown import CATEGORIES, TimeBreakdown, without_kernel
from viewer.trace import Kind, Names, Trace
from viewer.trace.events import Int64


@dataclass(frozen=True, slots=True)
class Family:
    """The kernels of one short name: durations clipped to the range, and their share of all kernels'."""

    name: str
    sum_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class GpuNumbers:
    """One GPU in a time range.

    Attributes
    ----------
    kernels : int
        How many kernels touch the range, those across an edge and those of length zero included.
    launches : int
        How many API calls launched work here that touches the range, first start to last end.
    families : tuple of Family
        The three with most time, that with most first.
    gap_stream : int or None
        CUDA's number of the compute stream, to which `stream_gaps` belong.
    """

    gpu: int
    kernels: int
    launches: int
    families: tuple[Family, ...]
    stream_gaps: StreamGapNumbers
    gap_stream: int | None


@dataclass(frozen=True, slots=True)
class RangeNumbers:
    """A time range on all GPUs (docs/definitions.md, section 1).

    Attributes
    ----------
    start_ns, end_ns : int
        The range, clipped to the recording; `clipped` tells whether that changed it.
    parts_ns : ndarray of int64, shape (gpus, 5)
        In order of `CATEGORIES`; each row sums to the length.
    spinning_ns : ndarray of int64, shape (gpus,)
        Of compute, the time in which no compute kernel runs but those that wait.
    families : tuple of Family
        The three with most time over all GPUs.
    iteration : IterationShare or None
        The range as a share of the iteration around its middle, where there is one.
    """

    start_ns: int
    end_ns: int
    clipped: bool
    parts_ns: Int64
    spinning_ns: Int64
    gpus: tuple[GpuNumbers, ...]
    families: tuple[Family, ...]
    iteration: IterationShare | None

    @property
    def length_ns(self) -> int:
        """The length of the range, ns."""
        return self.end_ns - self.start_ns

    @property
    def all_ns(self) -> Int64:
        """The five categories summed over the GPUs, shape (5,), ns; percentages are of gpus x length."""
        return np.asarray(self.parts_ns.sum(axis=0))

    @property
    def no_kernel_ns(self) -> Int64:
        """Time in which no kernel runs on any stream, copy only and idle, shape (gpus,), ns."""
        return without_kernel(self.parts_ns)

    @property
    def kernels(self) -> int:
        """How many kernels of all GPUs touch the range."""
        return sum(g.kernels for g in self.gpus)

    @property
    def launches(self) -> int:
        """How many launches of all GPUs touch the range; a call that launched on two GPUs counts twice."""
        return sum(g.launches for g in self.gpus)


@dataclass(frozen=True, slots=True)
class ClassNumbers:
    """The kernels of one class in a window: sum and union of the time inside, and how many touch it."""

    name: str
    sum_ns: int
    union_ns: int
    kernels: int


def clip_window(trace: Trace, start_ns: int, end_ns: int) -> tuple[int, int, bool]:
    """Return a window clipped to the recording, start and end in ns, and whether that changed it.

    See docs/definitions.md, section 1.

    Raises
    ------
    ValueError
        If nothing of the window lies inside the recording, or it is empty.
    """
    low, high = trace.span_ns
    start, end = max(start_ns, low), min(end_ns, high)
    if end <= start:
        raise ValueError(
            f"nothing was recorded from {start_ns} to {end_ns} ns; the recording runs from {low} to {high} ns"
        )
    return start, end, (start, end) != (start_ns, end_ns)


def parts_of(breakdowns: Sequence[TimeBreakdown], start_ns: int, end_ns: int) -> Int64:
    """Return the five categories of every GPU in [start, end), shape (gpus, 5), ns."""
    # Shape (gpus, 5, 2), also without any GPU: what lies before the start and before the end.
    # Both edges in one call for each GPU: this runs for every pixel that a drag moves.
    before = np.array([breakdown.cumulative((start_ns, end_ns)) for breakdown in breakdowns], np.int64)
    return np.diff(before.reshape(-1, len(CATEGORIES), 2), axis=2)[..., 0]


@dataclass(frozen=True, eq=False)
class GpuSums:
    """What counts and sums the operations of one GPU in any range, without going through them.

    Attributes
    ----------
    families : PrefixSums
        Its kernels by the id of the short name.
    launched : tuple of PrefixSums
        What each API call launched on it, see `Launches.spans`.
    stream_gaps : StreamGaps
    """

    gpu: int
    families: PrefixSums
    launched: tuple[PrefixSums, ...]
    stream_gaps: StreamGaps


def measure(
    trace: Trace,
    breakdowns: Sequence[TimeBreakdown],
    sums: Iterable[GpuSums],
    window: tuple[int, int],
    iterations: Iterations | None = None,
) -> RangeNumbers:
    """Measure a range of time on all GPUs (docs/definitions.md, section 1).

    Parameters
    ----------
    breakdowns : sequence of TimeBreakdown
        One per GPU, see `Study.parts`.
    sums : iterable of GpuSums
        Of the GPUs whose kernels, launches and stream gaps are wanted; without any, the parts alone are
        measured, which costs well under a millisecond, and `gpus` and `families` are empty.
    window : (int, int)
        The range [start, end), ns.
    iterations : Iterations, optional
        Those that the range is compared with.

    Raises
    ------
    ValueError
        If nothing of the range lies inside the recording.
    """
    start, end, clipped = clip_window(trace, *window)
    family_ns: dict[int, int] = {}
    gpus = []
    for of_gpu in sums:
        families, stream = of_gpu.families, of_gpu.stream_gaps.stream
        # By the id of the short name, which all GPUs share: families of the same name add up over them.
        ns_of = dict(zip(families.keys.tolist(), families.sums(start, end).tolist(), strict=True))
        for name_id, ns in ns_of.items():
            family_ns[name_id] = family_ns.get(name_id, 0) + ns
        gpus.append(
            GpuNumbers(
                of_gpu.gpu,
                families.count(start, end),
                sum(spans.count(start, end) for spans in of_gpu.launched),
                _longest_families(trace.names, ns_of),
                of_gpu.stream_gaps.totals(start, end),
                None if stream is None else trace.streams[stream].stream_id,
            )
        )
    return RangeNumbers(
        start, end, clipped, parts_of(breakdowns, start, end),
        np.array([int(b.spinning.covered(start, end)) for b in breakdowns], np.int64), tuple(gpus),
        _longest_families(trace.names, family_ns), iterations.share(start, end) if iterations else None,
    )  # fmt: skip


def class_numbers(
    trace: Trace, classes: KernelClasses, gpu: int, start_ns: int, end_ns: int
) -> tuple[ClassNumbers, ...]:
    """Return the kernels of a GPU inside [start, end) by class, one entry for each of `CLASSES`.

    See docs/definitions.md, section 3.
    """
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    # A kernel of length zero counts as 1 ns long, as in every count: else it would touch no window at all.
    touches = (start < end_ns) & (np.maximum(end, start + 1) > start_ns)
    class_of = classes.class_of[kernels.name_id[rows[touches]]]
    # Clipped before they are summed, so that the sums of neighbouring windows add up to that of both.
    start, end = np.maximum(start[touches], start_ns), np.minimum(end[touches], end_ns)
    count = np.bincount(class_of, minlength=len(CLASSES))
    numbers = []
    for position, name in enumerate(CLASSES):
        # Most classes are empty in most windows; a mask over all kernels for each would cost more.
        in_class = class_of == position if count[position] else slice(0)
        starts, ends = start[in_class], end[in_class]
        numbers.append(
            ClassNumbers(name, int((ends - starts).sum()), union(starts, ends).total(), len(starts))
        )
    return tuple(numbers)


def _longest_families(names: Names, sums: dict[int, int]) -> tuple[Family, ...]:
    """Return the three families with most time, from the time of each by the id of its name."""
    total = sum(sums.values())
    # Of equals the lower id comes first: the same range names the same three every time.
    best = sorted((-ns, key) for key, ns in sums.items() if ns)[:3]
    return tuple(Family(names[key], -ns, -ns / total) for ns, key in best)
