"""The tables of an SQLite export, opened without creating files next to it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from adbc_driver_manager import Error as AdbcError

from viewer.process_end import temporary_folder
from viewer.readers import sqlite_scan
from viewer.readers.errors import Cancel, ReadError, check
from viewer.readers.guard import guard
from viewer.readers.sniff import shown
from viewer.readers.sqlite_copy import odd_tables, plain_copy
from viewer.readers.sqlite_scan import quoted
from viewer.readers.tables import LONGEST_TEXT, Field, RawColumns, as_texts

_LOCK_WAIT_S = 2.0
_MOST_RECORDS = 2**20
_LONGEST_MESSAGE = 150
_DAMAGE = ("malformed", "not a database", "corrupt", "codec can't decode", "too big", "disk I/O error")


def database_uri(path: Path, *, immutable: bool = False) -> str:
    """Return the URI that opens a database read-only, whatever bytes its path contains."""
    uri = "file:" + quote(os.fsencode(path.absolute())) + "?mode=ro"
    return uri + "&immutable=1" if immutable else uri


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that says what to do."""
    try:
        yield
    except (sqlite3.Error, AdbcError, pa.ArrowException, OSError, UnicodeError) as error:
        raise ReadError(_explain(path, str(error))) from error


def _explain(path: Path, message: str) -> str:
    name = shown(path)
    if "locked" in message or "busy" in message:
        return f"{name} is locked by another program: wait until it has finished, or open a copy."
    message = " ".join(message.split())[:_LONGEST_MESSAGE]
    if any(word in message for word in _DAMAGE):
        return f"{name} is damaged (SQLite: {message}): copy it again, or export the report again."
    if path.with_name(path.name + "-journal").exists():
        return f"{name} was left half-written by another program (there is a -journal file): export it again."
    return f"{name} cannot be read (SQLite: {message}): export the report again."


class SqliteTables:
    """The tables of one SQLite file.

    Parameters
    ----------
    path : Path
        The file, opened read-only. SQLite would create files next to one in WAL mode: it is opened as
        immutable, or copied into a temporary folder if it has a ``-wal`` file. Tables without rowids are
        read from a copy too.
    cancelled : callable, optional
        Called often; when it returns True, the opening ends with `Cancelled`.

    Raises
    ------
    ReadError
        It is locked, damaged, or no export of Nsight Systems.
    """

    def __init__(self, path: Path, cancelled: Cancel | None = None) -> None:
        self.path = path
        self.notes: list[str] = []
        self._lock = threading.Lock()
        self._cancelled = cancelled
        with explained(path):
            self._uri, release = _open_without_trace(path)
            self._releases = [weakref.finalize(self, release)]
            self._connection = _connect(self._uri, cancelled)
            self._size = path.stat().st_size + _wal_size(path)
            if odd := odd_tables(self._connection):
                self._read_plain_copy(odd)
            rows = self._query("SELECT name FROM sqlite_master WHERE type = 'table'")
            self.names = frozenset(str(name) for (name,) in rows)
        self._columns: dict[str, tuple[str, ...]] = {}

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, none if it is absent."""
        if table not in self._columns:
            with explained(self.path):
                rows = self._query(f"PRAGMA table_info({quoted(table)})") if table in self.names else []
            self._columns[table] = tuple(str(row[1]) for row in rows)
        return self._columns[table]

    def extent(self, table: str) -> int:
        """Return the span of the table's rowids."""
        low, high = self._span(table)
        return high - low + 1

    def has_rows(self, table: str) -> bool:
        """Return whether a table exists and has a row."""
        if table not in self.names:
            return False
        with explained(self.path):
            return bool(self._query(f"SELECT 1 FROM {quoted(table)} LIMIT 1"))

    def count(self, table: str, cancelled: Cancel | None = None) -> int:
        """Count the rows of a table, on a separate connection so that other threads need not wait."""
        if table not in self.names:
            return 0
        with explained(self.path), closing(_connect(self._uri, cancelled)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()[0])

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> RawColumns:
        """Read integer columns in the order of rowid; see `Tables.integers`."""
        have = self.columns(table)
        with explained(self.path):
            columns, misfits = self._scan(table).integers(fields, have, cancelled)
        self.notes += [
            f"{table}.{column}: a value that is no 64-bit whole number was left out" for column in misfits
        ]
        return columns

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """Read a text column in the order of rowid; see `Tables.texts`."""
        if column not in self.columns(table):
            return as_texts([])
        with explained(self.path):
            return as_texts(self._scan(table).texts(column, cancelled))

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read a small table as tuples; see `Tables.records`."""
        have = self.columns(table)
        if not have:
            return []
        wanted = ", ".join(_cut(column) if column in have else "NULL" for column in columns)
        with explained(self.path):
            rows = self._query(f"SELECT {wanted} FROM {quoted(table)} LIMIT {_MOST_RECORDS + 1}")
        if len(rows) > _MOST_RECORDS:
            self.notes.append(f"{table}: only the first {_MOST_RECORDS:,} rows were read")
        return rows[:_MOST_RECORDS]

    def first(self, table: str, column: str) -> Any:
        """Return a column's value in the first row, None without one."""
        return self.row(table, self._span(table)[0]).get(column)

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """Return all columns of one row, long texts cut, a blob as its length."""
        columns = self.columns(table)
        if not columns:
            return {}
        wanted = ", ".join(_cut(column) for column in columns)
        with explained(self.path):
            rows = self._query(f"SELECT {wanted} FROM {quoted(table)} WHERE rowid = ?", int(file_row))
        return dict(zip(columns, rows[0], strict=True)) if rows else {}

    def string(self, reference: int, table: str = "StringIds") -> str | None:
        """Return one text by its id in StringIds."""
        if not {"id", "value"} <= set(self.columns(table)):
            return None
        with explained(self.path):
            rows = self._query(f"SELECT {_cut('value')} FROM {quoted(table)} WHERE id = ?", reference)
        return str(rows[0][0]) if rows and rows[0][0] is not None else None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        for release in self._releases:
            release()

    def _read_plain_copy(self, odd: Mapping[str, str]) -> None:
        copy, release = plain_copy(self.path, self._uri, self._cancelled)
        self._releases.append(weakref.finalize(self, release))
        self._connection.close()
        self._uri, self._size = database_uri(copy), copy.stat().st_size
        self._connection = _connect(self._uri, self._cancelled)
        for kinds, what in (
            (("view", "table"), "no plain tables with rowids, read from a copy"),
            (("virtual",), "virtual tables, which are not read"),
        ):
            if names := [name for name, kind in odd.items() if kind in kinds]:
                self.notes.append(f"{', '.join(names)}: {what}")

    def _query(self, sql: str, *values: int) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error:
                check(self._cancelled)
                raise

    def _span(self, table: str) -> tuple[int, int]:
        """Return the first and last rowid; (1, 0) for a table without rows."""
        if table not in self.names:
            return 1, 0
        name = quoted(table)
        with explained(self.path):
            rows = self._query(f"SELECT (SELECT min(rowid) FROM {name}), (SELECT max(rowid) FROM {name})")
        low, high = rows[0]
        return (int(low), int(high)) if low is not None else (1, 0)

    def _scan(self, table: str) -> sqlite_scan.Scan:
        """Return a scan of all rows of a table; many rowids of its span may be missing."""
        low, high = self._span(table)
        # The number of rows is bounded by the rowids and by the file: a row takes at least two bytes.
        most_rows = min(high - low + 1, self._size // 2)
        return sqlite_scan.Scan(self._uri, table, low, high, most_rows, self._size)


def _connect(uri: str, cancelled: Cancel | None) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT_S, check_same_thread=False)
    guard(connection, cancelled)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _cut(column: str) -> str:
    name = quoted(column)
    return (
        f"CASE typeof({name}) WHEN 'text' THEN substr({name}, 1, {LONGEST_TEXT}) "
        f"WHEN 'blob' THEN length({name}) || ' bytes' ELSE {name} END"
    )


def _wal_size(path: Path) -> int:
    """Return the size of a database's -wal file, 0 if there is none."""
    wal = path.with_name(path.name + "-wal")
    return wal.stat().st_size if wal.is_file() else 0


def _open_without_trace(path: Path) -> tuple[str, Callable[[], None]]:
    """Return the URI to open, and a callable that releases its temporary files."""
    with path.open("rb") as file:
        head = file.read(20)
    if head[18:20] != b"\x02\x02":
        return database_uri(path), lambda: None
    wal = path.with_name(path.name + "-wal")
    if not _wal_size(path):
        return database_uri(path, immutable=True), lambda: None
    folder, release = temporary_folder("wal")
    copy = folder / "trace.sqlite"
    try:
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, copy.with_name(copy.name + "-wal"))
    except OSError as error:
        release()
        raise ReadError(
            f"{shown(path)} is being written by another program (there is a -wal file), and could not be "
            f"copied ({error.strerror}): close that program."
        ) from error
    return database_uri(copy), release
