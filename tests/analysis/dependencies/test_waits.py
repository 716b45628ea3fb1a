"""Waits for events against random jobs that keep what each wait waits for."""

import pytest

from tests.analysis.dependencies.random_job import random_job
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.study import Study

SEEDS = range(12)


class Resolved:
    """The waits of a trace by (process, correlation id)."""

    def __init__(self, maker):
        self.trace = maker.trace()
        self.graph = Study(self.trace).dependencies
        api = self.trace.api
        thread = [t.process for t in self.trace.threads]
        self.call_key = [
            (thread[api.owner_of(i)], int(api.columns["correlation"][i])) for i in range(len(api))
        ]
        call = self.graph.operations.call
        self.operation = [self.call_key[c][1] for c in call.tolist()]

    def waits(self):
        """Return {wait: (its producers, its grade)}."""
        waits = self.graph.waits
        return {
            self.call_key[waits.call[k]]: ({self.operation[p] for p in waits.of(k)}, Grade(waits.grade[k]))
            for k in range(len(waits))
        }

    def edges(self, edges):
        """Return {target: {sources}} of edges from operations, by correlation id."""
        found = {}
        for target, source in zip(edges.target.tolist(), edges.source.tolist(), strict=True):
            found.setdefault(target, set()).add(self.operation[source])
        return found


def expected(job, key):
    return {correlation for _, correlation in (job.waits | job.syncs)[key]}


@pytest.mark.parametrize(("ids", "grade"), [("all", Grade.PROVEN), ("none", Grade.HANDLE)])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_wait_of_a_complete_job_names_its_producers(seed, ids, grade):
    job = random_job(seed, ids)
    resolved = Resolved(job.maker)
    found = resolved.waits()
    assert found.keys() == job.waits.keys()
    for key, (producers, known) in found.items():
        assert producers == expected(job, key)
        assert known == (Grade.HANDLE if key in job.never else grade)
    edges = resolved.graph.op_edges
    assert (edges.kind == EdgeKind.EVENT).all()
    per_process = [{}, {}]
    for (process, number), sources in job.edges.items():
        per_process[process][number] = {correlation for _, correlation in sources} - {number}
    by_operation = resolved.edges(edges)
    for target, call in enumerate(resolved.graph.operations.call.tolist()):
        process, number = resolved.call_key[call]
        assert by_operation.get(target, set()) == per_process[process][number]


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_that_wait_for_an_event_return_after_its_producers(seed):
    job = random_job(seed)
    resolved = Resolved(job.maker)
    found = {resolved.call_key[t]: s for t, s in resolved.edges(resolved.graph.return_edges).items()}
    assert found == {key: expected(job, key) for key in job.syncs if job.syncs[key]}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("ids", "lost"), [("all", 0.2), ("some", 0.0), ("some", 0.2)])
def test_what_a_lost_record_or_id_makes_unknowable_is_unknown_and_the_rest_is_right(seed, ids, lost):
    job = random_job(seed, ids, lost)
    found = Resolved(job.maker).waits()
    assert found.keys() == job.waits.keys()
    known = 0
    for key, (producers, grade) in found.items():
        if key in job.unknown:
            assert grade == Grade.UNKNOWN
        elif grade != Grade.UNKNOWN:
            known += 1
            assert producers == expected(job, key)
    # Only where no id was given is one never recorded not told from one that was lost.
    assert known >= 0.9 * (len(found) - len(job.unknown)) or lost


@pytest.mark.parametrize("seed", SEEDS)
def test_handles_tell_nothing_where_a_record_was_lost(seed):
    job = random_job(seed, "none", 0.2)
    assert {grade for _, grade in Resolved(job.maker).waits().values()} == {Grade.UNKNOWN}


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_that_wait_for_a_stream_or_a_device_wait_for_what_its_waits_stand_for(seed):
    job = random_job(seed, blocking=3)
    resolved = Resolved(job.maker)
    found = {resolved.call_key[t]: s for t, s in resolved.edges(resolved.graph.return_edges).items()}
    stream_of = streams_of(resolved)
    beside, had = 0, {}
    for key, (on, stands) in job.returns.items():
        last = {stream: correlation for stream, (_, correlation) in stands.items()}
        sources = found.get(key, set())
        # What comes earlier on a stream than what is waited for is implied.
        assert all(number <= last.get(stream_of[key[0], number], -1) for number in sources)
        before = had.setdefault((key[0], on), set())
        assert set(last.values()) <= sources | before
        before |= set(last.values())
        beside += sum(stream not in on for stream in last)
    assert beside > 0


def streams_of(resolved):
    """Return the (context, stream id) of the operations by (process, correlation id)."""
    streams = [(s.context, s.stream_id) for s in resolved.trace.streams]
    operations = resolved.graph.operations
    return {
        resolved.call_key[call]: streams[stream]
        for call, stream in zip(operations.call.tolist(), operations.stream.tolist(), strict=True)
    }
