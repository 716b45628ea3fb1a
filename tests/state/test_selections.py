"""Several selected ranges: disjoint, undone as edits, and kept with the session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timeline.make import MS, state_of, training
from viewer.state import navigation
from viewer.state.selections import END, START, with_range
from viewer.state.session import apply_session, take_session
from viewer.state.session_json import SessionError, from_dict, to_dict
from viewer.state.view_snapshot import restore_onto, take_snapshot

windows = st.tuples(st.integers(0, 60), st.integers(0, 60))


@given(st.lists(windows, max_size=8))
def test_ranges_stay_disjoint_and_hold_exactly_what_was_added(added):
    ranges = ()
    for window in added:
        ranges = with_range(ranges, window)
    wanted = {t for a, b in added for t in range(min(a, b), max(a, b))}
    instants = [t for a, b in ranges for t in range(a, b)]
    assert sorted(instants) == sorted(wanted)
    assert all(a < b for a, b in ranges)


def test_ranges_that_touch_stay_apart_and_the_last_is_the_current_one():
    assert with_range(((10, 20), (30, 40)), (20, 30)) == ((10, 20), (30, 40), (20, 30))
    assert with_range(((30, 40), (10, 20)), (19, 31)) == ((10, 40),)
    assert with_range(((10, 20),), (5, 5)) == ((10, 20),)


def test_one_range_is_no_edit_and_several_are():
    state = state_of(training())
    state.select((1, 2))
    state.select((3, 4))
    state.select(None)
    assert not state.history.can_undo
    state.select((1, 2))
    state.selections.toggle((5, 9))
    assert state.selections.items == ((1, 2), (5, 9))
    state.select((7, 8))
    assert state.selection == (7, 8)
    state.history.undo()
    assert state.selections.items == ((1, 2), (5, 9))
    state.history.undo()
    assert state.selections.items == ((1, 2),)
    state.history.redo()
    state.selections.toggle((1, 2))
    assert state.selections.items == ((5, 9),)


def test_a_drag_is_one_edit_to_its_end():
    state = state_of(training())
    state.selections.set(((1, 2), (5, 9)))
    for end in (12, 15, 20):
        state.selections.set(((10, end),), "drag 1")
    state.history.undo()
    assert state.selections.items == ((1, 2), (5, 9))
    state.history.redo()
    assert state.selections.items == ((10, 20),)
    state.history.undo()
    state.history.undo()
    assert not state.history.can_undo


def test_a_drag_that_is_cancelled_is_no_edit():
    state = state_of(training())
    state.selections.load(((1, 2), (5, 9)))
    state.selections.set(((10, 12),), "drag 1")
    state.selections.set(((1, 2), (5, 9)), "drag 1")
    assert not state.history.can_undo


def test_taking_a_range_makes_it_the_current_one():
    state = state_of(training())
    state.selections.load(((1, 2), (5, 9)))
    heard = []
    state.selection_changed.connect(lambda: heard.append(state.selections.edge))
    state.selections.take((1, 2), START)
    assert (state.selection, state.selections.edge) == ((1, 2), START)
    state.selections.take((1, 2), END)
    assert heard == [START, END]
    assert not state.history.can_undo


def test_a_session_and_a_fuller_view_of_the_trace_bring_them_back():
    state = state_of(training())
    state.selections.set(((10 * MS, 20 * MS), (3 * MS, 5 * MS)))
    kept = to_dict(take_session(state))
    again = state_of(training())
    apply_session(again, from_dict(kept))
    assert again.selections.items == state.selections.items
    assert not again.history.can_undo
    begun = take_session(state_of(training()))
    fuller = state_of(training())
    navigation.filter_to_selection(again)
    restore_onto(fuller, begun, take_snapshot(again))
    assert fuller.filter.time.start_ns.tolist() == [3 * MS, 10 * MS]
    kept["selections"] = [[5, 9], [8, 12]]
    with pytest.raises(SessionError, match="overlap"):
        from_dict(kept)


def test_a_filter_to_several_holds_their_time_alone():
    state = state_of(training())
    state.selections.set(((10 * MS, 20 * MS), (30 * MS, 35 * MS)))
    navigation.filter_to_selection(state)
    scope = state.filter
    assert scope.what == "2 selections, 15.00 ms"
    assert [scope.length_ns(gpu) for gpu in range(2)] == [15 * MS] * 2
    assert scope.hull == state.axis.limits == (10 * MS, 35 * MS)
    assert state.selections.items == ()
