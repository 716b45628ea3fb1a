"""Raw events: one table as read, unsorted, with provisional numbers for owners and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from viewer.printable import counted
from viewer.readers.errors import Cancel
from viewer.readers.impossible import impossible_note
from viewer.readers.interning import Interner, StringTable, distinct
from viewer.readers.schema import TABLE_OF
from viewer.readers.tables import FARTHEST_NS, NO_TIME, Column, Field, RawColumns, Tables
from viewer.trace.events import GPU_KINDS, AnyArray, Int64, Kind, UInt32

Codes = npt.NDArray[np.int32]
Key = tuple[int, ...]
"""What identifies an owner in the file: (globalPid, device, context, stream), (globalTid,) ..."""

_OF_GPUS = frozenset(TABLE_OF[kind] for kind in GPU_KINDS)

PROCESS_MASK = ~0xFFFFFF
"""A globalTid without its thread is the globalPid."""


UNIFIED_MEMORY = (0xFFFFFFFF, 0xFFFFFFFF)
"""The context and stream given to page migrations of unified memory; those in the file mean nothing."""


def pid_of(global_id: int) -> int:
    """Return the process id inside a globalPid or globalTid."""
    return (global_id >> 24) & 0xFFFFFF


def host_of(global_id: int) -> int:
    """Return the machine id inside a globalPid, globalTid or vmId; pids may repeat across machines."""
    return (global_id >> 48) & 0xFFFF


@dataclass
class ReadContext:
    """The state that the reader's parts share while they read one file."""

    tables: Tables
    interner: Interner
    strings: StringTable
    shift_ns: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    cancelled: Cancel | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class RawEvents:
    """The events of one table.

    `name` holds provisional ids of the interner; `owner` indexes `owners`.
    """

    kind: Kind
    start: Int64
    end: Int64
    name: UInt32
    owner: Codes
    owners: list[Key]
    columns: dict[str, AnyArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start)

    @classmethod
    def empty(cls, kind: Kind) -> RawEvents:
        """Return a table without rows."""
        none = np.empty(0, np.int64)
        return cls(kind, none, none.copy(), np.empty(0, np.uint32), np.empty(0, np.int32), [])


def group(*columns: Column) -> tuple[Codes, list[Key]]:
    """Give each distinct combination of some columns a number, in order of first appearance.

    Returns
    -------
    ndarray of int32, shape (n,)
        The number of each row's combination.
    list of tuple of int
        The combinations by number.
    """
    # One mixed-radix number per row: codes stay below the product of the level counts, while the raw
    # values (64-bit ids) would overflow if they were combined directly.
    combined: Column = np.zeros(len(columns[0]), np.int64)
    levels: list[Column] = []
    for column in columns:
        codes, values = distinct(column)
        combined = combined * max(len(values), 1) + codes if len(levels) else codes
        levels.append(values)
    # Once more: of the possible combinations only those that occur get a number.
    codes, seen = distinct(combined) if len(columns) > 1 else (combined, np.arange(len(levels[0])))
    # Unpack each distinct number, last column first: the reverse of how the loop above built it.
    keys = []
    for combination in seen.tolist():
        key = []
        for values in reversed(levels):
            combination, position = divmod(combination, max(len(values), 1))
            key.append(int(values[position]))
        keys.append(tuple(reversed(key)))
    return codes, keys


def read_spans(
    reading: ReadContext, table: str, fields: Sequence[Field]
) -> tuple[RawColumns, npt.NDArray[np.bool_]]:
    """Read a table's start, end and some more columns, shifted to the trace's zero.

    Rows whose start is NULL or no valid time are left out, and so are operations of a GPU without times
    (0 to 0, as CUPTI writes what it could not measure). Where ``end`` is NULL, no valid time or earlier than
    ``start``, it becomes ``start``. Notes count them, and name those that cannot be.

    Returns
    -------
    Columns
    ndarray of bool
        Which rows have no end in the file, or one that is no valid time.
    """
    times = [Field("start", np.int64, NO_TIME), Field("end", np.int64, NO_TIME)]
    columns = reading.tables.integers(table, [*times, *fields], reading.cancelled)
    if table in reading.tables.names:
        reading.counts[table] = len(columns)
    placed = is_time(columns.values["start"])
    if not placed.all():
        lost = len(placed) - int(placed.sum())
        were = "was" if lost == 1 else "were"
        reading.notes.append(f"{table}: {counted(lost, 'row')} without a start {were} left out")
        columns = RawColumns(columns.rows[placed], {k: v[placed] for k, v in columns.values.items()})
    if table in _OF_GPUS:
        columns = _without_times_left_out(reading, table, columns)
    # From here on start and end change in place: the columns are large, and nobody else has them.
    start, end = columns.values["start"], columns.values["end"]
    is_open = ~is_time(end)
    # NO_TIME is the smallest value, so `maximum` below turns it into the start. It is not shifted: the
    # subtraction would overflow.
    if is_open.any():
        end[is_open] = NO_TIME
    if reading.shift_ns:
        np.subtract(start, reading.shift_ns, out=start)
        np.subtract(end, reading.shift_ns, out=end, where=~is_open)
    reversed_rows = np.flatnonzero((end < start) & ~is_open)
    if len(reversed_rows):
        what, done = "the end is before the start", "taken as of no length"
        reading.notes.append(impossible_note(table, columns.rows[reversed_rows], what, done))
    np.maximum(end, start, out=end)
    return columns, is_open


def _without_times_left_out(reading: ReadContext, table: str, columns: RawColumns) -> RawColumns:
    """Return the rows that have times; CUPTI writes 0 for both where it could not measure an operation."""
    measured = (columns.values["start"] != 0) | (columns.values["end"] != 0)
    if measured.all():
        return columns
    reading.notes.append(
        impossible_note(table, columns.rows[~measured], "no times (0 to 0 ns)", "left out of all numbers")
    )
    return RawColumns(columns.rows[measured], {k: v[measured] for k, v in columns.values.items()})


def is_time(times: Int64) -> npt.NDArray[np.bool_]:
    """Return which values are valid times: not NULL, and small enough that differences fit into int64."""
    return (times > -FARTHEST_NS) & (times < FARTHEST_NS)


def narrow_rows(rows: Int64) -> AnyArray:
    """Return rowids as uint32 if all of them fit, else unchanged."""
    fits = not len(rows) or (int(rows.min()) >= 0 and int(rows.max()) < 2**32)
    return rows.astype(np.uint32) if fits else rows
