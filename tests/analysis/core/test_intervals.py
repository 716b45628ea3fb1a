import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from viewer.analysis.core.intervals import EMPTY, Intervals, runs, sweep, union, window

SPAN = range(-40, 60)
times = st.integers(SPAN.start, SPAN.stop - 1)
events = st.lists(st.tuples(times, st.integers(0, 12)), max_size=25).map(
    lambda pairs: [(start, min(start + length, SPAN.stop)) for start, length in pairs]
)


def made(pairs):
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return union(array[:, 0], array[:, 1])


def instants(pairs):
    """Every ns that a set of events covers, one by one."""
    return {t for start, end in pairs for t in range(start, end)}


def assert_is(intervals, expected):
    assert {
        t for s, e in zip(intervals.start_ns, intervals.end_ns, strict=True) for t in range(s, e)
    } == expected
    assert (intervals.lengths > 0).all()
    assert (intervals.start_ns[1:] > intervals.end_ns[:-1]).all(), "touching intervals are one"
    assert intervals.start_ns.dtype == intervals.end_ns.dtype == np.int64
    assert intervals.total() == len(expected)


@given(events)
def test_union_covers_what_any_event_covers(a):
    assert_is(made(a), instants(a))


@given(events, events)
def test_set_operations_are_those_of_the_instants(a, b):
    x, y = made(a), made(b)
    assert_is(x & y, instants(a) & instants(b))
    assert_is(x | y, instants(a) | instants(b))
    assert_is(x - y, instants(a) - instants(b))


@example([(0, 4)], 1, 1)
@given(events, times, times)
def test_clip_and_covered_agree_with_the_instants(a, low, high):
    low, high = min(low, high), max(low, high)
    inside = instants(a) & set(range(low, high))
    assert_is(made(a).clip(low, high), inside)
    assert made(a).covered(low, high) == len(inside)


@given(events, st.lists(times, min_size=1))
def test_before_takes_any_shape_of_times(a, t):
    expected = [sum(i < at for i in instants(a)) for at in t]
    assert made(a).before(t).tolist() == expected
    assert made(a).before(np.array([t, t])).tolist() == [expected, expected]


@given(events, events, events)
def test_sweep_says_which_sets_cover_each_stretch(a, b, c):
    at, bits = sweep((made(a), made(b), made(c)))
    assert (np.diff(at) > 0).all()
    for t in SPAN:
        expected = (t in instants(a)) | (t in instants(b)) << 1 | (t in instants(c)) << 2
        before = np.searchsorted(at, t, side="right")
        assert (bits[before - 1] if before else 0) == expected


def test_nothing_is_handled_everywhere():
    some = window(3, 9)
    for empty in (EMPTY, window(5, 5), made([]), made([(4, 4), (7, 7)])):
        assert len(empty) == empty.total() == 0
        assert (some & empty).total() == (empty - some).total() == (empty | empty).total() == 0
        assert (some - empty).total() == (some | empty).total() == 6
        assert empty.covered([0, 1], [5, 6]).tolist() == [0, 0]
        assert len(empty.clip(0, 10)) == 0


@pytest.mark.parametrize("origin", [-(2**62), 2**62, 1_700_000_000_000_000_000])
def test_times_beyond_what_a_float_holds_stay_exact(origin):
    x = union(np.array([origin + 1, origin + 2]), np.array([origin + 2, origin + 8]))
    assert x.covered(origin, origin + 5) == 4
    assert (x - window(origin + 3, origin + 4)).total() == 6


def test_runs_of_equal_values():
    first, last = runs(np.array([2, 2, 0, 1, 1, 1]))
    assert first.tolist() == [0, 2, 3]
    assert last.tolist() == [2, 3, 6]
    assert runs(np.empty(0))[0].tolist() == []


def test_an_interval_set_is_what_it_is_made_of():
    x = Intervals(np.array([1, 5], np.int64), np.array([3, 9], np.int64))
    assert len(x) == 2
    assert x.lengths.tolist() == [2, 4]
