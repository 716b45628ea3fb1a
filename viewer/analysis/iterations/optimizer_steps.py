"""The optimizer's steps of a process: by its ranges, else by runs of its kernels.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.classify import CLASSES, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.nvtx_texts import is_library_domain, users_own
from viewer.analysis.iterations.launch_times import LaunchTimes
from viewer.analysis.iterations.marker_texts import is_optimizer
from viewer.analysis.launches.attribution import Indices, ranges_of
from viewer.analysis.launches.launches import Launches
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers, short_name

OPTIMIZER = CLASSES.index("optimizer")
_CLOSE = 10
"""Kernels of the optimizer with at most so many operations between them are one run."""
_SMALL_GAP = 0.05
_LEAST_WORK = 0.25


@dataclass(frozen=True, eq=False)
class OptimizerSteps:
    """The optimizer's steps of one process, on the CPU, in order of time.

    Attributes
    ----------
    name : str
        The range's text with its numbers as ``#``, or the kernel's name.
    by_kernels : bool
    thread : int
        Index of the thread that owns the ranges, or launched the kernels.
    domain : str
    start_ns, end_ns : ndarray of int64, shape (steps,)
    name_id : int
    """

    name: str
    by_kernels: bool
    thread: int
    domain: str
    start_ns: Int64
    end_ns: Int64
    name_id: int

    def __len__(self) -> int:
        return len(self.end_ns)


class OptimizerFinder:
    """Finds the optimizer's steps of each process.

    Parameters
    ----------
    projected : DataFrame
        The NVTX ranges on the GPU with the launches of all threads, see `project`.
    """

    def __init__(self, launches: Launches, classes: KernelClasses, projected: pd.DataFrame) -> None:
        self._launches, self._classes, self._trace = launches, classes, launches.trace
        self._ops = np.zeros(len(self._trace.nvtx), np.int64)
        self._ops[projected["range"]] = projected["ops"]
        self._named = _optimizer_texts(self._trace)

    def steps(self, process: int, times: LaunchTimes) -> OptimizerSteps | None:
        """Return the steps of a process, None where nothing names the optimizer or is its kernel."""
        by_range = self._by_range(process)
        return _together(by_range, times) if by_range is not None else self._by_kernels(process, times)

    def _by_range(self, process: int) -> OptimizerSteps | None:
        """Return the ranges of the track on which the optimizer launches most, the outermost ones."""
        trace, nvtx, best, most = self._trace, self._trace.nvtx, None, 0
        for track in _tracks(trace, process):
            rows = ranges_of(trace, track.index)
            rows = rows[self._named[nvtx.name_id[rows]] & (self._ops[rows] > 0)]
            if int(self._ops[rows].sum()) > most:
                best, most = (track, rows), int(self._ops[rows].sum())
        if best is None:
            return None
        track, rows = best
        ends = nvtx.end_ns[rows]
        rows = rows[ends > np.append(np.iinfo(np.int64).min, np.maximum.accumulate(ends)[:-1])]
        # A step that is called for every micro-batch updates weights after the last one alone.
        rows = rows[self._ops[rows] >= _LEAST_WORK * self._ops[rows].max()]
        name_id = int(nvtx.name_id[rows[0]])
        return OptimizerSteps(
            normalise_numbers(trace.names[name_id]),
            False,
            track.thread,
            track.domain,
            nvtx.start_ns[rows],
            nvtx.end_ns[rows],
            name_id,
        )

    def _by_kernels(self, process: int, times: LaunchTimes) -> OptimizerSteps | None:
        trace, api = self._trace, self._trace.api
        gpus = trace.gpus_of(process)
        kernels = np.concatenate([rows_of_gpu(trace, Kind.KERNEL, gpu.index) for gpu in gpus])
        kernels = kernels[self._classes.class_of[trace.kernels.name_id[kernels]] == OPTIMIZER]
        calls = self._launches.api_of(Kind.KERNEL)[kernels]
        kernels, calls = kernels[calls >= 0], calls[calls >= 0]
        if not len(calls):
            return None
        order = np.argsort(api.start_ns[calls], kind="stable")
        kernels, calls = kernels[order], calls[order]
        first, last = runs_of(times.position(api.start_ns[calls]), _CLOSE * len(gpus))
        name_id = int(trace.kernels.name_id[kernels[-1]])
        steps = OptimizerSteps(
            short_name(trace.names[name_id]),
            True,
            api.owner_of(int(calls[-1])),
            "",
            api.start_ns[calls[first]],
            api.end_ns[calls[last]],
            name_id,
        )
        return folded(steps, times)


def runs_of(positions: Indices, close: int) -> tuple[Indices, Indices]:
    """Return the first and the last of each run of some operations: indices into `positions`, which rise.

    Those with at most `close` others between them are one run; and so are those with few others between
    them, compared with the common distance.
    """
    # The prepended position lies too far off to be close, so that the first run begins with the first one.
    first = np.flatnonzero(np.diff(positions, prepend=positions[0] - close - 2) > close + 1)
    last = np.append(first[1:] - 1, len(positions) - 1)
    gaps = positions[first[1:]] - positions[last[:-1]]
    parts = ~_are_small(gaps)
    return first[np.append(True, parts)], last[np.append(parts, True)]


def _are_small(gaps: Indices) -> npt.NDArray[np.bool_]:
    """Return which gaps lie within a step: far smaller than the large ones.

    The 90th percentile stands for the large ones: a single long one, around an evaluation, is no measure.
    """
    if not len(gaps):
        return np.zeros(0, bool)
    return np.asarray(gaps < _SMALL_GAP * np.percentile(gaps, 90, method="lower"))


def _together(steps: OptimizerSteps, times: LaunchTimes) -> OptimizerSteps:
    """Join the steps of several optimizers that follow each other with next to nothing between them."""
    # In operations: two optimizers with a pause of the host between them are still one step.
    gaps = times.position(steps.start_ns[1:]) - times.position(steps.end_ns[:-1])
    parts = ~_are_small(gaps)
    joined = _picked(steps, np.append(True, parts), np.append(parts, True))
    return folded(joined, times)


def folded(steps: OptimizerSteps, times: LaunchTimes) -> OptimizerSteps:
    """Return every p-th step where p optimizers take turns, as a discriminator's and a generator's do."""
    period = alternation(np.diff(times.position(steps.end_ns)))
    if period == 1:
        return steps
    # The last recorded step is the last of its turn: what comes before the first whole turn is cut off.
    last = np.zeros(len(steps), bool)
    last[len(steps) - 1 :: -period] = True
    return _picked(steps, last, last)


def alternation(distances: Indices) -> int:
    """Return after how many distances they repeat, where neighbours differ by over 10 %; else 1."""
    for period in range(1, min(4, len(distances) // 2) + 1):
        # Each distance against the one a period later: shapes of length p repeat exactly there.
        ahead, behind = distances[period:], distances[:-period]
        alike = np.abs(ahead - behind) <= 0.1 * np.maximum(ahead, behind)
        if alike.mean() >= (0.5 if period == 1 else 0.8):
            return period
    return 1


def _picked(
    steps: OptimizerSteps, first: npt.NDArray[np.bool_], last: npt.NDArray[np.bool_]
) -> OptimizerSteps:
    return OptimizerSteps(
        steps.name,
        steps.by_kernels,
        steps.thread,
        steps.domain,
        steps.start_ns[first],
        steps.end_ns[last],
        steps.name_id,
    )


def _tracks(trace: Trace, process: int) -> Iterator:  # type: ignore[type-arg]
    for thread in trace.threads_of(process):
        yield from (t for t in trace.tracks_of(thread.index) if not is_library_domain(t.domain))


def _optimizer_texts(trace: Trace) -> npt.NDArray[np.bool_]:
    """Return which names are texts of ranges that name the optimizer's step, shape (names,)."""
    named = np.zeros(len(trace.names), bool)
    used = np.flatnonzero(np.bincount(trace.nvtx.name_id, minlength=len(trace.names))).astype(np.uint32)
    own = used[users_own(trace.names, used)]
    named[own] = [is_optimizer(normalise_numbers(text)) for text in trace.names.take(own)]
    return named
