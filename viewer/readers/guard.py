"""Every connection to a file of the user's is guarded: what the file says is not to be trusted."""

from __future__ import annotations

import sqlite3

from viewer.readers.errors import Cancel

STEPS = 10_000
"""So many instructions of SQLite's lie between two questions whether the work is still wanted."""
LONGEST_VALUE = 64 * 2**20
"""Bytes of the longest value or row; one of 5.7 MB was seen in StringIds."""


def guard(connection: sqlite3.Connection, cancelled: Cancel | None = None, steps: int = STEPS) -> None:
    """Limit what a database can make a connection do; stop it where the work is not wanted any more.

    A statement that is stopped ends with ``sqlite3.OperationalError: interrupted``.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if cancelled is not None:
        connection.set_progress_handler(cancelled, steps)
