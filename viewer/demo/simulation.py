"""The simulation of a training job: host threads issue steps, streams run them in order, groups synchronise.

State arrays have shape (ranks,): one pass over the steps of an iteration advances all ranks at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from viewer.demo.loops import SAMPLE_ITERATIONS, distca, megatron
from viewer.demo.options import DemoOptions
from viewer.demo.program import STREAM_SLOTS, Do, Group, Program

Int64 = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]

START_NS = 40_000_000
SLOW = 1.06
CHECKPOINT_EVERY = 4
DATA_PARALLEL = 4
CALL_GAP_NS, RANGE_GAP_NS = 8_200, 700
LAUNCH_SPREAD = 0.14
STREAM_GAP_NS = 900
SYNC_RETURN_NS = 7_000
_GROUPS: tuple[Group, ...] = ("tensor", "data", "world")
_megatron, _distca = cache(megatron), cache(distca)
_ON_GPU = (Do.KERNEL, Do.COLLECTIVE, Do.COPY, Do.SET)


@dataclass(frozen=True)
class SimulatedIteration:
    """One iteration, timed. All arrays have shape (steps, ranks) and hold nanoseconds.

    Attributes
    ----------
    call_start_ns, call_end_ns : ndarray of int64
        When the host thread entered the step's call and left it.
    gpu_start_ns, gpu_end_ns : ndarray of int64
        When the operation ran on the GPU; -1 for steps without a GPU operation.
    """

    index: int
    program: Program
    call_start_ns: Int64
    call_end_ns: Int64
    gpu_start_ns: Int64
    gpu_end_ns: Int64


@dataclass(frozen=True)
class GroundTruth:
    """The true values of a simulated job, which tests compare with what the analysis finds in the file.

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
    """

    iteration_start_ns: Int64
    end_ns: Int64
    warm_up: tuple[int, ...]
    checkpoints: tuple[int, ...]
    straggler: int | None


def group_members(group: Group, ranks: int, tensor: int = 2) -> list[list[int]]:
    """Return the groups of one kind as lists of ranks; `tensor` is the size of a tensor parallel group."""
    if group == "world":
        return [list(range(ranks))]
    if group == "tensor":
        return [list(range(ranks))[r : r + tensor] for r in range(0, ranks, tensor)]
    length = DATA_PARALLEL * tensor
    block = [range(ranks)[b : b + length] for b in range(0, ranks, length)]
    return [
        [r for r in ranks_of if r % tensor == side]
        for ranks_of in block
        for side in range(tensor)
        if len(ranks_of) > side
    ]


@dataclass
class SimulatedJob:
    """A job that runs iteration by iteration. Each run starts anew and gives the same times."""

    options: DemoOptions
    iterations: int

    def is_warm_up(self, iteration: int) -> bool:
        """Whether the iteration loads modules and allocates memory while it runs."""
        return iteration == 0 and not self.options.clean

    def is_checkpoint(self, iteration: int) -> bool:
        """Whether the iteration ends by saving a checkpoint."""
        o = self.options
        return o.like == "megatron" and not o.clean and iteration % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1

    def program(self, iteration: int) -> Program:
        """Return the steps of an iteration."""
        cold = self.is_warm_up(iteration)
        place = iteration % SAMPLE_ITERATIONS
        if self.options.like == "distca":
            return _distca(cold, place == 0, place == SAMPLE_ITERATIONS - 1)
        o = self.options
        return _megatron(cold, o.clean, self.is_checkpoint(iteration), o.fault, o.one_stream)

    def run(self) -> Iterator[SimulatedIteration]:
        """Time the iterations one after another."""
        ranks = self.options.ranks
        rng = np.random.default_rng(self.options.seed)
        members = {g: _member_index(group_members(g, ranks, self.options.tensor)) for g in _GROUPS}
        cpu = START_NS + rng.integers(0, 180_000, ranks)
        busy_until = np.zeros((STREAM_SLOTS, ranks), np.int64)
        for index in range(self.iterations):
            program = self.program(index)
            # `busy_until` carries the streams' queues over to the next iteration: the host runs ahead.
            iteration = _time_iteration(index, program, cpu, busy_until, self.options, members, rng)
            cpu = iteration.call_end_ns[-1] + rng.integers(20_000, 60_000, ranks)
            yield iteration


def _member_index(groups: list[list[int]]) -> tuple[Int64, Int64]:
    """Return the groups padded to one length (groups, longest), and the group of each rank (ranks,)."""
    longest = max(map(len, groups))
    # Pad with a group's own first rank: a repeated member does not change the maximum over the members.
    padded = np.array([g + [g[0]] * (longest - len(g)) for g in groups], np.int64)
    owner = np.zeros(sum(map(len, groups)), np.int64)
    for number, group in enumerate(groups):
        owner[group] = number
    return padded, owner


def _time_iteration(
    index: int,
    program: Program,
    cpu: Int64,
    busy_until: Int64,
    options: DemoOptions,
    members: dict[Group, tuple[Int64, Int64]],
    rng: np.random.Generator,
) -> SimulatedIteration:
    """Return the times of all steps of one iteration on all ranks; `busy_until` is updated in place.

    `cpu` has shape (ranks,), when each host thread is free; `busy_until` shape (streams, ranks).
    """
    # Draw all random numbers first, for all steps and ranks at once: their order in the generator decides
    # the times, so a draw that depends on a step would change every later one.
    steps = program.steps
    shape = (len(steps), options.ranks)
    pace = options.rank_faults.pace(steps, options.ranks)
    if options.straggler is not None:
        pace[:, options.straggler] *= SLOW
    spread = np.array([s.spread for s in steps])[:, None]
    host_spread = np.array([LAUNCH_SPREAD if s.work_ns else s.spread for s in steps])[:, None]
    host = _about(np.array([s.host_ns for s in steps])[:, None], host_spread, shape, rng).astype(np.int64)
    think = np.array([RANGE_GAP_NS if s.do in (Do.PUSH, Do.POP) else CALL_GAP_NS for s in steps])[:, None]
    before = (think * (0.7 + 0.3 * rng.standard_exponential(shape))).astype(np.int64)
    before += options.rank_faults.host_delay_ns(steps, options.ranks)
    compute = np.array([s.do == Do.KERNEL for s in steps])[:, None]
    work = _about(np.array([s.work_ns for s in steps])[:, None], spread, shape, rng)
    work = np.where(compute, work * pace, work).astype(np.int64)
    latency = rng.integers(5_000, 6_400, shape)
    finish_jitter = rng.integers(0, 900, shape)

    call_start, call_end = np.empty(shape, np.int64), np.empty(shape, np.int64)
    gpu_start, gpu_end = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
    recorded: dict[int, Int64] = {}
    for i, step in enumerate(steps):
        begin = cpu + before[i]
        end = begin + host[i]
        if step.do in _ON_GPU:
            # An operation starts once its launch has reached the GPU and its stream is free.
            start = np.maximum(begin + latency[i], busy_until[step.stream] + STREAM_GAP_NS)
            if step.group is not None:
                # A collective starts on each rank alone, but its data move only once the last member is
                # there: all members end together, apart from the jitter.
                padded, owner = members[step.group]
                last = start[padded].max(axis=1)[owner]
                if step.has_root:
                    # Each member waits for the root alone, the first of its group.
                    last = np.maximum(start, start[padded[:, 0]][owner])
                stop = last + work[i][padded[:, 0]][owner] + finish_jitter[i]
            else:
                stop = start + work[i]
            busy_until[step.stream] = stop
            gpu_start[i], gpu_end[i] = start, stop
            if step.blocking:
                end = np.maximum(end, stop + SYNC_RETURN_NS)
        elif step.do == Do.RECORD:
            # The event comes once the stream has done what was launched on it before, and waited for it:
            # what is launched later does not delay it.
            recorded[i] = busy_until[step.stream].copy()
        elif step.do == Do.STREAM_WAIT:
            # The host goes on at once; only the stream waits: for the host's call or for an event.
            if step.event is None:
                np.maximum(busy_until[step.stream], begin, out=busy_until[step.stream])
                busy_until[step.stream] += step.late_ns
            else:
                np.maximum(busy_until[step.stream], recorded[step.event], out=busy_until[step.stream])
        elif step.do == Do.EVENT_SYNC and step.event is not None:
            end = np.maximum(end, recorded[step.event] + SYNC_RETURN_NS)
        elif step.do == Do.SYNC:
            # The host waits: for the whole device (stream -1), or for one stream.
            drained = busy_until.max(axis=0) if step.stream < 0 else busy_until[step.stream]
            end = np.maximum(end, drained + SYNC_RETURN_NS)
        call_start[i], call_end[i] = begin, end
        cpu = end
    return SimulatedIteration(index, program, call_start, call_end, gpu_start, gpu_end)


def _about(typical: Int64, spread: Float, shape: tuple[int, int], rng: np.random.Generator) -> Float:
    # Never below 40 %: a wide spread would make negative durations.
    factor: Float = np.maximum(1 + spread * rng.standard_normal(shape), 0.4)
    return typical.astype(np.float64) * factor


def ground_truth(job: SimulatedJob) -> GroundTruth:
    """Run the job and return its true values."""
    starts: list[Int64] = []
    end = np.zeros(job.options.ranks, np.int64)
    for iteration in job.run():
        on_gpu = iteration.gpu_start_ns[:, 0] >= 0
        starts.append(iteration.gpu_start_ns[on_gpu].min(axis=0))
        end = np.maximum(end, iteration.gpu_end_ns.max(axis=0))
    return GroundTruth(
        np.stack(starts, axis=1),
        end,
        tuple(k for k in range(job.iterations) if job.is_warm_up(k)),
        tuple(k for k in range(job.iterations) if job.is_checkpoint(k)),
        job.options.straggler,
    )
