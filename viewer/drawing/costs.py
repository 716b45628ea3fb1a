"""Communication drawn by what it costs: hidden by compute, exposed, or exposed while it waits for a rank.

See docs/definitions.md, sections 1 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from viewer.drawing.drawlist import Layer, merged_runs
from viewer.drawing.palette import COMMUNICATION, EXPOSED, HIDDEN, WAITING
from viewer.drawing.pixel_columns import Bars, PixelColumns, marked
from viewer.drawing.scale import Scale
from viewer.drawing.state_bands import StateBands

Cost = npt.NDArray[np.int32]
"""What communication costs in each pixel column, a position in the palette."""


def cost_columns(states: StateBands, gpu: int, scale: Scale) -> Cost:
    """Return what communication of a GPU costs in each pixel column, shape (width,).

    A column is exposed where more of it is exposed than hidden, and waits where most of what is exposed does.
    """
    shares = states.columns(gpu, scale)
    exposed = shares[EXPOSED]
    # By column of the state lane, so that bars and the lane above them never contradict each other.
    cost = np.where(exposed > shares[HIDDEN], EXPOSED, HIDDEN)
    waiting = states.waiting(gpu, scale)
    if waiting is not None:
        cost[(cost == EXPOSED) & (2 * waiting > exposed)] = WAITING
    return np.asarray(cost, np.int32)


def lanes_by_cost(
    states: StateBands, gpus: Sequence[int | None], columns: PixelColumns, bars: Bars, scale: Scale
) -> tuple[PixelColumns, Bars, Cost]:
    """Return columns and bars with communication coloured by its cost.

    Parameters
    ----------
    gpus : sequence of int or None, one per lane
        Whose costs a lane shows; None for lanes that stay as they are.

    Returns
    -------
    columns, bars
        Bars of communication are hidden; what they cost more lies over them, by `cost_layer`.
    cells : ndarray of int32, shape (lanes, width)
        What the bars of communication cost in each column, -1 where there is none.
    """
    is_comm = bars.colour == COMMUNICATION
    narrow = columns.colour == COMMUNICATION
    # Most lanes hold no communication: they are passed through as they are.
    lanes = np.union1d(np.unique(bars.lane[is_comm]), np.flatnonzero(narrow.any(axis=1)))
    cells = np.full(columns.colour.shape, -1, np.int32)
    lanes = np.array([lane for lane in lanes.tolist() if gpus[lane] is not None], np.int64)
    if not len(lanes):
        return columns, bars, cells
    of_gpu: dict[int, Cost] = {}
    # Copies: the columns are kept for the next frame, which may be drawn without costs.
    colour, bar_colour = columns.colour.copy(), bars.colour.copy()
    covered = marked(cells.shape, bars.lane[is_comm], bars.x0[is_comm], bars.x1[is_comm])
    for lane in lanes.tolist():
        gpu = gpus[lane]
        assert gpu is not None
        if gpu not in of_gpu:
            of_gpu[gpu] = cost_columns(states, gpu, scale)
        cost = of_gpu[gpu]
        colour[lane] = np.where(narrow[lane], cost, colour[lane])
        cells[lane] = np.where(covered[lane], cost, -1)
    bar_colour[is_comm & np.isin(bars.lane, lanes)] = HIDDEN
    return (
        PixelColumns(columns.busy, colour, columns.edges_ns),
        Bars(bars.lane, bars.at, bars.x0, bars.x1, bar_colour),
        cells,
    )


def cost_layer(cells: Cost, top: npt.NDArray[np.int32], bottom: npt.NDArray[np.int32]) -> Layer:
    """Return what lies over the bars of communication where they are exposed."""
    # Hidden is the colour of the bar itself: only what differs lies over it.
    lane, x, width, cost = merged_runs(np.where(cells == HIDDEN, -1, cells))
    rect = np.empty((len(cost), 4), np.float32)
    rect[:, 0], rect[:, 1], rect[:, 2] = x, top[lane], width
    rect[:, 3] = (bottom - top)[lane]
    return rect, cost.astype(np.uint16)


def widest_piece(cost: Cost, x0: int, x1: int) -> tuple[int, int, int]:
    """Return where a bar of communication costs the same for longest, as (x0, x1, cost): for its name."""
    piece = cost[x0:x1]
    # The name stands in the widest piece of one colour, so that its ink fits all of it.
    edges = np.concatenate(([0], np.flatnonzero(piece[1:] != piece[:-1]) + 1, [len(piece)]))
    widest = int(np.diff(edges).argmax())
    low, high = edges[widest : widest + 2].tolist()
    return x0 + low, x0 + high, int(piece[low])
