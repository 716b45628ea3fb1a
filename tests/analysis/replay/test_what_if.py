"""What a change wins, against the same job simulated without the fault (common random numbers)."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.analysis.replay.changes import (
    CloseHole,
    CloseIdle,
    CloseRange,
    FlattenRanks,
    FreeCall,
    FreeLaunches,
    Hide,
    NoWait,
    RemoveCall,
    RemoveCopies,
    Scale,
)
from viewer.demo import DemoOptions
from viewer.demo.program import Do
from viewer.demo.simulation import SimulatedJob
from viewer.trace import Kind

ITERATIONS = 7
NO_SLOW = {"slow_rank": None}
NO_TAX = {**NO_SLOW, "overlap_tax": 0.0}
LAUNCHING = (Do.KERNEL, Do.COLLECTIVE, Do.COPY, Do.SET)


class ChangedJob(SimulatedJob):
    """A job whose steps are changed before they run."""

    changed = staticmethod(lambda step: step)

    def program(self, iteration):
        program = super().program(iteration)
        return replace(program, steps=tuple(self.changed(step) for step in program.steps))


def truth(options, changed=lambda step: step):
    """Return the lengths of the iterations of a simulated job, shape (iterations,), ns."""
    own = ChangedJob(DemoOptions(iterations=ITERATIONS, **options), ITERATIONS)
    own.changed = changed
    starts, end = [], 0
    for iteration in own.run():
        gpu = iteration.gpu_start_ns
        starts.append(gpu[gpu >= 0].min())
        end = max(end, int(iteration.gpu_end_ns.max()))
    return np.diff([*starts, end])


def scaled(kernel, factor):
    return lambda s: replace(s, work_ns=round(s.work_ns * factor)) if s.kernel.startswith(kernel) else s


def launched_in_no_time(step):
    return replace(step, host_ns=0) if step.do in LAUNCHING and not step.blocking else step


def called_in_no_time(step):
    return replace(step, host_ns=0) if step.api.startswith("cudaMalloc") else step


CASES = {
    "one slow rank": ({}, [FlattenRanks()], NO_SLOW, None),
    "two slow ranks": ({"fault": "two-slow-ranks"}, [FlattenRanks()], NO_SLOW, None),
    "host code": ({**NO_SLOW, "fault": "busy-cpu"}, [CloseRange("build_mask")], NO_SLOW, None),
    "malloc": ({**NO_SLOW, "fault": "malloc"}, [RemoveCall("cudaMalloc")], None, called_in_no_time),
    "needless wait": (
        {**NO_SLOW, "fault": "needless-wait"},
        [NoWait("ReduceScatter", "needless-wait")],
        NO_SLOW,
        None,
    ),
    "faster collectives": (NO_SLOW, [Scale("allreduce", 0.5)], NO_SLOW, scaled("all_reduce", 0.5)),
    # What kernels pay beside communication stays as it was recorded: without it in the job.
    "faster reduce-scatters": (
        NO_TAX,
        [Scale("reducescatter", 0.25)],
        NO_TAX,
        scaled("reduce_scatter", 0.25),
    ),
    "slower kernels": (NO_SLOW, [Scale("flash_bwd_dq", 1.5)], NO_SLOW, scaled("flash_bwd", 1.5)),
    "launches": (
        {**NO_SLOW, "fault": "tiny-kernels"},
        [FreeLaunches()],
        {**NO_SLOW, "fault": "tiny-kernels"},
        launched_in_no_time,
    ),
    "slow rank and host code": (
        {"fault": "busy-cpu"},
        [FlattenRanks(), CloseRange("build_mask")],
        NO_SLOW,
        None,
    ),
    "slow rank and collectives": (
        {},
        [Scale("allreduce", 0.5), FlattenRanks()],
        NO_SLOW,
        scaled("all_reduce", 0.5),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_change_wins_what_the_job_without_the_fault_is_shorter(demo_of, case):
    options, changes, without, changed = CASES[case]
    study = demo_of(iterations=ITERATIONS, **options)
    answer = study.what_if(changes)
    true_ns = truth(options if without is None else without, changed or (lambda step: step))
    recorded = np.array([one.recorded_ns for one in answer.iterations])
    predicted = np.array([one.predicted_ns for one in answer.iterations])
    np.testing.assert_array_equal(recorded, truth(options))
    assert (np.abs(predicted - true_ns) <= 0.005 * true_ns).all()
    basis = list(study.iterations().basis)
    won = float(np.median((recorded - true_ns)[basis]))
    assert answer.saving_ns == pytest.approx(won, rel=0.05)
    low, high = answer.saving_range_ns
    assert low <= answer.saving_ns <= high
    assert answer.replay_error_ns == 0
    assert answer.explained_share == 1
    assert answer.doubts == ()
    for one, path in zip(answer.iterations, answer.critical_paths, strict=True):
        assert path.length_ns == one.predicted_ns


def test_hidden_collectives_leave_their_waits(demo_of):
    study = demo_of(iterations=ITERATIONS, **NO_TAX)
    answer = study.what_if([Hide("allreduce")])
    true_ns = truth(NO_TAX, scaled("all_reduce", 0))
    predicted = np.array([one.predicted_ns for one in answer.iterations])
    # The simulated members still end up to 0.9 µs apart, some 65 times one after another.
    assert (np.abs(predicted - true_ns) <= 65 * 900).all()
    for path in answer.critical_paths:
        assert path.sums["communication_ns"] > 0


def test_changes_add_up_whatever_their_order(demo_of):
    study = demo_of(iterations=ITERATIONS, fault="busy-cpu")
    changes = [FlattenRanks(), CloseRange("build_mask"), Scale("flash", 0.9), RemoveCall("cudaMalloc")]
    one, other = study.what_if(changes), study.what_if(changes[::-1])
    np.testing.assert_array_equal(one.times.start_ns, other.times.start_ns)
    assert one.saving_ns > max(study.what_if([change]).saving_ns for change in changes)


def test_a_closed_hole_is_the_idle_of_one_gpu(demo_of):
    study = demo_of(iterations=ITERATIONS, fault="busy-cpu", slow_rank=None)
    ranges = study.trace.nvtx
    name = study.trace.names
    where = [i for i in range(len(ranges)) if name[int(ranges.name_id[i])] == "build_mask"]
    first = min(where, key=lambda i: int(ranges.start_ns[i]))
    # One of eight: the others hold all up, and nothing is won.
    gpu = study.trace.gpus[0].index
    idle = study.parts[gpu].intervals("idle", start_ns=int(ranges.start_ns[first]))
    hole = next(
        CloseHole(gpu, a, b)
        for a, b in zip(idle.start_ns.tolist(), idle.end_ns.tolist(), strict=True)
        if b - a > 5_000_000
    )
    assert abs(study.what_if([hole]).saving_ns) < 100_000
    closed = study.what_if([CloseIdle()])
    assert closed.saving_ns > study.what_if([CloseRange("build_mask")]).saving_ns > 9_000_000
    assert 0 <= study.what_if([CloseIdle(0)]).saving_ns < 500_000


def test_one_call_is_freed_as_all_of_its_name_are(demo_of):
    study = demo_of(iterations=ITERATIONS, fault="malloc", slow_rank=None)
    api, iteration = study.trace.api, study.iterations().edges_ns[2:4]
    ids = [i for i in np.unique(api.name_id).tolist() if "cudaMalloc" in study.trace.names[i]]
    inside = (api.start_ns >= iteration[0]) & (api.start_ns < iteration[1]) & np.isin(api.name_id, ids)
    calls = np.flatnonzero(inside).tolist()
    assert len(calls) == 8
    freed = study.what_if([FreeCall(call) for call in calls], chosen=2).iterations[0]
    removed = study.what_if([RemoveCall("cudaMalloc_v3020")], chosen=2).iterations[0]
    assert freed.predicted_ns == pytest.approx(removed.predicted_ns, abs=100_000)
    assert freed.predicted_ns < freed.recorded_ns - 5_000_000


def test_copies_before_the_first_kernel_and_their_calls_take_no_time(demo_of):
    study = demo_of(iterations=ITERATIONS, slow_rank=None)
    answer = study.what_if([RemoveCopies("HtoD")])
    copies = study.trace.events[Kind.MEMCPY]
    htod = [i for i in range(len(copies)) if "HtoD" in study.trace.names[int(copies.name_id[i])]]
    lasts = (copies.end_ns - copies.start_ns)[htod]
    # Each rank copies its batch in turn with its host, and all wait for the slowest.
    per_rank = int(lasts.sum()) // (8 * ITERATIONS)
    assert per_rank <= answer.saving_ns <= 1.2 * per_rank + 200_000


def test_what_was_recorded_is_kept_where_nothing_changes(demo_of):
    study = demo_of(iterations=ITERATIONS)
    answer = study.what_if([Scale("gemm", 1.0)], chosen="steady")
    assert answer.saving_ns == 0
    assert answer.saving_range_ns == (0, 0)
    assert tuple(one.index for one in answer.iterations) == study.iterations().steady.indices
    np.testing.assert_array_equal(answer.times.start_ns, study.replay.network.operations.start_ns)
    for path in answer.critical_paths:
        recorded = study.critical_paths()[path.iteration]
        np.testing.assert_array_equal(path.start_ns, recorded.start_ns)
