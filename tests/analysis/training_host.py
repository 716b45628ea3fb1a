"""The host of one rank of a training job, and the operations that it launches; see `training_job`."""

import random
from collections import deque
from dataclasses import dataclass

from viewer.trace import Kind

US, MS = 1_000, 1_000_000
COMPUTE, TENSOR, DATA, RELAY, COPY = 7, 20, 24, 32, 36
NCCL = {"AllReduce": "bf16_RING_LL", "ReduceScatter": "Sum_f32_RING_LL", "AllGather": "RING_LL"}
LATENCY, GAP, RETURN = 2 * US, US, 5 * US
FORWARD = (("norm", 40), ("gemm_qkv", 240), ("flash_attn_fwd", 400), ("gemm_mlp", 600))
BACKWARD = (
    ("gemm_mlp_dgrad", 620),
    ("gemm_mlp_wgrad", 580),
    ("flash_attn_bwd", 900),
    ("gemm_qkv_dgrad", 480),
)
UNRECORDED = 900


@dataclass(eq=False)
class Op:
    """A GPU operation; `start` and `end` are None until all that it waits for is known."""

    rank: int
    correlation: int
    name: str
    stream: int
    ready: int
    before: frozenset
    work: int
    members: list | None = None
    start: int | None = None
    end: int | None = None

    def settle(self, size):
        """Find the times, if what it waits for has some."""
        if self.start is None and all(op.end is not None for op in self.before):
            self.start = max([self.ready] + [op.end + GAP for op in self.before])
        there = self.members or [self]
        is_whole = self.members is None or len(there) == size
        if is_whole and all(op.start is not None for op in there):
            self.end = max(op.start for op in there) + there[0].work


class Host:
    """One rank's host: it issues calls, one after another, on two threads in turn."""

    def __init__(self, job, rank):
        self.job, self.rank, self.tid, self.iteration = job, rank, 1, 0
        self.correlation, self.sync_id, self.labels = 100 * rank, 0, {}
        self.now = MS + self.number("start", 20 * US)
        self.tails = {s: frozenset() for s in (COMPUTE, TENSOR, DATA, RELAY, COPY)}
        self.left = self.now
        self.free, self.recorded = deque(range(job.handles)), {}

    def number(self, label, most):
        """Return a number up to `most` that belongs to this rank and to how often the label came before."""
        count = self.labels[label] = self.labels.get(label, 0) + 1
        return int(random.Random(f"{self.job.seed}/{self.rank}/{label}/{count}").random() * most)

    def call(self, name, us, label=None):
        """Make a call that does not block; return its correlation id."""
        self.now += 2 * US + self.number(label or name, US)
        self.correlation += 1
        start, self.now = self.now, self.now + round(us * US)
        self.job.maker.call(start, self.now, name, self.tid, self.rank, self.correlation)
        return self.correlation

    def launch(self, name, us, stream=COMPUTE, members=None, label=None):
        """Launch a kernel."""
        label = label or name
        work = us * US + self.number(f"{label} work", us * US // 40)
        if members is None:
            work = int(work * self.job.slow.get(self.rank, 1))
        correlation = self.call("cudaLaunchKernel", 4, f"{label} launch")
        op = Op(self.rank, correlation, name, stream, self.now + LATENCY, self.tails[stream], work, members)
        if members is not None:
            members.append(op)
        self.tails[stream] = frozenset({op})
        for kept in (self.job.open, self.job.operations, self.job.launched[self.iteration]):
            kept.append(op)

    def record(self, stream, label):
        """Record an event with the handle that has been free for longest; return the handle."""
        handle = self.free.popleft() if self.free else self.job.handles + len(self.recorded)
        correlation, self.sync_id = self.call("cudaEventRecord", 1, f"{label} record"), self.sync_id + 1
        sync_id = self.sync_id if self.job.ids else 0
        self.job.maker.record(correlation, stream, handle, sync_id, self.rank)
        self.recorded[handle] = self.tails[stream], stream, sync_id
        return handle

    def wait(self, stream, handle, label, release=True):
        """Make a stream wait for an event."""
        correlation = self.call("cudaStreamWaitEvent", 1, f"{label} wait")
        stands, recorded_on, sync_id = self.recorded.get(handle, (frozenset(), None, 0))
        self.job.maker.sync(
            self.now - 600,
            self.now - 100,
            "Stream wait sync",
            self.rank,
            correlation,
            stream,
            1,
            handle,
            sync_id,
        )
        if recorded_on != stream:
            self.tails[stream] |= stands
        # Of each stream the last one: those before it are implied.
        last = {op.stream: op.correlation for op in sorted(stands, key=lambda op: op.correlation)}
        self.job.waits[self.rank, correlation] = set(last.values() if recorded_on != stream else ())
        if release and handle != UNRECORDED:
            self.free.append(handle)

    def item(self, label):
        """Fetch a number: a small kernel, then a call that waits for the compute stream."""
        self.launch("loss_to_host", 2)
        self.now += 2 * US + self.number(label, US)
        self.correlation += 1
        start, ops = self.now, self.tails[COMPUTE]
        yield ops
        last = max(ops, key=lambda op: op.end)
        own = start + 3 * US
        self.now = max(own, last.end + RETURN)
        key = self.rank, self.correlation
        self.job.returned[key] = last.correlation if self.now > own else None
        self.job.maker.call(start, self.now, "cudaStreamSynchronize", self.tid, *key)
        self.job.maker.sync(start + 100, self.now - 100, "Stream sync", *key, COMPUTE)

    def collective(self, kind, us, stream, label):
        """Issue a collective after what the compute stream has; return the event of its end."""
        tensor, rank = self.job.tensor, self.rank
        group = rank // tensor if stream == TENSOR else rank % tensor
        members = self.job.sets.setdefault((stream, group, label), [])
        first = COMPUTE
        if self.job.relay and stream == TENSOR:
            # Nothing runs on the relay: who waits for it waits for what it waits for.
            self.wait(RELAY, self.record(first, f"{label} relay"), f"{label} relay")
            first = RELAY
        self.wait(stream, self.record(first, f"{label} ready"), f"{label} ready")
        self.launch(f"ncclDevKernel_{kind}_{NCCL[kind]}", us, stream, members, label)
        return self.record(stream, f"{label} end")

    def switch(self, tid):
        """Go on on the other thread, which waited until now."""
        since, self.left, self.tid = self.left, self.now + US, tid
        self.now += 20 * US
        thread = self.job.maker.thread(self.rank, tid)
        self.job.maker.add(Kind.OSRT, thread, since, self.now - 4 * US, "pthread_cond_wait")

    def spend(self, name, ms):
        """Compute on the host in a range, outside CUDA."""
        start, self.now = self.now, self.now + 3 * US + round(ms * MS)
        self.job.maker.range(start, self.now, name, self.tid, self.rank)

    def program(self):
        """Run the host; yield the operations whose end a call waits for."""
        job = self.job
        for self.iteration in range(job.iterations):
            begin, mark = self.now, str(self.iteration)
            self.spend("dataloader", 0.05 + job.late_ms.get(self.rank, 0))
            self.wait(COPY, UNRECORDED, "never recorded")
            self.launch("batch_copy_kernel", 60, COPY)
            self.wait(COMPUTE, self.record(COPY, "batch"), "batch")
            self.wait(COMPUTE, self.record(COMPUTE, "own"), "own")
            buckets = []
            for micro in range(job.micro):
                for layer in range(job.layers):
                    for name, us in FORWARD:
                        self.launch(name, us)
                    end = self.collective("AllReduce", 150, TENSOR, f"{mark}/{micro}/{layer}/forward")
                    self.wait(COMPUTE, end, "forward")
                self.switch(2)
                for layer in range(job.layers):
                    self.backward(buckets)
                    end = self.collective("AllReduce", 150, TENSOR, f"{mark}/{micro}/{layer}/backward")
                    self.wait(COMPUTE, end, "backward")
                    if micro == job.micro - 1:
                        label = f"{mark}/{layer}/bucket"
                        buckets.append(self.collective("ReduceScatter", job.reduce_us, DATA, label))
                self.switch(1)
                yield from self.item("loss")
                if micro == 0 and job.hole_ms:
                    self.spend("collate", job.hole_ms)
                if micro == 0 and job.malloc_ms:
                    self.call("cudaMalloc", job.malloc_ms * 1e3, "fault")
            for end in buckets:
                self.wait(COMPUTE, end, "bucket")
            for _ in range(20):
                self.launch("multi_tensor_adam", 30)
            self.wait(COMPUTE, self.collective("AllGather", 900, DATA, f"{mark}/gather"), "gather")
            yield from self.item("step")
            job.maker.range(begin, self.now, f"iteration {self.iteration}", 1, self.rank)
            self.now += 10 * US

    def backward(self, buckets):
        """Launch the backward kernels of a layer, the first of them after a wait that it does not need."""
        for name, us in BACKWARD:
            start, waits = self.now, self.job.needless and buckets and name == BACKWARD[0][0]
            if waits:
                self.wait(COMPUTE, buckets[-1], "fault", release=False)
            self.launch(name, us)
            if waits:
                self.job.maker.range(start, self.now, "needless-wait", self.tid, self.rank)
