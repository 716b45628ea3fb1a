"""Escaping of a file's texts on their way into the trace: from here on they are safe to display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from viewer.printable import UNSEEN_RE2, visible, visible_lines
from viewer.readers.errors import Cancel
from viewer.readers.tables import Field, RawColumns, Tables

_OF_LINES = frozenset({"DIAGNOSTIC_EVENT", "META_DATA_CAPTURE"})
"""Tables whose texts may have several lines."""


class ShownTables:
    """The tables of a file, with invisible and control characters in their texts escaped.

    Names of tables and columns are unchanged, because queries use them; only `row` escapes its column names,
    which are displayed.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all tables, as the file spells them."""
        return self._tables.names

    @property
    def notes(self) -> list[str]:
        """Return notes about problems in reading the tables, one line each."""
        return self._tables.notes

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, as the file spells them."""
        return self._tables.columns(table)

    def extent(self, table: str) -> int:
        """Return an upper estimate of a table's number of rows; see `Tables.extent`."""
        return self._tables.extent(table)

    def count(self, table: str, cancelled: Cancel | None = None) -> int:
        """Return how many rows a table has; see `Tables.count`."""
        return self._tables.count(table, cancelled)

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> RawColumns:
        """Read integer columns; see `Tables.integers`."""
        return self._tables.integers(table, fields, cancelled)

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """Read a text column; see `Tables.texts`."""
        return visible_texts(self._tables.texts(table, column, cancelled))

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read a small table as tuples; see `Tables.records`."""
        show = visible_lines if table in _OF_LINES else visible
        return [
            tuple(show(value) if isinstance(value, str) else value for value in row)
            for row in self._tables.records(table, *columns)
        ]

    def first(self, table: str, column: str) -> Any:
        """Return a column's value in the first row, None without one."""
        return _shown(self._tables.first(table, column))

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """Return all columns of one row; see `Tables.row`."""
        return {visible(name): _shown(value) for name, value in self._tables.row(table, file_row).items()}

    def string(self, reference: int, table: str = "StringIds") -> str | None:
        """Return one text by its id; see `Tables.string`."""
        text = self._tables.string(reference, table)
        return None if text is None else visible(text)

    def has_rows(self, table: str) -> bool:
        """Return whether a table exists and has a row."""
        return self._tables.has_rows(table)

    def close(self) -> None:
        """Close the file."""
        self._tables.close()


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


def visible_texts(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts of a column (large_string) as `visible` returns each; most need no change."""
    return pa.chunked_array([_visible_chunk(chunk) for chunk in texts.chunks], texts.type)


def _visible_chunk(chunk: pa.Array) -> pa.Array:
    # Arrow searches the whole chunk at once; only the few texts that match become Python objects.
    unseen = pc.fill_null(pc.match_substring_regex(chunk, UNSEEN_RE2), False)
    if not pc.any(unseen).as_py():
        return chunk
    spelled = [visible(text) for text in chunk.filter(unseen).to_pylist()]
    return pc.replace_with_mask(chunk, unseen, pa.array(spelled, chunk.type))
