"""Sums by key and counts of windows, against every event one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.core.prefix_sums import PrefixSums, coded


def brute(start, end, key, counted, low, high):
    """Return the ns of each key inside a window, and how many events touch it."""
    inside = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
    sums = [int(inside[(key == k) & counted].sum()) for k in np.unique(key[counted])]
    touches = (start < high) & (np.maximum(end, start + 1) > low) & counted
    return sums, int(touches.sum())


@pytest.mark.parametrize("count", [0, 1, 3, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("is_all", [True, False])
def test_windows_of_many_events_are_those_of_brute_force(count, is_all):
    random = np.random.default_rng(count)
    start = np.sort(random.integers(0, 5000, count))
    # A few long ones run over many blocks; some last no time at all.
    length = np.where(random.random(count) < 0.01, 4000, random.integers(0, 9, count))
    end, key = start + length, random.choice(np.array([2, 3, 7], np.uint32), count)
    counted = np.ones(count, bool) if is_all else random.random(count) < 0.6
    sums = PrefixSums(start, end, key, None if is_all else counted)
    assert sums.keys.tolist() == np.unique(key[counted]).tolist()
    edges = [0, 1, 4999, 5000, 9100, *random.integers(0, 9000, 30).tolist()]
    edges += [*start[:4].tolist(), *end[:4].tolist()]
    for low in edges:
        for high in (low + 1, low + 50, 9200):
            expected = brute(start, end, key, counted, low, high)
            assert (sums.sums(low, high).tolist(), sums.count(low, high)) == expected, (low, high)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=20))
def test_codes_are_positions_among_the_keys_that_count(events):
    key = np.array([k for k, _ in events], np.uint32)
    counted = np.array([c for _, c in events], bool)
    keys, code = coded(key, counted)
    assert keys.tolist() == sorted({k for k, c in events if c})
    assert code.tolist() == [keys.tolist().index(k) if c else len(keys) for k, c in events]
    keys, code = coded(key)
    assert keys[code].tolist() == key.tolist()
