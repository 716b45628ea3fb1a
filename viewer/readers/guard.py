"""Limits for SQLite connections to users' files, whose content cannot be trusted."""

from __future__ import annotations

import sqlite3

from viewer.readers.errors import Cancel

STEPS = 10_000
"""The number of SQLite instructions between two checks for cancellation."""
LONGEST_VALUE = 64 * 2**20
"""The largest value or row in bytes; a real StringIds had a text of 5.7 MB."""


def guard(connection: sqlite3.Connection, cancelled: Cancel | None = None, steps: int = STEPS) -> None:
    """Limit what a database can make a connection do, and stop its statements on cancellation.

    A stopped statement raises ``sqlite3.OperationalError: interrupted``.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if cancelled is not None:
        connection.set_progress_handler(cancelled, steps)
