"""Stops of a walk along the stalls: what stalls on several GPUs at once is one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.time.stops import find_stops


def study_of(*busy):
    """A GPU for each list of (start, end) in which it computes, from 0 to 100."""
    maker = TraceMaker(session_ns=100)
    for process, kernels in enumerate(busy):
        for start, end in kernels:
            maker.kernel(start, end, process=process)
    maker.copy(0, 0, process=0).copy(100, 100, process=0)
    return Study(maker.trace(), Rules.builtin())


def stops_of(study, min_ns=1, within=None, gpus=None):
    parts = {gpu: study.parts[gpu] for gpu in (range(len(study.parts)) if gpus is None else gpus)}
    return find_stops(parts, ("idle",), min_ns, within)


def listed(stops):
    columns = (stops.start_ns, stops.end_ns, stops.gpu, stops.together)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_what_is_idle_at_once_is_one_stop_of_which_the_longest_is_taken():
    study = study_of([(0, 10), (20, 50), (60, 100)], [(0, 12), (25, 55), (58, 100)], [(0, 11), (15, 100)])
    assert listed(stops_of(study)) == [(12, 25, 1, 3), (50, 60, 0, 2)]


def test_one_long_stall_does_not_swallow_those_of_others():
    study = study_of([(0, 10), (90, 100)], [(0, 20), (25, 40), (45, 100)])
    assert listed(stops_of(study)) == [(10, 90, 0, 2), (40, 45, 1, 1)]


def test_stalls_that_only_touch_are_two_stops():
    study = study_of([(0, 10), (20, 100)], [(0, 20), (30, 100)])
    assert listed(stops_of(study)) == [(10, 20, 0, 1), (20, 30, 1, 1)]


def test_short_ones_and_those_outside_a_range_are_left_out():
    study = study_of([(0, 10), (12, 50), (60, 90)])
    assert listed(stops_of(study, min_ns=3)) == [(50, 60, 0, 1), (90, 100, 0, 1)]
    assert listed(stops_of(study, within=(55, 90))) == [(50, 60, 0, 1)]
    assert len(stops_of(study, min_ns=50)) == 0
    assert stops_of(study, min_ns=50).beside(0, 1) is None


def test_beside_an_instant():
    stops = stops_of(study_of([(0, 10), (20, 50), (60, 90)]))
    assert [stops.beside(t, 1) for t in (9, 10, 60, 90)] == [0, 1, 2, None]
    assert [stops.beside(t, -1) for t in (10, 11, 50, 99)] == [None, 0, 0, 2]


spans = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 30)), max_size=6)


@given(st.lists(spans, min_size=1, max_size=4))
def test_every_stall_is_in_exactly_one_stop_and_each_stop_shares_an_instant(rows):
    study = study_of(*([(s, min(s + n, 100)) for s, n in row] or [(0, 1)] for row in rows))
    stops = stops_of(study)
    stalls = [study.parts[gpu].intervals("idle") for gpu in range(len(rows))]
    assert stops.together.sum() == sum(len(one) for one in stalls)
    assert (np.diff(stops.start_ns) > 0).all()
    assert (stops.together <= len(rows)).all()
    for start, end, gpu, together in listed(stops):
        assert (start, end) in zip(stalls[gpu].start_ns.tolist(), stalls[gpu].end_ns.tolist(), strict=True)
        at_once = max(sum(bool(one.covered(t, t + 1)) for one in stalls) for t in range(start, end))
        assert at_once >= together


@pytest.mark.parametrize("categories", [("copy_only", "idle"), ("idle",)])
def test_categories_are_taken_together(categories):
    maker = TraceMaker(session_ns=50).kernel(0, 10).copy(12, 15).kernel(20, 50)
    stops = find_stops({0: Study(maker.trace(), Rules.builtin()).parts[0]}, categories, 1)
    wanted = [(10, 20)] if len(categories) == 2 else [(10, 12), (15, 20)]
    assert list(zip(stops.start_ns.tolist(), stops.end_ns.tolist(), strict=True)) == wanted
