"""EventSet: the events of a row and of all rows under it, as arrays, for the Events dock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.study import Study
from viewer.rows import Row, RowEvents, RowKind
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.lazy import cached_property

KINDS = tuple(Kind)
KIND_NAMES = {
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "copy",
    Kind.MEMSET: "memory set",
    Kind.GRAPH: "CUDA graph",
    Kind.API: "CUDA API",
    Kind.SYNC: "synchronisation",
    Kind.NVTX: "NVTX",
    Kind.OSRT: "OS runtime",
    Kind.ON_CPU: "on the CPU",
    Kind.OVERHEAD: "overhead",
}
GROUPS = (*CLASSES, *(KIND_NAMES[k] for k in KINDS[1:]))
"""What an event can be: the class of a kernel, else its kind."""

HOLDERS = tuple(kind for kind in RowKind if kind.traits.holds_rows)
"""Kinds of rows that list the events of the rows under them; their own events are only a preview."""
WHOLE_TRACE = Row("", RowKind.OTHERS, "All rows")
"""Stands for all rows of a trace where events have to belong to one."""

Positions = npt.NDArray[np.int32]
Values = npt.NDArray[np.generic]


@dataclass(frozen=True)
class EventSet:
    """The events of one list; position ``i`` is the ``i``-th by start.

    Attributes
    ----------
    study : Study
    row : Row
        The row that the events belong to.
    events : RowEvents
    """

    study: Study
    row: Row
    events: RowEvents

    def __len__(self) -> int:
        return len(self.events)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of events in the set."""
        if isinstance(self.events.kind, Kind):
            return (self.events.kind,) if len(self) else ()
        return tuple(KINDS[k] for k in np.flatnonzero(np.bincount(self.events.kind, minlength=len(KINDS))))

    def by_kind(
        self,
        positions: Positions,
        values: Callable[[Kind, npt.NDArray[np.int64]], Values | None],
        dtype: npt.DTypeLike,
        missing: object,
    ) -> Values:
        """Return ``values(kind, indices into its table)`` for some events, `missing` where it has none.

        Returns
        -------
        ndarray of `dtype`, shape (len(positions),)
        """
        # One numpy call per kind, never per event: a row of several kinds is filled table by table.
        out = np.full(len(positions), missing, dtype)
        index = self.indices(positions)
        for kind in self.kinds:
            is_one_kind = isinstance(self.events.kind, Kind)
            rows = slice(None) if is_one_kind else self.events.kind[positions] == KINDS.index(kind)
            if (result := values(kind, index[rows])) is not None:
                out[rows] = result
        return out

    def indices(self, positions: Positions) -> npt.NDArray[np.int64]:
        """Return the indices of some events into their tables."""
        index = self.events.index
        if isinstance(index, slice):
            return positions.astype(np.int64) + index.start
        return index[positions].astype(np.int64)

    def durations(self, positions: Positions) -> npt.NDArray[np.int64]:
        """Return lengths in ns."""
        return self.events.end_ns[positions] - self.events.start_ns[positions]

    def groups(self, positions: Positions) -> npt.NDArray[np.uint8]:
        """Return the group of each event, as positions in `GROUPS`."""

        def group(kind: Kind, index: npt.NDArray[np.int64]) -> Values:
            if kind is Kind.KERNEL:
                return self.study.classes.class_of[self.study.trace.kernels.name_id[index]]
            return np.full(len(index), len(CLASSES) + KINDS.index(kind) - 1, np.uint8)

        return self.by_kind(positions, group, np.uint8, 0).astype(np.uint8, copy=False)

    @cached_property
    def present(self) -> tuple[str, ...]:
        """The groups that have events here, in the order of `GROUPS`."""
        counts = np.bincount(self.groups(np.arange(len(self), dtype=np.int32)), minlength=len(GROUPS))
        return tuple(GROUPS[g] for g in np.flatnonzero(counts))

    def position_of(self, kind: Kind, index: int) -> int | None:
        """Return the position of an event, None if it is not in the set."""
        if not len(self) or kind not in self.kinds:
            return None
        indices = self.events.index
        if isinstance(indices, slice):
            return index - indices.start if indices.start <= index < indices.stop else None
        mask = indices == index
        if not isinstance(self.events.kind, Kind):
            mask &= self.events.kind == KINDS.index(kind)
        rows = np.flatnonzero(mask)
        return int(rows[0]) if len(rows) else None


def gather(study: Study, row: Row) -> EventSet:
    """Return the events of a row and of all rows under it, each once."""
    if row.kind not in HOLDERS and row.events is not None:
        return EventSet(study, row, row.events)
    return _in_order(study, row, _operations(study, row) + _calls(study, row))


def gather_named(study: Study, row: Row | None, kind: Kind, name: str) -> EventSet:
    """Return the events of one table with one name: of a row and the rows under it, for None of the trace."""
    position = pc.index(study.trace.names.array, pa.scalar(name, study.trace.names.array.type)).as_py()
    if row is not None and row.kind not in HOLDERS and row.events is not None:
        events = row.events
        mask = np.asarray(events.name_id) == position
        mask &= events.kind == (kind if isinstance(events.kind, Kind) else KINDS.index(kind))
        return EventSet(study, row, _taken(events, np.flatnonzero(mask)))
    table = study.trace.events[kind]
    if row is None:
        rows = np.flatnonzero(table.name_id == position).astype(np.int32)
    else:
        below = (index for of, index in _operations(study, row) + _calls(study, row) if of is kind)
        rows = next(below, np.empty(0, np.int32))
        rows = rows[table.name_id[rows] == position]
    return _in_order(study, row or WHOLE_TRACE, [(kind, rows)] if len(rows) else [])


def _taken(events: RowEvents, at: npt.NDArray[np.intp]) -> RowEvents:
    """Return some events of a row, in the same order."""
    is_slice = isinstance(events.index, slice)
    return RowEvents(
        events.start_ns[at],
        events.end_ns[at],
        np.asarray(events.name_id)[at],
        events.kind if isinstance(events.kind, Kind) else events.kind[at],
        (at + events.index.start).astype(np.int32) if is_slice else events.index[at],  # type: ignore[union-attr, index]
        None if events.depth is None else events.depth[at],
        None if events.argb is None else events.argb[at],
    )


def _in_order(study: Study, row: Row, pieces: list[tuple[Kind, npt.NDArray[np.int32]]]) -> EventSet:
    """Return events of several tables as one set, by start."""
    if not pieces:
        none = np.empty(0, np.int64)
        events = RowEvents(none, none, np.empty(0, np.uint32), Kind.KERNEL, np.empty(0, np.int32))
        return EventSet(study, row, events)
    tables = study.trace.events
    kind = np.concatenate([np.full(len(index), KINDS.index(k), np.uint8) for k, index in pieces])
    index = np.concatenate([index for _, index in pieces])
    start = np.concatenate([tables[k].start_ns[i] for k, i in pieces])
    order = np.argsort(start, kind="stable")
    end = np.concatenate([tables[k].end_ns[i] for k, i in pieces])[order]
    name = np.concatenate([tables[k].name_id[i] for k, i in pieces])[order]
    return EventSet(study, row, RowEvents(start[order], end, name, kind[order], index[order]))


def _operations(study: Study, row: Row) -> list[tuple[Kind, npt.NDArray[np.int32]]]:
    trace = study.trace
    if row.kind is RowKind.PROCESS:
        gpus = [g.index for g in trace.gpus_of(row.process or 0)]
    elif row.gpu is not None:
        gpus = [row.gpu]
    else:
        gpus = []
    streams = [s.index for gpu in gpus for s in trace.streams_of(gpu)]
    return [(kind, _owned(study, kind, streams)) for kind in GPU_KINDS if len(_owned(study, kind, streams))]


def _calls(study: Study, row: Row) -> list[tuple[Kind, npt.NDArray[np.int32]]]:
    trace = study.trace
    if row.kind is RowKind.THREAD:
        threads = [row.thread] if row.thread is not None else []
    elif row.kind in (RowKind.PROCESS, RowKind.THREADS):
        threads = [t.index for t in trace.threads_of(row.process or 0)]
    elif row.kind is RowKind.OTHERS:
        processes = [child.process or 0 for child in row.children]
        threads = [t.index for process in processes for t in trace.threads_of(process)]
    else:
        return []
    owners = dict.fromkeys((Kind.API, Kind.OSRT, Kind.ON_CPU, Kind.OVERHEAD), threads)
    owners[Kind.NVTX] = [t.index for thread in threads for t in trace.tracks_of(thread)]
    rows = [(kind, _owned(study, kind, of)) for kind, of in owners.items()]
    return [(kind, index) for kind, index in rows if len(index)]


def _owned(study: Study, kind: Kind, owners: Sequence[int]) -> npt.NDArray[np.int32]:
    return study.trace.events[kind].rows_of(owners)
