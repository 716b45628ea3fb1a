"""Copies of views and tables without rowids, as plain tables of a temporary database.

Nsight Systems writes neither, but users replace tables by views or by ``WITHOUT ROWID`` tables, and the
reader needs rowids. A view is a program: it may never end, or produce any amount of rows. So the size, memory
and time of a copy are limited.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from viewer.process_end import temporary_folder
from viewer.readers.errors import Cancel, Cancelled, ReadError, check
from viewer.readers.file_thread import apart
from viewer.readers.guard import guard
from viewer.readers.schema import is_nsys
from viewer.readers.sniff import shown
from viewer.readers.sqlite_scan import quoted

_PAGE = 4096
_LEAST_BYTES = 64 * 2**20
_MEMORY_BYTES = 2**30
_LEAST_S = 15
_BYTES_PER_S = 5_000_000
_STEPS = 100
"""SQLite's instructions between two checks of the time: one of a view may make a text of many megabytes."""


def odd_tables(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the tables of Nsight Systems without rowids, or with a column of that name, and their kinds.

    The kinds are "table", "view" and "virtual".
    """
    return {name: kind for name, kind in _kinds(connection, "main") if _is_odd(connection, name, kind)}


def _kinds(connection: sqlite3.Connection, schema: str) -> list[tuple[str, str]]:
    """Return the names and kinds of tables and views that have the name of a table of Nsight Systems.

    ``PRAGMA table_list`` returns them too, but it also computes the columns of every view.
    """
    rows = connection.execute(
        "SELECT CAST(name AS BLOB), CASE WHEN type = 'table' AND NOT rootpage THEN 'virtual' ELSE type END "
        f"FROM {schema}.sqlite_master WHERE type IN ('table', 'view')"
    )
    named = [((name or b"").decode("utf-8", "replace"), kind) for name, kind in rows]
    return [(name, kind) for name, kind in named if is_nsys([name])]


def _is_odd(connection: sqlite3.Connection, name: str, kind: str) -> bool:
    if kind != "table" or "rowid" in map(str.lower, _columns(connection, "main", name)):
        return True
    try:
        connection.execute(f"SELECT rowid FROM main.{quoted(name)} LIMIT 0")
    except sqlite3.OperationalError as error:
        if "no such column" not in str(error):
            raise
        return True
    return False


def plain_copy(path: Path, uri: str, cancelled: Cancel | None = None) -> tuple[Path, Callable[[], None]]:
    """Copy all tables and views with names of Nsight Systems into a new database, except virtual tables.

    Returns
    -------
    Path
        The copy.
    callable
        Removes it.

    Raises
    ------
    ReadError
        A view never ends, or yields far more than the file contains, or the temporary folder is full.
    Cancelled
    """
    folder, release = temporary_folder("plain")
    copy = folder / "trace.sqlite"
    size = path.stat().st_size
    ends_at = time.monotonic() + _LEAST_S + size / _BYTES_PER_S
    copied: list[str] = []
    try:
        apart(
            lambda unwanted: _fill(copy, path, uri, (2 * size + _LEAST_BYTES) // _PAGE, copied, unwanted),
            lambda: time.monotonic() > ends_at or (cancelled is not None and cancelled()),
        )
    except BaseException as error:
        release()
        check(cancelled)
        if isinstance(error, Cancelled):
            raise _refusal(path, copied[-1] if copied else "", "takes too long") from error
        raise
    return copy, release


def _refusal(path: Path, view: str, why: str) -> ReadError:
    what = f"its view {view} {why}" if view else why
    return ReadError(
        f"{shown(path)} cannot be read: {what}; put a table in its place, or export the report again."
    )


def _fill(copy: Path, path: Path, uri: str, pages: int, copied: list[str], unwanted: Cancel) -> None:
    """Fill the copy; append the name of each table to `copied` before it is copied."""
    with closing(sqlite3.connect(copy.as_uri(), uri=True)) as connection:
        guard(connection, unwanted, _STEPS)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for setting in (
            f"page_size = {_PAGE}", "journal_mode = OFF", "synchronous = OFF", f"max_page_count = {pages}",
            "temp_store = MEMORY", f"hard_heap_limit = {_MEMORY_BYTES}",
        ):  # fmt: skip
            connection.execute(f"PRAGMA {setting}")
        connection.execute("ATTACH ? AS source", (uri,))
        deny, allow = sqlite3.SQLITE_DENY, sqlite3.SQLITE_OK
        connection.set_authorizer(lambda what, *_: deny if what == sqlite3.SQLITE_RECURSIVE else allow)
        for name, kind in _kinds(connection, "source"):
            if kind == "virtual":
                continue
            copied.append(name)
            try:
                kept = [c for c in _columns(connection, "source", name) if c.lower() != "rowid"]
                connection.execute(
                    f"CREATE TABLE main.{quoted(name)} AS "
                    f"SELECT {', '.join(map(quoted, kept))} FROM source.{quoted(name)}"
                )
            except (sqlite3.Error, MemoryError) as error:
                check(unwanted)
                if kind != "view":
                    raise
                raise _refusal(path, name, _why(error)) from error
        connection.commit()


def _why(error: Exception) -> str:
    text = " ".join(str(error).split())
    if "not authorized" in text:
        return "is recursive"
    if "full" in text or "too big" in text or isinstance(error, MemoryError):
        return "gives too much"
    return f"gives an error (SQLite: {text[:150]})"


def _columns(connection: sqlite3.Connection, schema: str, table: str) -> list[str]:
    rows = connection.execute(f"PRAGMA {schema}.table_info({quoted(table)})")
    return [name for _, name, *_ in rows]
