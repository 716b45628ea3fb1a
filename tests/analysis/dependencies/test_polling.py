"""Runs of queries that wait for an operation."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.dependencies.polling import EVENT_QUERIES, polling_runs
from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.recurrence import replayed
from viewer.analysis.study import Study

US = 1_000
FIRST_QUERY = 20 * US


def polls(queries=20, kernel_end=205 * US, name="cudaEventQuery", pause=10 * US):
    """A kernel, its event, a loop that asks for it, and the kernel that the host launches then."""
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(5 * US, kernel_end, correlation=1)
    maker.call(6 * US, 7 * US, "cudaEventRecord", correlation=2).record(2, event=3, sync_id=9)
    for k in range(queries):
        begin = FIRST_QUERY + k * pause
        maker.call(begin, begin + US, name, correlation=10 + k)
        maker.sync(begin, begin + US, "Event sync", correlation=10 + k, event=3, sync_id=9)
    after = FIRST_QUERY + queries * pause
    maker.call(after, after + 4 * US, correlation=90).kernel(after + 5 * US, after + 50 * US, correlation=90)
    return Study(maker.trace())


def returns_of(study):
    edges, api = study.dependencies.return_edges, study.trace.api
    return [int(start) for start in api.start_ns[edges.target]]


def test_the_last_query_returns_after_what_it_asked_for():
    study = polls()
    first, last = polling_runs(study.trace, EVENT_QUERIES)
    assert study.trace.api.start_ns[first].tolist() == [FIRST_QUERY]
    assert study.trace.api.start_ns[last].tolist() == returns_of(study) == [210 * US]


@pytest.mark.parametrize(
    "options",
    [
        # It had come long before the loop ended, it had not come by then, there are too few, too far apart.
        {"kernel_end": 199 * US},
        {"kernel_end": 212 * US},
        {"queries": 9, "kernel_end": 95 * US},
        {"pause": 102 * US, "kernel_end": 1_950 * US},
        {"name": "cudaEventRecord"},
    ],
    ids=str,
)
def test_what_is_no_wait_for_it(options):
    assert returns_of(polls(**options)) == []


def test_a_loop_ends_earlier_where_what_it_asks_for_does():
    study = polls()
    network = study.replay.network
    assert study.replay.error_ns == 0
    # Two calls before, the loop as one, and the launch after it.
    assert len(network.hosts) == 4
    for shorter in (50 * US, 180 * US, 195 * US):
        work = network.work_ns.copy()
        work[0] -= shorter
        times = replayed(network, Effects(work, *_nothing(network)))
        # Where nothing is left to wait for the loop is a single query.
        expected = max(211 * US - shorter, FIRST_QUERY + US)
        assert int(times.call_end_ns[2]) == expected
        assert int(times.start_ns[1]) == 225 * US - 211 * US + expected


def _nothing(network):
    none = Effects.none(network)
    return none.freed, none.dropped


def test_loops_of_the_demo_wait_for_nothing(demo_of):
    # It asks for an event that came long ago.
    study = demo_of(iterations=3, fault="polling")
    last = np.concatenate([polling_runs(study.trace, EVENT_QUERIES)[1]])
    assert len(last)
    assert not np.isin(last, study.dependencies.return_edges.target).any()
    assert study.replay.error_ns == 0
