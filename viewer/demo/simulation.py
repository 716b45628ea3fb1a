"""The simulation of a training job: host threads issue steps, streams run them in order, groups synchronise.

State arrays have shape (ranks,): one pass over the steps of an iteration advances all ranks at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import get_args

import numpy as np
import numpy.typing as npt

from viewer.demo.draws import Draws, between, draw
from viewer.demo.loops import SAMPLE_ITERATIONS, distca, megatron
from viewer.demo.options import DemoOptions
from viewer.demo.overlap_tax import OverlapTax
from viewer.demo.pipeline import STAGE_RANKS, pipeline
from viewer.demo.program import CALLS, ON_GPU, STREAM_SLOTS, Do, Group, Program, Step
from viewer.demo.randoms import Float, key_of, uniform

Int64 = npt.NDArray[np.int64]

START_NS, START_SPREAD_NS, BETWEEN_NS = 40_000_000, (0, 180_000), (20_000, 60_000)
CHECKPOINT_EVERY = 4
DATA_PARALLEL = 4
STREAM_GAP_NS = 900
SYNC_RETURN_NS = 7_000
FIRST_CORRELATION, CORRELATION_STEP = 4_001, 11
_GROUPS: tuple[Group, ...] = get_args(Group)
_BOUNDARY = np.array([key_of("boundary")], np.uint64)
_megatron, _distca, _pipeline = cache(megatron), cache(distca), cache(pipeline)


@dataclass(frozen=True)
class SimulatedIteration:
    """One iteration, timed. All arrays have shape (steps, ranks) and hold nanoseconds.

    Where a rank does not do a step, `is_done` is false and the times of the call say nothing.

    Attributes
    ----------
    calls_before : int
        How many CUDA calls each rank's earlier iterations made.
    draws : Draws
        What the steps take when nothing holds them up.
    call_start_ns, call_end_ns : ndarray of int64
        When the host thread entered the step's call and left it.
    gpu_start_ns, gpu_end_ns : ndarray of int64
        When the operation ran on the GPU; -1 for steps without a GPU operation.
    is_done : ndarray of bool
        Whether the rank does the step.
    """

    index: int
    program: Program
    calls_before: int
    draws: Draws
    call_start_ns: Int64
    call_end_ns: Int64
    gpu_start_ns: Int64
    gpu_end_ns: Int64
    is_done: npt.NDArray[np.bool_]

    @cached_property
    def correlation(self) -> Int64:
        """The correlation ids, shape (steps, ranks), below `FIRST_CORRELATION` for steps that call no CUDA.

        A call's row, its operation's and its synchronisation's share one. Each process counts its own calls
        from about the same number, so the ids of processes collide, as in real recordings.
        """
        is_call = np.array([s.do in CALLS for s in self.program.steps])
        number = np.where(is_call, self.calls_before + np.cumsum(is_call) - 1 + FIRST_CORRELATION, 0)
        first = CORRELATION_STEP * np.arange(self.call_start_ns.shape[1], dtype=np.int64)
        return np.where(is_call[:, None], number[:, None] + first, 0)


def group_members(group: Group, ranks: int, tensor: int = 2) -> list[list[int]]:
    """Return the groups of one kind as lists of ranks; `tensor` is the size of a tensor parallel group."""
    if group == "world":
        return [list(range(ranks))]
    if group == "tensor":
        return [list(range(ranks))[r : r + tensor] for r in range(0, ranks, tensor)]
    if group == "stage":
        return [list(range(ranks))[r : r + STAGE_RANKS] for r in range(0, ranks, STAGE_RANKS)]
    if group.startswith("link"):
        # Each rank of a stage sends to its twin in the next one; the others are alone.
        first = int(group.split()[1]) * STAGE_RANKS
        sending = [r for r in range(first, first + STAGE_RANKS) if r + STAGE_RANKS < ranks]
        pairs = [[r, r + STAGE_RANKS] for r in sending]
        return [*pairs, *([r] for r in range(ranks) if not any(r in pair for pair in pairs))]
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
        return iteration == 0 and not self.options.clean and self.options.like != "pipeline"

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
        if o.like == "pipeline":
            return _pipeline(o.clean)
        return _megatron(cold, o.clean, self.is_checkpoint(iteration), o.fault, o.one_stream)

    def run(self) -> Iterator[SimulatedIteration]:
        """Time the iterations one after another."""
        state = _State(self.options)
        for index in range(self.iterations):
            yield state.run(index, self.program(index))


class _State:
    """What goes on from one iteration to the next: the host runs ahead, and the streams have queues.

    Arrays have shape (ranks,) unless said otherwise.
    """

    def __init__(self, options: DemoOptions) -> None:
        ranks = options.ranks
        self.options = options
        self.members = {g: _member_index(group_members(g, ranks, options.tensor)) for g in _GROUPS}
        # When the host thread is free, and when each stream is: shape (streams, ranks).
        self.cpu = START_NS + between(START_SPREAD_NS, self._boundary(0, "start"))
        self.busy_until = np.zeros((STREAM_SLOTS, ranks), np.int64)
        self.tax = OverlapTax(options.tax)
        self.calls = 0

    def _boundary(self, index: int, use: str) -> Float:
        o = self.options
        numbers: Float = uniform(o.seed, index, _BOUNDARY, o.ranks, use)[0]
        return numbers

    def run(self, index: int, program: Program) -> SimulatedIteration:
        """Return the times of all steps of one iteration on all ranks."""
        draws = draw(program, self.options, index)
        shape = draws.host_ns.shape
        is_done = program.is_done(shape[1])
        call_start, call_end = np.empty(shape, np.int64), np.empty(shape, np.int64)
        gpu_start, gpu_end = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        recorded: dict[int, Int64] = {}
        busy_until, cpu = self.busy_until, self.cpu
        for i, step in enumerate(program.steps):
            queues = busy_until.copy()
            begin = cpu + draws.before_ns[i]
            end = begin + draws.host_ns[i]
            if step.do in ON_GPU:
                # An operation starts once its launch has reached the GPU and its stream is free.
                start = np.maximum(begin + draws.latency_ns[i], busy_until[step.stream] + STREAM_GAP_NS)
                stop = self._end(step, i, draws, start, is_done[i])
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
                stream = busy_until[step.stream]
                if step.event is None:
                    np.maximum(stream, begin, out=stream)
                    stream += step.late_ns
                else:
                    np.maximum(stream, recorded[step.event], out=stream)
            elif step.do == Do.EVENT_SYNC and step.event is not None:
                end = np.maximum(end, recorded[step.event] + SYNC_RETURN_NS)
            elif step.do == Do.SYNC:
                # The host waits: for the whole device (stream -1), or for one stream.
                drained = busy_until.max(axis=0) if step.stream < 0 else busy_until[step.stream]
                end = np.maximum(end, drained + SYNC_RETURN_NS)
            call_start[i], call_end[i] = begin, end
            if step.ranks is None:
                cpu = end
                continue
            # For who does not do the step all stays as it was.
            away = ~is_done[i]
            busy_until[:, away] = queues[:, away]
            gpu_start[i, away] = gpu_end[i, away] = -1
            cpu = np.where(away, cpu, end)
        before, self.calls = self.calls, self.calls + sum(s.do in CALLS for s in program.steps)
        self.cpu = cpu + between(BETWEEN_NS, self._boundary(index, "between"))
        return SimulatedIteration(
            index, program, before, draws, call_start, call_end, gpu_start, gpu_end, is_done
        )

    def _end(self, step: Step, i: int, draws: Draws, start: Int64, is_done: npt.NDArray[np.bool_]) -> Int64:
        """Return when an operation ends that starts at `start`."""
        work = draws.work_ns[i]
        if step.do == Do.KERNEL:
            return self.tax.end_of(start, work)
        if step.group is None:
            alone: Int64 = start + work
            return alone
        # A collective starts on each rank alone, but its data move only once the last member is there: all
        # members end together, apart from the jitter.
        padded, owner = self.members[step.group]
        last = start[padded].max(axis=1)[owner]
        if step.has_root:
            # Each member waits for the root alone, the first of its group.
            last = np.maximum(start, start[padded[:, 0]][owner])
        stop: Int64 = last + work[padded[:, 0]][owner] + draws.finish_ns[i]
        # Where it does not run it lasts no time.
        self.tax.add(start, np.where(is_done, stop, start))
        return stop


def _member_index(groups: list[list[int]]) -> tuple[Int64, Int64]:
    """Return the groups padded to one length (groups, longest), and the group of each rank (ranks,)."""
    longest = max(map(len, groups))
    # Pad with a group's own first rank: a repeated member does not change the maximum over the members.
    padded = np.array([g + [g[0]] * (longest - len(g)) for g in groups], np.int64)
    owner = np.zeros(sum(map(len, groups)), np.int64)
    for number, group in enumerate(groups):
        owner[group] = number
    return padded, owner
