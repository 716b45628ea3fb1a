"""What one iteration of the simulated job does, step by step, as every rank's host code issues it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from viewer.demo.kernels import KERNELS

Thread = Literal["main", "autograd"]
Group = Literal["tensor", "data", "world"]

COMPUTE, TENSOR, DATA, COPY = range(4)
"""Stream slots: the compute stream, NCCL's for the tensor and the data parallel group, the copy stream."""
STREAM_SLOTS = 4

LAYERS = 5
MICROBATCHES = 2
OPTIMIZER_SHARDS = 40
CHECKPOINT_FILES = 8

MEMCPY = "cudaMemcpyAsync_v3020"
MEMSET = "cudaMemsetAsync_v3020"
RECORD = "cudaEventRecord_v3020"
WAIT = "cudaStreamWaitEvent_v3020"
STREAM_SYNC = "cudaStreamSynchronize_v3020"
DEVICE_SYNC = "cudaDeviceSynchronize_v3020"


class Do(IntEnum):
    """What a step is, for the clock that runs it."""

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


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a host thread does; its times are typical ones, in nanoseconds.

    ``host_ns`` is the length of the call (of the wait, for a pause), ``work_ns`` that of the
    operation it puts on `stream`. A stream wait makes `stream` wait for what `other` holds.
    """

    do: Do
    thread: Thread = "main"
    api: str = ""
    host_ns: int = 0
    work_ns: int = 0
    stream: int = COMPUTE
    other: int | None = None
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
    spread: float = 0.04


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of one iteration. `first`, `last`: whether a sample begins or ends with it."""

    steps: tuple[Step, ...]
    ranges: tuple[tuple[int, int], ...]
    open_push: int | None = None
    open_pop: int | None = None


FORWARD_ARGB = 0xFF5B8FD6
BACKWARD_ARGB = 0xFF9DBBE6
OPTIMIZER_ARGB = 0xFFD9BC5B
CHECKPOINT_ARGB = 0xFF55B3A1
LOADER_ARGB = 0xFFB8A1D9


@dataclass
class _Writer:
    """Collects steps in the order in which the host issues them."""

    quiet: bool = False
    cold: bool = False
    thread: Thread = "main"
    steps: list[Step] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)

    def add(self, step: Step) -> None:
        self.steps.append(step)

    def push(self, text: str, argb: int | None = None, domain: str = "") -> None:
        self.opened.append(len(self.steps))
        self.add(Step(Do.PUSH, self.thread, host_ns=300, text=text, argb=argb, domain=domain))

    def pop(self) -> None:
        self.ranges.append((self.opened.pop(), len(self.steps)))
        self.add(Step(Do.POP, self.thread, host_ns=250))

    def begin(self, text: str, argb: int | None = None) -> None:
        """Open a range of the user's own code, which a recording without them does not have."""
        if not self.quiet:
            self.push(text, argb)

    def finish(self) -> None:
        if not self.quiet:
            self.pop()

    def call(self, api: str, us: float, spread: float = 0.2) -> None:
        self.add(Step(Do.CALL, self.thread, api, round(us * 1e3), spread=spread))

    def kernel(self, key: str, us: float, stream: int = COMPUTE) -> None:
        if self.cold and key not in self.loaded:
            self.loaded.add(key)
            self.call("cuLibraryLoadData", 1_900, 0.5)
            self.call("cudaMalloc_v3020", 420, 0.4)
        api = KERNELS[key].launched_by
        self.add(Step(Do.KERNEL, self.thread, api, 4_600, round(us * 1e3), stream, kernel=key, spread=0.008))

    def collective(self, key: str, us: float, group: Group, stream: int, call: str) -> None:
        """Issue a collective as PyTorch does: NCCL's stream first waits for the compute stream."""
        if self.cold and group not in self.loaded:
            self.loaded.add(group)
            self.push("ncclCommInitRankConfig", domain="NCCL")
            self.call("cudaStreamCreateWithFlags_v5000", 90)
            self.call("cudaMalloc_v3020", 9_000, 0.1)
            self.call("cuMemImportFromShareableHandle", 6_500, 0.1)
            self.pop()
        self.call(RECORD, 1.6)
        self.add(Step(Do.STREAM_WAIT, self.thread, WAIT, 1_500, stream=stream, other=COMPUTE))
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
                spread=0.03,
            )
        )
        self.pop()
        self.call(RECORD, 1.6)

    def await_collective(self, stream: int) -> None:
        self.add(Step(Do.STREAM_WAIT, self.thread, WAIT, 1_500, stream=COMPUTE, other=stream))

    def copy(
        self, us: float, size: int, kind: int, source: int, target: int, stream: int, blocking: bool
    ) -> None:
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
        """Fetch one number from the GPU: the copy is queued, the synchronisation waits for it."""
        self.copy(1.5, 4, 2, 2, 1, COMPUTE, blocking=False)
        self.add(Step(Do.SYNC, self.thread, STREAM_SYNC, 2_000, stream=COMPUTE))

    def device_sync(self) -> None:
        self.add(Step(Do.SYNC, self.thread, DEVICE_SYNC, 2_000, stream=-1))

    def pause(self, os_call: str, ms: float, spread: float = 0.06) -> None:
        self.add(Step(Do.PAUSE, self.thread, host_ns=round(ms * 1e6), os_call=os_call, spread=spread))

    def switch(self, thread: Thread) -> None:
        self.thread = thread
        self.add(Step(Do.SWITCH, thread, host_ns=14_000))


def _forward(w: _Writer) -> None:
    w.begin("forward", FORWARD_ARGB)
    w.kernel("embedding", 120)
    for layer in range(LAYERS):
        w.begin(f"layer {layer}")
        w.kernel("norm", 62)
        w.kernel("qkv", 372)
        w.kernel("rope", 46)
        w.kernel("flash_fwd", 845)
        w.kernel("proj", 214)
        w.collective("all_reduce", 178, "tensor", TENSOR, "ncclAllReduce")
        w.await_collective(TENSOR)
        w.kernel("dropout_add", 58)
        w.kernel("norm", 62)
        w.kernel("fc1", 724)
        w.kernel("swiglu", 104)
        w.kernel("fc2", 431)
        w.collective("all_reduce", 178, "tensor", TENSOR, "ncclAllReduce")
        w.await_collective(TENSOR)
        w.kernel("bias_add", 56)
        w.finish()
    w.kernel("norm", 62)
    w.kernel("logits", 880)
    w.kernel("max", 74)
    w.kernel("softmax", 196)
    w.kernel("sum", 41)
    w.device_sync()
    w.finish()


def _backward(w: _Writer, last: bool) -> None:
    drag = 1.03 if last else 1.0  # NCCL's reduce-scatters take some of the SMs
    w.begin("backward", BACKWARD_ARGB)
    w.switch("autograd")
    w.kernel("loss_bwd", 230)
    w.kernel("logits_bwd", 1_690)
    for layer in reversed(range(LAYERS)):
        w.begin(f"layer {layer}")
        w.kernel("fc2_dgrad", 446 * drag)
        w.kernel("fc2_wgrad", 452 * drag)
        w.kernel("swiglu_bwd", 168 * drag)
        w.kernel("fc1_dgrad", 742 * drag)
        w.kernel("fc1_wgrad", 758 * drag)
        w.collective("all_reduce", 178, "tensor", TENSOR, "ncclAllReduce")
        w.await_collective(TENSOR)
        w.kernel("norm_bwd", 118 * drag)
        w.kernel("norm_finalize", 7.5)
        w.kernel("grad_add", 61 * drag)
        w.kernel("proj_dgrad", 221 * drag)
        w.kernel("proj_wgrad", 226 * drag)
        w.kernel("flash_dot", 57 * drag)
        w.kernel("flash_bwd", 2_020 * drag)
        w.kernel("flash_convert", 39 * drag)
        w.kernel("rope_bwd", 48 * drag)
        w.kernel("qkv_dgrad", 384 * drag)
        w.kernel("qkv_wgrad", 391 * drag)
        w.collective("all_reduce", 178, "tensor", TENSOR, "ncclAllReduce")
        w.await_collective(TENSOR)
        w.kernel("norm_bwd", 118 * drag)
        w.kernel("norm_finalize", 7.5)
        w.kernel("grad_add", 61 * drag)
        if last:
            w.collective("reduce_scatter", 2_450, "data", DATA, "ncclReduceScatter")
        w.finish()
    w.kernel("embedding_bwd", 190)
    w.switch("main")
    w.device_sync()
    w.finish()


def _optimizer(w: _Writer) -> None:
    w.begin("optimizer", OPTIMIZER_ARGB)
    for _ in range(3):
        w.kernel("l2norm", 46)
    w.kernel("l2norm_end", 4.2)
    w.collective("all_reduce_f32", 34, "world", DATA, "ncclAllReduce")
    w.await_collective(DATA)
    w.item()
    for shard in range(OPTIMIZER_SHARDS):
        w.kernel("clip", 2.1)
        w.kernel("scale", 4.4)
        w.kernel("adam", 8.6 if shard % 8 else 11.5)
        w.kernel("to_bf16", 3.3)
        w.kernel("zero", 2.3)
    w.collective("all_gather", 2_150, "data", DATA, "ncclAllGather")
    w.await_collective(DATA)
    w.finish()
    w.collective("all_reduce_f32", 21, "world", DATA, "ncclAllReduce")
    w.await_collective(DATA)
    w.item()


def _batch_copy(w: _Writer, prefetch: bool) -> None:
    """Bring tokens, labels, masks and positions to the GPU: 69 MB, most of it the attention mask."""
    stream, source, rate = (COPY, 1, 48e3) if prefetch else (COMPUTE, 0, 13.4e3)
    for size in (1_048_576, 1_048_576, 524_288, 67_108_864, 1_048_576):
        w.copy(max(size / rate, 2.0), size, 1, source, 2, stream, blocking=not prefetch)


def _checkpoint(w: _Writer) -> None:
    w.begin("save_checkpoint", CHECKPOINT_ARGB)
    w.device_sync()
    for _ in range(CHECKPOINT_FILES):
        w.copy(6_400, 160_000_000, 2, 2, 0, COMPUTE, blocking=True)
    w.pause("open64", 0.4)
    for _ in range(CHECKPOINT_FILES):
        w.pause("write", 5.2)
    w.pause("fsync", 6.0)
    w.finish()


def megatron(cold: bool, clean: bool, checkpoint: bool) -> Program:
    """Return one iteration of the training loop, inside its range ``Iteration {lap}``."""
    w = _Writer(cold=cold)
    w.push("Iteration {lap}")
    w.begin("dataloader.next", LOADER_ARGB)
    if clean:
        w.call("cudaEventQuery_v3020", 1.5)
    else:
        w.pause("poll", 11.6)
    w.finish()
    if not clean:
        _batch_copy(w, prefetch=False)
    w.add(Step(Do.SET, "main", MEMSET, 4_100, 310_000, COMPUTE, bytes=1_073_741_824, target_kind=2))
    for microbatch in range(MICROBATCHES):
        if clean and microbatch == 1:
            _batch_copy(w, prefetch=True)
        _forward(w)
        _backward(w, last=microbatch == MICROBATCHES - 1)
    _optimizer(w)
    if checkpoint:
        _checkpoint(w)
    w.pop()
    return Program(tuple(w.steps), tuple(w.ranges))


SAMPLE_LAPS = 5
SAMPLE_TEXT = "sample_{sample}(repeat=5)"


def distca(cold: bool, first: bool, last: bool) -> Program:
    """Return one of the five iterations inside a range ``sample_{sample}(repeat=5)``; no range of its own."""
    w = _Writer(quiet=True, cold=cold)
    open_push = open_pop = None
    if first:
        w.pause("clock_nanosleep", 62.0, spread=0.004)
        open_push = len(w.steps)
        w.push(SAMPLE_TEXT)
    _batch_copy(w, prefetch=True)
    w.add(Step(Do.STREAM_WAIT, "main", WAIT, 1_500, stream=COMPUTE, other=COPY))
    for microbatch in range(MICROBATCHES):
        _forward(w)
        _backward(w, last=microbatch == MICROBATCHES - 1)
    _optimizer(w)
    if last:
        open_pop = len(w.steps)
        w.add(Step(Do.POP, "main", host_ns=250))
    return Program(tuple(w.steps), tuple(w.ranges), open_push, open_pop)
