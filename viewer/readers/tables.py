"""`Tables`: one interface to a file's tables, for SQLite and for folders of Arrow or Parquet files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from viewer.readers.errors import Cancel
from viewer.trace.events import Int64

log = logging.getLogger("viewer.readers")

Column = npt.NDArray[Any]
"""A column as read; its `Field` names the dtype."""

NO_TIME = np.iinfo(np.int64).min
"""The value of a NULL time; every other int64 may be a time, also -1."""
FARTHEST_NS = 1 << 61
"""Seventy years: a value farther from zero is no valid time, and differences of such values overflow."""
LONGEST_TEXT = 4096
"""The number of characters that are read of a text; a real StringIds had a text of 5.7 MB."""


@dataclass(frozen=True, slots=True)
class Field:
    """An integer column to read: its name, its dtype in memory, and the value that replaces NULL."""

    name: str
    dtype: npt.DTypeLike = np.int64
    null: int = 0

    @property
    def keeps_bits(self) -> bool:
        """Whether the column identifies something: its bits are kept where its value is beyond int64.

        A globalPid or globalTid has the machine in its highest bits; SQLite holds it as a signed number.
        """
        # By name as well: identifiers are read as int64 too, but are never added or compared by size, so that
        # their bits are all that matters.
        return self.name.startswith("global") or np.dtype(self.dtype) != np.int64


@dataclass(frozen=True, slots=True)
class RawColumns:
    """Columns read from one table; `rows` has each row's rowid (SQLite) or position (Arrow), increasing."""

    rows: Int64
    values: dict[str, Column]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, name: str) -> Column:
        """Remove and return a column, so that its memory is freed when the caller drops it."""
        return self.values.pop(name)


class Tables(Protocol):
    """The tables of a file."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all tables, as the file spells them."""

    @property
    def notes(self) -> list[str]:
        """Return notes about problems in reading the tables, one line each."""

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, none if it is absent."""

    def extent(self, table: str) -> int:
        """Return an upper estimate of a table's number of rows, without counting."""

    def count(self, table: str, cancelled: Cancel | None = None) -> int:
        """Count the rows of a table; calls `cancelled` often."""

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> RawColumns:
        """Read integer columns, in the file's order; an absent column reads as NULL.

        Values of other types read as NULL too, and a note names the column.
        """

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """Read a text column as large_string, in the order of `integers`; "" for NULL.

        Bytes that are not UTF-8 are replaced, and texts are cut to `LONGEST_TEXT` characters.
        """

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read a small table as tuples: int, float, str or None; an absent column reads as None."""

    def first(self, table: str, column: str) -> Any:
        """Return a column's value in the first row, None if there is no row or column."""

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """Return all columns of one row, long texts cut, a blob as its length."""

    def string(self, reference: int, table: str = "StringIds") -> str | None:
        """Return one text by its id in StringIds."""

    def has_rows(self, table: str) -> bool:
        """Return whether a table exists and has a row."""

    def close(self) -> None:
        """Close the file."""


def as_texts(chunks: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Return binary chunks as text, with bytes that are not UTF-8 replaced."""
    return pa.chunked_array([_as_text(chunk) for chunk in chunks], pa.large_string())


def _as_text(chunk: pa.Array) -> pa.Array:
    try:
        # Large offsets: the texts of one column may be more than 2 GiB together.
        return chunk.cast(pa.large_string())
    except pa.ArrowInvalid:
        log.debug("text that is not UTF-8: its odd bytes are replaced")
        texts = [(value or b"").decode("utf-8", "replace") for value in chunk.to_pylist()]
        return pa.array(texts, pa.large_string())
