"""The optimizer's steps of a process: by its ranges, else by runs of its kernels.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.classify import CLASSES, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.core.nvtx_texts import is_library_domain, users_or_profilers
from viewer.analysis.iterations.launch_times import LaunchTimes
from viewer.analysis.iterations.marker_texts import EVALUATION, is_optimizer, part_of_run
from viewer.analysis.launches.attribution import Indices, Mask, ranges_of
from viewer.analysis.launches.launches import Launches
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64, UInt32
from viewer.trace.names import normalise_numbers, short_name

OPTIMIZER = CLASSES.index("optimizer")
CLOSE = 10
"""Kernels of the optimizer with at most so many operations between them are one run."""
_ALGORITHM = re.compile(
    r"(?i)adam|adagrad|adadelta|lamb(?!da)|\blars|lion|muon|shampoo|sgd|rmsprop|optimizer|novograd"
)
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
        # By range, so that what each launched is looked up by its index; ranges that launched nothing are not
        # in the table and stay 0.
        self._ops = np.zeros(len(self._trace.nvtx), np.int64)
        self._ops[projected["range"]] = projected["ops"]
        self._group = _optimizer_texts(self._trace)
        self._named = self._group >= 0
        self._is_evaluation = _evaluation_texts(self._trace)

    def steps(self, process: int, times: LaunchTimes) -> OptimizerSteps | None:
        """Return the steps of a process, None where nothing names the optimizer or is its kernel."""
        # Ranges first: they were named by people. Kernels only tell that weights changed, not where the step
        # began.
        by_range = self._by_range(process)
        steps = _together(by_range, times) if by_range is not None else self._by_kernels(process, times)
        return folded(steps, times, self._evaluations(process)) if steps is not None else None

    def _evaluations(self, process: int) -> Intervals:
        """Return when the process evaluates, by its ranges."""
        nvtx = self._trace.nvtx
        tracks = [ranges_of(self._trace, track.index) for track in _tracks(self._trace, process)]
        rows = np.concatenate([*tracks, np.empty(0, np.int64)])
        rows = rows[self._is_evaluation[nvtx.name_id[rows]]]
        return union(nvtx.start_ns[rows], nvtx.end_ns[rows])

    def _by_range(self, process: int) -> OptimizerSteps | None:
        """Return the ranges of the track on which the optimizer launches most, the outermost ones."""
        trace, nvtx, best, most = self._trace, self._trace.nvtx, None, 0
        for track in _tracks(trace, process):
            rows = ranges_of(trace, track.index)
            rows = rows[self._named[nvtx.name_id[rows]] & (self._ops[rows] > 0)]
            # A step that is called for every micro-batch updates weights after the last one alone.
            rows = rows[self._ops[rows] >= _LEAST_WORK * self._ops[rows].max(initial=0)]
            rows = rows[self._as_often(rows)]
            # Strictly more: of two tracks that launch as much the first stays, so that the answer is the same
            # every time.
            if int(self._ops[rows].sum()) > most:
                best, most = (track, rows), int(self._ops[rows].sum())
        if best is None:
            return None
        track, rows = best
        ends = nvtx.end_ns[rows]
        # Sorted by start, a range is an outermost one if it ends after all before it; inner ones are parts of
        # a step, not steps.
        rows = rows[ends > np.append(np.iinfo(np.int64).min, np.maximum.accumulate(ends)[:-1])]
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

    def _as_often(self, rows: Indices) -> Mask:
        """Return which ranges have a name that comes as often as that of which each launches most."""
        texts = self._group[self._trace.nvtx.name_id[rows]]
        used, name, count = np.unique(texts, return_inverse=True, return_counts=True)
        # A name alone is as often as itself, and an empty array has no largest element.
        if len(used) < 2:
            return np.ones(len(rows), bool)
        launched_each = np.bincount(name, self._ops[rows]) / count
        return np.asarray(count[name] == count[launched_each.argmax()])

    def _by_kernels(self, process: int, times: LaunchTimes) -> OptimizerSteps | None:
        trace, api = self._trace, self._trace.api
        gpus = trace.gpus_of(process)
        kernels = np.concatenate([rows_of_gpu(trace, Kind.KERNEL, gpu.index) for gpu in gpus])
        kernels = kernels[self._classes.class_of[trace.kernels.name_id[kernels]] == OPTIMIZER]
        calls = self._launches.api_of(Kind.KERNEL)[kernels]
        # Steps are cut on the CPU, so a kernel without its call is of no use here.
        kernels, calls = kernels[calls >= 0], calls[calls >= 0]
        if not len(calls):
            return None
        # By launch over all GPUs of the process: one step updates the weights on each of them.
        order = np.argsort(api.start_ns[calls], kind="stable")
        kernels, calls = kernels[order], calls[order]
        # A process with several GPUs launches as many times between two kernels of one of them.
        positions, close = times.position(api.start_ns[calls]), CLOSE * len(gpus)
        of_steps = updates(trace, trace.kernels.name_id[kernels], positions, close)
        kernels, calls, positions = kernels[of_steps], calls[of_steps], positions[of_steps]
        first, last = runs_of(positions, close)
        name_id = int(trace.kernels.name_id[kernels[-1]])
        return OptimizerSteps(
            short_name(trace.names[name_id]),
            True,
            api.owner_of(int(calls[-1])),
            "",
            api.start_ns[calls[first]],
            api.end_ns[calls[last]],
            name_id,
        )


def updates(trace: Trace, name_ids: UInt32, positions: Indices, close: int) -> Mask:
    """Return which of the optimizer's kernels update weights, a mask of shape (n,).

    Its class holds kernels that copy, clear or scale lists of tensors too, elsewhere and more often (FSDP
    copies each layer's shards with them). Those that name an algorithm count, else those of the names that
    come in as many runs as most names do, of several such numbers the least.

    Parameters
    ----------
    name_ids : ndarray of uint32, shape (n,)
    positions : ndarray of int64, shape (n,)
        Where they stand among all operations; they rise.
    close : int
        See `runs_of`.
    """
    used, name = np.unique(name_ids, return_inverse=True)
    names = trace.names.take(used)
    is_algorithm = np.array([_ALGORITHM.search(text) is not None for text in names])
    # A name is proof; how often it comes is only a sign, for optimizers that people wrote themselves.
    if is_algorithm.any():
        return np.asarray(is_algorithm[name])
    runs = np.array([len(runs_of(positions[name == n], close)[0]) for n in range(len(used))])
    counts, names_of = np.unique(runs, return_counts=True)
    return np.asarray(runs[name] == counts[names_of == names_of.max()][0])


def runs_of(positions: Indices, close: int) -> tuple[Indices, Indices]:
    """Return the first and the last of each run of some operations: indices into `positions`, which rise.

    Those with at most `close` others between them are one run; and so are those with few others between
    them, compared with the common distance.
    """
    # The prepended position lies too far off to be close, so that the first run begins with the first one.
    first = np.flatnonzero(np.diff(positions, prepend=positions[0] - close - 2) > close + 1)
    last = np.append(first[1:] - 1, len(positions) - 1)
    # In operations, not in time: a data loader that stalls must not split a step, nor a fast one join two.
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
    return _picked(steps, np.append(True, parts), np.append(parts, True))


def folded(steps: OptimizerSteps, times: LaunchTimes, evaluations: Intervals) -> OptimizerSteps:
    """Return every p-th step where p optimizers take turns, as a discriminator's and a generator's do.

    What is launched in `evaluations` counts for none: one after every second step is no second optimizer.
    """
    # Before each step; none ends within an evaluation, so whole ones are enough.
    evaluated = np.concatenate(([0], np.cumsum(times.count(evaluations.start_ns, evaluations.end_ns))))
    before = times.position(steps.end_ns) - evaluated[np.searchsorted(evaluations.start_ns, steps.end_ns)]
    period = alternation(np.diff(before))
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


def _evaluation_texts(trace: Trace) -> Mask:
    """Return which names are texts of a user's range that say evaluation; shape (names,)."""
    result = np.zeros(len(trace.names), bool)
    used = np.flatnonzero(np.bincount(trace.nvtx.name_id, minlength=len(trace.names))).astype(np.uint32)
    own = used[users_or_profilers(trace.names, used)]
    texts = trace.names.take(own)
    result[own] = [part_of_run(normalise_numbers(text)) == EVALUATION for text in texts]
    return result


def _optimizer_texts(trace: Trace) -> Indices:
    """Return a number for each name that is a text of the optimizer's step, else -1; shape (names,).

    Texts that differ in their numbers alone have one number.
    """
    groups = np.full(len(trace.names), -1, np.int64)
    used = np.flatnonzero(np.bincount(trace.nvtx.name_id, minlength=len(trace.names))).astype(np.uint32)
    own = used[users_or_profilers(trace.names, used)]
    numbers: dict[str, int] = {}
    for name_id, text in zip(own.tolist(), trace.names.take(own), strict=True):
        normalised = normalise_numbers(text)
        if is_optimizer(normalised):
            groups[name_id] = numbers.setdefault(normalised, len(numbers))
    return groups
