"""Which kernels are one set: against what was planted, and against loops over all of them."""

import numpy as np
import pytest

from tests.analysis.collectives.sequences import sequences_of
from viewer.analysis.collectives.pairs import deviation, nearest_of
from viewer.analysis.collectives.sets import MISSING, sets_of, spread_of_ends

US, MS = 1_000, 1_000_000


def times_of(kernels, sets):
    """Return the sets as lists of (start, end), None where a member is missing."""
    return [
        [None if row == MISSING else (int(kernels.start_ns[row]), int(kernels.end_ns[row])) for row in one]
        for one in sets.T
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("offset", [0, 300 * US, -300 * US])
def test_planted_sets_are_found_whatever_is_lost_and_however_a_clock_is_off(seed, offset):
    random = np.random.default_rng(seed)
    planted, members = [], [[] for _ in range(4)]
    for k in range(30):
        end = k * MS + 500 * US
        starts = end - random.integers(400, 480, 4) * US
        one = [None] * 4
        for member, start in enumerate(starts.tolist()):
            shift = offset if member == 2 else 0
            # Members 0 to 2 lack every fourth kernel, the last one more.
            if random.random() > (0.25 if member < 3 else 0.5):
                one[member] = (start + shift, end + shift + int(random.integers(0, 400)))
                members[member].append(one[member])
        if any(one):
            planted.append(one)
    trace, sequences = sequences_of(members)
    found = times_of(trace.kernels, sets_of(trace.kernels, sequences))
    assert sorted(found, key=repr) == sorted(planted, key=repr)
    firsts = [min(member for member in one if member)[0] for one in found]
    assert firsts == sorted(firsts)


def test_as_many_kernels_each_are_matched_by_order_where_nearly_all_overlap():
    own = [(k * MS, k * MS + 100 * US) for k in range(20)]
    for apart, is_by_order in ((1, True), (2, False)):
        # What touches does not overlap.
        other = [
            (start + 100 * US, end + 300 * US) if k < apart else (start, end)
            for k, (start, end) in enumerate(own)
        ]
        trace, sequences = sequences_of([own, other])
        found = times_of(trace.kernels, sets_of(trace.kernels, sequences))
        if is_by_order:
            assert found == [list(pair) for pair in zip(own, other, strict=True)], "19 of 20 are 95 %"
        else:
            assert len(found) == 22
            assert [one for one in found if None in one] == [
                [own[0], None], [None, other[0]], [own[1], None], [None, other[1]],
            ]  # fmt: skip


def test_a_share_of_none_matches_by_order_what_never_overlaps():
    own, other = [(0, 10), (20, 30)], [(10, 20), (30, 40)]
    trace, sequences = sequences_of([own, other])
    assert times_of(trace.kernels, sets_of(trace.kernels, sequences, 0.0)) == [
        [own[0], other[0]],
        [own[1], other[1]],
    ]


def test_of_two_that_end_near_one_the_nearer_is_its_partner():
    ends = [MS, 2 * MS, 3 * MS, 4 * MS]
    own = [(end - 500 * US, end) for end in ends]
    other = [(end - 100 * US, end) for end in (MS, 2 * MS - 200 * US, 2 * MS + 10 * US, 3 * MS, 4 * MS)]
    trace, sequences = sequences_of([own, other])
    found = times_of(trace.kernels, sets_of(trace.kernels, sequences))
    assert [one for one in found if None in one] == [[None, other[1]]]
    assert [own[1], other[2]] in found


@pytest.mark.parametrize("seed", range(20))
def test_spread_is_measured_from_each_members_usual_distance(seed):
    random = np.random.default_rng(seed)
    members = int(random.integers(1, 5))
    times = [
        [(k * MS, k * MS + 500 * US + int(random.integers(0, 9))) for k in range(7)] for _ in range(members)
    ]
    trace, sequences = sequences_of(times)
    sets = np.array([s.rows for s in sequences])
    sets[random.random(sets.shape) < 0.3] = MISSING
    sets = sets[:, (sets >= 0).any(axis=0)]
    apart = [[None] * sets.shape[1] for _ in range(members)]
    for column in range(sets.shape[1]):
        there = [m for m in range(members) if sets[m, column] >= 0]
        for member in there:
            rows = sets[member, column], sets[there[0], column]
            apart[member][column] = int(np.subtract(*trace.kernels.end_ns[list(rows)]))
    expected = []
    for column in range(sets.shape[1]):
        rest = [
            of_member[column] - np.median([a for a in of_member if a is not None])
            for of_member in apart
            if of_member[column] is not None
        ]
        expected.append(int(max(rest) - min(rest)))
    assert spread_of_ends(trace.kernels, sets).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_is_the_earlier_of_two_that_are_as_near(seed):
    random = np.random.default_rng(seed)
    entries = np.unique(random.integers(0, 30, int(random.integers(1, 8))))
    times = random.integers(-5, 35, 20)
    expected = [min(range(len(entries)), key=lambda i: (abs(entries[i] - t), i)) for t in times]
    assert nearest_of(entries, times).tolist() == expected


def test_deviation_is_from_the_median():
    assert deviation(np.array([7])) == 0
    assert deviation(np.array([1, 2, 10])) == 1
    assert deviation(np.array([0, 0, 10, 10])) == 5
