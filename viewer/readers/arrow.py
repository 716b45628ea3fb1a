"""The tables of a parquetdir or arrowdir export: a folder with one file per table.

Arrow does not check what it maps: offsets and indices out of range crash the process. So everything is
validated before use, and a file with more rows or text than its size can contain is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from viewer.readers.arrow_columns import (
    NotHeldError,
    as_binary,
    as_integers,
    as_texts_of,
    plain_record,
    plain_row,
)
from viewer.readers.errors import Cancel, ReadError, check
from viewer.readers.memory_map import ipc_schema, map_file, map_ipc
from viewer.readers.sniff import Container, shown
from viewer.readers.tables import Field, RawColumns, as_texts
from viewer.trace.events import AnyArray

_BATCH_ROWS = 16_384
_ROWS_PER_BYTE = 4
_FEWEST_ROWS = 2**20
_TEXT_PER_BYTE = 32
_LEAST_TEXT = 64 * 2**20
_FAULTS = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError)


class ArrowTables:
    """The tables of a folder of Parquet or Arrow IPC files.

    Raises
    ------
    ReadError
        A file is damaged or cut off.
    """

    def __init__(self, folder: Path, container: Container) -> None:
        self.path = folder
        self.notes: list[str] = []
        suffix = ".parquet" if container is Container.PARQUET else ".arrow"
        self._files = {file.stem: file for file in sorted(folder.iterdir()) if file.suffix == suffix}
        self.names = frozenset(self._files)
        self._schemas: dict[str, pa.Schema] = {}
        self._kept: tuple[str, int, pa.Table | pa.RecordBatch] | None = None
        self._strings: pa.Table | None = None
        self._lock = threading.Lock()

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, none if it is absent."""
        return tuple(self._schema(table).names) if table in self.names else ()

    def extent(self, table: str) -> int:
        """Return how many rows a table has."""
        if table not in self.names or not self.columns(table):
            return 0
        file = self._files[table]
        with self._guarded(file):
            if file.suffix == ".parquet":
                rows = pq.ParquetFile(map_file(file)).metadata.num_rows
            else:
                rows = map_ipc(file, [0]).num_rows
            # The number stands in the file and may be anything: arrays are made of it before a row is read.
            if not 0 <= rows <= _FEWEST_ROWS + _ROWS_PER_BYTE * file.stat().st_size:
                raise NotHeldError(f"{rows:,} rows")
            return int(rows)

    def has_rows(self, table: str) -> bool:
        """Return whether a table exists and has a row."""
        return self.extent(table) > 0

    def count(self, table: str, cancelled: Cancel | None = None) -> int:
        """Return how many rows a table has."""
        check(cancelled)
        return self.extent(table)

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> RawColumns:
        """Read integer columns in the file's order; see `Tables.integers`."""
        count = self.extent(table)
        have = self.columns(table)
        values: dict[str, AnyArray] = {}
        for field in fields:
            check(cancelled)
            if field.name in have:
                values[field.name] = self._whole_numbers(table, field, count)
            else:
                values[field.name] = np.full(count, field.null, field.dtype)
        return RawColumns(np.arange(count, dtype=np.int64), values)

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """Read a text column in the file's order; see `Tables.texts`."""
        if column not in self.columns(table) or not self.extent(table):
            return as_texts([])
        file = self._files[table]
        most = _LEAST_TEXT + _TEXT_PER_BYTE * file.stat().st_size
        chunks: list[pa.Array] = []
        with self._guarded(file):
            for chunk in self._read(table, [column], is_text=True).column(0).chunks:
                check(cancelled)
                chunks.append(as_texts_of(chunk, most))
                # One limit for the whole column, not one for each chunk: a file may hold any number of
                # chunks.
                most -= chunks[-1].nbytes
        return pa.chunked_array(chunks, pa.large_string())

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read a small table as tuples; see `Tables.records`."""
        have = self.columns(table)
        count = self.extent(table)
        if not count:
            return []
        absent = [None] * count
        with self._guarded(self._files[table]):
            wanted = [column for column in columns if column in have]
            read = self._read(table, wanted) if wanted else None
            lists = []
            for column in columns:
                values = read.column(column).to_pylist() if read is not None and column in have else absent
                lists.append([plain_record(value) for value in values])
        return list(zip(*lists, strict=True))

    def first(self, table: str, column: str) -> Any:
        """Return a column's value in the first row, None without one."""
        if column not in self.columns(table) or not self.extent(table):
            return None
        with self._guarded(self._files[table]):
            return plain_record(self._read(table, [column]).column(0)[0].as_py())

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """Return all columns of one row, long texts cut, a blob as its length."""
        if not 0 <= file_row < self.extent(table):
            return {}
        with self._lock, self._guarded(self._files[table]):
            kept = self._kept
            # Neighbouring rows are asked for one after the other, as the user steps along a stream: a batch
            # is kept.
            if kept is None or kept[0] != table or not kept[1] <= file_row < kept[1] + kept[2].num_rows:
                file, columns = self._files[table], range(len(self._schema(table)))
                self._kept = kept = (table, *_around(file, file_row, columns))
            return plain_row(kept[2].slice(file_row - kept[1], 1))

    def string(self, reference: int, table: str = "StringIds") -> str | None:
        """Return one text by its id in StringIds."""
        if not {"id", "value"} <= set(self.columns(table)) or not self.extent(table):
            return None
        with self._guarded(self._files[table]):
            if self._strings is None:
                ids = self.integers(table, [Field("id", np.int64, -1)]).values["id"]
                self._strings = pa.table({"id": ids, "value": self.texts(table, "value")})
            position = pc.index(self._strings.column("id"), pa.scalar(reference, pa.int64())).as_py()
            return None if position < 0 else str(self._strings.column("value")[position].as_py())

    def close(self) -> None:
        """Release the files."""
        self._kept = self._strings = None

    def _schema(self, table: str) -> pa.Schema:
        if table not in self._schemas:
            file = self._files[table]
            with self._guarded(file):
                if file.suffix == ".parquet":
                    schema = pq.ParquetFile(map_file(file)).schema_arrow
                else:
                    schema = ipc_schema(file)
                names = schema.names
                # Arrow allows it, but a column asked for by name would then be two, and all rows would shift.
                if len(set(names)) < len(names):
                    twice = next(name for name in names if names.count(name) > 1)
                    raise NotHeldError(f"column {twice[:40]} twice")
            self._schemas[table] = schema
        return self._schemas[table]

    def _read(self, table: str, columns: list[str], *, is_text: bool = False) -> pa.Table:
        """Read and validate some columns; with `is_text` as bytes, which need not be UTF-8."""
        file = self._files[table]
        if file.suffix == ".parquet":
            # Texts stay a dictionary while they are read: a column repeats few names over millions of rows.
            packed = columns if is_text else None
            read = pq.ParquetFile(map_file(file), read_dictionary=packed).read(columns=columns)
        else:
            positions = sorted(self._schema(table).names.index(column) for column in columns)
            read = map_ipc(file, positions).select(columns)
        if is_text:
            chunks = [as_binary(chunk) for chunk in read.column(0).chunks]
            read = pa.table({columns[0]: pa.chunked_array(chunks)}) if chunks else read
        # Before anything looks at a value: an offset out of range crashes the process, no error is raised.
        read.validate(full=True)
        # Columns of different lengths would pair a start with the end of another row.
        if read.num_rows != self.extent(table):
            raise NotHeldError("rows missing")
        return read

    @contextmanager
    def _guarded(self, file: Path) -> Iterator[None]:
        try:
            yield
        except _FAULTS as error:
            reason = " ".join(str(error).split())[:120]
            raise ReadError(
                f"{shown(self.path)}/{shown(file)} is damaged or cut off ({reason}): export the report again."
            ) from error

    def _whole_numbers(self, table: str, field: Field, count: int) -> AnyArray:
        """Return a column in the dtype of its field; values that are not integers become NULL."""
        out = np.empty(count, field.dtype)
        position = 0
        misfit = False
        with self._guarded(self._files[table]):
            for chunk in self._read(table, [field.name]).column(0).chunks:
                whole, misfits = as_integers(chunk, keeps_bits=field.keeps_bits)
                misfit |= misfits
                # Without NULLs no copy is made: these are the largest columns of the file.
                filled = pc.fill_null(whole, field.null) if whole.null_count else whole
                out[position : position + len(chunk)] = filled.to_numpy(zero_copy_only=False)
                position += len(chunk)
        if misfit:
            self.notes.append(f"{table}.{field.name}: a value that is no 64-bit whole number was left out")
        return out


def _around(file: Path, row: int, columns: Sequence[int]) -> tuple[int, pa.Table | pa.RecordBatch]:
    """Return the number of the first row of a batch around `row`, and the batch; all rows of an IPC file.

    A Parquet file is decoded batch by batch: as a whole it may not fit into memory.
    """
    if file.suffix != ".parquet":
        return 0, map_ipc(file, columns)
    parquet = pq.ParquetFile(map_file(file))
    begin = 0
    for group in range(parquet.num_row_groups):
        rows = parquet.metadata.row_group(group).num_rows
        if row >= begin + rows:
            begin += rows
            continue
        for batch in parquet.iter_batches(_BATCH_ROWS, row_groups=[group]):
            if row < begin + batch.num_rows:
                return begin, batch
            begin += batch.num_rows
    raise OSError(f"no row {row}")
