"""A window's state on a trace, without the window."""

from PySide6.QtCore import Qt

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


def double_click(qtbot, widget, at):
    """Click twice, as people do, and let go of the button, which Qt's own `mouseDClick` keeps down."""
    button = Qt.MouseButton.LeftButton
    qtbot.mouseClick(widget, button, pos=at)
    qtbot.mouseDClick(widget, button, pos=at)
    qtbot.mouseRelease(widget, button, pos=at)
