"""Faults to inject into a job: the effect of each on the GPU is known in advance."""

from __future__ import annotations

from typing import Literal, get_args

from viewer.demo.program import COMPUTE, WAIT, Do, Script, Step

Fault = Literal["busy-cpu", "item", "malloc", "tiny-kernels", "event-wait"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

RANGES: dict[Fault, str] = {
    "busy-cpu": "build_mask",
    "item": "log_metrics",
    "malloc": "grow_workspace",
    "tiny-kernels": "update_ema",
    "event-wait": "receive_activations",
}
"""The NVTX range in which each fault happens."""

BUSY_MS, MALLOC_MS, WAIT_MS = 9.0, 6.0, 4.0
METRICS, TINY_KERNELS = 12, 300


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
    else:
        for _ in range(4):
            w.kernel("fc1", 724)
        # Another GPU records the event, long after this host has gone on.
        late = round(WAIT_MS * 1e6)
        w.add(Step(Do.STREAM_WAIT, w.thread, WAIT, 1_500, stream=COMPUTE, late_ns=late))
        w.kernel("fc1", 724)
    w.pop()
