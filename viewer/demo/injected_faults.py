"""Faults to inject into a job: the effect of each on the GPU is known in advance."""

from __future__ import annotations

from typing import Literal, get_args

from viewer.demo.program import COMPUTE, DATA, FLUSH, PREEMPTED, WAIT, Do, Script, Step

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
}
"""The NVTX range in which each fault happens."""

BUSY_MS, MALLOC_MS, WAIT_MS = 9.0, 6.0, 4.0
METRICS, TINY_KERNELS = 12, 300
BROADCAST_US = 240
PREEMPTED_MS, FLUSH_MS, POLLING_MS = 8.0, 7.0, 6.0


def inject_fault(w: Script, kind: Fault) -> None:
    """Add the steps of a fault, between two microbatches."""
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
