"""Columns and bars: what a window shows of many lanes at once.

Events as wide as a pixel column are bars. All others are drawn column by column: the colour of the longest
event, as high as the share of the column that is busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.drawing.lanes import COLOUR_BITS, Lane
from viewer.drawing.scale import Scale
from viewer.trace.events import Int64

GRID_FROM_BUCKETS = 4
_COLOUR_MASK = (1 << COLOUR_BITS) - 1


@dataclass(frozen=True, slots=True)
class Bars:
    """Events that are drawn as they are, sorted by lane and start.

    Attributes
    ----------
    lane : ndarray of int32, shape (n,)
        Position in the sequence of lanes.
    at : ndarray of int64, shape (n,)
        Position in the lane.
    x0, x1 : ndarray of int32, shape (n,)
        Device pixels, clipped to the window; ``x1 > x0``.
    colour : ndarray of uint16, shape (n,)
    """

    lane: npt.NDArray[np.int32]
    at: Int64
    x0: npt.NDArray[np.int32]
    x1: npt.NDArray[np.int32]
    colour: npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Columns:
    """What is narrower than a pixel, per lane and column; both arrays of shape (lanes, width).

    Attributes
    ----------
    busy : ndarray of float32
        The share of the column that narrow events cover, in [0, 1]; 0 with a colour for empty events.
    colour : ndarray of int32
        Of the longest event, -1 where the column shows none.
    edges_ns : ndarray of int64, shape (lanes, width + 1)
        The instants between which each column was summed: pixel edges, or the bucket edges nearest to them.
    """

    busy: npt.NDArray[np.float32]
    colour: npt.NDArray[np.int32]
    edges_ns: Int64


class _Work:
    """The arrays that all lanes write into."""

    def __init__(self, lanes: int, scale: Scale) -> None:
        shape = (lanes, scale.width)
        self.scale = scale
        self.exact = scale.edges()
        self.snapped: dict[int, Int64] = {}
        self.edges = np.empty((lanes, scale.width + 1), np.int64)
        self.first = np.zeros((lanes, scale.width + 1), np.int64)
        self.busy = np.zeros((lanes, scale.width + 1), np.int64)
        self.key = np.zeros(shape, np.int64)
        self.bar_lane: list[int] = []
        self.bar_at: list[Int64] = []

    def add_bars(self, lane: int, at: Int64) -> None:
        if len(at):
            self.bar_lane.append(lane)
            self.bar_at.append(at)


def columns(lanes: Sequence[Lane], scale: Scale) -> tuple[Columns, Bars]:
    """Return what each lane shows in a window.

    Where a pixel holds at least four buckets of a lane's grid, its columns end on bucket edges (off by at
    most an eighth of a pixel); they tile, so that nothing is lost or counted twice.
    """
    work = _Work(len(lanes), scale)
    for number, lane in enumerate(lanes):
        if not len(lane):
            work.edges[number] = work.exact
        elif scale.ns_per_px >= GRID_FROM_BUCKETS << lane.grid.bits:
            _from_grid(work, number, lane)
        else:
            _from_events(work, number, lane)
    lane_of, at, start, end, colour = _gather_bars(work, lanes)
    narrow = np.diff(work.busy, axis=1)
    widths = np.maximum(np.diff(work.edges, axis=1), 1)
    _leave_out_bars(narrow, work.edges, lane_of, start, end, scale)
    bars, under = _place_bars(lane_of, at, start, end, colour, len(lanes), scale)
    shown = ((work.key > 0) | (narrow > 0)) & ~under
    _colour_carried(work, lanes, shown & (work.key == 0))
    out = np.where(shown, work.key & _COLOUR_MASK, -1).astype(np.int32)
    return Columns((narrow / widths).astype(np.float32), out, work.edges), bars


def _from_events(work: _Work, number: int, lane: Lane) -> None:
    """Sum a lane over the exact pixel edges, event by event."""
    edges = work.edges[number] = work.exact
    low, high = (int(i) for i in np.searchsorted(lane.start_ns, (edges[0], edges[-1])))
    carried = low - 1 if low and lane.end_ns[low - 1] > edges[0] else -1
    if low == high and carried < 0:
        return
    limit = -(-work.scale.length_ns // work.scale.width)
    keys = np.zeros(high - low + 1, np.int64)
    keys[:-1] = lane.keys(low, high)
    wide = np.flatnonzero(lane.end_ns[low:high] - lane.start_ns[low:high] >= limit)
    keys[wide] = 0
    at = wide + low
    if carried >= 0 and lane.end_ns[carried] - lane.start_ns[carried] >= limit:
        at = np.concatenate(([carried], at))
    work.add_bars(number, at)
    first = low + np.searchsorted(lane.start_ns[low:high], edges)
    work.first[number] = first
    before = np.maximum(first - 1, 0)
    over = np.where(first > 0, np.maximum(lane.end_ns[before] - edges, 0), 0)
    work.busy[number] = lane.busy_ns(low, high)[first - low] - over
    longest = np.maximum.reduceat(keys, first - low)[:-1]
    longest[first[:-1] == first[1:]] = 0
    tail = np.flatnonzero(over[:-1])
    if len(tail):
        event = before[tail]
        narrow = lane.end_ns[event] - lane.start_ns[event] < limit
        tail, event = tail[narrow], event[narrow]
        key = (over[tail] << COLOUR_BITS) | lane.colour[event]
        longest[tail] = np.maximum(longest[tail], key)
    work.key[number] = longest


def _from_grid(work: _Work, number: int, lane: Lane) -> None:
    """Sum a lane over the bucket edges nearest to the pixel edges."""
    grid = lane.grid
    if grid.bits not in work.snapped:
        work.snapped[grid.bits] = (work.exact + (1 << (grid.bits - 1))) >> grid.bits
    buckets = work.snapped[grid.bits]
    work.edges[number] = buckets << grid.bits
    inside = np.clip(buckets - grid.first_bucket, 0, len(grid))
    first = work.first[number] = grid.first[inside].astype(np.int64)
    work.busy[number] = grid.busy_ns[inside]
    longest = np.maximum.reduceat(grid.longest[: inside[-1] + 1], np.minimum(inside, len(grid) - 1))[:-1]
    longest[inside[:-1] == inside[1:]] = 0
    # No column is longer than this, so at most one such event starts in it, and it is the last that does.
    limit = int(work.scale.ns_per_px) + 1 + (1 << grid.bits)
    column = np.flatnonzero(longest >= limit << COLOUR_BITS)
    wide = first[column + 1] - 1
    other = wide - 1
    has_other = other >= first[column]
    key = np.maximum(lane.end_ns[other] - lane.start_ns[other], 1) << COLOUR_BITS | lane.colour[other]
    longest[column] = np.where(has_other, key, 0)
    work.key[number] = longest
    carried = int(first[0]) - 1
    if carried >= 0 and lane.end_ns[carried] > work.edges[number, 0]:
        length = int(lane.end_ns[carried] - lane.start_ns[carried])
        if length >= limit:
            wide = np.concatenate(([carried], wide))
    work.add_bars(number, np.asarray(wide, np.int64))


def _gather_bars(
    work: _Work, lanes: Sequence[Lane]
) -> tuple[npt.NDArray[np.int32], Int64, Int64, Int64, npt.NDArray[np.uint16]]:
    if not work.bar_at:
        none = np.empty(0, np.int64)
        return none.astype(np.int32), none, none, none, none.astype(np.uint16)
    pairs = [(lanes[number], at) for number, at in zip(work.bar_lane, work.bar_at, strict=True)]
    return (
        np.repeat(np.array(work.bar_lane, np.int32), [len(at) for at in work.bar_at]),
        np.concatenate(work.bar_at),
        np.concatenate([lane.start_ns[at] for lane, at in pairs]),
        np.concatenate([lane.end_ns[at] for lane, at in pairs]),
        np.concatenate([lane.colour[at] for lane, at in pairs]),
    )


def _leave_out_bars(
    narrow: Int64,
    edges: Int64,
    lane: npt.NDArray[np.int32],
    start: Int64,
    end: Int64,
    scale: Scale,
) -> None:
    """Take the time of the bars out of the columns, else every bar ends in a stump."""
    if scale.length_ns < scale.width:
        narrow[:] = 0  # all but empty events are bars
        return
    start = np.maximum(start, edges[lane, 0])
    end = np.minimum(end, edges[lane, -1])
    first, last = _column_of(start, edges, lane, scale), _column_of(end - 1, edges, lane, scale)
    same = first == last
    # In one dimension `subtract.at` is several times as fast.
    flat, row = narrow.reshape(-1), lane.astype(np.int64) * scale.width
    np.subtract.at(flat, row + first, np.where(same, end, edges[lane, first + 1]) - start)
    np.subtract.at(flat, row + last, np.where(same, 0, end - edges[lane, last]))
    narrow[_marked(narrow.shape, lane, np.minimum(first + 1, last), last)] = 0


def _column_of(t: Int64, edges: Int64, lane: npt.NDArray[np.int32], scale: Scale) -> npt.NDArray[np.int64]:
    """Return the column that holds each instant: that of its pixel, or the next, where edges have moved."""
    column = np.clip(np.floor(scale.to_px(t)), 0, scale.width - 1).astype(np.int64)
    column -= (edges[lane, column] > t) & (column > 0)
    column += (edges[lane, column + 1] <= t) & (column < scale.width - 1)
    return np.asarray(column)


def _marked(
    shape: tuple[int, ...],
    lane: npt.NDArray[np.int32],
    low: npt.NDArray[np.signedinteger[Any]],
    high: npt.NDArray[np.signedinteger[Any]],
) -> npt.NDArray[np.bool_]:
    """Return a mask of the columns low:high of lanes, for disjoint runs."""
    width = shape[1] + 1
    steps = np.zeros(shape[0] * width, np.int8)
    np.add.at(steps, lane * width + low, 1)
    np.subtract.at(steps, lane * width + high, 1)
    return np.asarray(np.cumsum(steps.reshape(-1, width), axis=1, dtype=np.int8)[:, :-1] > 0)


def _place_bars(
    lane: npt.NDArray[np.int32],
    at: Int64,
    start: Int64,
    end: Int64,
    colour: npt.NDArray[np.uint16],
    lanes: int,
    scale: Scale,
) -> tuple[Bars, npt.NDArray[np.bool_]]:
    """Put the bars on device pixels; also return which columns lie under one."""
    px = (np.clip(scale.to_px(t), 0, scale.width) for t in (start, end))
    x0, x1 = (np.floor(x + 0.5).astype(np.int32) for x in px)
    seen = x1 > x0
    bars = Bars(lane[seen], at[seen], x0[seen], x1[seen], colour[seen])
    return bars, _marked((lanes, scale.width), bars.lane, bars.x0, bars.x1)


def _colour_carried(work: _Work, lanes: Sequence[Lane], cells: npt.NDArray[np.bool_]) -> None:
    """Colour the columns in which nothing starts by the event that reaches into them."""
    for number in np.flatnonzero(cells.any(axis=1)).tolist():
        column = np.flatnonzero(cells[number])
        event = np.maximum(work.first[number, column] - 1, 0)
        work.key[number, column] = lanes[number].colour[event]
