"""Tables that cannot be read row by row are copied into plain ones, in a temporary database.

Users make views in place of tables, and ``WITHOUT ROWID`` tables; neither has the rowids by which rows are
read and found again. Nsight Systems writes neither. What a view says is a program: it may never end, or make
any amount out of nothing. So a copy is limited in its size, its memory and its time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from viewer.ending import temporary_folder
from viewer.readers.errors import Cancel, Cancelled, ReadError
from viewer.readers.guard import STEPS, guard
from viewer.readers.schema import is_nsys
from viewer.readers.sniff import shown
from viewer.readers.sqlite_scan import quoted

_PAGE = 4096
_LEAST_BYTES = 64 * 2**20
_MEMORY_BYTES = 2**30
_LEAST_S = 15
_BYTES_PER_S = 5_000_000


def odd_tables(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the tables of Nsight Systems that have no rowids, or a column of that name, and what they are.

    They are a "table", a "view", or "virtual" (or a "shadow" of one).
    """
    found = connection.execute("PRAGMA main.table_list").fetchall()
    return {
        name: kind
        for _, name, kind, _, without_rowid, *_ in found
        if is_nsys([name])
        and (
            kind != "table" or without_rowid or "rowid" in map(str.lower, _columns(connection, "main", name))
        )
    }


def plain_copy(path: Path, uri: str, cancelled: Cancel | None = None) -> tuple[Path, Callable[[], None]]:
    """Copy what Nsight Systems' names stand for into tables of a new database, virtual tables left out.

    Returns
    -------
    Path
        The copy.
    callable
        Removes it.

    Raises
    ------
    ReadError
        A view never ends, or gives much more than the file holds, or the temporary folder is full.
    Cancelled
    """
    folder, release = temporary_folder("plain")
    copy = folder / "trace.sqlite"
    try:
        with closing(sqlite3.connect(copy.as_uri(), uri=True)) as connection:
            _fill(connection, path, uri, cancelled)
    except BaseException:
        release()
        raise
    return copy, release


def _fill(connection: sqlite3.Connection, path: Path, uri: str, cancelled: Cancel | None) -> None:
    size = path.stat().st_size
    pages = (2 * size + _LEAST_BYTES) // _PAGE
    ends_at = time.monotonic() + _LEAST_S + size / _BYTES_PER_S
    guard(connection, cancelled)
    connection.text_factory = bytes
    for setting in (
        f"page_size = {_PAGE}", "journal_mode = OFF", "synchronous = OFF", f"max_page_count = {pages}",
        "temp_store = MEMORY", f"hard_heap_limit = {_MEMORY_BYTES}",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    connection.execute("ATTACH ? AS source", (uri,))
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_RECURSIVE else sqlite3.SQLITE_OK
    )
    connection.set_progress_handler(
        lambda: time.monotonic() > ends_at or (cancelled is not None and cancelled()), STEPS
    )
    found = connection.execute("PRAGMA source.table_list").fetchall()
    names = [(name.decode("utf-8", "replace"), kind) for _, name, kind, *_ in found]
    for name, kind in names:
        if not is_nsys([name]) or kind not in (b"table", b"view"):
            continue
        try:
            kept = [c for c in _columns(connection, "source", name) if c.lower() != "rowid"]
            connection.execute(
                f"CREATE TABLE main.{quoted(name)} AS "
                f"SELECT {', '.join(map(quoted, kept))} FROM source.{quoted(name)}"
            )
        except (sqlite3.Error, MemoryError) as error:
            if cancelled is not None and cancelled():
                raise Cancelled from error
            if kind != b"view":
                raise
            raise ReadError(
                f"{shown(path)} cannot be read: its view {name} {_why(error)}; put a table in its place, or "
                "export the report again."
            ) from error
    connection.commit()


def _why(error: Exception) -> str:
    text = " ".join(str(error).split())
    if "not authorized" in text:
        return "is recursive"
    if "interrupted" in text:
        return "takes too long"
    if "full" in text or "too big" in text or isinstance(error, MemoryError):
        return "gives too much"
    return f"gives an error (SQLite: {text[:150]})"


def _columns(connection: sqlite3.Connection, schema: str, table: str) -> list[str]:
    found = connection.execute(f"PRAGMA {schema}.table_info({quoted(table)})")
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else name for _, name, *_ in found]
