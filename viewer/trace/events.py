"""Events: the sorted column arrays of one table of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
AnyArray = npt.NDArray[np.generic]


class Kind(StrEnum):
    """The kind of events in a table; the value is its name in files and exports."""

    KERNEL = "kernel"
    MEMCPY = "memcpy"
    MEMSET = "memset"
    GRAPH = "graph"
    API = "api"
    SYNC = "sync"
    NVTX = "nvtx"
    OSRT = "osrt"
    ON_CPU = "on_cpu"
    OVERHEAD = "overhead"


GPU_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GRAPH)
"""The kinds of GPU operations; their owner is a stream."""


MIGRATIONS = (11, 12, 13)
"""The values of ``copy_kind`` for page migrations of unified memory, which the driver issues."""

MIGRATION_CAUSES: Mapping[int, str] = {
    1: "User", 2: "Coherence", 3: "Prefetch", 4: "Eviction", 5: "Access counters",
}  # fmt: skip
"""The driver's reasons to migrate pages of unified memory, for files without an enum table of them."""


@dataclass(frozen=True, slots=True)
class Events:
    """One table: parallel arrays, grouped by owner and sorted by (start, -end) inside it.

    Attributes
    ----------
    kind : Kind
        The kind of all events in the table.
    start_ns, end_ns : ndarray of int64, shape (n,)
        Nanoseconds from the trace's zero; ``end_ns >= start_ns``.
    name_id : ndarray of uint32, shape (n,)
        Index into ``Trace.names``.
    offsets : ndarray of int64, shape (owners + 1,)
        The rows of owner ``i`` are ``offsets[i]:offsets[i + 1]``. The owner is a stream for
        GPU kinds, a process for ``SYNC``, a track for ``NVTX``, else a thread.
    columns : mapping of str to ndarray, each of shape (n,)
        The optional columns, by the names listed in ARCHITECTURE.md.
    """

    kind: Kind
    start_ns: Int64
    end_ns: Int64
    name_id: UInt32
    offsets: Int64
    columns: Mapping[str, AnyArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start_ns)

    def of(self, owner: int) -> slice:
        """Return the rows of one owner as a slice."""
        # A slice, not indices: it gives views of the arrays, and so costs nothing however many rows there
        # are.
        return slice(int(self.offsets[owner]), int(self.offsets[owner + 1]))

    def rows_of(self, owners: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Return the rows of several owners, owner by owner, as indices."""
        indices = np.asarray(owners, np.int64)
        low, high = self.offsets[indices], self.offsets[indices + 1]
        # Mostly the owners are consecutive (the streams of one GPU): then their rows are one range.
        if len(indices) and (low[1:] == high[:-1]).all():
            return np.arange(low[0], high[-1], dtype=np.int32)
        # One arange over all rows, plus for each owner the distance from its place there to its first row.
        count = high - low
        first = low - (np.cumsum(count) - count)
        return np.asarray(np.arange(int(count.sum())) + np.repeat(first, count), np.int32)

    def counts(self, owners: npt.ArrayLike) -> Int64:
        """Return the number of rows of each of several owners."""
        indices = np.asarray(owners, np.int64)
        return self.offsets[indices + 1] - self.offsets[indices]

    def owner_of(self, index: int) -> int:
        """Return the owner of the event at ``index``."""
        # From the right: owners without rows repeat an offset, and the last of equal offsets has the row.
        return int(np.searchsorted(self.offsets, index, side="right")) - 1

    def migrations(self) -> npt.NDArray[np.bool_]:
        """Return which events are page migrations of unified memory, shape (n,)."""
        # Sets and kernels have no such column; for them all is False, so that the caller need not ask for the
        # kind.
        kinds = self.columns.get("copy_kind")
        return np.zeros(len(self), bool) if kinds is None else np.isin(kinds, MIGRATIONS)

    def owners(self) -> npt.NDArray[np.int32]:
        """Return the owner of every event, shape (n,)."""
        # Made anew when asked for: kept for every table it would take four bytes for each event of the trace.
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    @classmethod
    def empty(cls, kind: Kind, owners: int = 0) -> Events:
        """Return a table without rows."""
        # With all offsets, so that asking for an owner's rows works on a table that was not recorded.
        none = np.empty(0, np.int64)
        return cls(kind, none, none, np.empty(0, np.uint32), np.zeros(owners + 1, np.int64))
