"""A simulated pipeline: the steps of one iteration of four stages, each of two data parallel ranks.

All micro-batches go forward through the stages, then all backward. The steps stand in an order in which no
stage needs what another does later; each is done by the ranks of its stage, or of the two that it joins.
"""

from __future__ import annotations

from viewer.demo.program import COMPUTE, DATA, MEMSET, TENSOR, WORLD, Do, Group, Program, Script, Step
from viewer.demo.rank_faults import LOADER

STAGES, STAGE_RANKS = 4, 2
MICROBATCHES, LAYERS = 6, 2
SEND_US = 95
_LINKS: tuple[Group, ...] = ("link 0", "link 1", "link 2")


def stage_ranks(stage: int) -> tuple[int, ...]:
    """Return the ranks of a stage, which are adjacent."""
    return tuple(range(stage * STAGE_RANKS, (stage + 1) * STAGE_RANKS))


def _forward(w: Script) -> None:
    w.begin("forward")
    for _ in range(LAYERS):
        w.kernel("norm", 62)
        w.kernel("qkv", 372)
        w.kernel("flash_fwd", 845)
        w.kernel("proj", 214)
        w.kernel("fc1", 724)
        w.kernel("swiglu", 104)
        w.kernel("fc2", 431)
    w.finish()


def _backward(w: Script) -> None:
    w.begin("backward")
    for _ in range(LAYERS):
        w.kernel("fc2_dgrad", 446)
        w.kernel("fc2_wgrad", 452)
        w.kernel("swiglu_bwd", 168)
        w.kernel("fc1_dgrad", 742)
        w.kernel("fc1_wgrad", 758)
        w.kernel("flash_bwd", 1_980)
        w.kernel("qkv_dgrad", 384)
        w.kernel("qkv_wgrad", 391)
    w.finish()


def _send(w: Script, source: int, target: int) -> None:
    """Send from a stage to one beside it: the sender goes on, the receiver's compute stream waits."""
    with w.only(stage_ranks(min(source, target)) + stage_ranks(max(source, target))):
        end = w.collective("send_recv", SEND_US, _LINKS[min(source, target)], TENSOR, "ncclSendRecv")
    with w.only(stage_ranks(target)):
        w.wait_event(COMPUTE, end)
    w.release(end)


def pipeline(clean: bool) -> Program:
    """Return one iteration, inside its range ``Iteration {iteration}``."""
    w = Script()
    w.push("Iteration {iteration}")
    w.begin(LOADER)
    w.pause("poll", 0.4 if clean else 2.0)
    w.finish()
    w.add(Step(Do.SET, "main", MEMSET, 4_100, 310_000, COMPUTE, bytes=1_073_741_824, target_kind=2))
    for _ in range(MICROBATCHES):
        for stage in range(STAGES):
            with w.only(stage_ranks(stage)):
                _forward(w)
            if stage + 1 < STAGES:
                _send(w, stage, stage + 1)
    w.switch("autograd")
    for _ in range(MICROBATCHES):
        for stage in reversed(range(STAGES)):
            with w.only(stage_ranks(stage)):
                _backward(w)
            if stage > 0:
                _send(w, stage, stage - 1)
    w.switch("main")
    w.blocking_collective("reduce_scatter", 2_450, "stage", DATA, "ncclReduceScatter")
    w.begin("optimizer")
    w.kernel("l2norm", 46)
    w.blocking_collective("all_reduce_f32", 34, "world", WORLD, "ncclAllReduce")
    w.kernel("adam", 420)
    w.blocking_collective("all_gather", 2_150, "stage", DATA, "ncclAllGather")
    w.finish()
    w.item()
    w.pop()
    return w.program()
