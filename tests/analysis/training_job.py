"""A training job of tensor and data parallel ranks, simulated operation by operation, with its truth.

It shares nothing with `viewer.demo`: hosts are generators that stop where a call blocks, and operations know
their times once all they wait for do. The truth is kept while the job runs, never read off the trace.
"""

from dataclasses import dataclass, field

from tests.analysis.make import TraceMaker
from tests.analysis.training_host import GAP, TENSOR, Host
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study


@dataclass(eq=False)
class TrainingJob:
    """Ranks are numbered tensor first: rank = d * tensor + t.

    Faults: `needless` makes the backward GEMM after each gradient bucket wait for its ReduceScatter, in the
    range "needless-wait"; `hole_ms` makes all hosts compute in the range "collate" each iteration, `late_ms`
    one host in "dataloader"; `malloc_ms` is a cudaMalloc; `slow` are factors of compute by rank. No fault
    changes a random number. With `ids` sync ids are recorded, with `relay` tensor parallel waits go through a
    third stream.

    Truth, by (rank, correlation id): `waits` has the producers of each stream wait, `returned` the operation
    that let a blocking call return (None: its own time did).
    """

    tensor: int = 2
    data: int = 2
    micro: int = 3
    layers: int = 4
    iterations: int = 4
    ids: bool = True
    handles: int = 5
    relay: bool = True
    needless: bool = False
    hole_ms: float = 0.0
    malloc_ms: float = 0.0
    late_ms: dict = field(default_factory=dict)
    slow: dict = field(default_factory=dict)
    reduce_us: int = 3_000
    seed: int = 1

    def __post_init__(self):
        self.maker, self.open, self.sets = TraceMaker(), [], {}
        self.waits, self.returned, self.operations = {}, {}, []
        self.launched = [[] for _ in range(self.iterations)]

    def run(self):
        """Simulate the job; return it."""
        hosts = [Host(self, rank) for rank in range(self.tensor * self.data)]
        programs = [host.program() for host in hosts]
        awaited = {program: next(program) for program in programs}
        while awaited:
            self._settle()
            free = [p for p, ops in awaited.items() if all(op.end is not None for op in ops)]
            assert free, "all hosts wait"
            for program in free:
                awaited[program] = next(program, None)
            awaited = {p: ops for p, ops in awaited.items() if ops is not None}
        for op in self.operations:
            self.maker.kernel(op.start, op.end, op.name, op.stream, op.rank, 0, op.correlation)
        return self

    def _settle(self):
        """Find the times of all operations that can have some."""
        left = -1
        while left != len(self.open):
            left = len(self.open)
            for op in self.open:
                op.settle(self.tensor if op.stream == TENSOR else self.data)
            self.open = [op for op in self.open if op.end is None]

    @property
    def bound_by(self):
        """The operation that held each operation, None where its launch did."""
        found = {}
        for op in self.operations:
            last = max(op.before, key=lambda b: b.end, default=None)
            held = last is not None and last.end + GAP >= op.ready
            found[op.rank, op.correlation] = last.correlation if held else None
        return found

    @property
    def iteration_times(self):
        """The first start and the last end of each iteration."""
        return [(min(o.start for o in ops), max(o.end for o in ops)) for ops in self.launched]

    def study(self):
        """Return the numbers of the job's trace."""
        return Study(self.maker.trace(), Rules.builtin())
