"""Training loops made by hand, with any names on their ranges."""

from dataclasses import dataclass, field

from tests.analysis.make import TraceMaker

MAIN, AUTOGRAD = 1, 2


@dataclass
class Loop:
    """Runs a host that launches kernels which start 1000 ns later, and marks what it is told to.

    `time` is that of the host; kernels of 10 ns follow each other every 20 ns.
    """

    process: int = 0
    maker: TraceMaker = field(default_factory=TraceMaker)
    time: int = 0
    correlation: int = 0

    def launch(self, *names, tid=MAIN, domain=None):
        """Launch kernels of some names, inside a range of a library's domain if one is given."""
        for name in names:
            self.correlation += 1
            start = self.time
            self.maker.call(start + 2, start + 8, tid=tid, process=self.process, correlation=self.correlation)
            if domain:
                self.maker.range(start + 1, start + 9, "call", tid, self.process, domain)
            self.maker.kernel(
                start + 1000, start + 1010, name, process=self.process, correlation=self.correlation
            )
            self.time += 20

    def inside(self, text, work, domain="", tid=MAIN):
        """Do some work inside a range; without a text without one."""
        start = self.time
        self.time += 2
        work()
        self.time += 2
        if text:
            self.maker.range(start, self.time, text, tid=tid, process=self.process, domain=domain)


FORWARD = [f"fwd{i}" for i in range(6)]
BACKWARD = [f"bwd{i}" for i in range(12)]
ADAM = ["multi_tensor_apply_kernel"] * 4


@dataclass
class Names:
    """How the ranges of a job are called, with the numbers to fill in; None: there is none."""

    step: str | None = None
    forward: str | None = "forward"
    backward: str | None = "backward"
    optimizer: str | None = "optimizer"
    layer: str | None = None
    micro: str | None = None
    domain: str = ""
    warm_up: str | None = None
    evaluation: str | None = None


def training(
    names, steps=8, micro_batches=1, warm_up=0, evaluate_every=0, maker=None, process=0, first=0,
    optimizer=ADAM, layers=1, backward_domain=None, start=0,
    backward_thread=MAIN,
):  # fmt: skip
    """Make a job that trains: each step copies a batch, runs micro-batches, then the optimizer."""
    loop = Loop(process, maker or TraceMaker(), start, 1000 if start else 0)

    def micro_batch(number, batch):
        text = {"step": number, "micro": batch}

        def forward():
            for layer in range(layers):
                loop.inside(_text(names.layer, layer=layer, **text), lambda: loop.launch(*FORWARD))

        def backward():
            loop.launch(*BACKWARD * layers, tid=AUTOGRAD, domain=backward_domain)

        def both():
            loop.inside(_text(names.forward, **text), forward)
            loop.inside(_text(names.backward, **text), backward, tid=backward_thread)

        loop.inside(_text(names.micro, **text), both)

    def step(number):
        loop.launch("batch")
        for batch in range(micro_batches):
            micro_batch(number, batch)
        loop.inside(_text(names.optimizer, step=number), lambda: loop.launch(*optimizer))
        loop.time += 40

    for number in range(warm_up):
        loop.inside(_text(names.warm_up, step=number), lambda number=number: step(number))
    for number in range(first, first + steps):
        loop.inside(_text(names.step, step=number), lambda number=number: step(number), names.domain)
        if evaluate_every and number % evaluate_every == evaluate_every - 1:
            for batch in range(5):
                loop.inside(_text(names.evaluation, step=batch), lambda: loop.launch(*FORWARD * layers))
    return loop.maker


def _text(pattern, **numbers):
    return pattern.format(**numbers) if pattern else None
