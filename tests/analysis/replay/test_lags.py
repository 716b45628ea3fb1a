"""Lags and the calls of host threads, against plain loops over random ones."""

import random
import statistics

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.replay.host_calls import host_calls
from viewer.analysis.replay.lags import LaunchLags, kept_or_usual, usual

SEEDS = range(8)
NONE = np.zeros(0, np.int32)


def median_of(lags, otherwise=0):
    """Return the median of the lags of 10 µs at most either way, rounded towards 0."""
    explained = [lag for lag in lags if -10_000 <= lag <= 10_000]
    return int(statistics.median(explained)) if explained else otherwise


def random_lags(rng, count):
    return [
        rng.choice((rng.randrange(-12_000, 12_000), 10_000, -10_000, 10_001, 10**7)) for _ in range(count)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_binds_keeps_its_lag_and_others_have_the_usual_one_at_most(seed):
    rng = random.Random(seed)
    lags = random_lags(rng, 40)
    binds, exists = ([rng.random() < share for _ in lags] for share in (0.4, 0.8))
    typical = median_of([lag for lag, b, e in zip(lags, binds, exists, strict=True) if b and e])
    expected = [
        (lag if b else min(lag, typical)) if e else 0 for lag, b, e in zip(lags, binds, exists, strict=True)
    ]
    assert kept_or_usual(*map(np.array, (lags, binds, exists))).tolist() == expected
    assert usual(np.array(lags)) == median_of(lags)


def test_without_a_lag_that_is_explained_another_value_is_usual():
    assert usual(np.array([10_001, -10_001])) == 0
    assert usual(np.array([10_001, -10_001]), 7) == 7
    assert usual(np.array([10_000, 10_001]), 7) == 10_000
    assert usual(np.empty(0, np.int64)) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_launches_of_one_kind_share_their_usual_lag(seed):
    rng = random.Random(seed)
    rows = []
    for lag in random_lags(rng, 60):
        called, reach = rng.randrange(10**6), rng.randrange(5_000)
        # The last kind never binds: all launches that bind stand in for it.
        group = rng.randrange(4)
        binds = group < 3 and rng.random() < 0.5
        rows.append((rng.random() < 0.9, called, reach, lag, group, binds))
    exists, called, reach, lag, group, binds = (np.array(column) for column in zip(*rows, strict=True))
    of_launches = LaunchLags(exists, called + reach + lag, called, reach, group, np.zeros(60, bool))
    every = median_of([one[3] for one in rows if one[5]])
    expected = []
    for is_there, _, reach_ns, lag_ns, kind, is_binding in rows:
        of_kind = median_of([one[3] for one in rows if one[5] and one[4] == kind], every)
        kept = lag_ns if is_binding else min(lag_ns, of_kind)
        expected.append(kept + reach_ns if is_there else 0)
    assert of_launches.lag_ns(binds).tolist() == expected


def binds_over(start, latest, is_inside, exists=True):
    """Return whether a call from 0 to 100 µs binds a start (µs); inside, it got to 0 µs before that."""
    reach = 0 if is_inside else 100_000
    one = LaunchLags(
        *(np.array([value]) for value in (exists, start * 1_000, 0, reach, 0, is_inside)),
    )
    return bool(one.binds_over(np.array([round(latest * 1_000)]))[0])


def test_a_launch_binds_what_began_after_all_else_was_over():
    assert binds_over(105, 99.999, False)
    assert not binds_over(105, 100, False)
    assert not binds_over(105, 99, False, exists=False)
    # Inside a call only an end just before the start says that it was not the call.
    assert not binds_over(50, 40, True)
    assert binds_over(50, 39.999, True)
    assert not binds_over(5, 1, True)
    assert binds_over(5, 0, True)


@pytest.mark.parametrize("seed", SEEDS)
def test_outermost_calls_hold_all_that_lies_in_them(seed):
    rng = random.Random(seed)
    maker = TraceMaker()
    for tid in (1, 3, 2):
        maker.thread(0, tid)
    for tid in (1, 2):
        time = 0
        for _ in range(15):
            time += rng.randrange(3)
            length = rng.randrange(12)
            maker.call(time, time + length, tid=tid)
            inside = time
            while inside < time + length and rng.random() < 0.7:
                end = rng.randrange(inside, time + length + 1)
                maker.call(inside, end, tid=tid)
                inside = end + rng.randrange(2)
            time += length
    api = maker.trace().api
    owner = api.owners().tolist()
    expected, outer_of = [], []
    for row, thread in enumerate(owner):
        begin, end = int(api.start_ns[row]), int(api.end_ns[row])
        if expected and expected[-1][1] == thread and begin < expected[-1][3]:
            outer_of.append(len(expected) - 1)
            continue
        expected.append((row, thread, begin, end, not any(one[1] == thread for one in expected)))
        outer_of.append(len(expected) - 1)
    found = host_calls(api, (NONE, NONE))
    columns = (found.row, found.thread, found.start_ns, found.end_ns, found.is_first)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert found.outer_of.tolist() == outer_of


def test_a_run_of_queries_is_one_call_until_the_last_one_returned():
    maker = TraceMaker()
    for begin in range(0, 60, 10):
        maker.call(begin, begin + 4)
    maker.call(0, 9, tid=2)
    found = host_calls(maker.trace().api, (np.array([1, 4], np.int32), np.array([3, 4], np.int32)))
    assert found.row.tolist() == [0, 1, 4, 5, 6]
    assert found.end_ns.tolist() == [4, 34, 44, 54, 9]
    assert found.outer_of.tolist() == [0, 1, 1, 1, 2, 3, 4]
    assert found.is_first.tolist() == [True, False, False, False, True]
