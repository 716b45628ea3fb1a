"""Who waits for whom in a collective."""

from types import SimpleNamespace

import numpy as np
import pytest

from viewer.analysis.dependencies.graph import CollectiveSets
from viewer.analysis.replay.collective_ends import collective_ends


def ends_of(times, sets, set_of=None):
    """Return {(those that end): those that are waited for}; `sets` are (operations, root, root waits)."""
    start, end = np.array(times, np.int64).T
    offsets = np.cumsum([0, *(len(operations) for operations, _, _ in sets)])
    operations = np.concatenate([o for o, _, _ in sets]).astype(np.int32)
    table = CollectiveSets(
        offsets.astype(np.int64),
        operations,
        np.array([root for _, root, _ in sets], np.int32),
        np.array([waits for _, _, waits in sets], bool),
        np.zeros(len(sets), np.int32),
    )
    if set_of is None:
        set_of = np.full(len(start), -1)
        set_of[operations] = np.repeat(np.arange(len(sets)), np.diff(offsets))
    graph = SimpleNamespace(
        operations=SimpleNamespace(start_ns=start, end_ns=end), sets=table, set_of=np.array(set_of, np.int32)
    )
    ends = collective_ends(graph)
    members = np.split(ends.member, ends.member_first[1:-1])
    starters = np.split(ends.starter, ends.starter_first[1:-1])
    if not len(ends):
        return {}
    assert (np.diff(ends.member_first) > 0).all()
    return {tuple(m.tolist()): set(s.tolist()) for m, s in zip(members, starters, strict=True)}


THREE = [(0, 50), (10, 52), (20, 54)]


def test_in_an_all_reduce_all_wait_for_all():
    assert ends_of(THREE, [([0, 1, 2], -1, False)]) == {(0, 1, 2): {0, 1, 2}}


def test_in_a_broadcast_each_waits_for_the_root_alone():
    assert ends_of(THREE, [([0, 1, 2], 1, False)]) == {(0,): {0, 1}, (2,): {1, 2}}


def test_in_a_reduction_the_root_waits_for_all():
    assert ends_of(THREE, [([0, 1, 2], 1, True)]) == {(1,): {0, 1, 2}}


def test_who_ended_before_the_latest_start_did_not_wait_for_it():
    times = [(0, 15), (10, 52), (20, 54)]
    assert ends_of(times, [([0, 1, 2], -1, False)]) == {(1, 2): {0, 1, 2}}
    assert ends_of(times, [([0, 1, 2], 2, False)]) == {(1,): {1, 2}}


def test_a_kernel_of_two_sets_ends_with_the_one_that_it_waited_longer_for():
    sets = [([0, 1], -1, False), ([1, 2], -1, False)]
    assert ends_of(THREE, sets, [0, 1, 1]) == {(0,): {0, 1}, (1, 2): {1, 2}}


@pytest.mark.parametrize("iterations", [3])
def test_the_broadcasts_of_the_demo_wait_for_their_first_rank(demo_of, iterations):
    study = demo_of(iterations=iterations, fault="broadcast")
    network, kernels = study.replay.network, study.trace.kernels
    found = 0
    for group in study.collectives.groups:
        if group.kind != "Broadcast":
            continue
        for column in np.flatnonzero(group.matched & (group.roots >= 0)).tolist():
            root, *others = group.kernels[:, column].tolist()
            assert network.in_set[root] == -1
            for other in others:
                number = network.in_set[other]
                first = network.ends.starter_first
                assert set(network.ends.starter[first[number] : first[number + 1]].tolist()) == {root, other}
                begun = max(int(kernels.start_ns[root]), int(kernels.start_ns[other]))
                assert network.work_ns[other] == kernels.end_ns[other] - begun
                found += 1
    assert found
