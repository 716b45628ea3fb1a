import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.launches.attribution import outermost
from viewer.analysis.launches.projection import nesting_depth
from viewer.analysis.study import Study


def rows(maker, mode):
    """Return {range name: (start, end, ops)} of a projection."""
    trace = maker.trace()
    table = Study(trace).projection(mode)
    names = trace.names.take(table["name_id"].to_numpy())
    return dict(zip(names, zip(table["start_ns"], table["end_ns"], table["ops"], strict=True), strict=True))


def launch(maker, call, op, correlation, tid=1, process=0, stream=7):
    """Add a call and the kernel that it launches."""
    maker.call(*call, tid=tid, process=process, correlation=correlation)
    return maker.kernel(*op, stream=stream, process=process, correlation=correlation)


def test_a_range_reaches_from_the_first_start_to_the_last_end_of_what_lies_wholly_inside():
    maker = TraceMaker().range(0, 100, "outer").range(10, 30, "inner").range(95, 99, "empty")
    launch(maker, (12, 15), (200, 240), 1)
    launch(maker, (28, 32), (240, 250), 2)
    launch(maker, (98, 101), (300, 310), 3)
    expected = {"outer": (200, 250, 2), "inner": (200, 240, 1)}
    assert rows(maker, "thread") == expected
    assert rows(maker, "process") == expected


def test_correlations_of_another_process_are_somebody_elses():
    maker = TraceMaker().range(0, 100, "step")
    launch(maker, (12, 15), (200, 240), 1)
    launch(maker, (13, 14), (500, 540), 1, process=1)
    assert rows(maker, "process") == {"step": (200, 240, 1)}


def test_another_thread_is_adopted_unless_it_is_inside_a_range_of_another_domain():
    maker = TraceMaker().range(0, 100, "backward")
    launch(maker, (10, 11), (200, 210), 1)
    launch(maker, (20, 21), (300, 310), 2, tid=2)
    maker.range(29, 33, "own text", tid=2)
    launch(maker, (30, 31), (400, 410), 3, tid=2)
    maker.range(39, 43, "load", tid=3, domain="DALI")
    launch(maker, (40, 41), (900, 910), 4, tid=3)
    launch(maker, (50, 51), (500, 510), 5, tid=3)
    assert rows(maker, "thread")["backward"] == (200, 210, 1)
    assert rows(maker, "process")["backward"] == (200, 510, 4)
    assert rows(maker, "process")["load"] == (200 + 700, 910, 1)


def test_marks_are_no_ranges_and_start_end_ranges_are():
    maker = TraceMaker().range(0, 50, "both", event_type=60).range(5, 5, "mark", event_type=34)
    launch(maker, (5, 5), (10, 12), 1)
    assert rows(maker, "thread") == {"both": (10, 12, 1)}


def test_calls_that_nest_and_both_launch():
    maker = TraceMaker().range(0, 60, "wide").range(20, 40, "narrow")
    launch(maker, (10, 50), (100, 110), 1)
    launch(maker, (25, 30), (200, 210), 2)
    assert rows(maker, "thread") == {"wide": (100, 210, 2), "narrow": (200, 210, 1)}


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=12)


@given(spans, spans)
def test_the_outermost_range_around_a_call(ranges, calls):
    ranges = sorted(((s, s + n) for s, n in ranges), key=lambda r: (r[0], -r[1]))
    start, end = np.array(ranges, np.int64).T
    low = np.array([s for s, _ in calls], np.int64)
    high = low + np.array([n for _, n in calls], np.int64)
    found = outermost(start, end, low, high)
    for at, a, b in zip(found.tolist(), low.tolist(), high.tolist(), strict=True):
        holding = [r for r in ranges if r[0] <= a and r[1] >= b]
        assert (at >= 0) == bool(holding)
        if holding:
            assert ranges[at] in holding
            assert ranges[at][1] == max(r[1] for r in ranges if r[0] <= a)


def test_depth_of_nested_ranges_with_one_of_length_zero():
    start = np.array([0, 1, 4, 4, 10], np.int64)
    end = np.array([10, 4, 9, 4, 12], np.int64)
    assert nesting_depth(start, end).tolist() == [0, 1, 1, 2, 0]


def test_what_nests_deeper_than_255_is_as_deep_as_that():
    starts = np.arange(300, dtype=np.int64)
    assert nesting_depth(starts, 1000 - starts).tolist() == [min(depth, 255) for depth in range(300)]
