"""The graph of the demo against what its simulation says held up everything."""

import numpy as np
import pytest

from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.demo import DemoOptions, dependencies, job
from viewer.demo.program import ON_GPU, Do

JOB = {"ranks": 4, "iterations": 3}
VARIANTS = [
    ({}, Grade.PROVEN),
    ({"clean": True}, Grade.PROVEN),
    ({"one_stream": True}, Grade.PROVEN),
    ({"fault": "needless-wait"}, Grade.PROVEN),
    ({"oddities": ("no-sync-ids",)}, Grade.HANDLE),
    ({"oddities": ("null-sync-ids",)}, Grade.HANDLE),
    ({"oddities": ("zero-sync-ids",)}, Grade.HANDLE),
    ({"oddities": ("max-sync-ids",)}, Grade.HANDLE),
]


class Numbered:
    """A study's calls and operations by (rank, correlation id)."""

    def __init__(self, study):
        self.graph, trace = study.dependencies, study.trace
        api, operations = trace.api, self.graph.operations
        rank = np.array([trace.processes[t.process].rank for t in trace.threads])
        self.calls = list(zip(rank[api.owners()].tolist(), api.columns["correlation"].tolist(), strict=True))
        self.operations = [self.calls[call] for call in operations.call.tolist()]
        self.number = {key: number for number, key in enumerate(self.operations)}


@pytest.fixture(params=VARIANTS, ids=str)
def variant(request, demo_of):
    options, grade = request.param
    truth = list(dependencies(job(DemoOptions(**JOB | options))))
    return Numbered(demo_of(**JOB | options)), truth, grade


def keys(truth, step):
    return [(rank, int(number)) for rank, number in enumerate(truth.iteration.correlation[step])]


def test_every_wait_names_exactly_what_the_simulation_waited_for(variant):
    found, truth, grade = variant
    waits = found.graph.waits
    named = {
        found.calls[call]: {found.operations[p][1] for p in waits.of(k)} for k, call in enumerate(waits.call)
    }
    expected = {
        key: {int(ids[rank]) for ids in producers}
        for of in truth
        for step, producers in of.producers.items()
        if of.iteration.program.steps[step].do == Do.STREAM_WAIT
        for rank, key in enumerate(keys(of, step))
    }
    assert named == expected
    assert set(waits.grade.tolist()) == {grade}


def test_every_start_is_bound_by_what_held_it(variant):
    found, truth, _ = variant
    graph, checked = found.graph, 0
    for of in truth:
        for step in [i for i, s in enumerate(of.iteration.program.steps) if s.do in ON_GPU]:
            for (rank, number), holder in zip(keys(of, step), of.held_by[step].tolist(), strict=True):
                own = found.number[rank, number]
                if holder >= 0:
                    # The launch may have returned within the microseconds that a stream takes to go on.
                    late = graph.binding[own] == EdgeKind.LAUNCH and graph.lag_ns[own] <= 2_000
                    assert late or found.operations[graph.binder[own]] == (rank, holder)
                else:
                    assert graph.binding[own] == EdgeKind.LAUNCH or graph.lag_ns[own] <= 10_000
                checked += 1
    assert checked == len(graph.operations)
    assert graph.counts.explained_share > 0.99


def test_calls_return_after_what_let_them_return(variant):
    found, truth, _ = variant
    edges = found.graph.return_edges
    sources = {}
    for target, source in zip(edges.target.tolist(), edges.source.tolist(), strict=True):
        sources.setdefault(found.calls[target], set()).add(found.operations[source])
    for of in truth:
        for step, rank in np.argwhere(of.returned_by >= 0).tolist():
            key = rank, int(of.iteration.correlation[step, rank])
            assert (rank, int(of.returned_by[step, rank])) in sources[key]


@pytest.mark.parametrize("oddity", ["lost-event-records", "no-event-records"])
def test_without_their_records_waits_are_unknown_and_never_wrong(demo_of, oddity):
    found = Numbered(demo_of(**JOB, oddities=(oddity,)))
    waits = found.graph.waits
    expected = {
        key: {int(ids[rank]) for ids in producers}
        for of in dependencies(job(DemoOptions(**JOB)))
        for step, producers in of.producers.items()
        for rank, key in enumerate(keys(of, step))
    }
    unknown = waits.grade == Grade.UNKNOWN
    assert unknown.any()
    assert unknown.all() == (oddity == "no-event-records")
    for k in np.flatnonzero(~unknown).tolist():
        assert {found.operations[p][1] for p in waits.of(k)} == expected[found.calls[waits.call[k]]]
