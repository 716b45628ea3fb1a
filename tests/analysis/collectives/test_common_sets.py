"""What several groups do together as one."""

import numpy as np
import pytest

from tests.analysis.collectives.sequences import sequences_of
from viewer.analysis.collectives.common_sets import common_sets, is_usual, partitions
from viewer.analysis.collectives.groups import by_timing

US, MS = 1_000, 1_000_000


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], []),
        ([(0, 1)], [[0]]),
        ([(0, 1), (2, 3)], [[0, 1]]),
        ([(0, 1), (0, 2), (2, 3), (1, 3), (0, 1, 2, 3)], [[0, 2], [1, 3], [4]]),
        ([(0, 1), (1, 2), (2, 3), (3, 4)], [[0, 2], [1, 3]]),
    ],
)
def test_no_gpu_is_twice_in_a_partition(groups, expected):
    assert partitions(groups) == expected


def columns_of(first, second, lacking=None):
    """Return the common sets of two pairs, whose sets are given as (start of each member, common end)."""
    times = [[(starts[m], end) for starts, end in of_pair] for of_pair in (first, second) for m in range(2)]
    trace, sequences = sequences_of(times)
    rows = [s.rows.copy() for s in sequences]
    if lacking is not None:
        rows[lacking[0]][lacking[1]] = -1
    found = common_sets(trace.kernels, [np.stack(rows[:2]), np.stack(rows[2:])])
    return [columns.tolist() for columns in found]


def at(k, late=0, off=0):
    return ((k * MS, k * MS + 10 * US + late), k * MS + 500 * US + off)


@pytest.mark.parametrize(
    ("late", "off", "is_common"),
    [
        (10 * US + 1, 0, True),
        # Each group waited for a member of its own.
        (10 * US, 0, False),
        (0, 0, False),
        (100 * US, 1_000, True),
        (100 * US, -1_000, True),
        (100 * US, 1_001, False),
    ],
)
def test_a_common_set_ends_together_though_one_group_was_all_there(late, off, is_common):
    first, second = [at(k) for k in range(4)], [at(0), at(1, late, off), at(2), at(3)]
    assert columns_of(first, second) == ([[1], [1]] if is_common else [[], []])


def test_common_sets_are_told_by_when_they_end_and_not_by_number():
    first = [at(0), at(1), at(2), at(3)]
    second = [at(1, 90 * US), at(2), at(3, 90 * US)]
    assert columns_of(first, second) == [[1, 3], [0, 2]]
    assert columns_of(second, first) == [[0, 2], [1, 3]]


def test_a_set_that_lacks_a_member_is_none_of_them():
    first, second = [at(k) for k in range(3)], [at(0, 90 * US), at(1, 90 * US), at(2)]
    for member in range(4):
        assert columns_of(first, second, (member, 0)) == [[1], [1]]
    assert columns_of(first[:1], second[:1], (0, 0)) == [[], []]


def test_one_group_has_nothing_in_common():
    trace, sequences = sequences_of([[(0, 9)], [(1, 9)]])
    assert [c.tolist() for c in common_sets(trace.kernels, [np.stack([s.rows for s in sequences])])] == [[]]


@pytest.mark.parametrize(
    ("common", "expected"),
    [
        ((), {(0, 2): 30, (1, 3): 30}),
        # A single one waited for ranks outside the group, and is in none.
        ((7,), {(0, 2): 29, (1, 3): 29}),
        ((7, 20), {(0, 2): 28, (1, 3): 28, (0, 1, 2, 3): 2}),
        (range(30), {(0, 1, 2, 3): 30}),
    ],
)
def test_what_groups_do_together_is_a_group_of_its_own(common, expected):
    random = np.random.default_rng(1)
    times = [[] for _ in range(4)]
    for k in range(30):
        for pair in ((0, 2), (1, 3)):
            begin = k * MS + (0 if k in common else int(random.integers(0, 30)) * 2 * US)
            late = [
                0,
                int(random.integers(20, 90)) * US + (200 * US if k in common and pair == (0, 2) else 0),
            ]
            end = k * MS + 500 * US if k in common else begin + late[1] + 100 * US
            for rank, start in zip(pair, late if k % 2 else late[::-1], strict=True):
                times[rank].append((begin + start, end + int(random.integers(0, 200))))
    trace, sequences = sequences_of(times)
    groups = by_timing(trace, list(sequences))
    assert {tuple(m.gpu for m in g.members): g.sets.shape[1] for g in groups} == expected
    for group in groups:
        # Members in order of the GPUs, each with the kernels of its own.
        for member, rows in zip(group.members, group.sets, strict=True):
            assert set(rows.tolist()) == set(member.rows.tolist())
            assert set(rows.tolist()) <= set(sequences[member.gpu].rows.tolist())


@pytest.mark.parametrize(("own", "is_one"), [(480, True), (420, True), (419, False), (481, False)])
def test_a_set_is_usual_that_takes_as_long_as_the_others(own, is_one):
    # From the last start to the end: 420, 450 and 480 µs, and its own.
    times = [((0, 10), 430), ((1000, 1020), 1470), ((2000, 2010), 2490), ((3000, 3020), 3020 + own)]
    trace, sequences = sequences_of([[(s[m] * US, e * US) for s, e in times] for m in range(2)])
    sets = np.stack([s.rows for s in sequences])
    assert is_usual(trace.kernels, sets, np.array([3])) == is_one
    assert not is_usual(trace.kernels, sets[:, 3:], np.array([0]))


def test_a_single_set_that_ends_with_that_of_another_group_by_chance_stays():
    random = np.random.default_rng(2)
    times = [[], [], [], []]
    for k in range(30):
        for pair in ((0, 2), (1, 3)):
            begin = k * MS + int(random.integers(0, 60)) * US
            last = begin + 30 * US
            end = last + int(random.integers(100, 300)) * US
            if k == 7:
                last, end = k * MS + (90 if pair[0] else 60) * US, k * MS + 260 * US
            for rank, start in zip(pair, (begin, last), strict=True):
                times[rank].append((start, end + int(random.integers(0, 200))))
    trace, sequences = sequences_of(times)
    groups = by_timing(trace, list(sequences))
    assert {tuple(m.gpu for m in g.members): g.sets.shape[1] for g in groups} == {(0, 2): 30, (1, 3): 30}
