"""Two axes that move together: what is aligned stays aligned, and neither stops the other."""

import pytest

from tests.analysis.make import TraceMaker
from tests.timeline.make import study_of, training
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read
from viewer.rows import build_rows
from viewer.state import ViewState
from viewer.state.link import AxisLink
from viewer.state.navigation import go_to_iteration, step_iteration

MS = 1_000_000


def state_of(trace):
    study = study_of(trace)
    state = ViewState()
    state.set_study(study, build_rows(study))
    return state


@pytest.fixture
def pair(qapp):
    return state_of(training()), state_of(training(ranks=1))


def window(state, iteration):
    return tuple(t - state.iterations.start_ns(iteration) for t in state.axis.window)


def test_both_show_the_same_time_from_their_iterations(pair):
    a, b = pair
    link = AxisLink(a, b)
    link.align(1, 2)
    for start, end in ((12 * MS, 30 * MS), (3 * MS, 5 * MS)):
        a.axis.go(start, end)
        assert window(a, 1) == window(b, 2)
    b.axis.zoom(0.5, sum(b.axis.window) // 2)
    b.axis.pan(MS)
    assert window(a, 1) == window(b, 2)


def test_neither_stops_the_other_at_its_end(pair):
    a, b = pair
    link = AxisLink(a, b)
    link.align(0, 2)
    b.axis.go(b.axis.limits[0], b.axis.limits[0] + MS)
    assert window(a, 0) == window(b, 2)
    a.axis.go(*a.axis.limits)
    assert window(a, 0) == window(b, 2)


def test_the_next_iteration_is_the_next_in_both(pair):
    a, b = pair
    link = AxisLink(a, b)
    go_to_iteration(a, 0)
    link.align(0, 1)
    step_iteration(a, 1)
    assert link.pair == (1, 2)
    assert a.iteration == 1
    assert b.iteration == 2
    assert window(a, 1) == window(b, 2)


def test_overlays_are_the_same(pair):
    a, b = pair
    a.set_overlay("idle", True)
    link = AxisLink(a, b)
    assert b.overlays == {"idle"}
    b.set_overlay("exposed", True)
    assert link.first.overlays == {"idle", "exposed"}


def test_linking_keeps_all_overlays_of_the_first(pair):
    a, b = pair
    a.set_overlays(frozenset({"idle", "exposed", "waiting"}))
    b.set_overlays(frozenset({"waiting"}))
    link = AxisLink(a, b)
    assert a.overlays == b.overlays == {"idle", "exposed", "waiting"}
    b.set_overlays(frozenset({"exposed"}))
    assert a.overlays == {"exposed"}
    link.release()
    b.set_overlays(frozenset())
    assert a.overlays == {"exposed"}


def test_released_the_first_is_alone_again(pair):
    a, b = pair
    limits = a.axis.limits
    link = AxisLink(a, b)
    link.align(0, 2)
    link.release()
    assert a.axis.limits == limits
    before = b.axis.window
    a.axis.go(2 * MS, 3 * MS)
    a.set_overlay("idle", True)
    assert b.axis.window == before
    assert b.overlays == set()


def test_a_usual_iteration_is_set_against_a_usual_one(qapp, tmp_path):
    path = make_demo(tmp_path / "demo.sqlite", DemoOptions(ranks=1))
    study = Study(read(path, cache=False))
    a, b = ViewState(), ViewState()
    for state in (a, b):
        state.set_study(study, build_rows(study))
    usual = a.iterations.basis
    unusual = next(iteration for iteration in range(a.iterations.count) if iteration not in usual)
    middle = (a.iterations.start_ns(unusual) + a.iterations.end_ns(unusual)) // 2
    half = int(a.iterations.duration_ns[unusual])
    a.axis.go(middle - half, middle + half)
    assert set(AxisLink(a, b).pair) <= set(usual)
    go_to_iteration(a, unusual)
    assert AxisLink(a, b).pair == (unusual, unusual)


def unmarked(begin_ns, length_ns):
    """A trace without iterations: two kernels from `begin_ns` on."""
    maker = TraceMaker(session_ns=begin_ns + length_ns)
    maker.kernel(begin_ns, begin_ns + MS).kernel(begin_ns + length_ns - MS, begin_ns + length_ns)
    return state_of(maker.trace())


def test_without_iterations_the_first_operations_lie_under_each_other(qapp):
    a, b = unmarked(5 * MS, 20 * MS), unmarked(30 * MS, 40 * MS)
    link = AxisLink(a, b)
    assert (link.pair, link.offset_ns) == (None, 25 * MS)
    a.axis.go(5 * MS, 8 * MS)
    assert b.axis.window == (30 * MS, 33 * MS)
    b.axis.go(40 * MS, 50 * MS)
    assert a.axis.window == (15 * MS, 25 * MS)


def test_each_axis_reaches_just_as_far_as_both_traces(qapp):
    a, b = unmarked(5 * MS, 20 * MS), unmarked(30 * MS, 40 * MS)
    (a_low, a_high), (b_low, b_high) = a.axis.limits, b.axis.limits
    AxisLink(a, b)
    low, high = min(a_low, b_low - 25 * MS), max(a_high, b_high - 25 * MS)
    assert low < a_low, "the second begins earlier before its first operation"
    assert a.axis.limits == (low, high)
    assert b.axis.limits == (low + 25 * MS, high + 25 * MS)
