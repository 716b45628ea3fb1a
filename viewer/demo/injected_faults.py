"""Faults to inject into a job: the effect of each on the GPU is known in advance."""

from __future__ import annotations

from typing import Literal, get_args

from viewer.demo.pipeline import stage_ranks
from viewer.demo.program import COMPUTE, DATA, FLUSH, PREEMPTED, WAIT, Do, Script, Step
from viewer.demo.rank_faults import LOADER, RankFaults

Fault = Literal[
    "busy-cpu",
    "item",
    "malloc",
    "tiny-kernels",
    "event-wait",
    "preempted",
    "buffer-flush",
    "polling",
    "broadcast",
    "needless-wait",
    "late-data",
    "late-host",
    "two-slow-ranks",
    "heavy-stage",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)

RANGES: dict[Fault, str] = {
    "busy-cpu": "build_mask",
    "item": "log_metrics",
    "malloc": "grow_workspace",
    "tiny-kernels": "update_ema",
    "event-wait": "receive_activations",
    "preempted": "collate_batch",
    "buffer-flush": "next_microbatch",
    "polling": "await_transfer",
    "broadcast": "broadcast_buffers",
    "needless-wait": "needless-wait",
    "late-data": "wait_for_data",
    "late-host": LOADER,
}
"""The NVTX range in which each fault happens."""

BUSY_MS, MALLOC_MS, WAIT_MS = 9.0, 6.0, 4.0
METRICS, TINY_KERNELS = 12, 300
BROADCAST_US = 240
PREEMPTED_MS, FLUSH_MS, POLLING_MS = 8.0, 7.0, 6.0
LATE_DATA_MS, LATE_HOST_MS = 20.0, 12.0
LATE_HOST_RANK = 3
SLOW_RANKS = {2: 1.06, 5: 1.05}
HEAVY_STAGE, HEAVY = 2, 1.25


def job_of(fault: Fault) -> str:
    """Return the kind of job that may have a fault, as `DemoOptions.like`."""
    return "pipeline" if fault == "heavy-stage" else "megatron"


def rank_faults_of(kind: Fault | None, ranks: int) -> RankFaults:
    """Return what a fault does to some of the ranks: nothing, for most."""
    if kind == "late-host":
        return RankFaults(late_host_ms={LATE_HOST_RANK % ranks: LATE_HOST_MS})
    if kind == "two-slow-ranks":
        return RankFaults(slow={rank % ranks: factor for rank, factor in SLOW_RANKS.items()})
    if kind == "heavy-stage":
        return RankFaults(slow=dict.fromkeys(stage_ranks(HEAVY_STAGE), HEAVY))
    return RankFaults()


def add_kernel_after_needless_wait(w: Script, key: str, us: float, event: int) -> None:
    """Launch a kernel that first waits for an event which it does not need, in a range of its own."""
    with w.part("fault"):
        w.push(RANGES["needless-wait"])
        w.wait_event(COMPUTE, event)
    w.kernel(key, us)
    with w.part("fault"):
        w.pop()


def add_between_microbatches(w: Script, kind: Fault) -> None:
    """Add the steps of a fault between two microbatches; some faults have none there."""
    if kind in ("needless-wait", "late-host", "two-slow-ranks"):
        return
    with w.part("fault"):
        _add(w, kind)


def _add(w: Script, kind: Fault) -> None:
    w.push(RANGES[kind])
    if kind == "busy-cpu":
        w.work(BUSY_MS)
        w.kernel("dropout_add", 58)
    elif kind == "item":
        for _ in range(METRICS):
            w.kernel("sum", 41)
            w.item()
    elif kind == "malloc":
        w.call("cudaMalloc_v3020", MALLOC_MS * 1e3, 0.05)
        w.kernel("dropout_add", 58)
    elif kind == "tiny-kernels":
        for _ in range(TINY_KERNELS):
            w.work(0.012)
            w.kernel("clip", 2.1)
    elif kind == "preempted":
        # The host loses its core though it could go on, as where more threads run than there are cores.
        w.pause(PREEMPTED, PREEMPTED_MS, 0.02)
        w.kernel("dropout_add", 58)
    elif kind == "buffer-flush":
        w.pause(FLUSH, FLUSH_MS, 0.02)
        w.kernel("dropout_add", 58)
    elif kind == "polling":
        w.call("cudaMalloc_v3020", 900, 0.05)
        sent = w.record(COMPUTE)
        for _ in range(round(POLLING_MS * 1e3 / 12)):
            w.query_event(sent, 3, 0.05)
        w.kernel("dropout_add", 58)
    elif kind == "late-data":
        # All hosts wait for the loader together, with nothing left for the GPUs to do.
        w.device_sync()
        w.pause("poll", LATE_DATA_MS)
        w.kernel("dropout_add", 58)
    elif kind == "broadcast":
        w.blocking_collective("broadcast", BROADCAST_US, "data", DATA, "ncclBroadcast")
    else:
        for _ in range(4):
            w.kernel("fc1", 724)
        # Another GPU records the event, long after this host has gone on.
        late = round(WAIT_MS * 1e6)
        w.add(Step(Do.STREAM_WAIT, w.thread, WAIT, 1_500, stream=COMPUTE, late_ns=late))
        w.kernel("fc1", 724)
    w.pop()
