"""The true values of a simulated job, which tests compare with what the analysis finds in its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.demo.program import ON_GPU, STREAM_SLOTS, Do, Step
from viewer.demo.simulation import (
    STREAM_GAP_NS,
    SYNC_RETURN_NS,
    SimulatedIteration,
    SimulatedJob,
    group_members,
)

Int64 = npt.NDArray[np.int64]
Node = tuple[int, int]
"""An operation on all ranks: its iteration, its step."""


@dataclass(frozen=True)
class GroundTruth:
    """When the iterations of a job run, and what is wrong with it.

    Attributes
    ----------
    iteration_start_ns : ndarray of int64, shape (ranks, iterations)
        Start of the first operation of each iteration on each GPU.
    end_ns : ndarray of int64, shape (ranks,)
        End of the last operation.
    warm_up, checkpoints : tuple of int
        Slow iterations at the start; iterations that save a checkpoint.
    straggler : int or None
        The slow rank.
    tax_ns : ndarray of int64, shape (ranks, iterations)
        By how much communication lengthened the compute kernels that ran beside it.
    """

    iteration_start_ns: Int64
    end_ns: Int64
    warm_up: tuple[int, ...]
    checkpoints: tuple[int, ...]
    straggler: int | None
    tax_ns: Int64


def ground_truth(job: SimulatedJob) -> GroundTruth:
    """Run the job and return its true values."""
    starts: list[Int64] = []
    taxes: list[Int64] = []
    end = np.zeros(job.options.ranks, np.int64)
    for iteration in job.run():
        on_gpu = (iteration.gpu_start_ns >= 0).any(axis=1)
        began = iteration.gpu_start_ns[on_gpu]
        starts.append(np.where(began < 0, np.iinfo(np.int64).max, began).min(axis=0))
        end = np.maximum(end, iteration.gpu_end_ns.max(axis=0))
        taxes.append(_tax_ns(iteration))
    return GroundTruth(
        np.stack(starts, axis=1),
        end,
        tuple(k for k in range(job.iterations) if job.is_warm_up(k)),
        tuple(k for k in range(job.iterations) if job.is_checkpoint(k)),
        job.options.straggler,
        np.stack(taxes, axis=1),
    )


def _tax_ns(iteration: SimulatedIteration) -> Int64:
    kernels = np.array([s.do == Do.KERNEL for s in iteration.program.steps])
    length = iteration.gpu_end_ns - iteration.gpu_start_ns
    taken = np.where(iteration.is_done, length - iteration.draws.work_ns, 0)
    total: Int64 = taken[kernels].sum(axis=0)
    return total


@dataclass(frozen=True)
class Dependencies:
    """What held up the operations and calls of one iteration.

    Arrays have shape (steps, ranks); operations are told by their correlation id on their rank, -1 for none.

    Attributes
    ----------
    iteration : SimulatedIteration
        The times and the correlation ids of the steps.
    producers : mapping of int to tuple of ndarray of int64
        For each step that makes a stream or a host wait for an event: the operations that the event stands
        for, as arrays of shape (ranks,). A wait for an event of another GPU has no entry.
    held_by : ndarray of int64
        The operation after whose end this one started; -1 where its own launch came later than all it had to
        wait for, or where an event of another GPU held it.
    is_foreign : ndarray of bool
        Whether an event of another GPU may have held the operation.
    last_member : ndarray of int64
        For a collective the rank that its data waited for: the last to start, or the root.
    returned_by : ndarray of int64
        The operation whose end let a blocking call return; -1 where the call took only its own time.
    """

    iteration: SimulatedIteration
    producers: Mapping[int, tuple[Int64, ...]]
    held_by: Int64
    is_foreign: npt.NDArray[np.bool_]
    last_member: Int64
    returned_by: Int64


def dependencies(job: SimulatedJob) -> Iterator[Dependencies]:
    """Run the job and yield what held up its operations and calls, iteration by iteration.

    Raises
    ------
    ValueError
        The job is a pipeline: its ranks do different steps, and a `Node` is an operation of all.
    """
    if job.options.like == "pipeline":
        raise ValueError("the dependencies of a pipeline are not told: its ranks do different steps")
    truth = _Tails(job)
    for iteration in job.run():
        yield truth.of(iteration)


class _Tails:
    """What each stream's queue ends with: the operations that the next one on it has to wait for."""

    def __init__(self, job: SimulatedJob) -> None:
        self.job = job
        self.tails: list[frozenset[Node]] = [frozenset()] * STREAM_SLOTS
        self.foreign = [False] * STREAM_SLOTS
        self.ends: dict[Node, Int64] = {}
        self.ids: dict[Node, Int64] = {}

    def of(self, iteration: SimulatedIteration) -> Dependencies:
        shape = iteration.gpu_start_ns.shape
        held_by, returned_by, last = (np.full(shape, -1, np.int64) for _ in range(3))
        foreign = np.zeros(shape, np.bool_)
        stands: dict[int, frozenset[Node]] = {}
        producers: dict[int, tuple[Int64, ...]] = {}
        for i, step in enumerate(iteration.program.steps):
            waited: frozenset[Node] | None = None
            if step.do in ON_GPU:
                starts = iteration.gpu_start_ns[i]
                held_by[i] = self._latest(self.tails[step.stream], starts - STREAM_GAP_NS)
                foreign[i] = self.foreign[step.stream]
                last[i] = self._last_member(step, starts)
                node = (iteration.index, i)
                self.ends[node], self.ids[node] = iteration.gpu_end_ns[i], iteration.correlation[i]
                self.tails[step.stream], self.foreign[step.stream] = frozenset({node}), False
                waited = self.tails[step.stream] if step.blocking else None
            elif step.do == Do.RECORD:
                stands[i] = self.tails[step.stream]
            elif step.event is not None:
                producers[i] = tuple(self.ids[node] for node in sorted(stands[step.event]))
                if step.do == Do.STREAM_WAIT:
                    self.tails[step.stream] |= stands[step.event]
                elif step.do == Do.EVENT_SYNC:
                    waited = stands[step.event]
            elif step.do == Do.STREAM_WAIT:
                self.foreign[step.stream] = True
            elif step.do == Do.SYNC:
                waited = frozenset().union(*self.tails) if step.stream < 0 else self.tails[step.stream]
            if waited is not None:
                returned_by[i] = self._latest(waited, iteration.call_end_ns[i] - SYNC_RETURN_NS)
        needed = frozenset().union(*self.tails)
        self.ends = {node: end for node, end in self.ends.items() if node in needed}
        return Dependencies(iteration, producers, held_by, foreign, last, returned_by)

    def _latest(self, nodes: frozenset[Node], time_ns: Int64) -> Int64:
        """Return on each rank the last of the operations to end, if it ended at this time; else -1."""
        latest, ends = np.full(len(time_ns), -1, np.int64), np.full(len(time_ns), -1, np.int64)
        for node in sorted(nodes):
            later = self.ends[node] > ends
            latest[later], ends[later] = self.ids[node][later], self.ends[node][later]
        return np.where(ends == time_ns, latest, -1)

    def _last_member(self, step: Step, starts: Int64) -> Int64:
        last = np.full(len(starts), -1, np.int64)
        if step.group is not None:
            options = self.job.options
            for members in group_members(step.group, options.ranks, options.tensor):
                last[members] = members[0] if step.has_root else members[int(starts[members].argmax())]
        return last
