"""What is looked at. One owner for each piece of state; QtCore only."""

from viewer.state.measurements import Measurement, Measurements
from viewer.state.notes import Note, Notes
from viewer.state.rows import RowState
from viewer.state.view import Hover, ViewState
from viewer.state.window import TimeAxis, Window

__all__ = [
    "Hover",
    "Measurement",
    "Measurements",
    "Note",
    "Notes",
    "RowState",
    "TimeAxis",
    "ViewState",
    "Window",
]
