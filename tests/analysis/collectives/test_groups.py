"""Which sequences of one name are a group, at the limits of the definition: plain cases by hand."""

import numpy as np
import pytest

from tests.analysis.collectives.sequences import NAME, sequences_of
from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.groups import by_timing, find_groups, sequences
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study

US, MS = 1_000, 1_000_000


def groups_of(times, gpus=None, **more):
    trace, found = sequences_of(times, gpus)
    groups = by_timing(trace, list(found), **more)
    return sorted((tuple(m.gpu for m in g.members), g.sets.shape[1]) for g in groups)


def shifted(offsets, spacing=MS, length=200 * US):
    """One kernel each millisecond, each off by so much as a whole: its start is as steady as its end."""
    return [(k * spacing + off, k * spacing + off + length) for k, off in enumerate(offsets)]


def loose(ends, seed, spacing=MS):
    """One kernel each millisecond that starts anywhere in 100 µs, and ends so much after the others'."""
    starts = np.random.default_rng(seed).integers(0, 100 * US, len(ends)).tolist()
    return [
        (k * spacing + s, k * spacing + 200 * US + e)
        for k, (s, e) in enumerate(zip(starts, ends, strict=True))
    ]


@pytest.mark.parametrize(("together", "is_group"), [(18, True), (17, False)])
def test_nine_of_ten_end_together(together, is_group):
    """Those that do not end 60 µs apart, the others within 2 µs, none closer than they start."""
    steady = [0] * 20
    other = [60 * US] * (20 - together) + [(0, 500, 1_500, 2_000)[k % 4] for k in range(together)]
    assert groups_of([shifted(steady), shifted(other)]) == ([((0, 1), 20)] if is_group else [])


@pytest.mark.parametrize(("unsteady", "expected"), [(2_400, [((0, 1, 2), 40)]), (2_401, [((0, 1), 40)])])
def test_who_ends_less_steadily_than_eight_times_a_groups_own_is_not_of_it(unsteady, expected):
    """Ranks 0 and 1 end within 300 ns of one another, rank 2 within `unsteady` of either."""
    first = loose([0] * 40, 1)
    second = loose([300 if k % 2 else -300 for k in range(40)], 2)
    third = loose([unsteady if k % 4 < 2 else -unsteady for k in range(40)], 3)
    assert groups_of([first, second, third]) == expected


@pytest.mark.parametrize(("unsteady", "expected"), [(2_000, [((0, 1, 2), 40)]), (2_001, [((0, 1), 40)])])
def test_two_microseconds_are_steady_whatever_a_groups_own(unsteady, expected):
    """Ranks 0 and 1 end within 100 ns of one another."""
    first, second = loose([0] * 40, 1), loose([100 if k % 2 else -100 for k in range(40)], 2)
    third = loose([unsteady if k % 4 < 2 else -unsteady for k in range(40)], 3)
    assert groups_of([first, second, third]) == expected


def test_of_several_partners_the_steadiest_win():
    """All four are in step, 3 to 8 µs apart; 0 and 2, and 1 and 3 end within 100 ns."""
    random = np.random.default_rng(5)
    drift = np.zeros(60, int), random.choice([-1, 1], 60) * random.integers(3, 9, 60) * US
    times = [loose((drift[rank % 2] + 100 * random.integers(0, 2, 60)).tolist(), rank) for rank in range(4)]
    assert groups_of(times) == [((0, 2), 60), ((1, 3), 60)]


def test_a_rank_is_in_a_group_once():
    """Both streams of GPU 0 end with GPU 1's kernels, the second one more steadily."""
    first = loose([500 if k % 2 else -500 for k in range(30)], 1)
    second, other = loose([0] * 30, 2), loose([0] * 30, 3)
    trace, found = sequences_of([first, second, other], (0, 0, 1))
    (group,) = by_timing(trace, list(found))
    assert [m.stream for m in group.members] == [1, 2]
    assert groups_of([first, second], (0, 0)) == []


def test_what_is_not_allowed_is_in_no_group_with_it():
    times = [loose([0] * 20, seed) for seed in range(3)]
    assert groups_of(times) == [((0, 1, 2), 20)]
    assert groups_of(times, allowed=lambda fit: True) == [((0, 1, 2), 20)]
    # 0 and 2 would be joined by 1.
    found = groups_of(times, allowed=lambda fit: (fit.first, fit.second) != (0, 2))
    assert found in ([((0, 1), 20)], [((1, 2), 20)])
    assert groups_of(times, allowed=lambda fit: False) == []


def test_a_communicator_goes_before_timing_and_sends_are_left_out():
    """0 and 1 have one communicator though 0 and 2 end together; 3 and 4 have none, and send."""
    maker = TraceMaker()
    for k in range(10):
        for rank, end in enumerate((200, 230, 200)):
            maker.kernel(k * MS + 10 * US * rank, k * MS + end * US, NAME, stream=20, process=rank)
        for rank in (3, 4):
            maker.kernel(k * MS, k * MS + 200 * US, "ncclDevKernel_SendRecv", stream=20, process=rank)
    study = Study(maker.trace(), Rules.builtin())
    every = sequences(study.launches, study.classes)
    assert [(s.gpu, s.communicator, len(s.rows)) for s in every] == [(gpu, None, 10) for gpu in range(5)]
    known = [type(s)(s.gpu, s.stream, s.name_id, s.rows, {0: 7, 1: 7, 2: 8}.get(s.gpu)) for s in every]
    assert [(tuple(m.gpu for m in g.members), g.how) for g in find_groups(study.trace, known)] == [
        ((0, 1), "communicator")
    ]
    # Without communicators the three that end within 50 µs are joined, still without the senders.
    assert {m.gpu for g in find_groups(study.trace, every) for m in g.members} == {0, 1, 2}


def test_sequences_are_by_stream_and_name_in_order_of_time():
    maker = TraceMaker()
    for k in range(6):
        maker.kernel(k * MS, k * MS + 9, NAME if k % 3 else "ncclDevKernel_Broadcast", stream=20, process=0)
        maker.kernel(k * MS, k * MS + 9, "gemm", stream=7, process=0)
        maker.kernel(k * MS, k * MS + 9, "gemm", stream=20, process=1)
        maker.kernel(k * MS + 100, k * MS + 109, NAME, stream=24, process=1)
    study = Study(maker.trace(), Rules.builtin())
    kernels, names = study.trace.kernels, study.trace.names
    found = {
        (s.gpu, study.trace.streams[s.stream].stream_id, names[s.name_id]): (
            kernels.start_ns[s.rows] // MS
        ).tolist()
        for s in sequences(study.launches, study.classes)
    }
    assert found == {
        (0, 20, NAME): [1, 2, 4, 5],
        (0, 20, "ncclDevKernel_Broadcast"): [0, 3],
        (1, 24, NAME): [0, 1, 2, 3, 4, 5],
    }
