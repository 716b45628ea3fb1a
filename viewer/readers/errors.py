"""What reading can end in besides a trace."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with what is being done and how far it is, from 0 to 1."""

Cancel = Callable[[], bool]
"""Asked now and then; True ends the work with `Cancelled`."""


class ReadError(Exception):
    """The file cannot be read; the message is one line for people and says what to do."""


class Cancelled(Exception):  # noqa: N818 -- it is no error, and the name says what happened
    """The person who asked for the file does not want it any more."""


def check(cancelled: Cancel | None) -> None:
    """Raise `Cancelled` if the work is no longer wanted."""
    if cancelled is not None and cancelled():
        raise Cancelled
