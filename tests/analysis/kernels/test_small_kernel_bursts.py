import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.kernels.small_kernel_bursts import (
    IN_A_ROW,
    MAX_GAP_NS,
    SMALL_NS,
    find_small_kernel_bursts,
)

US, MS = 1_000, 1_000_000


def kernels(*runs):
    """Return starts and ends of runs of (count, duration, gap before each)."""
    lengths = np.concatenate([np.full(n, d, np.int64) for n, d, _ in runs])
    gaps = np.concatenate([np.full(n, g, np.int64) for n, _, g in runs])
    start = np.cumsum(gaps) + np.append(0, np.cumsum(lengths)[:-1])
    return start, start + lengths


def burst_bounds(*runs):
    found = find_small_kernel_bursts(*kernels(*runs))
    return list(zip(found.first.tolist(), found.stop.tolist(), strict=True))


def test_a_hundred_tiny_kernels_are_a_burst_and_ninety_nine_are_not():
    assert burst_bounds((100, 9 * US, 20 * US)) == [(0, 100)]
    assert burst_bounds((99, 9 * US, 20 * US)) == []
    assert burst_bounds((100, 10 * US, 0)) == []


def test_a_gap_over_a_millisecond_ends_it():
    assert burst_bounds((150, 2 * US, MS)) == [(0, 150)]
    assert burst_bounds((150, 2 * US, 0), (1, 2 * US, MS + 1), (149, 2 * US, 0)) == [(0, 150), (150, 300)]
    assert burst_bounds((60, 2 * US, 0), (1, 2 * US, MS + 1), (59, 2 * US, 0)) == []


def test_a_wide_kernel_between_two_bursts_parts_them_or_is_carried():
    assert burst_bounds((200, 2 * US, 0), (1, 5 * MS, 0), (200, 2 * US, 0)) == [(0, 200), (201, 401)]
    assert burst_bounds((200, 2 * US, 0), (1, 300 * US, 0), (200, 2 * US, 0)) == [(0, 401)]


def test_the_figures_of_a_burst():
    found = find_small_kernel_bursts(*kernels((100, 1 * MS, 0), (120, 3 * US, 1 * US)))
    assert found.kernels.tolist() == [120]
    assert found.sum_ns.tolist() == [360 * US]
    assert found.start_ns.tolist() == [100 * MS + 1 * US]
    assert found.end_ns.tolist() == [100 * MS + 480 * US]


@given(
    st.lists(st.tuples(st.sampled_from([1, 9, 12, 400]), st.sampled_from([0, 5, 1001])), max_size=8),
    st.data(),
)
def test_every_kernel_of_a_burst_is_in_a_hundred_that_qualify(runs, data):
    counts = [data.draw(st.integers(1, 130)) for _ in runs]
    if not runs:
        return
    start, end = kernels(*((n, d * US, g * US) for n, (d, g) in zip(counts, runs, strict=True)))
    found = find_small_kernel_bursts(start, end)
    expected = np.zeros(len(start), bool)
    for first in range(len(start) - IN_A_ROW + 1):
        held = slice(first, first + IN_A_ROW)
        gaps = start[held][1:] - np.maximum.accumulate(end)[held][:-1]
        if (end[held] - start[held]).sum() < IN_A_ROW * SMALL_NS and (gaps <= MAX_GAP_NS).all():
            expected[held] = True
    covered = np.zeros(len(start), bool)
    for first, stop in zip(found.first, found.stop, strict=True):
        covered[first:stop] = True
    assert (covered == expected).all()
