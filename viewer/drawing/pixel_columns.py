"""Columns and bars: what a window shows of many lanes at once.

Events as wide as a pixel column are bars. All others are drawn column by column: the colour of the longest
event, as high as the share of the column that is busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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
class PixelColumns:
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


@dataclass(frozen=True, slots=True)
class _Wide:
    """Events that are bars if they are in view, by lane number, position in the lane, and what they are."""

    lane: npt.NDArray[np.int32]
    at: Int64
    start: Int64
    end: Int64
    colour: npt.NDArray[np.uint16]


class _Work:
    """What `columns` fills in, one row a lane: busy time, the longest event, and the events that are bars."""

    def __init__(self, lanes: Sequence[Lane], scale: Scale) -> None:
        self.lanes, self.scale = lanes, scale
        self.exact = scale.edges()
        self.edges = np.empty((len(lanes), scale.width + 1), np.int64)
        self.edges[:] = self.exact
        self.narrow = np.zeros((len(lanes), scale.width), np.int64)
        self.key = np.zeros((len(lanes), scale.width), np.int64)
        self.wide: list[_Wide] = []


def columns(lanes: Sequence[Lane], scale: Scale) -> tuple[PixelColumns, Bars]:
    """Return what each lane shows in a window.

    Where a pixel holds at least four buckets of a lane's grid, its columns end on bucket edges (off by at
    most an eighth of a pixel); they tile, so that nothing is lost or counted twice.
    """
    work = _Work(lanes, scale)
    filled = [number for number, lane in enumerate(lanes) if len(lane)]
    # Lane by lane, since each has buckets of its own size: a dense one is still exact where a sparse one is
    # read from its grid.
    far = [n for n in filled if scale.ns_per_px >= GRID_FROM_BUCKETS << lanes[n].grid.bits]
    _from_events(work, sorted({*filled} - {*far}))
    first = _from_grids(work, far)
    bars = _placed(work)
    shown = (work.key > 0) | (work.narrow > 0)
    # Where a bar stands no column is drawn: the bar says it all, and a column beside it would show through.
    shown &= ~marked(shown.shape, bars.lane, bars.x0, bars.x1)
    _colour_carried(work, far, first, shown)
    colour = np.where(shown, work.key & _COLOUR_MASK, -1).astype(np.int32)
    # Of the edges that were summed between, not of the pixels: else a full column would be off by an eighth.
    widths = np.diff(work.edges, axis=1)
    busy = np.divide(work.narrow, np.maximum(widths, 1, out=widths), dtype=np.float64)
    return PixelColumns(busy.astype(np.float32), colour, work.edges), bars


def _from_events(work: _Work, numbers: Sequence[int]) -> None:
    """Sum lanes over the exact pixel edges, event by event.

    The events in view are laid one lane behind another into single arrays, each lane behind the event before
    its first one, and summed at once: lane by lane the calls cost more than the sums.
    """
    exact, width = work.exact, work.scale.width
    view = exact[[0, -1]]
    in_view = []
    for number in numbers:
        lane = work.lanes[number]
        low, high = lane.start_ns.searchsorted(view).tolist()
        # A lane that shows nothing is left out before anything is allocated for it: zoomed in, that is most
        # of them.
        if low < high or (low and lane.end_ns[low - 1] > view[0]):
            in_view.append((number, lane, low, high))
    if not in_view:
        return
    # Events of lane `row` begin at offset[row]; before them one place for the event that reaches into view.
    offset = np.cumsum([1, *(high - low + 1 for _, _, low, high in in_view)])
    start, end = np.empty(offset[-1], np.int64), np.empty(offset[-1], np.int64)
    colour = np.zeros(offset[-1], np.uint16)
    # Where no event reaches into view its place holds an empty one at the left edge, which adds nothing.
    start[offset - 1] = end[offset - 1] = view[0]
    # The first event that starts at each pixel edge, or later.
    first = np.zeros((len(in_view), width + 1), np.int64)
    for row, ((_, lane, low, high), begin) in enumerate(zip(in_view, offset.tolist(), strict=False)):
        before = min(low, 1)
        run, seen = slice(begin - before, begin + high - low), slice(low - before, high)
        start[run], end[run], colour[run] = lane.start_ns[seen], lane.end_ns[seen], lane.colour[seen]
        starts = start[begin : begin + high - low]
        # Search the shorter side in the longer one.
        if len(starts) > width:
            first[row] = starts.searchsorted(exact)
        else:
            column = exact.searchsorted(starts, side="right")
            np.cumsum(np.bincount(column, minlength=width + 1), out=first[row])
    # From a position among the lane's events in view to one in the joined arrays.
    first += offset[:-1, None]
    length = end - start
    key = np.maximum(length, 1)
    key <<= COLOUR_BITS
    key |= colour
    # Rounded up: a shorter event might still fall between the edges of one column and make no bar.
    wide = np.flatnonzero(length >= -(-work.scale.length_ns // width))
    wide_row = np.repeat(np.arange(len(in_view)), np.diff(wide.searchsorted(offset - 1)))
    # From a position in the joined arrays to one in the lane.
    shift = np.array([low for _, _, low, _ in in_view]) - offset[:-1]
    rows = np.array([number for number, _, _, _ in in_view], np.int32)
    position = wide + shift[wide_row]
    work.wide.append(_Wide(rows[wide_row], position, start[wide], end[wide], colour[wide]))
    # Wide events are bars: they count in no column, and reach into none.
    length[wide], key[wide], end[wide] = 0, 0, view[0]
    busy = np.zeros(len(length) + 1, np.int64)
    # Time before each event, over all lanes at once: what lies before a lane cancels in the difference below.
    np.cumsum(length, out=busy[1:])
    # The event before an edge counts whole in `busy`; what of it lies behind the edge is taken off again.
    over = np.maximum(end[first - 1] - exact, 0)
    work.narrow[rows] = np.diff(busy[first] - over, axis=1)
    # `reduceat` gives an empty column the event of the next one: that is taken out again.
    longest = np.maximum.reduceat(key, first.ravel()).reshape(first.shape)
    longest[:, :-1][first[:, :-1] == first[:, 1:]] = 0
    # An event that reaches into a column competes for its colour with the part inside it.
    tail = np.flatnonzero(over > 0)
    reaching = (over.ravel()[tail] << COLOUR_BITS) | colour[first.ravel()[tail] - 1]
    flat = longest.ravel()
    flat[tail] = np.maximum(flat[tail], reaching)
    work.key[rows] = longest[:, :-1]


def _from_grids(work: _Work, numbers: Sequence[int]) -> Int64:
    """Sum lanes over the bucket edges nearest to the pixel edges.

    Returns
    -------
    ndarray of int64, shape (numbers, width + 1)
        The first event that starts at each edge, or later.
    """
    width = work.scale.width
    inside, first, busy = (np.zeros((len(numbers), width + 1), np.int64) for _ in range(3))
    longest = np.zeros((len(numbers), width), np.int64)
    if not numbers:
        return first
    snapped: dict[int, Int64] = {}
    for row, number in enumerate(numbers):
        grid = work.lanes[number].grid
        # Lanes of one trace share few bucket sizes: the edges are snapped once for each.
        if grid.bits not in snapped:
            snapped[grid.bits] = (work.exact + (1 << (grid.bits - 1))) >> grid.bits
        buckets = snapped[grid.bits]
        work.edges[number] = buckets << grid.bits
        bucket = np.minimum(
            np.maximum(buckets - grid.first_bucket, 0, out=inside[row]), len(grid), out=inside[row]
        )
        first[row], busy[row] = grid.first[bucket], grid.busy_ns[bucket]
        # Cut at the window's end, else the last column would be searched to the end of the trace.
        in_window = grid.longest[: bucket[-1] + 1]
        longest[row] = np.maximum.reduceat(in_window, np.minimum(bucket, len(grid) - 1))[:-1]
    longest[inside[:, :-1] == inside[:, 1:]] = 0
    # No column is longer than this, so at most one such event starts in it, and it is the last that does.
    # Its edges moved by half a bucket at most on either side, a column is up to one bucket longer than a
    # pixel.
    bits = np.array([work.lanes[number].grid.bits for number in numbers])
    limit = int(work.scale.ns_per_px) + 1 + (1 << bits)
    rows, column = np.nonzero(longest >= (limit << COLOUR_BITS)[:, None])
    wide = first[rows, column + 1] - 1
    bounds = rows.searchsorted(np.arange(len(numbers) + 1)).tolist()
    wide_events = []
    for row, (low, high) in enumerate(pairwise(bounds)):
        lane, event, into = work.lanes[numbers[row]], wide[low:high], column[low:high]
        if len(event):
            # What is left of the column, its wide event taken out, ends with the event before that.
            other = event - 1
            key = np.maximum(lane.end_ns[other] - lane.start_ns[other], 1) << COLOUR_BITS | lane.colour[other]
            longest[row, into] = np.where(other >= first[row, into], key, 0)
        # A bar that began before the window starts in no column of it: it is looked for by itself.
        carried = int(first[row, 0]) - 1
        if carried >= 0:
            reach = int(lane.end_ns[carried])
            if reach > work.edges[numbers[row], 0] and reach - lane.start_ns[carried] >= limit[row]:
                event = np.concatenate(([carried], event))
        if len(event):
            lane_number = np.full(len(event), numbers[row], np.int32)
            wide_events.append(
                _Wide(lane_number, event, lane.start_ns[event], lane.end_ns[event], lane.colour[event])
            )
    work.key[numbers] = longest
    work.narrow[numbers] = np.diff(busy, axis=1)
    work.wide += wide_events
    _leave_out(work, _joined(wide_events))
    return first


def _joined(wide: Sequence[_Wide]) -> _Wide:
    """Join what lanes have, in order of the lanes."""
    lane = np.concatenate([np.empty(0, np.int32), *(w.lane for w in wide)])
    # Stable: within a lane they come by start already, and bars of a lane must stay so.
    order = lane.argsort(kind="stable")
    at, start, end = (
        np.concatenate([np.empty(0, np.int64), *side])[order]
        for side in ((w.at for w in wide), (w.start for w in wide), (w.end for w in wide))
    )
    colour = np.concatenate([np.empty(0, np.uint16), *(w.colour for w in wide)])
    return _Wide(lane[order], at, start, end, colour[order])


def _leave_out(work: _Work, wide: _Wide) -> None:
    """Take the time of bars out of the columns that grids have summed, else a column stands beside each."""
    edges, lane = work.edges, wide.lane
    # Its first and last column lose the part that it covers; those between are covered whole and set to 0.
    start = np.maximum(wide.start, edges[lane, 0])
    end = np.minimum(wide.end, edges[lane, -1])
    first, last = (_column_of(t, edges, lane, work.scale) for t in (start, end - 1))
    same = first == last
    # In one dimension `subtract.at` is several times as fast.
    flat, row = work.narrow.reshape(-1), lane.astype(np.int64) * work.scale.width
    np.subtract.at(flat, row + first, np.where(same, end, edges[lane, first + 1]) - start)
    np.subtract.at(flat, row + last, np.where(same, 0, end - edges[lane, last]))
    work.narrow[marked(work.narrow.shape, lane, np.minimum(first + 1, last), last)] = 0


def _column_of(t: Int64, edges: Int64, lane: npt.NDArray[np.int32], scale: Scale) -> npt.NDArray[np.int64]:
    """Return the column that holds each instant: that of its pixel, or the next, where edges have moved."""
    # Computed, not searched for: edges are a straight line but for the snapping, which moves at most one
    # column.
    column = np.clip(np.floor(scale.to_px(t)), 0, scale.width - 1).astype(np.int64)
    column -= (edges[lane, column] > t) & (column > 0)
    column += (edges[lane, column + 1] <= t) & (column < scale.width - 1)
    return np.asarray(column)


def marked(
    shape: tuple[int, ...],
    lane: npt.NDArray[np.int32],
    low: npt.NDArray[np.signedinteger[Any]],
    high: npt.NDArray[np.signedinteger[Any]],
) -> npt.NDArray[np.bool_]:
    """Return a mask of the columns low:high of lanes, for disjoint runs."""
    width = shape[1] + 1
    # Plus one where a run begins, minus one where it ends: the running sum marks it, however long it is.
    steps = np.zeros(shape[0] * width, np.int8)
    row, real = lane.astype(np.int64) * width, high > low
    steps[(row + low)[real]] += 1  # disjoint: no two begin, or end, in one place
    steps[(row + high)[real]] -= 1
    return np.asarray(np.cumsum(steps.reshape(-1, width), axis=1, dtype=np.int8)[:, :-1] > 0)


def _placed(work: _Work) -> Bars:
    """Put the bars on device pixels; less than half a pixel in view is no bar."""
    wide, scale = _joined(work.wide), work.scale
    # Clipped as floats: an end years away would not fit into 32 bits.
    px = (np.clip(scale.to_px(t), 0, scale.width) for t in (wide.start, wide.end))
    x0, x1 = (np.floor(x + 0.5).astype(np.int32) for x in px)
    seen = x1 > x0
    return Bars(wide.lane[seen], wide.at[seen], x0[seen], x1[seen], wide.colour[seen])


def _colour_carried(work: _Work, numbers: Sequence[int], first: Int64, shown: npt.NDArray[np.bool_]) -> None:
    """Colour the columns of grids in which nothing starts by the event that reaches into them."""
    cells = shown[numbers] & (work.key[numbers] == 0)
    for row in np.flatnonzero(cells.any(axis=1)).tolist():
        column = np.flatnonzero(cells[row])
        event = np.maximum(first[row, column] - 1, 0)
        work.key[numbers[row], column] = work.lanes[numbers[row]].colour[event]
