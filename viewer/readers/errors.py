"""The errors of reading, and the types of its callbacks for progress and cancellation."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the current step and the progress from 0 to 1."""

Cancel = Callable[[], bool]
"""Called from time to time; True ends the work with `Cancelled`."""


class ReadError(Exception):
    """The file cannot be read; the message is one line for people and says what to do."""


class Cancelled(Exception):  # noqa: N818 -- it is no error, and the name says what happened
    """The user has cancelled the reading of a file."""


def check(cancelled: Cancel | None) -> None:
    """Raise `Cancelled` if the work is cancelled."""
    if cancelled is not None and cancelled():
        raise Cancelled
