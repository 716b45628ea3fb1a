from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.rows.nesting import lanes


def of(pairs):
    pairs = sorted(pairs, key=lambda p: (p[0], -p[1]))
    start, end = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    found = lanes(start, end)
    return pairs, np.zeros(len(pairs), int) if found is None else found.astype(int)


def assert_disjoint(pairs, lane):
    for number in set(lane.tolist()):
        held = [pair for pair, at in zip(pairs, lane, strict=True) if at == number]
        assert all(a[1] <= b[0] for a, b in pairwise(held)), (number, held)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), min_size=1, max_size=40))
@settings(max_examples=400)
def test_events_of_a_lane_never_overlap(found):
    pairs, lane = of([(start, start + length) for start, length in found])
    assert_disjoint(pairs, lane)
    assert set(lane) == set(range(max(lane) + 1))


@st.composite
def nested(draw, low=0, high=200, depth=0):
    out = []
    at = low
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(at, high))
        end = draw(st.integers(start, high))
        out.append((start, end, depth))
        if depth < 3 and end - start > 1:
            out += draw(nested(start + 1, end - 1, depth + 1))
        at = end + 1
        if at > high:
            break
    return out


@given(nested())
@settings(max_examples=200)
def test_nested_events_lie_as_deep_as_they_nest(found):
    if not found:
        return
    found.sort(key=lambda event: (event[0], -event[1]))
    _, lane = of([event[:2] for event in found])
    assert lane.tolist() == [event[2] for event in found]


def test_ranges_that_overlap_without_nesting_take_the_first_free_lane():
    pairs, lane = of([(0, 10), (5, 15), (12, 20), (30, 40), (31, 32)])
    assert_disjoint(pairs, lane)
    assert lane.tolist() == [0, 1, 0, 0, 1]


def test_events_in_a_row_need_no_lanes():
    assert lanes(np.array([0, 5, 5, 9]), np.array([5, 5, 7, 9])) is None


def test_hundreds_at_once_end_in_the_last_lane():
    _, lane = of([(i, 1000) for i in range(400)])
    assert lane[:255].tolist() == list(range(255))
    assert set(lane[255:]) == {255}
