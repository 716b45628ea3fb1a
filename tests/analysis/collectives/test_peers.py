"""Whose start ends a wait: each step of the search by loops, and cases at its limits by hand."""

import numpy as np
import pytest

from tests.analysis.collectives.sequences import sequences_of
from viewer.analysis.collectives import peers
from viewer.analysis.collectives.peers import find_peers

US, MS = 1_000, 1_000_000
P2P = "ncclDevKernel_SendRecv"


@pytest.mark.parametrize("seed", range(10))
def test_lags_are_those_of_the_last_four_starts_before_a_waits_end(seed):
    random = np.random.default_rng(seed)
    waits = sorted(
        (int(s), int(s + d))
        for s, d in zip(random.integers(0, 90, 8), random.integers(1, 30, 8), strict=True)
    )
    others = sorted({(int(s), int(s) + 1) for s in random.integers(0, 120, int(random.integers(1, 12)))})
    trace, (own, other) = sequences_of([waits, others], name=P2P)
    lags, kernels = peers._lags(trace, own.rows, other.rows, 25)
    for row, wait in enumerate(own.rows):
        end = int(trace.kernels.end_ns[wait])
        begun = [int(k) for k in other.rows if trace.kernels.start_ns[k] <= end][::-1][:4]
        near = [end - int(trace.kernels.start_ns[k]) for k in begun]
        assert lags[row].tolist() == [lag if lag <= 25 else -1 for lag in near] + [-1] * (4 - len(near))
        assert [k for k, lag in zip(kernels[row].tolist(), lags[row].tolist(), strict=True) if lag >= 0] == [
            k for k, lag in zip(begun, near, strict=True) if lag <= 25
        ]


@pytest.mark.parametrize("seed", range(30))
def test_the_usual_lag_is_the_fullest_window_of_five_microseconds_or_a_twentieth(seed):
    random = np.random.default_rng(seed)
    lags = [
        random.choice(
            [-1, 0, 1_000, 5_000, 5_001, 10_000, 100_000, 104_999, 105_000, 105_001, 110_000], (9, 4)
        )
    ] * 2
    known = sorted(int(lag) for of in lags for lag in of.ravel() if lag >= 0)
    windows = [(lag, lag + max(5_000, int(lag * 0.05))) for lag in known]
    counts = [sum(low <= lag <= high for lag in known[k:]) for k, (low, high) in enumerate(windows)]
    assert peers._usual_lag(lags) == windows[counts.index(max(counts))]


def test_without_lags_there_is_no_usual_one():
    assert peers._usual_lag([]) == peers._usual_lag([np.full((3, 4), -1)]) == (0, 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_wait_is_explained_by_the_last_start_whose_lag_is_usual(seed):
    random = np.random.default_rng(seed)
    lags = np.sort(random.integers(-1, 12, (20, 4)), axis=1)
    kernels = random.integers(0, 99, (20, 4))
    found = peers._explained(3, lags, kernels, (4, 8))
    chosen, partner = [], []
    for row in range(20):
        hits = [place for place in range(4) if 4 <= lags[row, place] <= 8]
        partner.append(int(kernels[row, hits[0]]) if hits else -1)
        chosen += [int(lags[row, hits[0]])] if hits else []
    assert (found.gpu, found.partner.tolist()) == (3, partner)
    assert found.is_explained.tolist() == [p >= 0 for p in partner]
    assert found.unsteady_ns == int(np.median(np.abs(chosen - np.median(chosen))))
    # No lag of none, whatever the window.
    assert not peers._explained(3, np.full((2, 4), -1), kernels[:2], (-5, 5)).is_explained.any()


def waits(gpu, explained, unsteady=0, of=100):
    partner = np.where(np.isin(np.arange(of), list(explained)), 1_000 * gpu + np.arange(of), -1)
    return peers._Waits(gpu, partner, unsteady)


def neighbours(*others, length=None):
    found = peers._neighbours(np.full(100, 1_000) if length is None else length, list(others))
    return [[one.gpu for one in alike] for alike in found]


def test_neighbours_on_both_sides_each_explain_a_part():
    assert neighbours(waits(1, range(30)), waits(2, range(30, 100))) == [[2], [1]]
    # What another one has explained counts no more: 3 has nothing of its own.
    assert neighbours(waits(3, range(20, 40)), waits(1, range(40)), waits(2, range(40, 100))) == [[2], [1]]


@pytest.mark.parametrize(("explained", "known"), [(80, True), (79, False)])
def test_four_fifths_of_the_waiting_time_have_to_be_explained(explained, known):
    assert neighbours(waits(1, range(explained))) == ([[1]] if known else [])
    # By time: one long wait is as much as ninety-nine short ones.
    length = np.array([9_900 * 4, *[100] * 99])
    assert neighbours(waits(1, range(3)), length=length) == [[1]]


@pytest.mark.parametrize(("more", "found"), [(3, [[1], [2]]), (2, [[1]])])
def test_a_neighbour_explains_three_of_a_hundred_waits(more, found):
    assert neighbours(waits(1, range(90)), waits(2, range(90, 90 + more))) == found


def test_two_waits_are_the_least_and_three_long_ones_needed():
    length = np.array([1_000] * 3 + [0] * 97)
    assert neighbours(waits(1, range(3)), length=length) == [[1]]
    assert neighbours(waits(1, range(2)), waits(2, [2]), length=length) == []
    assert neighbours(waits(1, range(100)), length=np.array([1_000] * 2 + [0] * 98)) == []


@pytest.mark.parametrize(
    ("other", "unsteady", "alike"),
    [
        (range(100), 0, True),
        (range(98), 0, True),
        (range(97), 0, False),
        (range(100), 500, True),
        (range(100), 501, False),
    ],
)
def test_twins_explain_the_same_waits_as_steadily(other, unsteady, alike):
    found = neighbours(waits(2, range(100)), waits(1, other, unsteady))
    assert found == ([[1, 2]] if alike else [[2]])


def test_those_that_explain_as_many_other_waits_are_no_twins():
    """Nine tenths of them in common, and one less."""
    assert neighbours(waits(1, range(50)), waits(2, range(5, 55)), waits(3, range(55, 100))) == [[1, 2], [3]]
    found = neighbours(waits(1, range(50)), waits(2, range(6, 56)), waits(3, range(56, 100)))
    assert found[0] == [1]


def test_twins_of_a_stage_take_one_each_in_order():
    """4 and 5 wait for 0 or 1 alike; 0, 1 and 6 for 4 or 5."""
    both = [[waits(0, range(9)), waits(1, range(9))]], [[waits(4, range(9)), waits(5, range(9))]]
    found = peers._one_to_one({5: both[0], 4: both[0], 0: both[1], 1: both[1], 6: both[1], 7: []})
    assert {gpu: [one.gpu for one in of] for gpu, of in found.items()} == {
        4: [0], 5: [1], 0: [4], 1: [5], 6: [4], 7: [],
    }  # fmt: skip


def exchange(starts, ends):
    """Whether two ranks exchange, of which the kernels start and end so much after each millisecond."""
    times = [
        [(k * MS + s, k * MS + e) for k, (s, e) in enumerate(zip(*of, strict=True))]
        for of in zip(starts, ends, strict=True)
    ]
    trace, pair = sequences_of(times, name=P2P)
    return peers._exchange(trace, pair)


def test_two_that_exchange_end_three_times_closer_than_they_start():
    for apart, is_exchange in ((3_000, True), (2_999, False)):
        starts = [[0] * 40, [apart if k % 2 else -apart for k in range(40)]]
        ends = [[100 * US] * 40, [100 * US + (1_000 if k % 4 < 2 else -1_000) for k in range(40)]]
        assert exchange(starts, ends) is is_exchange
    for apart, is_exchange in ((1_000, True), (999, False)):
        starts = [[0] * 40, [apart if k % 2 else -apart for k in range(40)]]
        assert exchange(starts, [[100 * US] * 40] * 2) is is_exchange


@pytest.mark.parametrize(
    ("long", "length", "is_exchange"),
    [(2, 400_000, True), (3, 400_000, False), (3, 320_000, True), (3, 320_001, False)],
)
def test_who_waits_for_a_third_one_lasts_long_though_the_other_has_come(long, length, is_exchange):
    """Of 40 sets of 100 µs more than a twentieth last over three times as long and 20 µs more."""
    starts = [[0] * 40, [20 * US * (k % 2) for k in range(40)]]
    ends = [(length if k < long else 100 * US) + 20 * US * (k % 2) for k in range(40)]
    assert exchange(starts, [ends, ends]) is is_exchange


@pytest.mark.parametrize(("missing", "is_exchange"), [(8, True), (9, False)])
def test_four_fifths_of_the_sets_have_both_members(missing, is_exchange):
    random = np.random.default_rng(3)
    times = [[], []]
    for k in range(40):
        late = int(random.integers(10, 90)) * US
        for rank in range(2):
            if rank == 0 or k % 4 or k // 4 >= missing:
                times[rank].append((k * MS + late * rank, k * MS + 200 * US))
    trace, pair = sequences_of(times, name=P2P)
    assert peers._exchange(trace, pair) is is_exchange


def test_a_chain_of_three_ranks_is_a_pipeline_and_two_ranks_are_none():
    """0 sends to 1 and 1 to 2, each after some work; the receiver waits until the transfer is over."""
    random = np.random.default_rng(1)
    times, sent = [[], [], []], {}
    for k in range(60):
        at = 2 * k * MS
        for rank in range(3):
            begin = at + 10 * US
            if rank:
                end = max(begin, sent[rank - 1]) + 60 * US
                times[rank].append((begin, end))
                begin = end
            sent[rank] = begin + int(random.integers(200, 500)) * US
            if rank < 2:
                times[rank].append((sent[rank], sent[rank] + 60 * US))
    trace, sequences = sequences_of(times, name=P2P)
    found = find_peers(trace, sequences)
    assert found.pipes == ((0, 1), (1, 2))
    assert sorted(tuple(m.gpu for m in g.members) for g in found.groups) == [(0, 1), (1, 2)]
    kernels = trace.kernels
    for group in found.groups:
        first, second = group.sets
        assert (np.diff(kernels.start_ns[group.sets].min(axis=0)) > 0).all()
        # Every wait of the later rank ends 60 µs after the start on the earlier one.
        assert (kernels.end_ns[second] - kernels.start_ns[first] == 60 * US).all()
        assert len(first) == 60
    # The senders' kernels last no longer than a transfer: they wait for nobody.
    senders = {
        int(row)
        for s in sequences
        for row in s.rows
        if kernels.end_ns[row] - kernels.start_ns[row] == 60 * US
    }
    known = {int(row) for s in sequences[1:] for row in s.rows}
    assert set(found.prompt.tolist()) == senders & known
    trace, two = sequences_of(times[:2], name=P2P)
    assert find_peers(trace, two).pipes == ()
