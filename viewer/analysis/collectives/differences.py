"""Which kernels of ranks that compute longer are longer, and in which NVTX ranges.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.families import family_name, kernel_families
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.launches.attribution import Cover
from viewer.analysis.launches.innermost_ranges import innermost_names
from viewer.analysis.launches.launches import Launches
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers

MIN_ALIKE = 0.75
"""All kernels are longer alike where families with this share of the time exceed like the whole."""
_BAND = (0.4, 1.6)
_MIN_FAMILY = 0.005
_LISTED = 5
_OF_EXCESS = 0.9

Float = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A kernel family, or an NVTX range, that takes longer; times per iteration and GPU.

    `more_ns` is how much longer than on the other ranks, `share` that of all that is longer, `count` and
    `usual_count` how many kernels it has here and there.
    """

    name: str
    more_ns: int
    share: float
    count: int
    usual_count: int


@dataclass(frozen=True)
class Differences:
    """How the kernels of some ranks differ from those of others that do the same work.

    `all_alike` says whether all are longer by much the same share: a clock, or power. `kernels` are the
    families that make up nine tenths of the difference, at most five; `ranges` the NVTX ranges that launched
    the longer kernels, by the sum over all compared ranks of the longest less the mean.
    """

    all_alike: bool
    kernels: tuple[Difference, ...]
    ranges: tuple[Difference, ...]


def find_differences(
    launches: Launches,
    classes: KernelClasses,
    iterations: Iterations,
    chosen: Sequence[int],
    longer: Sequence[int],
    usual: Sequence[int],
) -> Differences:
    """Compare the compute kernels of some GPUs with those of others, over some iterations.

    Parameters
    ----------
    longer, usual : sequence of int
        The GPUs that compute longer, and those that they are compared with.
    """
    trace = launches.trace
    gpus = [*longer, *usual]
    rows = [_kernels(trace, classes, iterations, chosen, gpu) for gpu in gpus]
    # By family: autotuning may pick another instance on each rank, and the work is the same.
    families = [kernel_families(trace, r).astype(np.int64) for r in rows]
    time, count = _sums(trace, rows, families, len(trace.names))
    per = max(len(chosen), 1)
    slow, base = time[: len(longer)].mean(axis=0) / per, time[len(longer) :].mean(axis=0) / per
    numbers = count[: len(longer)].mean(axis=0) / per, count[len(longer) :].mean(axis=0) / per
    more = slow - base
    kernels = _largest(lambda family: family_name(trace, family), more, numbers)
    texts, codes = _range_codes(launches, gpus, rows)
    in_range, in_count = _sums(trace, rows, codes, len(texts) + 1)
    ranges = _largest(
        lambda code: texts[code - 1],
        # The sum over the ranks of the longest less the mean: what is uneven is in the first place.
        np.where(np.arange(len(texts) + 1) > 0, in_range.max(axis=0) - in_range.mean(axis=0), 0) / per,
        (in_count[: len(longer)].mean(axis=0) / per, in_count[len(longer) :].mean(axis=0) / per),
    )
    return Differences(_all_alike(more, base), kernels, ranges)


def _kernels(
    trace: Trace, classes: KernelClasses, iterations: Iterations, chosen: Sequence[int], gpu: int
) -> Int64:
    """Return the compute kernels of a GPU that start in the chosen iterations."""
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    rows = rows[~classes.is_comm(trace.kernels.name_id[rows])]
    # By each GPU's own boundaries, and by start alone, so that a kernel is in one iteration.
    iteration = np.searchsorted(iterations.starts[gpu], trace.kernels.start_ns[rows], side="right") - 1
    return rows[np.isin(iteration, list(chosen))].astype(np.int64)


def _sums(trace: Trace, rows: list[Int64], codes: list[Int64], size: int) -> tuple[Int64, Int64]:
    """Return the time and the number of kernels by code, shape (gpus, size) each."""
    time, count = np.zeros((len(rows), size), np.int64), np.zeros((len(rows), size), np.int64)
    for gpu, (of_gpu, code) in enumerate(zip(rows, codes, strict=True)):
        # Unbuffered, and in whole nanoseconds: `bincount` with weights would sum in floats.
        np.add.at(time[gpu], code, trace.kernels.end_ns[of_gpu] - trace.kernels.start_ns[of_gpu])
        count[gpu] = np.bincount(code, minlength=size)
    return time, count


def _all_alike(more: Float, base: Float) -> bool:
    total = float(base.sum())
    if not total:
        return False
    # Families with next to no time vary by more than any clock: they are not asked.
    excess, known = float(more.sum()) / total, base >= _MIN_FAMILY * total
    low, high = sorted((_BAND[0] * excess, _BAND[1] * excess))
    share = more[known] / base[known]
    return float(base[known][(share >= low) & (share <= high)].sum()) >= MIN_ALIKE * total


def _largest(
    name_of: Callable[[int], str], more: Float, counts: tuple[Float, Float]
) -> tuple[Difference, ...]:
    total = float(np.maximum(more, 0).sum())
    # Those that make up most of the difference, not those that differ by the largest share.
    order = np.argsort(-more, kind="stable")[:_LISTED]
    before = np.concatenate(([0.0], np.cumsum(more[order])[:-1]))
    return tuple(
        Difference(
            name_of(int(code)),
            round(float(more[code])),
            float(more[code]) / total,
            round(float(counts[0][code])),
            round(float(counts[1][code])),
        )
        for code, so_far in zip(order.tolist(), before.tolist(), strict=True)
        if total and more[code] > 0 and so_far < _OF_EXCESS * total
    )


def _range_codes(launches: Launches, gpus: Sequence[int], rows: list[Int64]) -> tuple[list[str], list[Int64]]:
    """Return texts of ranges, and for each kernel of each GPU that of the innermost around it, from 1 on.

    0 for kernels in no range. Numbers in the texts are normalised; ranges of libraries' domains are left out.
    """
    trace = launches.trace
    numbers: dict[str, int] = {}
    result = []
    for gpu, of_gpu in zip(gpus, rows, strict=True):
        process = trace.gpus[gpu].process
        cover = Cover(launches, process)
        name = innermost_names(cover, process)
        # From positions among the launched operations to kernels.
        is_kernel = cover.launched.kind == 0
        of_kernel = np.full(len(trace.kernels), -1, np.int64)
        of_kernel[cover.launched.index[is_kernel]] = name[is_kernel]
        ids = of_kernel[of_gpu]
        codes = np.zeros(len(ids), np.int64)
        for name_id in np.unique(ids[ids >= 0]).tolist():
            text = normalise_numbers(trace.names[name_id])
            codes[ids == name_id] = numbers.setdefault(text, len(numbers) + 1)
        result.append(codes)
    return list(numbers), result
