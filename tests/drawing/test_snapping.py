"""The edges that are snapped to: those that one can see."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.drawing.snapping import nearest, next_edge, seen_edges


def lane(*events):
    """Starts and ends of disjoint events."""
    starts, ends = np.array(events, np.int64).reshape(-1, 2).T
    return starts, ends


DENSE = [(100 + 3 * k, 102 + 3 * k) for k in range(30)]


@pytest.mark.parametrize(
    ("events", "least", "wanted"),
    [
        ([(10, 50)], 20, [10, 50]),
        ([(10, 12)], 20, [10, 12]),  # short, but nothing is beside it
        ([(10, 12), (13, 14), (15, 60)], 20, [10, 15, 60]),
        ([(10, 12), (40, 41), (42, 43)], 20, [10, 12, 40, 43]),
        ([(10, 12), (32, 33)], 20, [10, 12, 32, 33]),  # a gap of just that length
        ([(10, 30), (31, 32)], 20, [10, 30, 32]),
        (DENSE, 20, [100, 189]),
    ],
)
def test_an_edge_is_seen_where_its_event_or_the_gap_beside_it_is_long(events, least, wanted):
    assert sorted(seen_edges([lane(*events)], 0, 1000, least).tolist()) == wanted


def test_neighbours_out_of_reach_count_for_the_gaps():
    edges = seen_edges([lane((0, 10), (12, 14), (16, 18), (20, 300))], 11, 19, 20)
    assert edges.tolist() == [], "all gaps are short, and no event within reach is long"
    assert seen_edges([lane((0, 10), (60, 62))], 50, 70, 20).tolist() == [60, 62]


gaps = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=2, max_size=12)


@given(gaps, st.integers(0, 30), st.integers(1, 90), st.integers(1, 5))
def test_seen_edges_equal_a_plain_search(steps, low, wide, least):
    events, at = [], 5
    for gap, length in steps:
        events.append((at + gap, at + gap + length))
        at += gap + length
    high, wanted = low + wide, set()
    for k, (start, end) in enumerate(events):
        before = start - events[k - 1][1] if k else least
        after = events[k + 1][0] - end if k + 1 < len(events) else least
        if low <= start <= high and max(end - start, before) >= least:
            wanted.add(start)
        if low <= end <= high and max(end - start, after) >= least:
            wanted.add(end)
    assert set(seen_edges([lane(*events)], low, high, least).tolist()) == wanted


def test_the_nearest_within_the_tolerance():
    edges = np.array([10, 20, 40], np.int64)
    assert [nearest(edges, t, 5) for t in (4, 5, 14, 26, 36)] == [None, 10, 10, None, 40]
    assert nearest(np.empty(0, np.int64), 4, 5) is None


def test_the_next_edge_is_at_least_a_pixel_away_and_passes_over_what_is_not_seen():
    lanes = [lane((0, 100), *DENSE, (5000, 6000)), lane((300, 700))]
    none = np.empty(0, np.int64)
    assert next_edge(lanes, none, 0, 1, 10, 10_000) == 100
    assert next_edge(lanes, none, 100, 1, 10, 10_000) == 189, "the end of the dense run, before a long gap"
    assert next_edge(lanes, none, 189, 1, 10, 10_000) == 300
    assert next_edge(lanes, none, 700, 1, 10, 10_000) == 5000
    assert next_edge(lanes, none, 5000, -1, 10, 5000) == 700
    assert next_edge(lanes, np.array([3000]), 700, 1, 10, 10_000) == 3000
    assert next_edge(lanes, none, 6000, 1, 10, 4000) is None
    assert next_edge(lanes, none, 295, 1, 10, 10_000) == 700, "300 is nearer than a pixel"
    assert next_edge([], none, 0, 1, 10, 5) is None
