"""Columns kept while rows scroll: only lanes that come into view are summed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from viewer.drawing.lanes import Lane
from viewer.drawing.pixel_columns import Bars, PixelColumns, columns
from viewer.drawing.scale import Scale


class KeptColumns:
    """What `columns` returned for the lanes of the last frame; of use while the scale is the same."""

    def __init__(self) -> None:
        self._scale: Scale | None = None
        self._lanes: list[Lane] = []
        self._kept: tuple[PixelColumns, Bars] | None = None

    def of(self, lanes: Sequence[Lane], scale: Scale) -> tuple[PixelColumns, Bars]:
        """Return `columns(lanes, scale)`."""
        if not lanes:
            # A rank at the top of its rows has no lane of events: it must not drop what the rows below keep.
            return columns(lanes, scale)
        # Lanes are told apart by identity: `_lanes` keeps them alive, so that no id is used twice.
        known = self._lanes if self._scale == scale and self._kept is not None else []
        row_of = {id(lane): row for row, lane in enumerate(known)}
        new = [lane for lane in lanes if id(lane) not in row_of]
        # Nothing to reuse: no stacking and picking around the same result.
        if len(new) == len(lanes) or self._kept is None:
            shown = columns(lanes, scale)
        else:
            # New lanes stand behind the known ones in the stacked arrays.
            row_of |= {id(lane): row for row, lane in enumerate(new, len(known))}
            both = _stacked(self._kept, columns(new, scale)) if new else self._kept
            shown = _picked(*both, np.array([row_of[id(lane)] for lane in lanes], np.intp))
        self._scale, self._lanes, self._kept = scale, list(lanes), shown
        return shown


def _stacked(upper: tuple[PixelColumns, Bars], lower: tuple[PixelColumns, Bars]) -> tuple[PixelColumns, Bars]:
    """Return the lanes of both, those of `lower` below."""
    (columns_a, bars_a), (columns_b, bars_b) = upper, lower
    return (
        PixelColumns(
            np.concatenate((columns_a.busy, columns_b.busy)),
            np.concatenate((columns_a.colour, columns_b.colour)),
            np.concatenate((columns_a.edges_ns, columns_b.edges_ns)),
        ),
        Bars(
            np.concatenate((bars_a.lane, bars_b.lane + np.int32(len(columns_a.busy)))),
            np.concatenate((bars_a.at, bars_b.at)),
            np.concatenate((bars_a.x0, bars_b.x0)),
            np.concatenate((bars_a.x1, bars_b.x1)),
            np.concatenate((bars_a.colour, bars_b.colour)),
        ),
    )


def _picked(narrow: PixelColumns, bars: Bars, rows: npt.NDArray[np.intp]) -> tuple[PixelColumns, Bars]:
    """Return some lanes, in this order."""
    # Bars are sorted by lane: each lane's are one run, and the runs are gathered one behind another.
    bounds = bars.lane.searchsorted(np.arange(len(narrow.busy) + 1))
    begin, count = bounds[rows], np.diff(bounds)[rows]
    end = np.cumsum(count)
    bar = np.arange(end[-1]) + np.repeat(begin - end + count, count)
    lane = np.repeat(np.arange(len(rows), dtype=np.int32), count)
    return (
        PixelColumns(narrow.busy[rows], narrow.colour[rows], narrow.edges_ns[rows]),
        Bars(lane, bars.at[bar], bars.x0[bar], bars.x1[bar], bars.colour[bar]),
    )
