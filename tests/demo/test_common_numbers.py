"""A job with a fault and the job without it share every random number of the steps that both have."""

import numpy as np
import pytest

from viewer.demo import DemoOptions, job
from viewer.demo.injected_faults import FAULTS, SLOW_RANKS, job_of
from viewer.demo.program import Do
from viewer.demo.randoms import exponential, key_of, normal, uniform
from viewer.demo.rank_faults import RankFaults

JOB = {"ranks": 8, "iterations": 3}
KEYS = np.array([key_of(str(number)) for number in range(4_000)], np.uint64)


def simulated(**options):
    return list(job(DemoOptions(**JOB | options)).run())


def shared(one, other):
    """The positions of the steps that two programs have in common."""
    assert len(set(one.keys.tolist())) == len(one.steps)
    _, left, right = np.intersect1d(one.keys, other.keys, return_indices=True)
    return left, right


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("fault", [f for f in FAULTS if job_of(f) == "megatron"])
def test_a_fault_changes_no_other_number(fault, clean):
    slow = None if fault == "two-slow-ranks" else 5
    healthy = simulated(clean=clean, slow_rank=slow)
    for with_fault, without in zip(simulated(clean=clean, fault=fault), healthy, strict=True):
        left, right = shared(with_fault.program, without.program)
        assert len(right) == len(without.program.steps)
        steps, same = with_fault.program.steps, without.program.steps
        assert [steps[i].do for i in left] == [same[i].do for i in right]
        for name in ("host_ns", "latency_ns", "finish_ns"):
            ours, theirs = (getattr(run.draws, name) for run in (with_fault, without))
            assert (ours[left] == theirs[right]).all()
        late, before = with_fault.draws.before_ns[left], without.draws.before_ns[right]
        assert (np.delete(late, 3, axis=1) == np.delete(before, 3, axis=1)).all()
        work, alone = with_fault.draws.work_ns[left], without.draws.work_ns[right]
        ranks = [r for r in range(8) if fault != "two-slow-ranks" or r not in SLOW_RANKS]
        assert (work[:, ranks] == alone[:, ranks]).all()


def test_a_slow_rank_is_slower_by_its_factor_and_nothing_else():
    slow = simulated(clean=True, rank_faults=RankFaults(slow={2: 1.5}))[1]
    usual = simulated(clean=True)[1]
    is_kernel = np.array([s.do == Do.KERNEL for s in usual.program.steps])
    work, alone = slow.draws.work_ns, usual.draws.work_ns
    assert np.abs(work[is_kernel, 2] - 1.5 * alone[is_kernel, 2]).max() < 2
    work[is_kernel, 2] = alone[is_kernel, 2]
    assert (work == alone).all()
    assert (slow.draws.before_ns == usual.draws.before_ns).all()


def test_more_ranks_leave_the_numbers_of_the_others():
    few, many = simulated(ranks=2)[2], simulated(ranks=8)[2]
    assert (few.draws.host_ns == many.draws.host_ns[:, :2]).all()


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"), [(uniform, 0.5, 12**-0.5), (normal, 0, 1), (exponential, 1, 1)]
)
def test_the_numbers_are_random(draw, mean, deviation):
    numbers = draw(1, 0, KEYS, 8, "test")
    assert numbers.mean() == pytest.approx(mean, abs=0.02)
    assert numbers.std() == pytest.approx(deviation, rel=0.02)
    for other in (
        draw(2, 0, KEYS, 8, "test"),
        draw(1, 1, KEYS, 8, "test"),
        draw(1, 0, KEYS, 8, "another"),
        np.roll(numbers, 1, axis=0),
        np.roll(numbers, 1, axis=1),
    ):
        assert abs(np.corrcoef(numbers.ravel(), other.ravel())[0, 1]) < 0.03
