"""What is looked at. One owner for each piece of state; QtCore only."""

from viewer.state.measurements import Measurement, Measurements
from viewer.state.notes import Note, Notes
from viewer.state.rows import RowState
from viewer.state.selections import Selections
from viewer.state.time_axis import TimeAxis, Window
from viewer.state.view_state import Hover, ViewState

__all__ = [
    "Hover",
    "Measurement",
    "Measurements",
    "Note",
    "Notes",
    "RowState",
    "Selections",
    "TimeAxis",
    "ViewState",
    "Window",
]
