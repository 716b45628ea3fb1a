"""Groups of idle stalls and what is said of them, in jobs of two GPUs that are made up stall by stall."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.analysis.findings.test_finding_inputs import late
from tests.analysis.make import TraceMaker
from viewer.analysis.core.location import Location
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.host_findings import host_proposals
from viewer.analysis.replay.changes import CloseHole, CloseRange, FreeLaunches, RemoveCall
from viewer.analysis.stalls.causes import (
    BY_PROFILER,
    HOST_CODE,
    LAUNCH_BOUND,
    NOT_KNOWN,
    ON_GPU_SIDE,
    SLOW_CALL,
    SYNCHRONISE,
    TAKEN_OFF,
    WAITING,
)
from viewer.trace import GPU_KINDS, Kind

MS = 1_000_000
UNIT_MS = 100
"""Half a per cent of it, 0.5 ms, is worth a finding."""
RANGES = ("mask 3", "mask 4", "forward", "next_batch", "a", "b", "c")
CALLS = ("cudaMalloc_v3020", "cuModuleLoadData", "cudaFoo", "cudaStreamSynchronize", "cudaEventQuery")
OS_CALLS = ("poll", "read", "poll")


def job(rows):
    """Return the inputs of a job of three iterations, all alike.

    Each row is a stall of every iteration: GPU, when in it and how long (ms), cause, and the names of what
    it is in, of its call and of the operating system's.
    """
    maker = TraceMaker(session_ns=3 * UNIT_MS * MS)
    for process in (0, 1):
        maker.kernel(0, 3 * UNIT_MS * MS, process=process)
    for k, name in enumerate(RANGES):
        maker.range(k, 300 * MS - k, name)
    for k, name in enumerate(CALLS):
        maker.call(10 * k, 10 * k + 5, name)
    for k, name in enumerate(OS_CALLS):
        maker.add(Kind.OSRT, 0, 10 * k, 10 * k + 5, name)
    stalls = []
    for unit in range(3):
        for number, (gpu, at_ms, ms, cause, *where) in enumerate(rows):
            inside, call, os_call = (*where, None, None, None)[:3]
            begin, length = round((unit * UNIT_MS + at_ms) * MS), round(ms * MS)
            call = -1 if call is None else CALLS.index(call)
            stalls.append(
                (gpu, begin, begin + length, length, "idle", -1 if inside is None else RANGES.index(inside),
                 cause, GPU_KINDS.index(Kind.KERNEL), number,
                 call if cause != SYNCHRONISE else -1, call if cause == SYNCHRONISE else -1,
                 -1 if os_call is None else os_call)
            )  # fmt: skip
    # The kernel after a stall is that of its row's number.
    columns = ["gpu", "start_ns", "end_ns", "duration_ns", "kind", "inside", "cause", "after_kind"]
    table = pd.DataFrame(stalls, columns=[*columns, "after_index", "other_call", "blocking_call", "os_call"])
    starts = np.array([[0, 100, 200, 300]] * 2) * MS
    iterations = SimpleNamespace(starts=starts, basis=(0, 1, 2), marker="step", median_of=lambda _: 100 * MS)
    study = SimpleNamespace(
        trace=maker.trace(),
        iterations=lambda _: iterations,
        stalls=lambda _: SimpleNamespace(table=table),
        diagnostics=[],
        default_scope=lambda _: None,
        parts=None,
        collectives=SimpleNamespace(is_pipeline=False),
    )
    return FindingInputs(study)


@pytest.fixture
def found(monkeypatch):
    """A function from stalls, as `job` takes them, to what is proposed."""

    def propose(*rows, lates=(), optimizer=()):
        inputs = late(monkeypatch, job(rows), *(("host", (gpu,), 10**9) for gpu in lates))
        phase = SimpleNamespace(kernels=[np.array(optimizer)])
        inputs.study.phases_of = lambda _: SimpleNamespace(phase=lambda _: phase)
        return list(host_proposals(inputs))

    return propose


def test_a_range_in_which_the_host_computes_is_closed(found):
    (one,) = found((0, 10, 2, HOST_CODE, "mask 3"), (1, 10, 1.5, HOST_CODE, "mask 4"))
    assert one.id == "host-code:mask #"
    assert one.title == "All GPUs stand still while the host computes in mask #"
    assert one.what == "idle for 2.000 ms, in 1 stall of a GPU"
    assert one.evidence == "mask #, 1.500 ms to 2.000 ms on every GPU"
    assert one.ceiling_ns.tolist() == [2 * MS] * 3
    assert one.changes == (CloseRange("mask #"),)
    assert one.location == Location(10 * MS, 12 * MS, 0)
    assert {gpu: spans.total() for gpu, spans in one.spans.items()} == {0: 6 * MS, 1: 4_500_000}
    assert one.times_least == 1


@pytest.mark.parametrize(("ms", "gpus"), [(1, (0, 1)), (0.9, (0,)), (4, (0, 1)), (4.1, (1,))])
def test_gpus_are_named_that_stand_still_half_as_long_as_the_longest(found, ms, gpus):
    (one,) = found((0, 10, 2, HOST_CODE, "mask 3"), (1, 10, ms, HOST_CODE, "mask 3"))
    assert one.gpus == gpus
    assert one.ceiling_ns.tolist() == [round(max(2, ms) * MS)] * 3
    if len(gpus) == 1:
        assert one.title.startswith(f"Rank {gpus[0]} stands still while")


def test_stalls_in_a_phase_or_in_no_range_are_closed_one_by_one_the_longest_first(found):
    for inside, name in (("forward", "host-code:forward"), (None, "host-code")):
        (one,) = found((0, 10, 1, HOST_CODE, inside), (1, 20, 3, HOST_CODE, inside))
        assert one.id == name
        holes = [
            CloseHole(gpu, (unit * 100 + at) * MS, (unit * 100 + at + ms) * MS)
            for gpu, at, ms in ((1, 20, 3), (0, 10, 1))
            for unit in range(3)
        ]
        assert one.changes == tuple(holes)


@pytest.mark.parametrize(
    ("call", "name", "following"),
    [
        ("cudaMalloc_v3020", "cudaMalloc", "Allocate once, before the iterations"),
        ("cuModuleLoadData", "cuModuleLoadData", "Load the code before the iterations"),
        ("cudaFoo", "cudaFoo", "Call it before the iterations, or less often"),
    ],
)
def test_a_slow_call_is_removed(found, call, name, following):
    (one,) = found((0, 10, 2, SLOW_CALL, "a", call), (0, 20, 2, SLOW_CALL, "a", call))
    assert one.id == f"slow-call:{name}:a"
    assert one.title == f"Rank 0 stands still during {name} in a"
    assert one.what == "idle for 4.000 ms, in 2 stalls of a GPU"
    assert one.evidence == "a, 4.000 ms"
    assert one.changes == (RemoveCall(name),)
    assert one.next_step.startswith(following)


def test_who_waits_for_the_gpu_and_who_asks_again_and_again_are_two_findings(found):
    polling, waits = found(
        (0, 10, 2, SYNCHRONISE, None, "cudaStreamSynchronize"),
        (0, 20, 3, SYNCHRONISE, None, "cudaEventQuery"),
    )
    assert (waits.id, waits.changes) == (
        "synchronise:cudaStreamSynchronize",
        (RemoveCall("cudaStreamSynchronize"),),
    )
    assert waits.title == "Rank 0 stands still behind cudaStreamSynchronize"
    assert waits.evidence == "2.000 ms, 1 stall of a GPU each iteration"
    holes = [CloseHole(0, (100 * k + 20) * MS, (100 * k + 23) * MS) for k in range(3)]
    assert polling.id == "polling:cudaEventQuery"
    assert polling.changes == (*holes, RemoveCall("cudaEventQuery"))


def test_a_call_that_is_not_known_changes_nothing(found):
    (one,) = found((0, 10, 2, SLOW_CALL))
    assert (one.id, one.changes) == ("slow-call", ())
    assert one.title == "Rank 0 stands still during a call"


def test_loading_says_in_which_call_most_of_the_time_is_slept(found):
    # Twice in poll, 3 ms together; once in read, 2 ms.
    (one,) = found(
        (0, 10, 1.6, WAITING, "next_batch", None, 0),
        (0, 20, 2, WAITING, "next_batch", None, 1),
        (0, 30, 1.4, WAITING, "next_batch", None, 2),
    )
    assert one.title == "Rank 0 stands still while the next batch is loaded"
    assert one.evidence == "next_batch, 5.000 ms, asleep in poll"
    assert one.next_step.startswith("Load the next batch in advance")
    (other,) = found((0, 10, 2, WAITING, "a"))
    assert other.title == "Rank 0 stands still while the host waits in a"
    assert other.evidence == "a, 2.000 ms"


@pytest.mark.parametrize(
    ("cause", "least_ms"),
    [
        (HOST_CODE, 0.5),
        (TAKEN_OFF, 0.5),
        (BY_PROFILER, 0.5),
        (LAUNCH_BOUND, 1),
        (NOT_KNOWN, 2),
        (ON_GPU_SIDE, 0.5),
    ],
)
def test_what_every_job_has_a_little_of_has_to_last_longer(found, cause, least_ms):
    assert not found((0, 10, least_ms - 0.001, cause))
    (one,) = found((0, 10, least_ms, cause))
    assert one.times_least == round(least_ms / 0.5)
    hole = tuple(CloseHole(0, (100 * k + 10) * MS, round((100 * k + 10 + least_ms) * MS)) for k in range(3))
    more = {LAUNCH_BOUND: (FreeLaunches(),)}.get(cause, ())
    assert one.changes == (() if cause == ON_GPU_SIDE else (*hole, *more))


def test_what_is_scattered_is_one_finding_together(found):
    rows = [(0, 10 * k + 10, 0.3, HOST_CODE, name) for k, name in enumerate("abc")]
    (one,) = found(*rows)
    assert one.id == "host-code:several ranges"
    assert one.ceiling_ns.tolist() == [900_000] * 3
    assert all(isinstance(change, CloseHole) for change in one.changes)
    assert not found(rows[0])
    # One that lasts long enough alone is not in it.
    large, small = found(*rows, (0, 60, 0.5, HOST_CODE, "mask 3"))
    assert {large.id, small.id} == {"host-code:mask #", "host-code:several ranges"}
    assert found(rows[0], (0, 60, 0.199, HOST_CODE, "b")) == []
    assert len(found(rows[0], (0, 60, 0.2, HOST_CODE, "b"))) == 1


def test_ranges_that_share_slow_launches_are_one_finding(found):
    rows = [(0, 10 * k + 10, 1.5, LAUNCH_BOUND, name) for k, name in enumerate("abc")]
    (one,) = found(*rows)
    assert one.id == "launch-bound:several ranges"
    # Half of them or more in one range: that is where.
    apart = found((0, 10, 3, LAUNCH_BOUND, "a"), *rows[1:])
    assert {proposal.id for proposal in apart} == {"launch-bound:a", "launch-bound:several ranges"}


def test_gpus_of_late_hosts_are_left_out(found):
    rows = (0, 10, 2, HOST_CODE, "a"), (1, 10, 3, HOST_CODE, "a")
    (one,) = found(*rows, lates=(1,))
    assert set(one.spans) == {0}
    assert one.ceiling_ns.tolist() == [2 * MS] * 3


def test_launches_of_the_optimizer_are_no_fault(found):
    rows = (0, 10, 3, LAUNCH_BOUND, "a"), (0, 20, 2, HOST_CODE, "b"), (0, 30, 1.5, LAUNCH_BOUND, "c")
    # Each stall's number in a job stands for the kernel after it, here of the first two.
    one, other = found(*rows, optimizer=(0, 1))
    assert {one.id, other.id} == {"host-code:b", "launch-bound:c"}
    assert {tuple(one.ceiling_ns), tuple(other.ceiling_ns)} == {(2 * MS,) * 3, (1_500_000,) * 3}
