"""The opening of an export's tables, of any format."""

from __future__ import annotations

from pathlib import Path

from viewer.readers.arrow import ArrowTables
from viewer.readers.errors import Cancel, ReadError
from viewer.readers.foreign import HOW_TO_EXPORT, foreign_tables
from viewer.readers.schema import is_nsys
from viewer.readers.sniff import Container, FileKind, shown, sniff
from viewer.readers.sqlite import SqliteTables
from viewer.readers.table_versions import NewestForms
from viewer.readers.tables import Tables
from viewer.readers.text_boundary import ShownTables


def open_tables(path: Path, kind: FileKind | None = None, cancelled: Cancel | None = None) -> NewestForms:
    """Open the tables of an export (SQLite, parquetdir, arrowdir), each in its newest version.

    Raises
    ------
    ReadError
        It cannot be opened, or did not come from Nsight Systems.
    """
    kind = kind or sniff(path)
    tables: Tables
    if kind.container is Container.SQLITE:
        tables = SqliteTables(path, cancelled)
    else:
        tables = ArrowTables(path, kind.container)
    try:
        if other := foreign_tables(tables):
            raise ReadError(f"{shown(path)} {other}.")
        if not is_nsys(tables.names):
            raise ReadError(f"{shown(path)} holds no tables of Nsight Systems: {HOW_TO_EXPORT}.")
        return NewestForms(ShownTables(tables))
    except ReadError:
        tables.close()
        raise
