"""The two ends of a launch: the call and what it launched, and where both are seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRect

from viewer.analysis.study import Study
from viewer.drawing.bands import EventBand
from viewer.drawing.layout import PlacedRow, row_bands
from viewer.drawing.scale import Scale
from viewer.rows import EventRef, Row
from viewer.timeline import marks
from viewer.timeline.strip import Grid
from viewer.trace import GPU_KINDS, Kind

MAX_LINKED = 32
_SAME_START = 64


def linked_events(study: Study, event: EventRef) -> tuple[EventRef, ...]:
    """Return the call that launched an operation, or the operations that a call launched."""
    if event.kind in GPU_KINDS:
        call = int(study.launches.api_of(event.kind)[event.index])
        return (EventRef(Kind.API, call),) if call >= 0 else ()
    if event.kind is Kind.API:
        return tuple(EventRef(kind, index) for kind, index in study.launches.ops_of(event.index)[:MAX_LINKED])
    return ()


def position_of(study: Study, row: Row, event: EventRef) -> int | None:
    """Return where an event stands among the events of a row, None if it is not one of them."""
    events = row.events
    if events is None or not len(events):
        return None
    start = int(study.trace.events[event.kind].start_ns[event.index])
    first = int(np.searchsorted(events.start_ns, start))
    for position in range(first, min(first + _SAME_START, len(events))):
        if events.start_ns[position] != start:
            return None
        found = events.ref(position)
        if found.kind is event.kind and found.index == event.index:
            return position
    return None


def event_boxes(
    study: Study, placed: Sequence[PlacedRow], event: EventRef, scale: Scale, grid: Grid
) -> list[QRect]:
    """Return the device rectangles of an event on every row in view that shows it."""
    boxes = []
    for row in placed:
        for band in row_bands(row.row, row.expanded):
            if not isinstance(band, EventBand):
                continue
            position = position_of(study, band.row, event)
            events = band.row.events
            if position is None or events is None:
                continue
            lane = 0 if events.depth is None else int(events.depth[position])
            left, right = (marks.column_of(scale, int(t[position])) for t in (events.start_ns, events.end_ns))
            if lane == band.lane and right >= 0 and left <= scale.width:
                top, bottom = (grid.row(row.y + band.y + h) for h in (0, band.height))
                boxes.append(QRect(left, top, max(right - left, 1), bottom - top))
    return boxes
