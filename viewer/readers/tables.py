"""One view of a file's tables, whether they lie in SQLite or in a folder of Arrow files."""

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
"""A column as read; of what type, its `Field` says."""

NO_TIME = np.iinfo(np.int64).min
"""What a NULL time is read as; every other int64 can be a time, -1 too."""
FARTHEST_NS = 1 << 61
"""Seventy years: what is farther from zero is no time, and would overflow when it is subtracted."""
LONGEST_TEXT = 4096
"""Characters read of a text; one of 5.7 MB was seen in StringIds."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of whole numbers to read: its name, the type it is kept in, what NULL becomes."""

    name: str
    dtype: npt.DTypeLike = np.int64
    null: int = 0


@dataclass(frozen=True, slots=True)
class RawColumns:
    """Columns read from one table; `rows` tells each row's rowid (SQLite) or position (Arrow)."""

    rows: Int64
    values: dict[str, Column]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, name: str) -> Column:
        """Return a column and let go of it, so that its memory can be freed."""
        return self.values.pop(name)


class Tables(Protocol):
    """The tables of a file."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all tables, as the file spells them."""

    @property
    def notes(self) -> list[str]:
        """Return what had to be done to read them, one line each."""

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, none if it is absent."""

    def extent(self, table: str) -> int:
        """Return about how many rows a table has, at once."""

    def count(self, table: str, cancelled: Cancel | None = None) -> int:
        """Return how many rows a table has, counted; asks often whether it is still wanted."""

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> RawColumns:
        """Read columns of whole numbers, in the file's order; an absent column reads as NULL.

        A value of another type reads as NULL too, and a note says so.
        """

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """Read a text column as large_string, in the order of `integers`; "" for NULL.

        Bytes that are not UTF-8 are replaced, and only `LONGEST_TEXT` characters are kept.
        """

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read a small table as tuples: int, float, str or None; an absent column reads as None."""

    def first(self, table: str, column: str) -> Any:
        """Return a column's value in the first row, None without one."""

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """Return all columns of one row, long texts cut, a blob as its length."""

    def string(self, reference: int, table: str = "StringIds") -> str | None:
        """Return one text by its id in StringIds."""

    def has_rows(self, table: str) -> bool:
        """Say whether a table is there and has a row."""

    def close(self) -> None:
        """Let go of the file."""


def as_texts(chunks: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Return binary chunks as text, with bytes that are not UTF-8 replaced."""
    return pa.chunked_array([_as_text(chunk) for chunk in chunks], pa.large_string())


def _as_text(chunk: pa.Array) -> pa.Array:
    try:
        return chunk.cast(pa.large_string())
    except pa.ArrowInvalid:
        log.debug("text that is not UTF-8: its odd bytes are replaced")
        texts = [(value or b"").decode("utf-8", "replace") for value in chunk.to_pylist()]
        return pa.array(texts, pa.large_string())
