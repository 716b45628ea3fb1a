"""Steps from iteration to iteration, stall to stall, event to event; the filter to a range."""

import pytest

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, state_of, training
from viewer.rows import RowKind
from viewer.state import Hover, navigation


@pytest.fixture
def state(qapp):
    """Three iterations of 20 ms on two GPUs; an iteration ends with a hole of 7 ms."""
    return state_of(training())


def stream(state):
    return next(r for r in state.rows.roots[0].walk() if r.kind is RowKind.STREAM)


def test_a_step_fits_the_next_iteration_with_a_margin(state):
    navigation.go_to_iteration(state, 0)
    navigation.step_iteration(state, 1)
    assert state.iteration == 1
    start, end = state.axis.window
    assert start < state.iterations.start_ns(state.iteration) < state.iterations.end_ns(state.iteration) < end


def test_a_step_from_inside_an_iteration_keeps_place_and_zoom(state):
    iterations = state.iterations
    navigation.go_to_iteration(state, 0)
    offset = 3 * MS
    state.axis.go(iterations.start_ns(0) + offset, iterations.start_ns(0) + offset + MS)
    navigation.step_iteration(state, 1)
    assert state.iteration == 1
    assert state.axis.window == (iterations.start_ns(1) + offset, iterations.start_ns(1) + offset + MS)


def test_steps_stop_at_the_ends(state):
    for _ in range(9):
        navigation.step_iteration(state, -1)
    assert state.iteration == 0
    for _ in range(9):
        navigation.step_iteration(state, 1)
    assert state.iteration == state.iterations.count - 1


def test_a_stall_is_idle_throughout_and_maximal(state):
    state.axis.go(*state.axis.limits)
    assert navigation.step_stall(state, "idle", 1)
    start, end = state.selection
    idle = state.study.parts[0].totals(start - 1000, end + 1000)[4]
    assert idle == end - start
    assert state.axis.window[0] <= start
    assert end <= state.axis.window[1]


def test_stalls_too_short_for_the_zoom_are_passed_over(state):
    state.axis.go(*state.axis.limits)
    length = state.axis.window[1] - state.axis.window[0]
    window = state.axis.window
    while navigation.step_stall(state, "idle", 1):
        assert state.selection[1] - state.selection[0] >= length * navigation.SMALLEST_SHARE
        assert state.axis.window == window


def test_a_walk_that_zooms_goes_on_among_the_same_stalls(state, monkeypatch):
    monkeypatch.setattr(navigation, "SMALLEST_SHARE", 0.9)
    state.axis.go(*state.axis.limits)
    first = navigation.step_stall(state, "idle", 1)
    second = navigation.step_stall(state, "idle", 1)
    assert (first.number, second.number) == (1, 2)
    assert (first.count, first.least_ns) == (second.count, second.least_ns)
    state.axis.zoom(0.5, state.selection[0])
    assert navigation.step_stall(state, "idle", -1).least_ns != first.least_ns


def test_the_gpu_under_the_pointer_is_walked(state):
    row = next(r for r in state.rows.roots[1].walk() if r.kind is RowKind.GPU)
    state.set_hover(Hover(0, row))
    state.axis.go(*state.axis.limits)
    assert navigation.step_stall(state, "exposed_comm", 1)
    first = state.study.parts[row.gpu].intervals("exposed_comm")
    assert state.selection == (first.start_ns[0], first.end_ns[0])


def test_events_of_a_row_one_after_another(state):
    row = stream(state)
    state.axis.go(*state.axis.limits)
    seen = []
    while navigation.step_event(state, row, 1):
        seen.append(state.chosen)
    assert seen == [row.events.ref(i, row.key) for i in range(len(row.events))]
    assert navigation.step_event(state, row, -1)
    assert state.chosen == seen[-2]


def test_events_are_looked_for_from_the_pointer(state):
    row = stream(state)
    starts = row.events.start_ns
    state.set_hover(Hover(int(starts[5]) + 1, row))
    assert navigation.step_event(state, row, -1)
    assert state.chosen == row.events.ref(5, row.key)


def test_a_row_without_events_has_no_next_one(state):
    assert not navigation.step_event(state, None, 1)
    assert state.chosen is None


def test_a_filter_bounds_everything_until_it_is_lifted(state):
    whole = state.axis.limits
    state.select((10 * MS, 20 * MS))
    navigation.filter_to_selection(state)
    assert state.selection is None
    state.axis.go(0, 60 * MS)
    assert state.axis.window == (10 * MS, 20 * MS)
    state.axis.back()
    assert state.axis.window[0] >= 10 * MS
    navigation.filter_to_selection(state)
    assert state.filter is None
    state.axis.go(*whole)
    assert state.axis.window == whole


def test_a_filter_to_an_iteration_has_each_gpu_s_own_boundaries_and_goes_along(state):
    navigation.go_to_iteration(state, 1)
    navigation.filter_to_iteration(state)
    for gpu in range(2):
        starts, ends = state.iterations.windows(gpu)
        within = state.filter.of(gpu)
        assert (within.start_ns.tolist(), within.end_ns.tolist()) == ([starts[1]], [ends[1]])
    assert state.axis.limits == state.filter.hull
    assert state.filter.what == "iteration 1"
    navigation.step_iteration(state, 1)
    assert state.filter.iterations == (2,)
    assert state.axis.window == state.filter.hull


def test_what_is_asked_for_outside_a_filter_takes_it_off(state):
    state.select((22 * MS, 24 * MS))
    navigation.filter_to_selection(state)
    navigation.show_range(state, 23 * MS, 23 * MS + 1000)
    assert state.filter is not None
    navigation.show_range(state, 50 * MS, 51 * MS)
    assert state.filter is None
    assert state.axis.window[0] < 50 * MS < state.axis.window[1]


def test_the_steady_choice_takes_its_filter_along(state):
    state.set_steady_choice(frozenset({0, 1}))
    state.set_filter(state.steady_scope)
    assert state.filter.iterations == (0, 1)
    state.set_steady_choice(frozenset({1, 2}))
    assert state.filter.iterations == (1, 2)
    assert state.scope is state.filter
    state.set_filter(None)
    assert state.scope.iterations == (1, 2)
    state.set_steady_choice(None)
    assert state.steady_scope is None
    assert state.scope.what.startswith("not steady")


def test_the_whole_trace_has_no_iteration_in_hand_and_steps_enter_at_its_ends(state):
    whole = state.axis.limits
    for direction, iteration in ((1, 0), (-1, state.iterations.count - 1)):
        state.axis.go(*whole)
        assert navigation.current_iteration(state) is None
        navigation.step_iteration(state, direction)
        assert navigation.current_iteration(state) == state.iteration == iteration


def test_a_window_over_several_iterations_is_entered_at_its_own(state):
    iterations = state.iterations
    state.axis.go(iterations.start_ns(1), iterations.end_ns(2))
    assert navigation.current_iteration(state) is None
    navigation.step_iteration(state, 1)
    assert state.iteration == 1


def test_an_iteration_is_in_hand_as_long_as_the_window_shows_some_of_it(state):
    iterations = state.iterations
    state.axis.go(iterations.start_ns(0), iterations.end_ns(1))
    state.set_iteration(1)
    state.axis.go(iterations.start_ns(1) + MS, iterations.start_ns(1) + 2 * MS)
    assert navigation.current_iteration(state) == 1
    state.axis.go(iterations.start_ns(0) + MS, iterations.start_ns(0) + 2 * MS)
    assert state.iteration is None
    assert navigation.current_iteration(state) == 0


def test_where_all_stalls_are_too_short_for_the_zoom_the_next_is_zoomed_to(state, monkeypatch):
    monkeypatch.setattr(navigation, "SMALLEST_SHARE", 0.9)
    whole = state.axis.limits
    state.axis.go(*whole)
    assert navigation.step_stall(state, "idle", 1)
    low, high = state.axis.window
    assert low <= state.selection[0] < state.selection[1] <= high
    assert high - low < whole[1] - whole[0]


def test_a_filter_reaches_no_further_than_the_recording(state):
    low, high = state.study.trace.span_ns
    state.select((low - 50 * MS, low + 10 * MS))
    navigation.filter_to_selection(state)
    assert state.filter.hull == (low, low + 10 * MS)
    assert state.filter.what == "10.00 ms"
    state.set_filter(None)
    state.select((high + MS, high + 2 * MS))
    navigation.filter_to_selection(state)
    assert state.filter is None
    assert state.selection == (high + MS, high + 2 * MS)


@pytest.fixture
def with_two_markers(qapp):
    """Four iterations of 20 ms, marked by two ranges one inside the other."""
    maker = TraceMaker()
    for step in range(4):
        at = step * 20 * MS
        maker.range(at, at + 15 * MS, f"step {step}").range(at + MS, at + 14 * MS, f"batch {step}")
        maker.call(at + 2 * MS, at + 3 * MS, correlation=1 + step)
        maker.kernel(at + 4 * MS, at + 16 * MS, correlation=1 + step)
    return state_of(maker.trace())


def test_another_marker_lets_go_of_what_was_chosen_by_the_old_one(with_two_markers):
    state = with_two_markers
    assert [candidate.name for candidate in state.candidates] == ["step #", "batch #"]
    state.set_iteration(1)
    state.choose_stall(2)
    state.set_steady_choice(frozenset({0, 2}))
    state.set_filter(state.steady_scope)
    state.set_marker(1)
    assert (state.marker, state.iteration, state.stall_number) == (1, None, None)
    assert (state.steady_choice, state.filter) == (None, None)


def test_another_marker_keeps_a_filter_that_is_a_range(with_two_markers):
    state = with_two_markers
    chosen = state.study.range_scope(2 * MS, 9 * MS)
    state.set_filter(chosen)
    state.set_marker(1)
    assert state.filter is chosen
