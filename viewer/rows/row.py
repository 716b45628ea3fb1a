"""Rows of the timeline, and the events that they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.intervals import EMPTY, Intervals, union
from viewer.rows.counter import Samples, ValueScale
from viewer.rows.kinds import RowKind
from viewer.rows.named import Named
from viewer.trace.events import Int64, Kind, UInt32
from viewer.trace.lazy import cached_property


class Role(Enum):
    """What a stream mostly does, by the sum of durations; streams stand in this order."""

    COMPUTE = "Compute"
    COMMUNICATION = "Communication"
    COPY = "Copies"


@dataclass(frozen=True, slots=True)
class EventRef:
    """One event of the trace: its table, its index there, and the key of the row that showed it."""

    kind: Kind
    index: int
    row_key: str = ""


@dataclass(frozen=True)
class RowEvents:
    """The events of a row, sorted by (start, -end).

    Attributes
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
    name_id : ndarray of uint32, shape (n,), or `Named`, which looks them up
    depth : ndarray of uint8, shape (n,), or None
        Which lane of the row; None where all are in lane 0. Events of a lane do not overlap.
    kind : Kind or ndarray of uint8, shape (n,)
        The table; an array of positions in `tuple(Kind)` where a row mixes tables.
    index : ndarray of int32, shape (n,), or slice
        Index into the table.
    argb : ndarray of uint32, shape (n,), or None
        The user's own colours (NVTX); 0 where none was given.
    """

    start_ns: Int64
    end_ns: Int64
    name_id: UInt32 | Named
    kind: Kind | npt.NDArray[np.uint8]
    index: npt.NDArray[np.int32] | slice
    depth: npt.NDArray[np.uint8] | None = None
    argb: UInt32 | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    @cached_property
    def lane_count(self) -> int:
        """How many lanes the events need, 0 without events."""
        if not len(self):
            return 0
        return int(self.depth.max()) + 1 if self.depth is not None else 1

    def ref(self, position: int, row_key: str = "") -> EventRef:
        """Return the event at a position of this row."""
        kind = self.kind if isinstance(self.kind, Kind) else tuple(Kind)[int(self.kind[position])]
        index = self.index.start + position if isinstance(self.index, slice) else int(self.index[position])
        return EventRef(kind, index, row_key)


@dataclass(frozen=True, eq=False)
class Row:
    """A row: what it is called, what it belongs to, what is under it.

    Attributes
    ----------
    key : str
        Unique and stable over openings of the same trace: "40000/gpu0/stream7/20".
    label, detail : str
        "Stream 20" and "NCCL"; the label is printed strong, the detail softer.
    parent : Row or None
    gpu, process, stream, thread : int or None
        Indices into the trace, where the row belongs to one.
    share : float or None
        The percentage that nsys-ui prints (docs/definitions.md, section 2), in [0, 1], over the whole trace.
    load : callable or None
        Makes the row's events; None where the row has none of its own.
    load_samples, load_scale : callable or None
        Make the table and the scale of a counter row.
    children : list of Row
    drawn : dict
        What `viewer.drawing.layout` keeps for the row, folded (False) and unfolded.
    role : Role or None
        What a stream mostly does; None for other rows.
    gathers : frozenset of str
        Keys of the rows that this one shows as one.
    hardware, program : str
        The parts of a process's `detail`, for a header of two lines: "GPU 0 · H200" and "python [40000]".
    """

    key: str
    kind: RowKind
    label: str
    detail: str = ""
    parent: Row | None = None
    gpu: int | None = None
    process: int | None = None
    stream: int | None = None
    thread: int | None = None
    share: float | None = None
    load: Callable[[], RowEvents] | None = field(default=None, repr=False)
    load_samples: Callable[[], Samples] | None = field(default=None, repr=False)
    load_scale: Callable[[], ValueScale] | None = field(default=None, repr=False)
    children: list[Row] = field(default_factory=list, repr=False)
    drawn: dict[Any, Any] = field(default_factory=dict, repr=False)
    role: Role | None = None
    gathers: frozenset[str] = frozenset()
    hardware: str = ""
    program: str = ""

    @cached_property
    def events(self) -> RowEvents | None:
        """The row's events, made when first asked for."""
        return self.load() if self.load else None

    @cached_property
    def samples(self) -> Samples | None:
        """The (time, value) table of a counter row, made when first asked for."""
        return self.load_samples() if self.load_samples else None

    @cached_property
    def scale(self) -> ValueScale | None:
        """The scale of a counter row, the same for all rows of its kind."""
        return self.load_scale() if self.load_scale else None

    @cached_property
    def occupied(self) -> Intervals:
        """The union of the row's events (docs/definitions.md, section 2); nothing without events."""
        return union(self.events.start_ns, self.events.end_ns) if self.events is not None else EMPTY

    def walk(self) -> Iterator[Row]:
        """Yield this row and all under it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def path(self) -> tuple[Row, ...]:
        """Return the rows from the root to this one."""
        return (*self.parent.path(), self) if self.parent else (self,)

    @property
    def is_merged(self) -> bool:
        """Whether the row of its process stands for it: the only GPU of a process has no row of its own."""
        return self.kind is RowKind.GPU and self.parent is not None and self.parent.gpu is not None

    def shown_path(self) -> tuple[Row, ...]:
        """Return the rows of the path that are shown: those that no other row stands for."""
        return tuple(row for row in self.path() if not row.is_merged)

    @cached_property
    def text_path(self) -> str:
        """The full path as a person reads it: "Rank 3 › GPU 0 › Stream 20 NCCL".

        A process is found by its own name alone, not by that of the row it is folded into.
        """
        steps = [r for r in self.path() if r is self or r.kind is not RowKind.OTHERS]
        return " › ".join(f"{r.label} {r.detail}".strip() for r in steps)
