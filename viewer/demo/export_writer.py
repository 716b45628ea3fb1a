"""`ExportWriter`: writes rows into an SQLite file in large batches."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import adbc_driver_sqlite.dbapi as adbc
import numpy as np
import pyarrow as pa

from viewer.demo.export_schema import ENUMS, TABLES, create_statement
from viewer.demo.row_arrays import Column, Rows

_ARROW_TYPES = {"INTEGER": pa.int64(), "TEXT": pa.string(), "REAL": pa.float64()}
_ENUM_TYPES = {"id": "INTEGER", "name": "TEXT", "label": "TEXT"}
FAILURES = (adbc.Error, sqlite3.Error)
"""The errors that SQLite raises when it cannot write."""
BATCH_ROWS = 100_000
APPLICATION_ID = int.from_bytes(b"LtBx")
"""The application id in the header of a demo's file, by which it is recognised."""


class ExportWriter:
    """Writes tables of the export schema; a table exists once it has a row, as in real exports.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._waiting: dict[str, list[pa.Table]] = defaultdict(list)
        self._waiting_rows: dict[str, int] = defaultdict(int)
        self._created: set[str] = set()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection = adbc.connect("file:" + quote(os.fsencode(path)), autocommit=True)
        self._cursor = self._connection.cursor()
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            self._cursor.execute(f"PRAGMA {pragma}")
            self._cursor.fetchall()
        self._connection.adbc_connection.set_autocommit(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for table in list(self._waiting):
                    self._flush(table)
                self._connection.adbc_connection.commit()
        finally:
            self._cursor.close()
            self._connection.close()

    def add(self, table: str, rows: Rows) -> None:
        """Add rows to a table; they are written once `BATCH_ROWS` of them have collected."""
        arrow = _arrow_table(table, rows)
        if not arrow.num_rows:
            return
        self._waiting[table].append(arrow)
        self._waiting_rows[table] += arrow.num_rows
        if self._waiting_rows[table] >= BATCH_ROWS:
            self._flush(table)

    def _flush(self, table: str) -> None:
        if table not in self._created:
            self._cursor.execute(create_statement(table))
            self._created.add(table)
        self._cursor.adbc_ingest(table, pa.concat_tables(self._waiting.pop(table)), mode="append")
        self._waiting_rows[table] = 0


def _arrow_table(table: str, rows: Rows) -> pa.Table:
    types = _ENUM_TYPES if table in ENUMS else {name: kind for name, kind, _ in TABLES[table]}
    if unknown := rows.keys() - types.keys():
        raise KeyError(f"{table} has no column {sorted(unknown)}")
    length = next(len(c) for c in rows.values() if not isinstance(c, int))
    return pa.table(
        {name: _arrow_column(rows.get(name), _ARROW_TYPES[kind], length) for name, kind in types.items()}
    )


def _arrow_column(column: Column | None, kind: pa.DataType, length: int) -> pa.Array:
    if column is None:
        return pa.nulls(length, kind)
    if isinstance(column, int):
        return pa.array(np.full(length, column, np.int64))
    return pa.array(column, kind)
