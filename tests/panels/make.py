"""A window's state on a trace, without the window."""

from viewer.rows import build_rows
from viewer.state import ViewState


def looking_at(study):
    """Return a ViewState on a study, with its rows."""
    state = ViewState()
    state.set_study(study, build_rows(study))
    return state


def row_of(state, kind, number=0):
    """Return the n-th row of a kind."""
    rows = [row for root in state.rows.roots for row in root.walk() if row.kind.traits.name == kind]
    return rows[number]
