"""Which phase launched what, and for how long it keeps the GPU: random jobs against loops."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.iterations.phases import BY_THREAD, OWN_IN_BACKWARD, PHASES
from viewer.analysis.study import Study
from viewer.trace import Kind

STEPS, STEP_NS = 5, 10_000
RANGES = {"forward": (100, 3_000), "backward": (3_200, 7_000), "optimizer": (6_500, 8_800)}


def job(seed, others=0.5):
    """Steps in which two threads launch at random times, inside the phases' ranges, across them and outside.

    Returns the maker, and the launches: thread, call, operation.
    """
    random, maker, launched, free = np.random.default_rng(seed), TraceMaker(), [], {7: 0, 9: 0}
    for step in range(STEPS):
        at = step * STEP_NS
        maker.range(at, at + STEP_NS - 100, f"step {step}")
        for phase, (low, high) in RANGES.items():
            # In one step the model is evaluated alone.
            if step != 2 or phase == "forward":
                maker.range(at + low, at + high, phase)
        maker.range(at + 4_000, at + 4_500, "forward", tid=2)
        for call in np.sort(random.choice(np.arange(10, STEP_NS - 200, 10), 40, replace=False)).tolist():
            tid, stream = 2 if random.random() < others else 1, int(random.choice([7, 9]))
            start = max(at + call + 2_000, free[stream])
            end = free[stream] = start + int(random.integers(1, 250))
            launched.append((tid, at + call, start, end))
            number = len(launched)
            maker.call(at + call, at + call + 5, tid=tid, correlation=number)
            name = "ncclDevKernel_AllReduce" if random.random() < 0.2 else "gemm"
            if random.random() < 0.15:
                maker.copy(start, end, stream=stream, correlation=number)
            else:
                maker.kernel(start, end, name, stream=stream, correlation=number)
    return maker, launched


def phase_of(tid, call, owns_apart):
    """Return the phase of a launch, by loops over the ranges."""
    step, within = divmod(call, STEP_NS)
    there = {phase for phase, (low, high) in RANGES.items() if low <= within and within + 5 <= high}
    there &= {"forward"} if step == 2 else set(PHASES)
    if within >= 4_000 and within + 5 <= 4_500:
        there.add("forward")
    for phase in ("optimizer", "backward", "forward"):
        if phase in there:
            break
    else:
        return None
    return OWN_IN_BACKWARD if phase == "backward" and tid == 1 and owns_apart else phase


@pytest.mark.parametrize("others", [0.5, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_phases_equal_loops(seed, others):
    maker, launched = job(seed, others)
    study = Study(maker.trace())
    trace, iterations, phases = study.trace, study.iterations(), study.phases()
    assert iterations.count == STEPS
    in_backward = [tid for tid, call, *_ in launched if phase_of(tid, call, False) == "backward"]
    # A quarter of what the range's own thread launches is too little for the gradients.
    apart = in_backward.count(2) > in_backward.count(1) // 4
    assert apart == (others == 0.5)
    edges = iterations.starts[0].tolist()
    expected = {}
    of_operation = {(start, end): phase_of(tid, call, apart) for tid, call, start, end in launched}
    before = None
    for (start, end), phase in sorted(of_operation.items()):
        if phase is None:
            continue
        iteration = sum(edge <= start for edge in edges)
        if before == (phase, iteration):
            expected[phase][-1][1] = max(expected[phase][-1][1], end)
        else:
            expected.setdefault(phase, []).append([start, end])
        before = phase, iteration
    assert {phase.name for phase in phases.phases} == set(expected)
    kernels, copies = trace.kernels, trace.events[Kind.MEMCPY]
    for phase in phases.phases:
        own = {(int(kernels.start_ns[row]), int(kernels.end_ns[row])) for row in phase.kernels[0]}
        copied = set(zip(copies.start_ns.tolist(), copies.end_ns.tolist(), strict=True))
        assert own == {times for times, name in of_operation.items() if name == phase.name} - copied
        covered = np.zeros(edges[-1] + 1, bool)
        for low, high in expected[phase.name]:
            covered[low:high] = True
        extent = np.zeros_like(covered)
        for low, high in zip(phase.extent[0].start_ns, phase.extent[0].end_ns, strict=True):
            extent[low:high] = True
        assert (extent == covered).all()
        computes = np.zeros_like(covered)
        for row in phase.kernels[0]:
            if "nccl" not in trace.names[kernels.name_id[row]]:
                computes[kernels.start_ns[row] : kernels.end_ns[row]] = True
        per_step = [int(computes[low:high].sum()) for low, high in pairwise(edges)]
        assert phases.compute_ns[phase.name].tolist() == [per_step]
    # An evaluation has no backward: it counts for neither median.
    with_both = (phases.compute_ns["forward"][0] > 0) & (phases.compute_ns["backward"][0] > 0)
    assert phases.has_both.tolist() == [with_both.tolist()]
    assert not with_both[2] or phases.compute_ns["backward"][0][2] > 0
    basis = [k for k in phases.basis if with_both[k]]
    assert phases.forward_ns == int(np.median(phases.compute_ns["forward"][0][basis]))


@pytest.mark.parametrize(("adopted", "is_apart"), [(3, True), (2, False)])
def test_the_owners_launches_are_apart_where_others_launch_more_than_a_quarter_of_them(adopted, is_apart):
    maker = TraceMaker()
    for step in range(4):
        at = 1_000 * step
        maker.range(at, at + 900, f"step {step}").range(at, at + 90, "forward")
        maker.range(at + 100, at + 800, "backward")
        calls = (
            [(1, 20)] + [(1, 110 + 10 * k) for k in range(8)] + [(2, 400 + 10 * k) for k in range(adopted)]
        )
        for number, (tid, call) in enumerate(calls):
            identity = 1 + 100 * step + number
            maker.call(at + call, at + call + 2, tid=tid, correlation=identity)
            maker.kernel(at + call + 1_000, at + call + 1_005, correlation=identity)
    phases = Study(maker.trace()).phases()
    assert (phases.phase(OWN_IN_BACKWARD) is not None) == is_apart
    assert len(phases.phase("backward").kernels[0]) == 4 * (adopted if is_apart else 8 + adopted)


def threads_job(names, counts, forward_thread=1):
    """Steps in which each thread launches so often; the first one's forward alone has a range."""
    maker, number = TraceMaker(), 0
    for step in range(4):
        at = 10_000 * step
        maker.range(at, at + 9_000, f"step {step}")
        if forward_thread:
            maker.range(at + 5, at + 500, "forward", tid=forward_thread)
        for tid, count in enumerate(counts, 1):
            for k in range(count):
                number += 1
                call = at + 20 + 1_000 * (tid - 1) + 10 * k
                maker.call(call, call + 2, tid=tid, correlation=number)
                maker.kernel(at + 20 * (number % 300), at + 20 * (number % 300) + 9, correlation=number)
    trace = maker.trace()
    threads = tuple(replace(t, name=names.get(t.tid, t.name)) for t in trace.threads)
    return Study(replace(trace, threads=threads)).phases()


@pytest.mark.parametrize(
    ("names", "counts", "forward_thread", "launched"),
    [
        # By its name, however little it launches, and without any forward.
        ({3: "pt_autograd_0"}, (9, 8, 2), 1, 2),
        ({3: "pt_autograd_0"}, (9, 8, 2), 0, 2),
        ({2: "pt_autograd_0", 3: "pt_autograd_1"}, (9, 8, 2), 1, 10),
        # Else of those without the forward that which launches most.
        ({}, (9, 3, 8), 1, 8),
        ({}, (9, 3, 12), 1, 12),
        ({}, (9, 3), 0, None),
        ({}, (9,), 1, None),
    ],
)
def test_without_a_backward_range_the_autograd_threads_launches_are_backward(
    names, counts, forward_thread, launched
):
    backward = threads_job(names, counts, forward_thread).phase("backward")
    if launched is None:
        assert backward is None
    else:
        assert (len(backward.kernels[0]), backward.how) == (4 * launched, BY_THREAD)
