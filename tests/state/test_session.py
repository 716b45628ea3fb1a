"""Sessions: to a dictionary and back, whatever another version made of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timeline.make import MS, state_of, training
from viewer.rows import RowKind
from viewer.state import Note, session_json
from viewer.state.bookmarks import go_to_bookmark, set_bookmark
from viewer.state.session import apply_session, take_session
from viewer.state.session_json import NewerSessionError, SessionError, from_dict, to_dict


def worked_on():
    """A state with everything in it that a session keeps."""
    state = state_of(training())
    rows = state.rows
    stream = next(r for r in rows.roots[1].walk() if r.kind is RowKind.STREAM)
    rows.set_expanded([r.key for r in stream.path()], True)
    rows.set_pinned(rows.roots[1].key, True)
    rows.set_pinned(stream.key, True)
    rows.set_hidden([rows.roots[0].key], True)
    state.set_overlay("idle", True)
    state.set_iteration(1)
    state.set_steady_choice(frozenset({0, 2}))
    state.axis.go(10 * MS, 30 * MS)
    state.measurements.keep(12 * MS, 13 * MS, "hole")
    state.notes.add(Note(11 * MS, 11 * MS, "here"))
    state.notes.add(
        Note(0, 1, "a kernel", "#d64550", stream.key, stream.events.ref(2, stream.key), (30, -9), False)
    )
    set_bookmark(state, 3)
    return state


def through_json(session):
    return from_dict(json.loads(json.dumps(to_dict(session))))


def test_everything_comes_back():
    before = worked_on()
    kept = take_session(before)
    again = state_of(training())
    apply_session(again, through_json(kept))
    assert take_session(again) == kept
    assert again.axis.window == before.axis.window
    assert again.rows.pinned == before.rows.pinned
    assert (again.rows.expanded, again.rows.hidden) == (before.rows.expanded, before.rows.hidden)
    assert (again.iteration, again.steady_choice) == (1, {0, 2})
    assert again.notes.items[1].event == before.notes.items[1].event
    assert not again.history.can_undo
    assert not again.axis.can_back
    assert go_to_bookmark(again, 3)


def test_unknown_keys_are_kept_wherever_they_stand():
    plain = to_dict(take_session(worked_on()))
    places = [
        plain,
        plain["rows"],
        plain["laps"],
        plain["notes"][0],
        plain["measurements"][0],
        plain["bookmarks"]["3"],
    ]
    for number, place in enumerate(places):
        place["from_later"] = {"deep": [number]}
    state = state_of(training())
    session = from_dict(plain)
    apply_session(state, session)
    state.notes.change(0, text="rewritten")
    state.measurements.change(0, name="renamed")
    written = to_dict(take_session(state, session))
    assert written["notes"][0]["text"] == "rewritten"
    written["notes"][0]["text"], written["measurements"][0]["name"] = "here", "hole"
    assert written == plain


def test_a_newer_schema_is_refused_politely():
    plain = to_dict(take_session(worked_on())) | {"schema": session_json.SCHEMA + 1}
    with pytest.raises(NewerSessionError, match=r"newer Lightbox \(schema 2; .*update"):
        from_dict(plain)


def test_an_older_schema_is_upgraded_step_by_step(monkeypatch):
    def second(old):
        ranges = old.pop("ranges")
        return {**old, "measurements": [{**r, "name": r["name"].upper()} for r in ranges]}

    plain = to_dict(take_session(worked_on()))
    upgrades = {1: lambda old: {**old, "ranges": old["measurements"]}, 2: second}
    monkeypatch.setattr(session_json, "SCHEMA", 3)
    monkeypatch.setattr(session_json, "UPGRADES", upgrades)
    session = from_dict(plain)
    assert [m.name for m in session.measurements] == ["HOLE"]
    assert len(session.notes) == 2
    written = to_dict(session)
    assert (written["schema"], "ranges" in written) == (3, False)
    assert plain["schema"] == 1


@pytest.mark.parametrize(
    "broken",
    [
        None, [], "text", {}, {"schema": "1"}, {"schema": True}, {"schema": 0}, {"schema": 1},
        {"schema": 1, "window_ns": [5, 5]}, {"schema": 1, "window_ns": [1.5, 3]},
        {"schema": 1, "window_ns": [0, 10**30]},
        {"schema": 1, "window_ns": [0, 1], "notes": {}},
        {"schema": 1, "window_ns": [0, 1], "notes": [{"start_ns": 4, "end_ns": 3}]},
        {"schema": 1, "window_ns": [0, 1], "rows": {"expanded": [7]}},
        {"schema": 1, "window_ns": [0, 1], "bookmarks": {"1": {}}},
    ],
)  # fmt: skip
def test_what_is_damaged_says_so_in_one_line(broken):
    with pytest.raises(SessionError) as caught:
        from_dict(broken)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, NewerSessionError)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(key=st.sampled_from(["window_ns", "rows", "overlays", "laps", "notes", "measurements", "bookmarks"]),
       value=json_values)  # fmt: skip
def test_no_value_is_worse_than_damaged(key, value):
    try:
        session = from_dict({"schema": 1, "window_ns": [0, 1], key: value})
    except SessionError:
        return
    assert from_dict(to_dict(session)) == session


def test_rows_and_iterations_that_the_trace_does_not_have_are_passed_over():
    plain = to_dict(take_session(worked_on()))
    plain["rows"] |= {"pinned": ["nowhere"], "expanded": ["nowhere"], "preset": "of another version"}
    plain["laps"] |= {"in_hand": 99, "steady": [99], "marker": 55}
    state = state_of(training())
    apply_session(state, from_dict(plain))
    assert (state.rows.pinned, state.rows.expanded, state.rows.preset) == ([], set(), "")
    assert (state.iteration, state.steady_choice, state.marker) == (None, None, 0)


def test_a_note_finds_its_event_again_or_stays_at_its_time():
    state = worked_on()
    bound = take_session(state).notes[1]
    plain = to_dict(take_session(state))
    plain["notes"][1]["event"]["index"] = 10**6
    apply_session(state, from_dict(plain))
    found = state.notes.items[1]
    assert (found.event.kind, found.span(state.study)) == (bound.event.kind, (bound.start_ns, bound.end_ns))
    plain["notes"][1]["end_ns"] += 1
    apply_session(state, from_dict(plain))
    assert state.notes.items[1].event is None
    assert state.notes.items[1].span(state.study) == (bound.start_ns, bound.end_ns + 1)
    plain["notes"][1]["event"] = {"kind": "of another version", "index": 0}
    apply_session(state, from_dict(plain))
    assert state.notes.items[1].event is None


def test_a_bookmark_is_where_it_was_set():
    state = state_of(training())
    set_bookmark(state, 1)
    whole = state.axis.window
    state.axis.go(5 * MS, 6 * MS)
    state.rows.set_hidden([state.rows.roots[0].key], True)
    state.rows.set_filter("stream 20")
    state.set_overlay("exposed", True)
    set_bookmark(state, 2)
    assert go_to_bookmark(state, 1)
    assert (state.axis.window, state.rows.hidden, state.overlays) == (whole, set(), frozenset())
    assert state.rows.filter_text == ""
    state.axis.back()
    assert state.axis.window == (5 * MS, 6 * MS)
    assert go_to_bookmark(state, 2)
    assert (state.rows.filter_text, state.overlays) == ("stream 20", {"exposed"})
    assert not go_to_bookmark(state, 9)


def test_what_stands_for_a_row_that_is_folded_or_hidden():
    state = state_of(training())
    rows = state.rows
    stream = next(r for r in rows.roots[0].walk() if r.kind is RowKind.STREAM)
    root, gpu = stream.path()[:2]
    assert rows.nearest_shown(stream) is root
    rows.set_expanded([root.key], True)
    # The only GPU of a process has no row of its own.
    assert gpu.is_merged
    assert rows.nearest_shown(stream) is stream
    rows.set_hidden([stream.key], True)
    assert rows.nearest_shown(stream) is root
    rows.set_hidden([root.key], True)
    assert rows.nearest_shown(stream) is None
