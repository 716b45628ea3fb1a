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
    """A time range, or several that are disjoint, on all GPUs (docs/definitions.md, section 1).

    Attributes
    ----------
    windows : tuple of (int, int)
        The ranges, by start, clipped to the recording, ns; `clipped` tells whether that changed them.
    parts_ns : ndarray of int64, shape (gpus, 5)
        In order of `CATEGORIES`; each row sums to the length.
    spinning_ns : ndarray of int64, shape (gpus,)
        Of compute, the time in which no compute kernel runs but those that wait.
    families : tuple of Family
        The three with most time over all GPUs.
    iteration : IterationShare or None
        The ranges as a share of the iterations around their middles; None where one lies outside all.
    """

    windows: tuple[tuple[int, int], ...]
    clipped: bool
    parts_ns: Int64
    spinning_ns: Int64
    gpus: tuple[GpuNumbers, ...]
    families: tuple[Family, ...]
    iteration: IterationShare | None

    @property
    def start_ns(self) -> int:
        """The start of the first range, ns."""
        return self.windows[0][0]

    @property
    def end_ns(self) -> int:
        """The end of the last range, ns."""
        return self.windows[-1][1]

    @property
    def length_ns(self) -> int:
        """The length of the ranges together, ns."""
        return sum(end - start for start, end in self.windows)

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
    # Clipped rather than refused: who drags beyond the end of the recording means up to its end. The caller
    # tells that it was.
    start, end = max(start_ns, low), min(end_ns, high)
    if end <= start:
        raise ValueError(
            f"nothing was recorded from {start_ns} to {end_ns} ns; the recording runs from {low} to {high} ns"
        )
    return start, end, (start, end) != (start_ns, end_ns)


def clip_windows(
    trace: Trace, windows: Iterable[tuple[int, int]]
) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Return disjoint windows by start, clipped to the recording, in ns, and whether that changed any.

    Those of which nothing was recorded are left out.

    Raises
    ------
    ValueError
        If nothing of all of them lies inside the recording.
    """
    low, high = trace.span_ns
    # By start, as the iterations and the sums expect them, whatever the order in which they were dragged.
    asked = sorted(windows)
    inside = [(max(start, low), min(end, high)) for start, end in asked]
    inside = [(start, end) for start, end in inside if end > start]
    if not inside:
        # It raises: one message for one range and for several.
        clip_window(trace, *(asked[0] if asked else (0, 0)))
    return tuple(inside), inside != asked


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
    windows: Iterable[tuple[int, int]],
    iterations: Iterations | None = None,
) -> RangeNumbers:
    """Measure a range of time, or several, on all GPUs (docs/definitions.md, section 1).

    Parameters
    ----------
    breakdowns : sequence of TimeBreakdown
        One per GPU, see `Study.parts`.
    sums : iterable of GpuSums
        Of the GPUs whose kernels, launches and stream gaps are wanted; without any, the parts alone are
        measured, which costs well under a millisecond, and `gpus` and `families` are empty.
    windows : iterable of (int, int)
        The ranges [start, end), disjoint, ns.
    iterations : Iterations, optional
        Those that the ranges are compared with.

    Raises
    ------
    ValueError
        If nothing of the ranges lies inside the recording.
    """
    inside, clipped = clip_windows(trace, windows)
    family_ns: dict[int, int] = {}
    gpus = []
    # From sums that were made once: a range over a million kernels costs as much as one over ten.
    for of_gpu in sums:
        families, stream = of_gpu.families, of_gpu.stream_gaps.stream
        # By the id of the short name, which all GPUs share: families of the same name add up over them.
        sums_of = np.sum([families.sums(*window) for window in inside], axis=0)
        ns_of = dict(zip(families.keys.tolist(), sums_of.tolist(), strict=True))
        for name_id, ns in ns_of.items():
            family_ns[name_id] = family_ns.get(name_id, 0) + ns
        gpus.append(
            GpuNumbers(
                of_gpu.gpu,
                families.count_in(inside),
                sum(spans.count_in(inside) for spans in of_gpu.launched),
                _longest_families(trace.names, ns_of),
                of_gpu.stream_gaps.totals_in(inside),
                None if stream is None else trace.streams[stream].stream_id,
            )
        )
    # Windows are disjoint, so that their parts may be added; no time is counted twice.
    parts = np.sum([parts_of(breakdowns, *window) for window in inside], axis=0)
    return RangeNumbers(
        inside, clipped, parts, _spinning(breakdowns, inside), tuple(gpus),
        _longest_families(trace.names, family_ns), iterations.share_of(inside) if iterations else None,
    )  # fmt: skip


def _spinning(breakdowns: Sequence[TimeBreakdown], windows: Sequence[tuple[int, int]]) -> Int64:
    """Return the time of each GPU in windows in which its compute only waits, shape (gpus,), ns."""
    # Pairs to columns; int64 said, since an empty or small list would be given another type on some systems.
    starts, ends = np.array(windows, np.int64).T
    return np.array([int(b.spinning.covered(starts, ends).sum()) for b in breakdowns], np.int64)


def class_numbers(
    trace: Trace, classes: KernelClasses, gpu: int, start_ns: int, end_ns: int
) -> tuple[ClassNumbers, ...]:
    """Return the kernels of a GPU inside [start, end) by class, one entry for each of `CLASSES`.

    See docs/definitions.md, section 3.
    """
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    # A kernel of length zero counts as 1 ns long, as on the card of a range: else it would touch no window.
    touches = (start < end_ns) & (np.maximum(end, start + 1) > start_ns)
    class_of = classes.class_of[kernels.name_id[rows[touches]]]
    # Clipped before they are summed, so that the sums of neighbouring windows add up to that of both.
    start, end = np.maximum(start[touches], start_ns), np.minimum(end[touches], end_ns)
    # With all classes, also those without a kernel: tables of two GPUs or two traces have the same lines.
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
    # Of all kernels, not of the three: the shares say how much is left that is not named.
    total = sum(sums.values())
    # Of equals the lower id comes first: the same range names the same three every time.
    best = sorted((-ns, key) for key, ns in sums.items() if ns)[:3]
    return tuple(Family(names[key], -ns, -ns / total) for ns, key in best)
