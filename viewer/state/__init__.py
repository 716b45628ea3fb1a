"""What is looked at. One owner for each piece of state; QtCore only."""

from viewer.state.measurements import Measurement, Measurements
from viewer.state.notes import Note, Notes
from viewer.state.rows import RowState
from viewer.state.selections import Selections
from viewer.state.time_axis import TimeAxis, Window
from viewer.state.view_state import ALL_ROWS, Hover, Listing, ViewState

__all__ = [
    "ALL_ROWS",
    "Hover",
    "Listing",
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
