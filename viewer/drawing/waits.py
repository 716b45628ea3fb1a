"""Waiting drawn apart from transfer inside the bars of matched collectives.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.match import Collectives
from viewer.drawing.drawlist import Layer
from viewer.drawing.lanes import Lane
from viewer.drawing.pixel_columns import Bars
from viewer.drawing.scale import Scale
from viewer.rows.kinds import Names
from viewer.rows.row import Row, RowEvents
from viewer.trace import Kind
from viewer.trace.events import Int64

_KERNEL = tuple(Kind).index(Kind.KERNEL)

Int32 = npt.NDArray[np.int32]


def waiting_px(
    collectives: Collectives, rows: list[Row], lanes: list[Lane], bars: Bars, scale: Scale
) -> Int32:
    """Return where the waiting of each bar ends, device pixels, shape (bars,); `x0` where there is none.

    Parameters
    ----------
    rows, lanes : list
        To which the lane numbers of the bars belong.
    """
    wait_end = bars.x0.copy()
    for number, row in enumerate(rows):
        # Only rows of kernels can hold collectives: others are skipped without a look at their bars.
        if row.kind.traits.names is not Names.KERNELS or row.events is None:
            continue
        low, high = (int(i) for i in np.searchsorted(bars.lane, (number, number + 1)))
        event, lane = bars.at[low:high], lanes[number]
        wait = waits_of(collectives, row.events, event if lane.position is None else lane.position[event])
        # Rounded as the bars' own edges are, so that a wait of the whole bar ends exactly on its end.
        end = np.floor(scale.to_px(lane.start_ns[event] + wait) + 0.5).astype(np.int32)
        x0, x1 = bars.x0[low:high], bars.x1[low:high]
        wait_end[low:high] = np.where(wait > 0, np.clip(end, x0, x1), x0)
    return wait_end


def waits_of(collectives: Collectives, events: RowEvents, positions: npt.NDArray[np.integer]) -> Int64:
    """Return how long events of a row waited in their collective, 0 for all that did not; ns."""
    table = events.index
    index = table.start + positions if isinstance(table, slice) else table[positions]
    is_kernel = (
        np.full(len(index), events.kind is Kind.KERNEL)
        if isinstance(events.kind, Kind)
        else events.kind[positions] == _KERNEL
    )
    wait = np.zeros(len(index), np.int64)
    # -1 is a kernel in no set: nothing is known, and nothing is drawn apart.
    wait[is_kernel] = np.maximum(collectives.wait_ns[index[is_kernel]], 0)
    return wait


def wait_layer(bars: Bars, until: Int32, top: Int32, bottom: Int32, lighter: int) -> Layer:
    """Return the lighter first parts of bars; `lighter` is added to their colours."""
    shown = until > bars.x0
    lane = bars.lane[shown]
    rect = np.empty((len(lane), 4), np.float32)
    rect[:, 0], rect[:, 2] = bars.x0[shown], (until - bars.x0)[shown]
    rect[:, 1], rect[:, 3] = top[lane], (bottom - top)[lane]
    return rect, (bars.colour[shown] + lighter).astype(np.uint16)
