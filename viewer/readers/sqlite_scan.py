"""The scan of one SQLite table: reads whole columns in batches through ADBC, large tables in two halves."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import adbc_driver_sqlite.dbapi as adbc
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_manager import Error as AdbcError

from viewer.readers.errors import Cancel, check
from viewer.readers.tables import LONGEST_TEXT, Field, RawColumns
from viewer.trace.events import AnyArray

log = logging.getLogger("viewer.readers")

BATCH_ROWS = 65_536
HALVES_FROM = 200_000
"""The number of rows from which two threads read one half of a table each."""


_ROWID = Field("rowid")


_PER_ROW = 64
"""The allowance in bytes for what a batch of texts takes per row besides the text itself."""


class _MisfitError(Exception):
    """A column contains a value that is not an integer."""


def quoted(name: str) -> str:
    """Return a table's or column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of a table's rows between two rowids.

    `most_rows` and `most_bytes` (of text) bound what the table can contain. A table that yields more is
    damaged: its pages may form a cycle, and the scan would never end.
    """

    uri: str
    table: str
    low: int
    high: int
    most_rows: int
    most_bytes: int

    def integers(
        self, fields: Sequence[Field], have: Collection[str], cancelled: Cancel | None
    ) -> tuple[RawColumns, list[str]]:
        """Read integer columns; return them and the names of the columns that contain other values."""
        present = [field for field in fields if field.name in have]
        try:
            columns = self._read(present, [quoted(f.name) for f in present], cancelled)
            misfits: list[str] = []
        except _MisfitError as error:
            log.debug("%s is read again, as its columns have mixed types: %s", self.table, error.__cause__)
            # Let SQLite replace values of other types by NULL: slower, so only after the plain read failed.
            typed = [
                f"CASE typeof({quoted(f.name)}) WHEN 'integer' THEN {quoted(f.name)} END" for f in present
            ]
            columns = self._read(present, typed, cancelled)
            misfits = self._misfits(present)
        for field in fields:
            if field.name not in have:
                columns.values[field.name] = np.full(len(columns), field.null, field.dtype)
        return columns, misfits

    def texts(self, column: str, cancelled: Cancel | None) -> list[pa.Array]:
        """Read a text column as binary chunks; b"" for NULL.

        ADBC takes a column's type from the first batch, and a text column may well begin with
        100,000 NULLs: as a BLOB that is never NULL it has one type throughout.
        """
        expression = f"CAST(coalesce(substr({quoted(column)}, 1, {LONGEST_TEXT}), '') AS BLOB)"

        def collect(low: int, high: int) -> list[pa.Array]:
            chunks, rows, size = [], 0, 0
            for batch in self._batches([expression], low, high, cancelled):
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if rows > self.most_rows or size > self.most_bytes + rows * _PER_ROW:
                    raise _damaged(self.table)
                chunks.append(batch.column(0))
            return chunks

        halves = self._in_halves(collect)
        return [chunk for half in halves for chunk in half if len(chunk)]

    def _misfits(self, fields: Sequence[Field]) -> list[str]:
        # Asked once for the table, after the read: a note names the columns, however many values were odd.
        tests = [f"max(typeof({quoted(f.name)}) NOT IN ('integer', 'null'))" for f in fields]
        [batch] = list(self._batches(tests, self.low, self.high, None))
        return [f.name for f, test in zip(fields, batch.columns, strict=True) if test[0].as_py()]

    def _read(self, fields: Sequence[Field], expressions: list[str], cancelled: Cancel | None) -> RawColumns:
        """Read expressions into preallocated columns; each half of the rowids fills its own part of them.

        The rowids themselves are read only if some between `low` and `high` are missing.
        """
        if not fields:
            return RawColumns(self._read([_ROWID], ["rowid"], cancelled).rows, {})
        middle = self._middle()
        # Room for every rowid of each half, so that the two threads never write to the same place. Missing
        # rowids leave the end of a half unused; pages that were never written take no memory.
        first = max(0, min(middle - self.low + 1, self.most_rows))
        second = max(0, min(self.high - middle, self.most_rows))
        values = {f.name: np.empty(first + second, f.dtype) for f in fields}

        def fill(low: int, high: int) -> int:
            begin = position = 0 if low == self.low else first
            for batch in self._batches(expressions, low, high, cancelled):
                end = position + batch.num_rows
                # Pages that form a cycle would be read for ever, and write beyond the half.
                if end - begin > (first if begin == 0 else second):
                    raise _damaged(self.table)
                for field, column in zip(fields, batch.columns, strict=True):
                    # A batch of NULLs alone has no integer type in Arrow; it is valid nevertheless.
                    is_null = column.null_count == len(column)
                    numbers = field.null if is_null else _whole_numbers(column, field.null)
                    values[field.name][position:end] = numbers
                position = end
            return position - begin

        # One half for a small table, none for an empty one: the zeros fill up to two.
        counts = [*self._in_halves(fill), 0, 0]
        total = counts[0] + counts[1]
        # Close the gap that missing rowids of the first half left in front of the second.
        for name, column in values.items():
            if counts[1] and counts[0] < first:
                column[counts[0] : total] = column[first : first + counts[1]]
            values[name] = column[:total]
        if fields == [_ROWID]:
            return RawColumns(values["rowid"], {})
        # As many rows as rowids: none is missing, so they need not be read.
        if total == self.high - self.low + 1:
            return RawColumns(np.arange(self.low, self.high + 1), values)
        return RawColumns(self._read([_ROWID], ["rowid"], cancelled).rows, values)

    def _middle(self) -> int:
        # Two connections and a thread cost more than a small table takes.
        is_small = self.high - self.low + 1 < HALVES_FROM
        return self.high if is_small else (self.low + self.high) // 2

    def _in_halves(self, work: Callable[[int, int], object]) -> list:  # type: ignore[type-arg]
        """Return the results of `work` for each half of the rowids; one for a small table, none if empty."""
        middle = self._middle()
        if self.high < self.low:
            return []
        if middle == self.high:
            return [work(self.low, self.high)]
        with ThreadPoolExecutor(2, "lightbox-read") as pool:
            parts = [pool.submit(work, self.low, middle), pool.submit(work, middle + 1, self.high)]
            return [part.result() for part in parts]

    def _batches(
        self, expressions: list[str], low: int, high: int, cancelled: Cancel | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows between two rowids in order of rowid; without ORDER BY an index could change it."""
        sql = (
            f"SELECT {', '.join(expressions)} FROM {quoted(self.table)} "
            f"WHERE rowid BETWEEN {low} AND {high} ORDER BY rowid"
        )
        with adbc.connect(self.uri) as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            try:
                cursor.execute(sql)
                for batch in cursor.fetch_record_batch():
                    check(cancelled)
                    yield batch
            except (OSError, AdbcError) as error:
                # ADBC takes a column's type from its first batch and fails at a later value of another.
                if "mismatch" in str(error):
                    raise _MisfitError from error
                raise


def _damaged(table: str) -> sqlite3.DatabaseError:
    return sqlite3.DatabaseError(f"{table} is malformed: it has more rows than fit in")


def _whole_numbers(column: pa.Array, null: int) -> AnyArray:
    """Return a batch's column as int64 with NULL replaced; raise `_MisfitError` if its type is another."""
    if not pa.types.is_int64(column.type):
        raise _MisfitError
    return (pc.fill_null(column, null) if column.null_count else column).to_numpy()  # type: ignore[no-any-return]
