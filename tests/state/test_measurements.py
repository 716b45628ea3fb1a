"""Kept measurements: every edit can be undone and redone."""

from viewer.state import Measurements


def test_edits_are_undone_and_redone() -> None:
    kept = Measurements()
    kept.keep(10, 40)
    kept.keep(50, 60, "hole")
    kept.change(0, note="loader", name="first")
    kept.delete({1})
    assert [(m.name, m.note, m.length_ns) for m in kept.items] == [("first", "loader", 30)]
    kept.undo()
    assert [m.name for m in kept.items] == ["first", "hole"]
    kept.undo()
    assert [m.name for m in kept.items] == ["Range 1", "hole"]
    kept.redo()
    assert [m.name for m in kept.items] == ["first", "hole"]
    kept.keep(1, 2)
    assert not kept.can_redo


def test_an_edit_that_changes_nothing_is_no_step() -> None:
    kept = Measurements()
    kept.keep(10, 40, "a")
    kept.change(0, name="a")
    kept.undo()
    assert kept.items == ()
    assert not kept.can_undo
