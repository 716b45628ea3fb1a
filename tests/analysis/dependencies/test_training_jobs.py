"""The graph, the replay and what-if against a job whose truth another simulation keeps."""

from functools import lru_cache

import numpy as np
import pytest

from tests.analysis.dependencies.test_waits import Resolved
from tests.analysis.training_job import TrainingJob
from viewer.analysis.dependencies.graph import NO_EDGE, EdgeKind, Grade
from viewer.analysis.replay.changes import CloseRange, FlattenRanks, NoWait, RemoveCall

JOBS = [{}, {"ids": False}, {"relay": False}, {"needless": True}, {"tensor": 1, "data": 4, "handles": 2}]


@lru_cache(maxsize=8)
def simulated(options):
    return TrainingJob(**dict(options), iterations=3).run()


@lru_cache(maxsize=8)
def resolved(job):
    return Resolved(job.maker)


@pytest.fixture(params=JOBS, ids=str)
def job(request):
    return simulated(tuple(request.param.items()))


def test_every_wait_names_its_producers(job):
    found = resolved(job).waits()
    assert found.keys() == job.waits.keys()
    assert {key: producers for key, (producers, _) in found.items()} == job.waits
    grades = {grade for key, (_, grade) in found.items() if job.waits[key]}
    assert grades == {Grade.PROVEN if job.ids else Grade.HANDLE}


def test_what_bound_every_operation_is_what_the_simulation_chose(job):
    found = resolved(job)
    graph, bound_by, right = found.graph, job.bound_by, 0
    for number, call in enumerate(graph.operations.call.tolist()):
        kind = int(graph.binding[number])
        assert kind != NO_EDGE
        binder = None if kind == EdgeKind.LAUNCH else found.operation[graph.binder[number]]
        right += binder == bound_by[found.call_key[call]]
    # Two that end at about the same time are told apart by their lag alone.
    assert right / len(graph.operations) > 0.99


def test_a_blocking_call_returns_after_what_the_simulation_says(job):
    graph = resolved(job)
    edges = graph.edges(graph.graph.return_edges)
    found = {graph.call_key[call]: sources for call, sources in edges.items()}
    for key, operation in job.returned.items():
        assert operation is None or operation in found[key]


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ({"needless": True}, NoWait("ReduceScatter", "needless-wait")),
        ({"hole_ms": 8.0}, CloseRange("collate")),
        ({"malloc_ms": 6.0}, RemoveCall("cudaMalloc")),
        ({"slow": {2: 1.06}}, FlattenRanks()),
    ],
    ids=str,
)
def test_a_change_wins_what_the_job_without_the_fault_does(fault, change):
    faulty, healthy = TrainingJob(**fault, iterations=3).run(), simulated(())
    answer = faulty.study().what_if([change])
    assert answer.replay_error_ns == 0
    now, then = (np.diff([start for start, _ in job.iteration_times]) for job in (faulty, healthy))
    # The last iteration has no successor that says when it ends.
    predicted = np.mean([one.recorded_ns - one.predicted_ns for one in answer.iterations[:-1]])
    assert abs(predicted - (now - then).mean()) < 0.001 * now.mean()
    assert predicted == pytest.approx((now - then).mean(), rel=0.05)
