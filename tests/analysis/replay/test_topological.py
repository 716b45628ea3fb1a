"""Orders of random networks: every node comes after what it depends on, whatever was recorded."""

import random

import numpy as np
import pytest

from viewer.analysis.replay.build import _emptied
from viewer.analysis.replay.collective_ends import CollectiveEnds
from viewer.analysis.replay.topological import ordered


def check(times, edges, fixed=None):
    """Order nodes, check what of the order is kept, and return the numbers of the edges left out."""
    before, after = np.array(edges, np.int64).reshape(-1, 2).T
    is_fixed = np.zeros(len(edges), bool) if fixed is None else np.array(fixed, bool)
    order, dropped = ordered(np.array(times, np.int64), before, after, is_fixed)
    place = {node: k for k, node in enumerate(order.tolist())}
    assert sorted(place) == list(range(len(times)))
    for (first, then), is_out in zip(edges, dropped.tolist(), strict=True):
        assert is_out or place[first] < place[then]
    return np.flatnonzero(dropped).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_without_circles_nothing_is_left_out_however_wrong_the_times(seed):
    rng = random.Random(seed)
    names = rng.sample(range(60), 60)
    edges = [(names[a], names[b]) for a, b in (sorted(rng.sample(range(60), 2)) for _ in range(200))]
    times = [rng.randrange(-50, 50) for _ in names]
    assert check(times, edges) == []


@pytest.mark.parametrize("seed", range(30))
def test_of_circles_so_much_is_left_out_that_the_rest_has_an_order(seed):
    rng = random.Random(seed)
    count = rng.randrange(3, 40)
    edges = [tuple(rng.sample(range(count), 2)) for _ in range(3 * count)]
    fixed = [rng.random() < 0.2 for _ in edges]
    assert check([rng.randrange(100) for _ in range(count)], edges, fixed)


def test_nodes_of_one_instant_stay_in_their_order_and_times_decide_the_rest():
    order, dropped = ordered(np.array([5, 3, 5, -4]), *np.zeros((2, 0), np.int64), np.zeros(0, bool))
    assert order.tolist() == [3, 1, 0, 2]
    assert not len(dropped)


def test_a_node_moves_no_further_than_behind_what_it_depends_on():
    before, after = np.array([[0, 1]]).T
    order, _ = ordered(np.array([10, 2, 11, 10]), before, after, np.zeros(1, bool))
    # The second comes after the first, which has its time, and before what is a nanosecond later.
    assert order.tolist() == [0, 3, 1, 2]


def test_no_nodes_have_an_order():
    assert check([], []) == []


def test_sets_that_cannot_be_followed_lose_their_members_alone():
    ends = CollectiveEnds(
        *(np.array(column, np.int32) for column in ([1, 2, 3, 4, 5], [0, 2, 3, 5])),
        *(np.array(column, np.int32) for column in ([1, 2, 3, 4, 5], [0, 2, 3, 5])),
    )
    for sets, member, first in (
        ([0], [3, 4, 5], [0, 0, 1, 3]),
        ([1], [1, 2, 4, 5], [0, 2, 2, 4]),
        ([0, 2], [3], [0, 0, 1, 1]),
    ):
        found = _emptied(ends, np.array(sets))
        assert found.member.tolist() == member
        assert found.member_first.tolist() == first
        assert found.starter.tolist() == ends.starter.tolist()
        assert found.starter_first.tolist() == ends.starter_first.tolist()
