"""Access to tables by unversioned names: ``NVTX_EVENTS`` may read ``NVTX_EVENTS_V2``."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from viewer.printable import visible
from viewer.readers.errors import Cancel, ReadError, check
from viewer.readers.schema import is_read, without_version
from viewer.readers.tables import Field, RawColumns, Tables

log = logging.getLogger("viewer.readers")

_VERSION = re.compile(r"_V(\d+)$", re.IGNORECASE)
_NEEDED: Mapping[str, frozenset[str]] = {
    "StringIds": frozenset({"id", "value"}),
    "NVTX_EVENTS": frozenset({"start", "globalTid", "eventType"}),
    "SCHED_EVENTS": frozenset({"start", "globalTid", "isSchedIn"}),
    "CUPTI_ACTIVITY_KIND_RUNTIME": frozenset({"start", "end", "globalTid", "nameId", "correlationId"}),
    "OSRT_API": frozenset({"start", "end", "globalTid", "nameId"}),
    "CUPTI_ACTIVITY_KIND_KERNEL": frozenset({"start", "end", "deviceId", "streamId", "correlationId"}),
    "CUPTI_ACTIVITY_KIND_MEMCPY": frozenset({"start", "end", "deviceId", "streamId", "bytes", "copyKind"}),
    "CUPTI_ACTIVITY_KIND_MEMSET": frozenset({"start", "end", "deviceId", "streamId", "bytes"}),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": frozenset({"start", "end", "deviceId", "streamId"}),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": frozenset({"start", "end", "syncType"}),
}
"""The columns that each table needs before its rows can be used."""


class NewestForms:
    """The tables of a file by names without a version: of each, the newest form with the needed columns.

    If no form with rows has them all, the newest form is used and a note names the missing columns.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._form: dict[str, str] = {}
        self.notes = tables.notes
        forms_of: dict[str, list[str]] = defaultdict(list)
        for name in tables.names:
            base = without_version(name)
            forms_of[base if is_read(base) else name].append(name)
        for base, forms in forms_of.items():
            self._form[base] = self._best(base, sorted(forms, key=_number, reverse=True))
        self.names = frozenset(self._form)

    def form(self, table: str) -> str:
        """Return a table's name in the file."""
        return self._form.get(table, table)

    def count_unread(self, cancelled: Cancel | None = None) -> dict[str, int]:
        """Return the number of rows of each table that is not read and has rows, largest first."""
        read = {form for base, form in self._form.items() if is_read(base)}
        counts = {}
        for name in sorted(self._tables.names - read):
            check(cancelled)
            if name.startswith("sqlite_"):
                continue
            try:
                rows = self._tables.count(name, cancelled)
            except ReadError as error:
                log.debug("%s: %s", name, error)
                self.notes.append(f"{visible(name)} is damaged: how many rows it has is not known")
                continue
            if rows:
                counts[visible(name)] = rows
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def _best(self, base: str, forms: Sequence[str]) -> str:
        with_rows = [form for form in forms if self._tables.has_rows(form)] if base in _NEEDED else []
        lacking = {form: _NEEDED[base] - set(self._tables.columns(form)) for form in with_rows}
        complete = [form for form, missing in lacking.items() if not missing]
        newest = next(iter([*complete, *with_rows] or self._with_rows(forms)))
        if missing := lacking.get(newest):
            self.notes.append(
                f"{newest} has no column {', '.join(sorted(missing))}: its rows are not shown, or in part"
            )
        return newest

    def _with_rows(self, forms: Sequence[str]) -> Sequence[str]:
        if len(forms) == 1:
            return forms
        return [form for form in forms if self._tables.has_rows(form)] or forms

    def columns(self, table: str) -> tuple[str, ...]:
        """See `Tables.columns`."""
        return self._tables.columns(self.form(table))

    def extent(self, table: str) -> int:
        """See `Tables.extent`."""
        return self._tables.extent(self.form(table))

    def count(self, table: str, cancelled: Cancel | None = None) -> int:
        """See `Tables.count`."""
        return self._tables.count(self.form(table), cancelled)

    def integers(self, table: str, fields: Sequence[Field], cancelled: Cancel | None = None) -> RawColumns:
        """See `Tables.integers`."""
        return self._tables.integers(self.form(table), fields, cancelled)

    def texts(self, table: str, column: str, cancelled: Cancel | None = None) -> pa.ChunkedArray:
        """See `Tables.texts`."""
        return self._tables.texts(self.form(table), column, cancelled)

    def records(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """See `Tables.records`."""
        return self._tables.records(self.form(table), *columns)

    def first(self, table: str, column: str) -> Any:
        """See `Tables.first`."""
        return self._tables.first(self.form(table), column)

    def row(self, table: str, file_row: int) -> dict[str, Any]:
        """See `Tables.row`."""
        return self._tables.row(self.form(table), file_row)

    def string(self, reference: int, table: str = "StringIds") -> str | None:
        """See `Tables.string`."""
        return self._tables.string(reference, self.form(table))

    def has_rows(self, table: str) -> bool:
        """See `Tables.has_rows`."""
        return self._tables.has_rows(self.form(table))

    def close(self) -> None:
        """See `Tables.close`."""
        self._tables.close()


def _number(name: str) -> int:
    match = _VERSION.search(name)
    return int(match[1]) if match else 1
