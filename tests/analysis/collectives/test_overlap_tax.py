"""What hidden communication costs the kernels beside it, against planted prices and brute force."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.overlap_tax import ALONE, BESIDE, PARTLY
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.demo import DemoOptions
from viewer.demo.simulation import SimulatedJob
from viewer.demo.truth import ground_truth

US = 1_000
DEPTHS = (("qkv", 400, "norm"), ("proj", 200, "flash"), ("fc1", 700, "dropout"), ("fc2", 550, "gelu"))
COMM = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"


class Job:
    """Ranks run blocks of GEMMs of one name; beside the later ones of the last two blocks communication runs.

    `ranges` gives each depth a range of its own; without it all are in one range. `same` leaves out the other
    kernels between them.
    """

    def __init__(
        self,
        seed=1,
        tax=0.0,
        ranks=8,
        iterations=6,
        noise=0.01,
        slow=None,
        ranges=True,
        own_tax=None,
        same=False,
    ):
        self.maker, self.random = TraceMaker(), np.random.default_rng(seed)
        self.paid_ns = [0] * ranks
        self.tax, self.noise, self.ranges, self.own_tax = tax, noise, ranges, own_tax or {}
        self.same = same
        for rank in range(ranks):
            self.correlation, self.now = 0, 10 * US
            self.factor = 1.06 if rank == slow else 1.0
            for iteration in range(iterations):
                begin = self.now
                for block in range(4):
                    self.block(rank, block)
                self.maker.range(begin - 9 * US, self.now, f"Iteration {iteration}", process=rank)
                self.now += 50 * US
        self.study = Study(self.maker.trace(), Rules.builtin())

    def block(self, rank, block):
        comm_from = None
        for number, (text, us, before) in enumerate(DEPTHS):
            # Communication from the third GEMM of the last two blocks on: the deep ones are beside it more
            # often than the others, which a mean over all depths would take for a price.
            if block >= 2 and number == 2 - self.random.integers(0, 2) and comm_from is None:
                comm_from = self.now
            length = us * US * self.factor * (1 + self.noise * self.random.standard_normal())
            extra = self.own_tax.get(text, self.tax) * length if comm_from is not None else 0
            self.paid_ns[rank] += int(extra)
            if not self.same:
                self.maker.kernel(self.now, self.now + 9 * US, before, 7, rank)
            start, end = self.now + 10 * US, self.now + 10 * US + int(length) + int(extra)
            self.correlation += 1
            if self.ranges:
                self.maker.range(start - 8 * US, start - 2 * US, text, process=rank)
            self.maker.call(start - 6 * US, start - 4 * US, process=rank, correlation=self.correlation)
            self.maker.kernel(start, end, "nvjet_gemm", 7, rank, 0, self.correlation)
            self.now = end + 10 * US
        if comm_from is not None:
            self.maker.kernel(comm_from, self.now - 12 * US, COMM, 20, rank)

    def sum(self):
        return self.study.overlap_tax.sum_of(range(len(self.paid_ns)))


def brute_force(study):
    """Return what each GPU paid, kernel by kernel in plain Python, without any test of significance."""
    trace, kernels = study.trace, study.trace.kernels
    names = [trace.names[int(i)] for i in kernels.name_id]
    gpu = [trace.streams[kernels.owner_of(i)].gpu for i in range(len(kernels))]
    span = list(zip(kernels.start_ns.tolist(), kernels.end_ns.tolist(), strict=True))
    comm = [i for i, name in enumerate(names) if name.startswith("nccl")]
    compute = [i for i in range(len(names)) if i not in set(comm)]
    around = {}
    for stream in trace.streams:
        line = [i for i in compute if kernels.owner_of(i) == stream.index]
        for at, i in enumerate(line):
            near = [line[at - step] if at >= step else None for step in (1, 2, 3)]
            around[i] = tuple(None if n is None else names[n] for n in near)
    lengths, beside = {}, {}
    for i in compute:
        start, end = span[i]
        shared = sum(max(0, min(end, span[c][1]) - max(start, span[c][0])) for c in comm if gpu[c] == gpu[i])
        side = 1 if 2 * shared > end - start else None if shared else 0
        text = innermost(trace, i, gpu[i], start)
        key = names[i], text, around[i]
        if side == 1:
            beside.setdefault(gpu[i], []).append(key)
        if side is not None:
            lengths.setdefault(key, {}).setdefault(gpu[i], ([], []))[side].append(end - start)
    by_place = {key: apart([ranks]) for key, ranks in lengths.items()}
    by_signature = {
        key[:2]: apart([ranks for other, ranks in lengths.items() if other[:2] == key[:2]]) for key in lengths
    }

    def price(key):
        own = by_place[key]
        return (own if own is not None else by_signature[key[:2]]) or 0

    return {g: sum(map(price, keys)) for g, keys in beside.items()}


def apart(places, least=5):
    """Return the mean difference over some places and their GPUs, None with fewer than five on a side."""
    both = [(a, b) for ranks in places for a, b in ranks.values() if a and b]
    if min(sum(len(a) for a, _ in both), sum(len(b) for _, b in both)) < least:
        return None
    weights = [len(a) * len(b) / (len(a) + len(b)) for a, b in both]
    return float(np.average([np.mean(b) - np.mean(a) for a, b in both], weights=weights))


def innermost(trace, kernel, gpu, start):
    """Return the text of the shortest range around the call of a kernel, which is 6 to 4 µs before it."""
    nvtx, best = trace.nvtx, None
    for i in range(len(nvtx)):
        track = trace.tracks[nvtx.owner_of(i)]
        if trace.threads[track.thread].process != trace.gpus[gpu].process:
            continue
        low, high = int(nvtx.start_ns[i]), int(nvtx.end_ns[i])
        if low <= start - 6 * US and start - 4 * US <= high and (best is None or high - low < best[0]):
            best = high - low, trace.names[int(nvtx.name_id[i])]
    return best[1] if best else None


@pytest.mark.parametrize("tax", [0.03, 0.15, -0.05])
def test_a_planted_price_is_found_over_eight_ranks(tax):
    job = Job(tax=tax)
    found = job.sum()
    assert found.tax_ns == pytest.approx(sum(job.paid_ns), rel=0.03)
    assert abs(found.tax_ns - sum(job.paid_ns)) < found.bound_ns
    assert found.unknown_ns == 0


def test_each_kernel_pays_its_own_price():
    job = Job(own_tax={"fc1": 0.15})
    tax = job.study.overlap_tax
    for place, text in enumerate(tax.signatures.texts):
        if tax.difference.beside[place]:
            share = tax.difference.each_ns[place] / tax.difference.alone_ns[place]
            assert share == pytest.approx(0.15 if text == "fc1" else 0, abs=0.005)
    assert {"proj", "fc1", "fc2"} <= set(tax.signatures.texts)


def test_a_clean_job_pays_nothing_in_fifty_seeds():
    sums = [Job(seed=seed, ranks=4, iterations=4).sum() for seed in range(50)]
    assert [s.tax_ns for s in sums] == [0] * 50
    assert all(0 < s.bound_ns < s.beside_ns / 20 and not s.unknown_ns for s in sums)


def test_a_slow_rank_is_no_price():
    """The slow rank has as much beside it; with other shares too it is compared with itself alone."""
    job = Job(slow=2)
    assert job.sum().tax_ns == 0


def test_depths_of_one_name_are_no_price_even_in_one_range():
    """A name and a grid serve four depths; what is launched before tells them apart."""
    assert Job(ranges=False).sum().tax_ns == 0
    job = Job(ranges=False, tax=0.15)
    found = job.sum()
    assert found.tax_ns == pytest.approx(sum(job.paid_ns), rel=0.03)


@pytest.mark.parametrize("tax", [0, 0.15])
def test_a_mixture_that_nothing_tells_apart_is_unknown(tax):
    found = Job(ranges=False, same=True, tax=tax).sum()
    assert (found.tax_ns, found.unknown_ns) == (0, found.beside_ns)


@pytest.mark.parametrize("tax", [0.05, 0.15])
def test_it_is_what_plain_python_counts(tax):
    job = Job(tax=tax, ranks=2, iterations=5)
    expected = brute_force(job.study)
    for gpu, ns in expected.items():
        found = job.study.overlap_tax.sum_of([gpu])
        # Rounded to whole nanoseconds price by price.
        assert found.tax_ns == pytest.approx(ns, abs=len(job.study.trace.kernels))


def test_the_iterations_add_up():
    job = Job(tax=0.1)
    study, tax = job.study, job.study.overlap_tax
    iterations = study.iterations()
    for gpu in range(8):
        by_iteration = [
            tax.sum_of([gpu], [study.range_scope(int(a), int(b)).within[gpu]])
            for a, b in zip(*iterations.windows(gpu), strict=True)
        ]
        whole = tax.sum_of([gpu])
        assert sum(s.tax_ns for s in by_iteration) == whole.tax_ns
        assert sum(s.beside_ns for s in by_iteration) == whole.beside_ns


def test_the_collectives_bear_what_the_kernels_pay():
    job = Job(tax=0.1)
    study, tax = job.study, job.study.overlap_tax
    comm = np.flatnonzero(study.classes.is_comm(study.trace.kernels.name_id))
    borne = [tax.of_collective(int(kernel)) for kernel in comm]
    assert sum(c.tax_ns for c in borne) == pytest.approx(job.sum().tax_ns, abs=len(study.trace.kernels))
    for kernel, cost in zip(comm.tolist(), borne, strict=True):
        kernels = study.trace.kernels
        gpu = study.trace.streams[kernels.owner_of(kernel)].gpu
        whole = study.coverage(gpu).compute.covered(kernels.start_ns[kernel], kernels.end_ns[kernel])
        assert 0 < cost.hidden_ns <= int(whole)
    assert tax.of_collective(int(np.flatnonzero(tax.side == BESIDE)[0])) is None


def test_two_collectives_beside_a_kernel_share_its_price():
    maker = TraceMaker()
    for k in range(20):
        start, is_beside = 1_000 * US * k, k % 2
        maker.kernel(start, start + (110 if is_beside else 100) * US, "gemm", 7)
        if is_beside:
            maker.kernel(start, start + 66 * US, COMM, 20)
            maker.kernel(start + 44 * US, start + 88 * US, COMM, 21)
    study = Study(maker.trace(), Rules.builtin())
    tax = study.overlap_tax
    comm = np.flatnonzero(study.classes.is_comm(study.trace.kernels.name_id)).tolist()
    prices = {kernel: tax.of_collective(kernel) for kernel in comm}
    long = [p for k, p in prices.items() if study.trace.kernels.start_ns[k] % (1_000 * US) == 0]
    short = [p for k, p in prices.items() if study.trace.kernels.start_ns[k] % (1_000 * US)]
    # 66 and 44 of the 110 µs that the two share with the kernel.
    assert [p.tax_ns for p in long] == [6 * US] * 10
    assert [p.tax_ns for p in short] == [4 * US] * 10
    assert all(p.hidden_ns == 66 * US for p in long)


@pytest.mark.parametrize(("alone", "beside", "is_known"), [(5, 5, True), (4, 9, False), (9, 4, False)])
def test_fewer_than_five_on_a_side_are_unknown(alone, beside, is_known):
    maker = TraceMaker()
    random = np.random.default_rng(3)
    for k in range(alone + beside):
        is_beside = k >= alone
        start, length = 1_000 * US * k, int((200 + random.normal(0, 0.3) + 20 * is_beside) * US)
        maker.kernel(start, start + length, "gemm", 7)
        # All have the same kernels before them, the first one too.
        for near in (-150, -100, -50):
            maker.kernel(start + near * US, start + (near + 9) * US, "norm", 7)
        if is_beside:
            maker.kernel(start, start + 250 * US, COMM, 20)
    tax = Study(maker.trace(), Rules.builtin()).overlap_tax
    found = tax.sum_of([0])
    assert (found.unknown_ns == 0) is is_known
    assert (found.tax_ns > 0) is is_known


def test_more_than_half_is_beside_and_nothing_is_alone():
    maker = TraceMaker()
    for number, covered in enumerate((0, 1, 50, 51, 100)):
        start = 1_000 * US * number
        maker.kernel(start, start + 100 * US, "gemm", 7)
        maker.kernel(start - 50 * US, start + covered * US, COMM, 20)
    tax = Study(maker.trace(), Rules.builtin()).overlap_tax
    side = tax.side[tax.trace.kernels.of(0)].tolist()
    assert side == [ALONE, PARTLY, PARTLY, BESIDE, BESIDE]


def test_a_trace_without_kernels_has_nothing_to_pay():
    maker = TraceMaker()
    maker.copy(0, 10)
    found = Study(maker.trace(), Rules.builtin()).overlap_tax.sum_of([0])
    assert (found.tax_ns, found.bound_ns, found.beside_ns, found.unknown_ns) == (0, 0, 0, 0)


def test_grid_and_shared_memory_tell_kernels_apart(demo_of):
    study = demo_of(iterations=4)
    tax = study.overlap_tax
    assert tax.signatures.has_shapes
    source, kernels = study.trace.source, study.trace.kernels
    rows = np.flatnonzero(tax.signatures.place >= 0)
    for column in ("gridX", "dynamicSharedMemory"):
        from viewer.trace import Kind

        values = source.column(Kind.KERNEL, column, kernels.columns["file_row"])
        of_signature = values[tax.signatures.example]
        assert (of_signature[tax.signatures.place[rows]] == values[rows]).all()


@pytest.mark.parametrize("options", [{}, {"overlap_tax": 0.15}, {"clean": True, "overlap_tax": 0.03}])
def test_what_the_demo_plants_is_found_over_eight_ranks(demo_of, options):
    truth = ground_truth(SimulatedJob(DemoOptions(**options), 8)).tax_ns.sum()
    tax = demo_of(**options).overlap_tax
    found = tax.sum_of(range(8))
    # What the demo lengthens by less than half of a kernel is in the truth and counts for no kernel here.
    assert found.tax_ns == pytest.approx(truth, rel=0.06)
    assert found.unknown_ns < found.beside_ns / 100


def test_a_clean_demo_pays_nothing(demo_of):
    found = demo_of(clean=True).overlap_tax.sum_of(range(8))
    assert (found.tax_ns, found.unknown_ns) == (0, 0)
    assert found.bound_ns < found.beside_ns / 500
