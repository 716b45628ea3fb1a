"""The tables of a parquetdir or arrowdir export: a folder with one file per table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from viewer.readers.errors import Cancel, ReadError, check
from viewer.readers.mapped import map_file, map_ipc
from viewer.readers.sniff import Container, shown
from viewer.readers.tables import LONGEST_TEXT, Columns, Field, as_texts
from viewer.trace.events import AnyArray

_T = TypeVar("_T")
_BATCH_ROWS = 16_384
_DAMAGED = "is damaged or cut off ({}): export the report again."


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
        if table not in self.names:
            return 0
        file = self._files[table]
        if file.suffix == ".parquet":
            return int(self._guarded(file, lambda: pq.ParquetFile(map_file(file)).metadata.num_rows))
        return int(self._guarded(file, lambda: map_ipc(file).num_rows))

    def has_rows(self, table: str) -> bool:
        """Say whether a table is there and has a row."""
        return self.extent(table) > 0

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> Columns:
        """Read columns of whole numbers in the file's order; see `Tables.integers`."""
        count = self.extent(table)
        have = self.columns(table)
        values: dict[str, AnyArray] = {}
        for field in fields:
            check(cancelled)
            if field.name in have:
                column = self._table(table, [field.name]).column(0)
                values[field.name] = self._whole_numbers(table, column, field)
            else:
                values[field.name] = np.full(count, field.null, field.dtype)
        return Columns(np.arange(count, dtype=np.int64), values)

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """Read a text column in the file's order; see `Tables.texts`."""
        if column not in self.columns(table):
            return as_texts([])
        check(cancelled)
        chunks = []
        for chunk in self._table(table, [column]).column(0).chunks:
            plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
            text = as_texts([plain.cast(pa.large_binary()) if _is_text(plain.type) else plain])
            chunks.append(pc.utf8_slice_codeunits(pc.fill_null(text, ""), 0, LONGEST_TEXT))
        return pa.chunked_array([c for part in chunks for c in part.chunks], pa.large_string())

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read a small table as tuples; see `Tables.records`."""
        have = self.columns(table)
        if not have:
            return []
        read = self._table(table, [column for column in columns if column in have])
        absent = [None] * read.num_rows
        lists = [
            [_plain(v) for v in read.column(column).to_pylist()] if column in have else absent
            for column in columns
        ]
        return list(zip(*lists, strict=True))

    def first(self, table: str, column: str) -> Any:
        """Return a column's value in the first row, None without one."""
        if column not in self.columns(table) or not self.extent(table):
            return None
        return _plain(self._table(table, [column]).column(0)[0].as_py())

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """Return all columns of one row, long texts cut, a blob as its length."""
        if not 0 <= file_row < self.extent(table):
            return {}
        with self._lock:
            kept = self._kept
            if kept is None or kept[0] != table or not kept[1] <= file_row < kept[1] + kept[2].num_rows:
                file = self._files[table]
                self._kept = kept = (table, *self._guarded(file, lambda: _around(file, file_row)))
            [found] = kept[2].slice(file_row - kept[1], 1).to_pylist()
        return {name: _plain(value) for name, value in found.items()}

    def string(self, reference: int) -> str | None:
        """Return one text of StringIds by its id."""
        if not {"id", "value"} <= set(self.columns("StringIds")):
            return None
        if self._strings is None:
            self._strings = self._table("StringIds", ["id", "value"])
        at = pc.index(self._strings.column("id"), reference).as_py()
        return None if at < 0 else _plain(self._strings.column("value")[at].as_py())

    def close(self) -> None:
        """Let go of the files."""
        self._kept = self._strings = None

    def _schema(self, table: str) -> pa.Schema:
        if table not in self._schemas:
            file = self._files[table]
            if file.suffix == ".parquet":
                schema = self._guarded(file, lambda: pq.ParquetFile(map_file(file)).schema_arrow)
            else:
                schema = self._guarded(file, lambda: map_ipc(file).schema)
            self._schemas[table] = schema
        return self._schemas[table]

    def _table(self, table: str, columns: list[str]) -> pa.Table:
        file = self._files[table]
        if file.suffix == ".parquet":
            return self._guarded(file, lambda: pq.ParquetFile(map_file(file)).read(columns=columns))
        return self._guarded(file, lambda: map_ipc(file)).select(columns)

    def _guarded(self, file: Path, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:120]
            raise ReadError(f"{shown(self.path)}/{shown(file)} {_DAMAGED.format(reason)}") from error

    def _whole_numbers(self, table: str, column: pa.ChunkedArray, field: Field) -> AnyArray:
        """Return a column in the type it is kept in; what is no whole number becomes NULL."""
        out = np.empty(len(column), field.dtype)
        at = 0
        misfit = False
        for chunk in column.chunks:
            whole, misfits = _as_integers(chunk)
            misfit |= misfits
            filled = pc.fill_null(whole, field.null) if whole.null_count else whole
            out[at : at + len(chunk)] = filled.to_numpy(zero_copy_only=False)
            at += len(chunk)
        if misfit:
            self.notes.append(f"{table}.{field.name}: a value that is no whole number was left out")
        return out


def _as_integers(chunk: pa.Array) -> tuple[pa.Array, bool]:
    """Return a chunk as int64, and whether something in it was no whole number."""
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    kind = chunk.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return chunk.cast(pa.int64(), safe=False), False
    if pa.types.is_floating(kind):
        whole = pc.and_(pc.is_finite(chunk), pc.equal(pc.floor(chunk), chunk))
        kept = pc.if_else(whole, chunk, None).cast(pa.int64(), safe=False)
        return kept, kept.null_count > chunk.null_count
    return pa.nulls(len(chunk), pa.int64()), chunk.null_count < len(chunk)


def _around(file: Path, row: int) -> tuple[int, pa.Table | pa.RecordBatch]:
    """Return the rows of a file around one, and where they begin; never the whole of a Parquet file."""
    if file.suffix != ".parquet":
        return 0, map_ipc(file)
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


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
