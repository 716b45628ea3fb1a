"""A training job of tensor, data and pipeline parallel ranks with planted faults, timed event by event."""

from dataclasses import dataclass, field

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study

US, MS = 1_000, 1_000_000
COMPUTE, TENSOR, DATA, RECV, SEND = 7, 20, 24, 28, 29
REDUCE, REDUCE_F32 = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
P2P = "ncclDevKernel_SendRecv"
KERNELS = (("gemm", 500), ("flash_attn_fwd", 300), ("layer_norm", 100))


@dataclass
class ParallelJob:
    """Ranks are numbered tensor first, then data, then stage: rank = (stage * data + d) * tensor + t.

    `slow`, `attention` and `heavy` are factors of compute by rank, of attention by rank, of compute by stage;
    `late_ms` is how late a rank's host is in its loader, each iteration or, with `late_every`, now and then;
    with `late_in_turn` all ranks are, each in an iteration of its own. `shift` is by how many ns a rank's GPU
    rows are off.
    """

    tensor: int = 1
    data: int = 1
    stages: int = 1
    iterations: int = 8
    micro: int = 8
    rendezvous: bool = False
    slow: dict[int, float] = field(default_factory=dict)
    attention: dict[int, float] = field(default_factory=dict)
    heavy: dict[int, float] = field(default_factory=dict)
    late_ms: dict[int, float] = field(default_factory=dict)
    late_every: int = 1
    late_in_turn: float = 0.0
    shift: dict[int, int] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict)
    jitter: float = 0.003
    seed: int = 1

    def __post_init__(self):
        self.ranks = self.tensor * self.data * self.stages
        self.random = np.random.default_rng(self.seed)
        self.maker = TraceMaker()
        self.now = [MS + int(self.random.integers(0, 20 * US)) for _ in range(self.ranks)]
        self.correlation = [0] * self.ranks
        self.collectives = [0] * self.ranks
        self.met: dict[tuple, dict[int, int]] = {}
        self.sent: dict[tuple, int] = {}
        self.begin: dict[int, int] = {}
        self.waits: dict[tuple[int, int, int], int] = {}

    def stage(self, rank):
        return rank // (self.tensor * self.data)

    def group(self, rank, kind):
        if kind == "tensor":
            return tuple(range(rank - rank % self.tensor, rank - rank % self.tensor + self.tensor))
        size = self.tensor * self.data
        return tuple(range(rank - rank % size + rank % self.tensor, rank - rank % size + size, self.tensor))

    def schedule(self, rank, iteration):
        """Return the steps of one iteration: 1F1B between the stages."""
        stage, micro = self.stage(rank), self.micro if self.stages > 1 else 2
        warm = min(self.stages - 1 - stage, micro)
        order = [("F", k) for k in range(warm)]
        for k in range(micro - warm):
            order += [("F", warm + k), ("B", k)]
        order += [("B", k) for k in range(micro - warm, micro)]
        steps = [("load", iteration)]
        size = self.tensor * self.data
        for phase, k in order:
            forward = phase == "F"
            before, after = (rank - size, rank + size) if forward else (rank + size, rank - size)
            if 0 <= before < self.ranks:
                steps.append(("recv", (iteration, phase, k, before, rank)))
            for layer in range(2):
                steps += [("compute", (name, us * (1 if forward else 2))) for name, us in KERNELS]
                if self.tensor > 1:
                    steps.append(("meet", ("tensor", (iteration, phase, k, layer), 60)))
            if 0 <= after < self.ranks:
                steps.append(("send", (iteration, phase, k, rank, after)))
        if self.data > 1:
            steps.append(("meet", ("data", (iteration,), 700)))
        return [*steps, ("done", iteration)]

    def study(self):
        """Run the job and return its study."""
        plans = [[s for k in range(self.iterations) for s in self.schedule(r, k)] for r in range(self.ranks)]
        at = [0] * self.ranks
        while any(a < len(p) for a, p in zip(at, plans, strict=True)):
            moved = False
            for rank, plan in enumerate(plans):
                while at[rank] < len(plan) and self.step(rank, *plan[at[rank]]):
                    at[rank] += 1
                    moved = True
            assert moved, "the schedule hangs"
        return Study(self.maker.trace(), Rules.builtin())

    def kernel(self, rank, start, end, name, stream):
        is_collective = name.startswith("nccl")
        self.collectives[rank] += is_collective
        if is_collective and self.lost.get(rank) == self.collectives[rank]:
            return
        self.correlation[rank] += 1
        self.maker.call(start - 8 * US, start - 6 * US, process=rank, correlation=self.correlation[rank])
        off = self.shift.get(rank, 0)
        self.maker.kernel(start + off, end + off, name, stream, rank, 0, self.correlation[rank])

    def step(self, rank, kind, what):
        now = self.now[rank]
        if kind == "load":
            self.begin[rank] = now
            late = int(self.late_ms.get(rank, 0) * MS) if what % self.late_every == 0 else 0
            late += int(self.late_in_turn * MS) if what % self.ranks == rank else 0
            self.maker.range(now + 1 * US, now + 30 * US + late, "next(dataloader)", process=rank)
            self.now[rank] = now + 50 * US + late
        elif kind == "compute":
            name, us = what
            factor = self.slow.get(rank, 1) * self.heavy.get(self.stage(rank), 1)
            factor *= self.attention.get(rank, 1) if "attn" in name else 1
            length = int(us * US * factor * (1 + self.jitter * self.random.standard_normal()))
            self.kernel(rank, now + 10 * US, now + 10 * US + length, name, COMPUTE)
            self.now[rank] = now + 10 * US + length
        elif kind == "meet":
            which, key, us = what
            members = self.group(rank, which)
            there = self.met.setdefault((which, members, key), {})
            there.setdefault(rank, now + 10 * US)
            if len(there) < len(members):
                return False
            last = max(there.values())
            end = last + us * US
            name, stream = (REDUCE, TENSOR) if which == "tensor" else (REDUCE_F32, DATA)
            end += int(self.random.integers(0, 400))
            self.kernel(rank, there[rank], end, name, stream)
            self.waits[rank, stream, there[rank]] = last - there[rank]
            self.now[rank] = end
        elif kind == "send":
            self.sent[what] = now + 10 * US
            if not self.rendezvous:
                self.kernel(rank, now + 10 * US, now + 70 * US, P2P, SEND)
        elif kind == "recv":
            if what not in self.sent:
                return False
            start, sent = now + 10 * US, self.sent[what]
            end = max(start + 60 * US, sent + 150 * US)
            if self.rendezvous:
                end = max(start, sent) + 100 * US + int(self.random.integers(0, 400))
                self.kernel(what[3], sent, end + int(self.random.integers(0, 400)), P2P, SEND)
                self.waits[what[3], SEND, sent] = max(0, start - sent)
            self.kernel(rank, start, end, P2P, RECV)
            self.waits[rank, RECV, start] = max(0, sent - start)
            self.now[rank] = end
        else:
            self.maker.range(self.begin[rank], self.now[rank], f"Iteration {what}", process=rank)
            self.now[rank] += 20 * US
        return True
