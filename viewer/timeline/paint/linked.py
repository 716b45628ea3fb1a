"""The events linked to the selection: the two ends of a launch, or the calls that explain a stall."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QRect

from viewer.analysis.dependencies.stall_producers import StallProducers
from viewer.analysis.stalls.stalls import Stalls
from viewer.analysis.study import Study
from viewer.drawing.bands import EventBand
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.scale import Scale
from viewer.rows import EventRef, Row
from viewer.state import ViewState, Window
from viewer.state.navigation import event_window
from viewer.state.places import home_row
from viewer.timeline.paint import marks
from viewer.timeline.strip import DeviceGrid
from viewer.trace import GPU_KINDS, Kind

MAX_LINKED = 32
_SAME_START = 64


@dataclass(frozen=True, slots=True)
class Ends:
    """What is selected, and the other end of it.

    Attributes
    ----------
    own : tuple of EventRef
        The selected event; of a stall, the operations before and after.
    others : tuple of EventRef
        What launched it, or what it launched; of a stall, the operation that it waited for, and the calls
        that explain it.
    own_rows, other_rows : frozenset of str
        Keys of the rows that hold them, with all above.
    homes : tuple of Row
        The rows of the first of each: own, other.
    span : (int, int)
        From the first start to the last end of the other end, ns.
    latency_ns : int or None
        From the start of the call to that of its first operation.
    stall_gpu, stall_ns : int or None, (int, int) or None
        The stall, where it is one; `thread` is the thread that explains it.
    """

    own: tuple[EventRef, ...]
    others: tuple[EventRef, ...]
    own_rows: frozenset[str] = frozenset()
    other_rows: frozenset[str] = frozenset()
    homes: tuple[Row | None, Row | None] = (None, None)
    span: Window | None = None
    latency_ns: int | None = None
    stall_gpu: int | None = None
    stall_ns: Window | None = None
    thread: int | None = None
    _positions: dict[tuple[str, EventRef], int | None] = field(default_factory=dict, compare=False)

    def position(self, study: Study, row: Row, event: EventRef) -> int | None:
        """Return `position_of`, remembered."""
        key = (row.key, event)
        if key not in self._positions:
            self._positions[key] = position_of(study, row, event)
        return self._positions[key]


def ends_of_event(state: ViewState, event: EventRef) -> Ends | None:
    """Return both ends of the launch that an event belongs to; of other events that one end."""
    study = state.study
    if study is None:
        return None
    others = linked_events(study, event)
    return _ends(state, (event,), others, latency_ns=study.latency_of(event.kind, event.index))


def ends_of_stall(
    state: ViewState, stalls: Stalls, number: int, producers: StallProducers | None = None
) -> Ends:
    """Return the operations around a stall, and what explains it: an operation, calls, the range around."""
    row = stalls.table.iloc[number]
    around = [
        EventRef(GPU_KINDS[int(row[f"{side}_kind"])], int(row[f"{side}_index"]))
        for side in ("before", "after")
        if int(row[f"{side}_index"]) >= 0
    ]
    # In the order of how much they explain, as the first of them is where the arrow leads.
    columns = ("drained_by", "blocking_call", "other_call", "awaited", "launch")
    # A dict keeps the order and each call once: the call that blocked is often the one that drained the
    # queue.
    calls = dict.fromkeys(int(row[name]) for name in columns if int(row[name]) >= 0)
    # Whose time was taken is who explains the stall, also where another thread launched.
    thread = int(row["followed"]) if int(row["followed"]) >= 0 else int(row["thread"])
    others = [EventRef(Kind.API, call) for call in calls]
    if producers is not None and (waited_for := producers.event(number)) is not None:
        others.insert(0, EventRef(*waited_for))
    if int(row["os_call"]) >= 0:
        others.append(EventRef(Kind.OSRT, int(row["os_call"])))
    if int(row["inside"]) >= 0:
        others.append(EventRef(Kind.NVTX, int(row["inside"])))
    return _ends(
        state,
        tuple(around),
        tuple(others),
        stall_gpu=int(row["gpu"]),
        stall_ns=(int(row["start_ns"]), int(row["end_ns"])),
        thread=thread if thread >= 0 else None,
    )


def _ends(
    state: ViewState,
    own: tuple[EventRef, ...],
    others: tuple[EventRef, ...],
    *,
    latency_ns: int | None = None,
    stall_gpu: int | None = None,
    stall_ns: Window | None = None,
    thread: int | None = None,
) -> Ends:
    # Rows are found now and not when painting: what is selected changes seldom, a frame is painted often.
    homes = [[home_row(state, e.kind, e.index) for e in side] for side in (own, others)]
    windows = [event_window(state, e) for e in others]
    return Ends(
        own,
        others,
        _above(homes[0]),
        _above(homes[1]),
        (next(iter(homes[0]), None), next(iter(homes[1]), None)),
        (min(w[0] for w in windows), max(w[1] for w in windows)) if windows else None,
        latency_ns,
        stall_gpu,
        stall_ns,
        thread,
    )


def _above(rows: Iterable[Row | None]) -> frozenset[str]:
    # With all above: a folded row shows that something of it is linked.
    return frozenset(above.key for row in rows if row is not None for above in row.path())


def linked_events(study: Study, event: EventRef) -> tuple[EventRef, ...]:
    """Return the other ends of the launch that an event belongs to, the first `MAX_LINKED`."""
    # A graph launches thousands of kernels; curves to all of them would be a filled area.
    ends = study.other_ends(event.kind, event.index)
    return tuple(EventRef(kind, index) for kind, index in ends[:MAX_LINKED])


def position_of(study: Study, row: Row, event: EventRef) -> int | None:
    """Return where an event stands among the events of a row, None if it is not one of them."""
    events = row.events
    if events is None or not len(events):
        return None
    start = int(study.trace.events[event.kind].start_ns[event.index])
    # By its start, then by identity among those that start together. They are few; a row in which more start
    # at once than are looked at shows no box rather than taking time for each frame.
    first = int(np.searchsorted(events.start_ns, start))
    for position in range(first, min(first + _SAME_START, len(events))):
        if events.start_ns[position] != start:
            return None
        ref = events.ref(position)
        if ref.kind is event.kind and ref.index == event.index:
            return position
    return None


def event_boxes(
    study: Study,
    placed: Sequence[PlacedRow],
    event: EventRef,
    scale: Scale,
    grid: DeviceGrid,
    ends: Ends | None = None,
) -> list[QRect]:
    """Return the device rectangles of an event on every row in view that shows it."""
    return [box for _, box in _boxes(study, placed, event, scale, grid, ends)]


def _boxes(
    study: Study,
    placed: Sequence[PlacedRow],
    event: EventRef,
    scale: Scale,
    grid: DeviceGrid,
    ends: Ends | None,
) -> Iterator[tuple[PlacedRow, QRect]]:
    # Of what is selected the positions are remembered; what is hovered is another event each time.
    find = position_of if ends is None else ends.position
    for row, band in bands_in(placed, EventBand):
        position = find(study, band.row, event)
        events = band.row.events
        if position is None or events is None:
            continue
        lane = 0 if events.depth is None else int(events.depth[position])
        left, right = (marks.column_of(scale, int(t[position])) for t in (events.start_ns, events.end_ns))
        # Clipped columns lie just outside the strip on either side, so that this is enough to leave out what
        # is not in view.
        if lane == band.lane and right >= 0 and left <= scale.width:
            top, bottom = (grid.row(row.y + band.y + h) for h in (0, band.height))
            yield row, QRect(left, top, max(right - left, 1), bottom - top)
