"""Steps of a host program, and `Script`, which collects the steps of an iteration."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from viewer.demo.kernels import KERNELS
from viewer.demo.randoms import Keys, key_of

Thread = Literal["main", "autograd"]
Group = Literal["tensor", "data", "world", "stage", "link 0", "link 1", "link 2"]

COMPUTE, TENSOR, DATA, WORLD, COPY = range(5)
"""Stream slots: compute, NCCL's for the tensor and data parallel groups and for all ranks, copies."""
STREAM_SLOTS = 5

MEMCPY = "cudaMemcpyAsync_v3020"
MEMSET = "cudaMemsetAsync_v3020"
RECORD = "cudaEventRecord_v3020"
WAIT = "cudaStreamWaitEvent_v3020"
EVENT_SYNC = "cudaEventSynchronize_v3020"
EVENT_QUERY = "cudaEventQuery_v3020"
PREEMPTED, FLUSH = "", "CUPTI Buffer flush"
EVENT_HANDLES = 8
"""Events that a process creates at first; more only while all are in use, as PyTorch caches them."""

STREAM_SYNC = "cudaStreamSynchronize_v3020"
DEVICE_SYNC = "cudaDeviceSynchronize_v3020"


class Do(IntEnum):
    """The kind of a step, by which the simulation times it."""

    CALL = 0
    KERNEL = 1
    COLLECTIVE = 2
    COPY = 3
    SET = 4
    STREAM_WAIT = 5
    SYNC = 6
    PUSH = 7
    POP = 8
    PAUSE = 9
    SWITCH = 10
    WORK = 11
    RECORD = 12
    EVENT_SYNC = 13
    EVENT_QUERY = 14


ON_GPU = (Do.KERNEL, Do.COLLECTIVE, Do.COPY, Do.SET)
EVENT_WAITS = (Do.STREAM_WAIT, Do.EVENT_SYNC, Do.EVENT_QUERY)
CALLS = (Do.CALL, Do.SYNC, Do.RECORD, *EVENT_WAITS, *ON_GPU)
"""The steps that call CUDA."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a host thread; its times are typical values in nanoseconds.

    `host_ns` is the duration of the call (of the wait, for a pause), `work_ns` that of the operation it puts
    on `stream`. A record records the event `handle` on `stream`. A stream wait makes `stream` wait for what
    the record at the step `event` stands for, a synchronisation the host, a query asks; a stream wait without
    `event` waits for an event of another GPU, `late_ns` after its own queue is empty.
    With `has_root` a collective waits for the first rank of its group alone.
    `ranks` are those that do the step, None for all.
    `spread` is the relative standard deviation of the work, or of the call if there is no work.
    """

    do: Do
    thread: Thread = "main"
    api: str = ""
    host_ns: int = 0
    work_ns: int = 0
    stream: int = COMPUTE
    event: int | None = None
    handle: int = 0
    late_ns: int = 0
    kernel: str = ""
    group: Group | None = None
    bytes: int = 0
    copy_kind: int = 0
    source_kind: int = 0
    target_kind: int = 0
    text: str = ""
    domain: str = ""
    argb: int | None = None
    os_call: str = ""
    blocking: bool = False
    has_root: bool = False
    ranks: tuple[int, ...] | None = None
    spread: float = 0.04


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of one iteration.

    Attributes
    ----------
    steps : tuple of Step
        In the order in which a rank's host issues them.
    ranges : tuple of (int, int)
        Steps that open and close an NVTX range.
    keys : ndarray of uint64, shape (steps,)
        What each step's random numbers belong to; steps of programs with and without a fault share theirs.
    open_push, open_pop : int or None
        The step that opens, or closes, the range around several iterations.
    """

    steps: tuple[Step, ...]
    ranges: tuple[tuple[int, int], ...]
    keys: Keys
    open_push: int | None = None
    open_pop: int | None = None

    def is_done(self, ranks: int) -> npt.NDArray[np.bool_]:
        """Return which of the ranks do which step, shape (steps, ranks)."""
        done = np.ones((len(self.steps), ranks), np.bool_)
        for i, step in enumerate(self.steps):
            if step.ranks is not None:
                done[i] = False
                done[i, list(step.ranks)] = True
        return done


@dataclass
class Script:
    """Collects steps in the order in which the host issues them."""

    quiet: bool = False
    cold: bool = False
    one_stream: bool = False
    thread: Thread = "main"
    ranks: tuple[int, ...] | None = None
    steps: list[Step] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)
    free_handles: deque[int] = field(default_factory=lambda: deque(range(EVENT_HANDLES)))
    handles: int = EVENT_HANDLES
    part_name: str = "job"
    keys: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, step: Step) -> None:
        """Append a step."""
        self.steps.append(step if self.ranks is None else replace(step, ranks=self.ranks))
        # Numbered within its part: steps that a fault adds do not renumber those of the job.
        self.keys.append(key_of(f"{self.part_name}/{self.counts[self.part_name]}"))
        self.counts[self.part_name] += 1

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Give the steps that are added meanwhile keys of this part of the job, numbered apart."""
        outer, self.part_name = self.part_name, name
        yield
        self.part_name = outer

    @contextmanager
    def only(self, ranks: tuple[int, ...]) -> Iterator[None]:
        """Let some ranks alone do the steps that are added meanwhile."""
        outer, self.ranks = self.ranks, ranks
        yield
        self.ranks = outer

    def program(self, open_push: int | None = None, open_pop: int | None = None) -> Program:
        """Return the collected steps."""
        keys = np.array(self.keys, np.uint64)
        return Program(tuple(self.steps), tuple(self.ranges), keys, open_push, open_pop)

    def push(self, text: str, argb: int | None = None, domain: str = "") -> None:
        """Open an NVTX range on the current thread."""
        self.opened.append(len(self.steps))
        self.add(Step(Do.PUSH, self.thread, host_ns=300, text=text, argb=argb, domain=domain))

    def pop(self) -> None:
        """Close the innermost open range."""
        self.ranges.append((self.opened.pop(), len(self.steps)))
        self.add(Step(Do.POP, self.thread, host_ns=250))

    def begin(self, text: str, argb: int | None = None) -> None:
        """Open a range of the user's code; does nothing in a `quiet` script, which has no such ranges."""
        if not self.quiet:
            self.push(text, argb)

    def finish(self) -> None:
        """Close the range that `begin` opened."""
        if not self.quiet:
            self.pop()

    def call(self, api: str, us: float, spread: float = 0.2) -> None:
        """Append a CUDA call without a GPU operation."""
        self.add(Step(Do.CALL, self.thread, api, round(us * 1e3), spread=spread))

    def kernel(self, key: str, us: float) -> None:
        """Launch a kernel; a cold process first loads its module and allocates its output."""
        if self.cold and key not in self.loaded:
            self.loaded.add(key)
            with self.part(f"load {key}"):
                self.call("cuLibraryLoadData", 1_900, 0.5)
                self.call("cudaMalloc_v3020", 420, 0.4)
        api = KERNELS[key].launched_by
        self.add(Step(Do.KERNEL, self.thread, api, 4_600, round(us * 1e3), COMPUTE, kernel=key, spread=0.008))

    def record(self, stream: int) -> int:
        """Record an event on a stream; the returned step stands for it in waits.

        The handle is the one that has been free for longest, so that each is recorded again and again.
        """
        if not self.free_handles:
            self.free_handles.append(self.handles)
            self.handles += 1
        handle = self.free_handles.popleft()
        self.add(Step(Do.RECORD, self.thread, RECORD, 1_600, stream=stream, handle=handle, spread=0.2))
        return len(self.steps) - 1

    def wait_event(self, stream: int, event: int) -> None:
        """Make a stream wait for an event; the host goes on at once."""
        self.add(Step(Do.STREAM_WAIT, self.thread, WAIT, 1_500, stream=stream, event=event))

    def sync_event(self, event: int) -> None:
        """Wait for an event on the host."""
        self.add(Step(Do.EVENT_SYNC, self.thread, EVENT_SYNC, 1_800, event=event))

    def query_event(self, event: int, us: float = 1.5, spread: float = 0.2) -> None:
        """Ask whether an event has come."""
        self.add(Step(Do.EVENT_QUERY, self.thread, EVENT_QUERY, round(us * 1e3), event=event, spread=spread))

    def release(self, event: int) -> None:
        """Return an event's handle, which no later step waits for, to those that `record` may take."""
        self.free_handles.append(self.steps[event].handle)

    def collective(self, key: str, us: float, group: Group, stream: int, call: str) -> int:
        """Issue a collective as PyTorch does, and return the event recorded after it.

        NCCL's stream first waits for an event of the compute stream.
        With `one_stream` as XLA does: all groups take turns on one stream, all-reduces under one name.
        """
        if self.one_stream:
            stream, key = TENSOR, "all_reduce" if key.startswith("all_reduce") else key
        if self.cold and group not in self.loaded:
            self.loaded.add(group)
            with self.part(f"load {group}"):
                self.push("ncclCommInitRankConfig", domain="NCCL")
                self.call("cudaStreamCreateWithFlags_v5000", 90)
                self.call("cudaMalloc_v3020", 9_000, 0.1)
                self.call("cuMemImportFromShareableHandle", 6_500, 0.1)
                self.pop()
        ready = self.record(COMPUTE)
        self.wait_event(stream, ready)
        self.release(ready)
        self.push(call, domain="NCCL")
        api = KERNELS[key].launched_by
        self.add(
            Step(
                Do.COLLECTIVE,
                self.thread,
                api,
                6_200,
                round(us * 1e3),
                stream,
                kernel=key,
                group=group,
                has_root=key == "broadcast",
                spread=0.01 if key == "send_recv" else 0.03,
            )
        )
        self.pop()
        return self.record(stream)

    def blocking_collective(self, key: str, us: float, group: Group, stream: int, call: str) -> None:
        """Issue a collective and make the compute stream wait for its end."""
        end = self.collective(key, us, group, stream, call)
        self.wait_event(COMPUTE, end)
        self.release(end)

    def copy(
        self, us: float, size: int, kind: int, source: int, target: int, stream: int, blocking: bool
    ) -> None:
        """Copy `size` bytes; kinds as in ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND."""
        self.add(
            Step(
                Do.COPY,
                self.thread,
                MEMCPY,
                5_400,
                round(us * 1e3),
                stream,
                bytes=size,
                copy_kind=kind,
                source_kind=source,
                target_kind=target,
                blocking=blocking,
            )
        )

    def item(self) -> None:
        """Fetch one number from the GPU: queue a copy, then wait for it with a synchronisation."""
        self.copy(1.5, 4, 2, 2, 1, COMPUTE, blocking=False)
        self.add(Step(Do.SYNC, self.thread, STREAM_SYNC, 2_000, stream=COMPUTE))

    def device_sync(self) -> None:
        """Wait for all streams."""
        self.add(Step(Do.SYNC, self.thread, DEVICE_SYNC, 2_000, stream=-1))

    def pause(self, os_call: str, ms: float, spread: float = 0.06) -> None:
        """Leave the core for a while, inside a call of the operating system.

        `PREEMPTED` is no call: the thread only loses its core. `FLUSH` is the profiler's work on the core.
        """
        self.add(Step(Do.PAUSE, self.thread, host_ns=round(ms * 1e6), os_call=os_call, spread=spread))

    def work(self, ms: float) -> None:
        """Compute on the host, outside CUDA and the operating system."""
        self.add(Step(Do.WORK, self.thread, host_ns=round(ms * 1e6)))

    def switch(self, thread: Thread) -> None:
        """Continue on another thread, which has to wake up first."""
        self.thread = thread
        self.add(Step(Do.SWITCH, thread, host_ns=14_000))
