"""The simulated training loops: the steps of one iteration as the host code of every rank issues them."""

from __future__ import annotations

from viewer.demo.injected_faults import Fault, add_between_microbatches, add_kernel_after_needless_wait
from viewer.demo.program import COMPUTE, COPY, DATA, MEMSET, TENSOR, WORLD, Do, Program, Script, Step
from viewer.demo.rank_faults import LOADER

LAYERS = 5
MICROBATCHES = 2
OPTIMIZER_SHARDS = 40
ALL_REDUCE_US, HEALTHY_ALL_REDUCE_US = 178, 140
CHECKPOINT_FILES = 8
SAMPLE_ITERATIONS = 5
SAMPLE_TEXT = "sample_{sample}(repeat=5)"

FORWARD_ARGB = 0xFF5B8FD6
BACKWARD_ARGB = 0xFF9DBBE6
OPTIMIZER_ARGB = 0xFFD9BC5B
CHECKPOINT_ARGB = 0xFF55B3A1
LOADER_ARGB = 0xFFB8A1D9


def _forward(w: Script, prefetch: bool = False, all_reduce_us: float = ALL_REDUCE_US) -> int | None:
    """Add a forward pass; with `prefetch` return the event after the copy of the next batch."""
    copied = None
    w.begin("forward", FORWARD_ARGB)
    w.kernel("embedding", 120)
    for layer in range(LAYERS):
        w.begin(f"layer {layer}")
        w.kernel("norm", 62)
        w.kernel("qkv", 372)
        w.kernel("rope", 46)
        w.kernel("flash_fwd", 845)
        w.kernel("proj", 214)
        w.blocking_collective("all_reduce", all_reduce_us, "tensor", TENSOR, "ncclAllReduce")
        w.kernel("dropout_add", 58)
        w.kernel("norm", 62)
        w.kernel("fc1", 724)
        w.kernel("swiglu", 104)
        w.kernel("fc2", 431)
        w.blocking_collective("all_reduce", all_reduce_us, "tensor", TENSOR, "ncclAllReduce")
        w.kernel("bias_add", 56)
        w.finish()
        if prefetch and layer == 0:
            copied = _batch_copy(w, prefetch=True)
    w.kernel("norm", 62)
    w.kernel("logits", 800)
    w.kernel("max", 74)
    w.kernel("softmax", 196)
    w.kernel("sum", 41)
    w.blocking_collective("all_reduce_f32", 18, "data", DATA, "ncclAllReduce")
    w.device_sync()
    w.finish()
    return copied


def _backward(
    w: Script, last: bool, all_reduce_us: float = ALL_REDUCE_US, needless_wait: bool = False
) -> None:
    w.begin("backward", BACKWARD_ARGB)
    w.switch("autograd")
    w.kernel("loss_bwd", 230)
    w.kernel("logits_bwd", 1_540)
    buckets: list[int] = []
    for layer in reversed(range(LAYERS)):
        w.begin(f"layer {layer}")
        if needless_wait and buckets:
            add_kernel_after_needless_wait(w, "fc2_dgrad", 446, buckets[-1])
        else:
            w.kernel("fc2_dgrad", 446)
        w.kernel("fc2_wgrad", 452)
        w.kernel("swiglu_bwd", 168)
        w.kernel("fc1_dgrad", 742)
        w.kernel("fc1_wgrad", 758)
        w.blocking_collective("all_reduce", all_reduce_us, "tensor", TENSOR, "ncclAllReduce")
        w.kernel("norm_bwd", 118)
        w.kernel("norm_finalize", 7.5)
        w.kernel("grad_add", 61)
        w.kernel("proj_dgrad", 221)
        w.kernel("proj_wgrad", 226)
        w.kernel("flash_dot", 57)
        w.kernel("flash_bwd", 1_980)
        w.kernel("flash_convert", 39)
        w.kernel("rope_bwd", 48)
        w.kernel("qkv_dgrad", 384)
        w.kernel("qkv_wgrad", 391)
        w.blocking_collective("all_reduce", all_reduce_us, "tensor", TENSOR, "ncclAllReduce")
        w.kernel("norm_bwd", 118)
        w.kernel("norm_finalize", 7.5)
        w.kernel("grad_add", 61)
        if last:
            buckets.append(w.collective("reduce_scatter", 2_450, "data", DATA, "ncclReduceScatter"))
        w.finish()
    w.kernel("embedding_bwd", 190)
    w.switch("main")
    for end in buckets:
        w.query_event(end)
        w.release(end)
    w.device_sync()
    w.finish()


def _optimizer(w: Script) -> None:
    w.begin("optimizer", OPTIMIZER_ARGB)
    for _ in range(3):
        w.kernel("l2norm", 46)
    w.kernel("l2norm_end", 4.2)
    w.blocking_collective("all_reduce_f32", 34, "world", WORLD, "ncclAllReduce")
    w.item()
    for shard in range(OPTIMIZER_SHARDS):
        w.kernel("clip", 2.1)
        w.kernel("scale", 4.4)
        w.kernel("adam", 8.6 if shard % 8 else 11.5)
        w.kernel("to_bf16", 3.3)
        w.kernel("zero", 2.3)
    w.blocking_collective("all_gather", 2_150, "data", DATA, "ncclAllGather")
    w.finish()
    w.item()
    w.sync_event(w.record(COMPUTE))


def _batch_copy(w: Script, prefetch: bool) -> int | None:
    """Copy tokens, labels, masks and positions to the GPU: 69 MB, most of it the attention mask.

    A prefetch is on the copy stream; the event recorded after it is returned.
    """
    stream, source, rate = (COPY, 1, 48e3) if prefetch else (COMPUTE, 0, 13.4e3)
    for size in (1_048_576, 1_048_576, 524_288, 67_108_864, 1_048_576):
        w.copy(max(size / rate, 2.0), size, 1, source, 2, stream, blocking=not prefetch)
    return w.record(COPY) if prefetch else None


def _await_batch(w: Script, copied: int | None) -> None:
    """Make the compute stream wait for a prefetched batch."""
    if copied is not None:
        w.wait_event(COMPUTE, copied)
        w.release(copied)


def _zero_gradients(w: Script) -> None:
    w.add(Step(Do.SET, "main", MEMSET, 4_100, 310_000, COMPUTE, bytes=1_073_741_824, target_kind=2))


def _checkpoint(w: Script) -> None:
    w.begin("save_checkpoint", CHECKPOINT_ARGB)
    w.device_sync()
    for _ in range(CHECKPOINT_FILES):
        w.copy(6_400, 160_000_000, 2, 2, 0, COMPUTE, blocking=True)
    w.pause("open64", 0.4)
    for _ in range(CHECKPOINT_FILES):
        w.pause("write", 5.2)
    w.pause("fsync", 6.0)
    w.finish()


def megatron(
    cold: bool, clean: bool, checkpoint: bool, fault: Fault | None, one_stream: bool = False
) -> Program:
    """Return one iteration of the training loop, inside its range ``Iteration {iteration}``."""
    w = Script(cold=cold, one_stream=one_stream)
    all_reduce_us = HEALTHY_ALL_REDUCE_US if clean else ALL_REDUCE_US
    w.push("Iteration {iteration}")
    started = w.record(COMPUTE)
    w.begin(LOADER, LOADER_ARGB)
    if clean:
        w.query_event(started)
    else:
        w.pause("poll", 10.8)
    w.finish()
    if not clean:
        _batch_copy(w, prefetch=False)
    _zero_gradients(w)
    for microbatch in range(MICROBATCHES):
        last = microbatch == MICROBATCHES - 1
        copied = _forward(w, clean and last, all_reduce_us)
        _backward(w, last, all_reduce_us, fault == "needless-wait")
        if fault and microbatch == 0:
            add_between_microbatches(w, fault)
    _optimizer(w)
    _await_batch(w, copied)
    if checkpoint:
        _checkpoint(w)
    w.pop()
    return w.program()


def distca(cold: bool, first: bool, last: bool) -> Program:
    """Return one of the five iterations of a range ``sample_{sample}(repeat=5)``; it has no range itself."""
    w = Script(quiet=True, cold=cold)
    open_push = open_pop = None
    if first:
        w.pause("clock_nanosleep", 62.0, spread=0.004)
        open_push = len(w.steps)
        w.push(SAMPLE_TEXT)
    _await_batch(w, _batch_copy(w, prefetch=True))
    _zero_gradients(w)
    for microbatch in range(MICROBATCHES):
        _forward(w)
        _backward(w, last=microbatch == MICROBATCHES - 1)
    _optimizer(w)
    if last:
        open_pop = len(w.steps)
        w.add(Step(Do.POP, "main", host_ns=250))
    return w.program(open_push, open_pop)
