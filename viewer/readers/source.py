"""`FileSource`: rarely needed columns, read from the file on request."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from viewer.readers.errors import Cancelled, ReadError
from viewer.readers.file_thread import apart
from viewer.readers.metadata import time_shift
from viewer.readers.raw_events import is_time
from viewer.readers.schema import CALL_CHAINS, CUPTI_OVERHEAD, ENUMS, STRING_COLUMNS, TABLE_OF
from viewer.readers.tables import NO_TIME, Field, Tables
from viewer.trace.events import AnyArray, Int64, Kind

log = logging.getLogger("viewer.readers")

_T = TypeVar("_T")
_PATIENCE_S = 10.0


class FileSource:
    """Implements `Source` on the file's tables, which are opened at the first request.

    Parameters
    ----------
    open_tables : callable
        Opens the file. If that fails (the file was moved), all results are empty.
    is_same : callable
        Returns whether the file is unchanged since it was read; once it is not, all results are empty.
    """

    def __init__(self, open_tables: Callable[[], Tables], is_same: Callable[[], bool] = lambda: True) -> None:
        self._open, self._is_same = open_tables, is_same
        self._tables: Tables | None = None
        self._gone = False
        self._columns: dict[tuple[str, str], tuple[Int64, AnyArray]] = {}
        self._chains: dict[str, dict[str, AnyArray]] = {}
        self._labels: dict[str, dict[Any, str]] = {}

    def row(self, kind: Kind, file_row: int) -> dict[str, Any]:
        """Return every column of one row by the file's column names, with enums and string ids as text."""
        return self._answer(lambda: self._row(kind, file_row), {})

    def column(self, kind: Kind, name: str, file_rows: AnyArray) -> AnyArray | None:
        """Return one of the file's columns for `file_rows` (int64; 0 where NULL), None if absent."""
        table = TABLE_OF[kind]
        try:
            tables = self._opened()
            if tables is None or name not in tables.columns(table):
                return None
            # The whole column, once: whoever asks for it sorts or filters by it next.
            if (table, name) not in self._columns:
                # Kept with its rows: the trace sorts its events, so a row of the file is found by search and
                # not by position.
                read = tables.integers(table, [Field(name)])
                self._columns[table, name] = read.rows, read.values[name]
        except ReadError as error:
            log.debug("column %s of %s: %s", name, table, error)
            return None
        rows, values = self._columns[table, name]
        return _at(rows, file_rows, [values])[0]

    def columns(
        self, kind: Kind, names: Sequence[str], file_rows: AnyArray
    ) -> dict[str, npt.NDArray[np.int32]] | None:
        """Return several of the file's columns for `file_rows` as int32, see `Source.columns`."""
        table = TABLE_OF[kind]
        try:
            tables = self._opened()
            if tables is None or not set(names) <= set(tables.columns(table)):
                return None
            # In one pass: seven columns of a million rows take little longer than one of them.
            read = tables.integers(table, [Field(name, np.int32) for name in names])
        except ReadError as error:
            log.debug("columns of %s: %s", table, error)
            return None
        found = _at(read.rows, file_rows, [read.values[name] for name in names])
        return {name: column.astype(np.int32) for name, column in zip(names, found, strict=True)}

    def call_chain(self, kind: Kind, file_row: int) -> list[str]:
        """Return the call chain of an API or OS call, innermost frame first; empty if not recorded."""
        return self._answer(lambda: self._call_chain(kind, file_row), [])

    def has_rows(self, table: str) -> bool:
        """Return whether the file has a table with a row in it."""
        try:
            tables = self._opened()
            return tables is not None and tables.has_rows(table)
        except ReadError as error:
            log.debug("%s: %s", table, error)
            return False

    def samples(self, table: str, time: str, *columns: str) -> dict[str, Int64] | None:
        """Return integer columns of a table by time, see `Source.samples`."""
        try:
            tables = self._opened()
            # None is another answer than an empty table: the row is then not there, instead of being there
            # without a curve.
            if tables is None or not {time, *columns} <= set(tables.columns(table)):
                return None
            fields = [Field(time, np.int64, NO_TIME), *(Field(column) for column in columns)]
            values = tables.integers(table, fields).values
            shift_ns = time_shift(tables)
        except ReadError as error:
            log.debug("%s of %s: %s", time, table, error)
            return None
        rows = np.flatnonzero(is_time(values[time]))
        # Stable: of several samples at one instant the last one of the file holds.
        rows = rows[np.argsort(values[time][rows], kind="stable")]
        in_order = {name: column[rows] for name, column in values.items()}
        # After the selection: a time that is none would wrap around.
        in_order[time] -= shift_ns
        return in_order

    def close(self) -> None:
        """Close the file."""
        if self._tables is not None:
            self._tables.close()
        self._tables = None
        self._gone = True

    def _answer(self, ask: Callable[[], _T], nothing: _T) -> _T:
        """Run a request in another thread: a file system that does not respond must not block the window."""
        ends_at = time.monotonic() + _PATIENCE_S
        if self._gone:
            return nothing
        try:
            return apart(lambda _: ask(), lambda: time.monotonic() > ends_at)
        except Cancelled:
            log.debug("the file does not respond and is not read again")
            # For good: a file system that hung once would hang at every click.
            self._gone = True
        except ReadError as error:
            log.debug("the file cannot be read: %s", error)
        return nothing

    def _row(self, kind: Kind, file_row: int) -> dict[str, Any]:
        table, row = _locate(kind, int(file_row))
        tables = self._opened()
        values = tables.row(table, row) if tables else {}
        return {column: self._spelled(column, value) for column, value in values.items()}

    def _call_chain(self, kind: Kind, file_row: int) -> list[str]:
        table, row = _locate(kind, int(file_row))
        chains = CALL_CHAINS.get(kind)
        tables = self._opened()
        if tables is None or chains is None or not tables.has_rows(chains):
            return []
        chain = tables.row(table, row).get("callchainId")
        if not isinstance(chain, int):
            return []
        if chains not in self._chains:
            fields = [Field("id"), Field("stackDepth"), Field("symbol")]
            self._chains[chains] = tables.integers(chains, fields).values
        columns = self._chains[chains]
        frames = np.flatnonzero(columns["id"] == chain)
        # Rows of one chain need not be in order in the file.
        frames = frames[np.argsort(columns["stackDepth"][frames], kind="stable")]
        return [tables.string(int(symbol)) or "(unknown)" for symbol in columns["symbol"][frames]]

    def _opened(self) -> Tables | None:
        # Asked each time: a file that was written anew has other rows at the same numbers, and would answer
        # with another event.
        if not self._gone and not self._is_same():
            self.close()
        if self._tables is None and not self._gone:
            try:
                self._tables = self._open()
            except ReadError as error:
                log.debug("the file cannot be opened again: %s", error)
                self._gone = True
        return self._tables

    def _spelled(self, column: str, value: Any) -> Any:
        """Return the text of a value: an enum's label, or the string of a string id; else the value."""
        if not isinstance(value, int) or self._tables is None:
            return value
        if column in STRING_COLUMNS:
            return self._string(value)
        if column in ENUMS:
            return self._labels_of(column).get(value, value)
        return value

    def _labels_of(self, column: str) -> dict[Any, str]:
        assert self._tables is not None
        if column not in self._labels:
            spelled, known = ENUMS[column]
            labels: dict[Any, str] = dict(known)
            for table in spelled:
                rows = self._tables.records(table, "id", "label", "name")
                labels |= {value: str(label or name) for value, label, name in rows if label or name}
            self._labels[column] = labels
        return self._labels[column]

    def _string(self, reference: int) -> str | int:
        assert self._tables is not None
        return self._tables.string(reference) or reference


def _at(rows: Int64, file_rows: AnyArray, columns: Sequence[AnyArray]) -> list[AnyArray]:
    """Return columns at `file_rows`, 0 where the file lacks such a row; `rows` are increasing."""
    wanted = np.asarray(file_rows).astype(np.int64)
    if not len(rows):
        return [np.zeros(len(wanted), column.dtype) for column in columns]
    # Rows that the file lacks are, for one, the negative ones of CUPTI's overhead.
    position = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    is_there = rows[position] == wanted
    return [np.where(is_there, column[position], column.dtype.type(0)) for column in columns]


def _locate(kind: Kind, file_row: int) -> tuple[str, int]:
    """Return the table and row of a ``file_row``."""
    if kind is Kind.OVERHEAD and file_row < 0:
        return CUPTI_OVERHEAD, -file_row - 1
    return TABLE_OF[kind], file_row
