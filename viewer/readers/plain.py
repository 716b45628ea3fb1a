"""Tables that cannot be read row by row are copied into plain ones, in a temporary database.

Users make views in place of tables, and ``WITHOUT ROWID`` tables; neither has the rowids by which rows are
read and found again. Nsight Systems writes neither.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from viewer.readers.schema import is_nsys
from viewer.readers.sqlite_scan import quoted


def has_odd_tables(connection: sqlite3.Connection) -> bool:
    """Say whether a table of Nsight Systems is a view, or without rowids, or has a column of that name."""
    for _, name, kind, _, without_rowid, *_ in connection.execute("PRAGMA main.table_list"):
        if is_nsys([name]) and (
            kind == "view" or without_rowid or "rowid" in map(str.lower, _columns(connection, name))
        ):
            return True
    return False


def plain_copy(uri: str) -> tuple[Path, Callable[[], None]]:
    """Copy what Nsight Systems' names stand for into tables of a new database.

    Returns
    -------
    Path
        The copy.
    callable
        Removes it.
    """
    folder = Path(tempfile.mkdtemp(prefix="lightbox-plain-"))
    copy = folder / "trace.sqlite"
    try:
        with closing(sqlite3.connect(copy.as_uri(), uri=True)) as connection:
            connection.text_factory = bytes
            connection.execute("ATTACH ? AS source", (uri,))
            found = connection.execute(
                "SELECT name FROM source.sqlite_master WHERE type IN ('table', 'view')"
            )
            names = [raw.decode("utf-8", "replace") for (raw,) in found]
            for name in filter(lambda one: is_nsys([one]), names):
                kept = [c for c in _columns(connection, name, "source") if c.lower() != "rowid"]
                connection.execute(
                    f"CREATE TABLE main.{quoted(name)} AS "
                    f"SELECT {', '.join(map(quoted, kept))} FROM source.{quoted(name)}"
                )
            connection.commit()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return copy, lambda: shutil.rmtree(folder, ignore_errors=True)


def _columns(connection: sqlite3.Connection, table: str, schema: str = "main") -> list[str]:
    found = connection.execute(f"PRAGMA {schema}.table_info({quoted(table)})")
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else name for _, name, *_ in found]
