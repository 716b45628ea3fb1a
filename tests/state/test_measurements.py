"""One history of edits over measurements and notes."""

from dataclasses import replace

import pytest

from viewer.rows import EventRef
from viewer.state import Measurement, Measurements, Note, Notes
from viewer.state.history import History
from viewer.trace import Kind


@pytest.fixture
def history():
    """A history without a step."""
    return History()


def test_edits_are_undone_and_redone(history):
    kept = Measurements(history)
    kept.keep(10, 40)
    kept.keep(50, 60, "hole")
    kept.change(0, note="loader", name="first")
    kept.delete({1})
    assert [(m.name, m.note, m.length_ns) for m in kept.items] == [("first", "loader", 30)]
    history.undo()
    assert [m.name for m in kept.items] == ["first", "hole"]
    history.undo()
    assert [m.name for m in kept.items] == ["Range 1", "hole"]
    history.redo()
    assert [m.name for m in kept.items] == ["first", "hole"]
    kept.keep(1, 2)
    assert not history.can_redo


def test_an_edit_that_changes_nothing_is_no_step(history):
    kept = Measurements(history)
    kept.keep(10, 40, "a")
    kept.change(0, name="a")
    history.undo()
    assert kept.items == ()
    assert not history.can_undo


def test_the_last_edit_of_whichever_kind_is_undone(history):
    kept, notes = Measurements(history), Notes(history)
    kept.keep(0, 10, "a")
    notes.add(Note(5, 5, "here"))
    kept.keep(20, 30, "b")
    notes.change(0, text="there")
    history.undo()
    assert notes.items[0].text == "here"
    history.undo()
    assert [m.name for m in kept.items] == ["a"]
    history.undo()
    assert (notes.items, notes.chosen) == ((), None)
    assert [m.name for m in kept.items] == ["a"]
    history.redo()
    assert [n.text for n in notes.items] == ["here"]


def test_a_dragged_label_is_one_step(history):
    notes = Notes(history)
    notes.add(Note(5, 5, "here"))
    for x in range(10):
        notes.change(0, "drag 1", offset=(x, x))
    notes.change(0, "drag 2", offset=(50, 50))
    history.undo()
    assert notes.items[0].offset == (9, 9)
    history.undo()
    assert notes.items[0].offset is None
    history.redo()
    assert notes.items[0].offset == (9, 9)


def test_the_current_note_is_released_where_the_list_changes(history):
    notes = Notes(history)
    notes.add(Note(1, 1, "a"))
    notes.add(Note(2, 2, "b"))
    notes.choose(1)
    notes.delete({0})
    assert notes.chosen is None


def test_another_trace_is_no_edit(history):
    notes = Notes(history)
    notes.load((Note(1, 1, "kept"),))
    assert not history.can_undo


def test_a_note_on_an_event_has_the_times_of_the_event(demo_study):
    kernels = demo_study.trace.kernels
    note = Note(-5, -1, event=EventRef(Kind.KERNEL, 7))
    assert note.span(demo_study) == (kernels.start_ns[7], kernels.end_ns[7])
    assert note.span(None) == (-5, -1)
    assert replace(note, event=EventRef(Kind.KERNEL, 10**7)).span(demo_study) == (-5, -1)


def test_what_cannot_be_seen_is_spelled_out_whoever_writes_it(history):
    evil = "a\u202eb\x1b[31m\n"
    notes = Notes(history)
    notes.add(Note(1, 1))
    notes.change(0, text=evil)
    assert notes.items[0].text == r"a\u202eb\x1b[31m" + "\n"
    measurement = Measurement(1, 2, evil, note=evil)
    assert (measurement.name, measurement.note) == (r"a\u202eb\x1b[31m\n", notes.items[0].text)
