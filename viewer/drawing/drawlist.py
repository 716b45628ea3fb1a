"""DrawList: the rectangles of a frame, in device pixels and paint order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from viewer.drawing.pixel_columns import Bars, PixelColumns

MIN_EDGE_PX = 4


@dataclass(frozen=True, slots=True)
class DrawList:
    """Rectangles in paint order: columns, bars, costs over bars, edges of bars, state lanes, counters.

    Attributes
    ----------
    rect : ndarray of float32, shape (n, 4)
        x, y, width, height in device pixels, whole numbers.
    colour : ndarray of uint16, shape (n,)
        Positions in `Palette.argb`.
    layers : tuple of int
        Where each of the six layers ends. Inside a layer nothing overlaps, and colours are sorted.
    """

    rect: npt.NDArray[np.float32]
    colour: npt.NDArray[np.uint16]
    layers: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.colour)

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (colour, first, last + 1) for each run of one colour, in paint order."""
        if not len(self):
            return
        change = np.flatnonzero(self.colour[1:] != self.colour[:-1]) + 1
        bounds = [0, *change.tolist(), len(self)]
        for low, high in pairwise(bounds):
            yield int(self.colour[low]), low, high


Layer = tuple[npt.NDArray[np.float32], npt.NDArray[np.uint16]]


def draw_list(layers: Sequence[Layer]) -> DrawList:
    """Stack layers, each sorted by colour."""
    rects, colours, ends = [], [], []
    total = 0
    for rect, colour in layers:
        # By colour: the painter changes its brush once for each run, which costs more than hundreds of
        # rectangles. Nothing in a layer overlaps, so that the order inside it is free.
        order = np.argsort(colour, kind="stable")
        rects.append(rect.take(order, axis=0))
        colours.append(colour.take(order))
        total += len(colour)
        ends.append(total)
    return DrawList(np.concatenate(rects), np.concatenate(colours), tuple(ends))


def column_layer(columns: PixelColumns, top: npt.NDArray[np.int32], bottom: npt.NDArray[np.int32]) -> Layer:
    """Return the columns of lanes that lie between device rows `top` and `bottom`, shape (lanes,) each.

    A column is as high as it is busy, one device pixel at least; neighbours that look alike are one
    rectangle.
    """
    room = (bottom - top)[:, None]
    height = (columns.busy * room + 0.5).astype(np.int32)
    # At least one pixel, or a column with one short kernel would look idle; at most the lane's height.
    np.minimum(np.maximum(height, 1, out=height), np.maximum(room, 1), out=height)
    # Height and colour packed into one number: equal cells side by side become one rectangle.
    cells = np.where(columns.colour >= 0, (height << 16) | columns.colour, -1)
    lane, x, width, cell = merged_runs(cells)
    h = cell >> 16
    rect = np.empty((len(cell), 4), np.float32)
    rect[:, 0], rect[:, 1], rect[:, 2], rect[:, 3] = x, bottom[lane] - h, width, h
    return rect, (cell & 0xFFFF).astype(np.uint16)


def bar_layers(
    bars: Bars, top: npt.NDArray[np.int32], bottom: npt.NDArray[np.int32], edge_offset: int
) -> tuple[Layer, Layer]:
    """Return the bars, and the lighter line at the right end of a bar that the next one touches."""
    rect = np.empty((len(bars.lane), 4), np.float32)
    rect[:, 0], rect[:, 2] = bars.x0, bars.x1 - bars.x0
    rect[:, 1], rect[:, 3] = top[bars.lane], (bottom - top)[bars.lane]
    # Bars are sorted by lane and start: only neighbours in the arrays can touch.
    touching = np.zeros(len(rect), bool)
    touching[:-1] = (bars.x1[:-1] == bars.x0[1:]) & (bars.lane[:-1] == bars.lane[1:])
    # In a bar of three pixels the edge would be a third of it and change its colour.
    touching &= rect[:, 2] >= MIN_EDGE_PX
    edge = rect[touching]
    edge[:, 0] += edge[:, 2] - 1
    edge[:, 2] = 1
    return (rect, bars.colour), (edge, (bars.colour[touching] + edge_offset).astype(np.uint16))


def merged_runs(
    cells: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return (row, x, width, cell) of the runs of equal cells along each row; -1 shows nothing."""
    rows, width = cells.shape
    if not cells.size:
        none = np.empty(0, np.int64)
        return none, none, none, none.astype(np.int32)
    flat = cells.ravel()
    starts = np.empty(flat.shape, bool)
    np.not_equal(flat[1:], flat[:-1], out=starts[1:])
    # A run ends with its row, also where the next row begins with the same.
    starts[::width] = True
    first = np.flatnonzero(starts)
    length = np.diff(np.append(first, rows * width))
    shown = flat[first] >= 0
    first, length = first[shown], length[shown]
    # No division: it takes longer than all the rest.
    row = np.repeat(np.arange(rows), np.diff(first.searchsorted(np.arange(rows + 1) * width)))
    return row, first - row * width, length, flat[first]
