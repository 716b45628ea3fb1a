"""The lanes of events: what is prepared once for each row, and a frame of many lanes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.launches.blocking_calls import is_pageable
from viewer.analysis.study import Study
from viewer.drawing.band_drawer import BandBox, tops_and_bottoms
from viewer.drawing.bands import MAX_LANES, EventBand
from viewer.drawing.costs import cost_layer, lanes_by_cost, widest_piece
from viewer.drawing.drawlist import Layer, bar_layers, column_layer
from viewer.drawing.hit import MAX_SLOP_PX, HitResult, column_facts, find
from viewer.drawing.kept_columns import KeptColumns
from viewer.drawing.labels import MIN_LABEL_HEIGHT_PX, MIN_LABEL_PX, Label, fitted
from viewer.drawing.lanes import Lane, lanes_of
from viewer.drawing.layout import PlacedRow
from viewer.drawing.palette import HIDDEN, Palette
from viewer.drawing.pixel_columns import Bars, PixelColumns
from viewer.drawing.scale import Scale
from viewer.drawing.state_bands import StateBands
from viewer.rows.kinds import NameStyle
from viewer.rows.row import Row, RowEvents
from viewer.trace import Kind
from viewer.trace.lazy import cached_property

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class _Frame:
    """The lanes in view in one window, computed once for their rectangles and their labels.

    Attributes
    ----------
    bands, lanes : list
        Of equal length: `Bars.lane` and the rows of `columns` are positions in them.
    top, bottom : ndarray of int32, shape (lanes,)
        Device rows.
    cost : ndarray of int32, shape (lanes, width)
        What the bars of communication cost in each column, as `lanes_by_cost` returns it.
    """

    bands: list[EventBand]
    lanes: list[Lane]
    top: Int32
    bottom: Int32
    columns: PixelColumns
    bars: Bars
    cost: Int32


class EventBands:
    """Draws lanes of events (`viewer.drawing.band_drawer.BandDrawer`)."""

    def __init__(self, study: Study, states: StateBands, palette: Callable[[], Palette]) -> None:
        self._study, self._states, self._palette = study, states, palette
        self._lanes: dict[str, tuple[Lane, ...]] = {}
        self._columns = KeptColumns()
        self._last: tuple[object, Scale, Collectives | None, _Frame] | None = None

    def lanes(self, row: Row) -> tuple[Lane, ...]:
        """Return the lanes of a row's events, prepared when first asked for."""
        if row.key not in self._lanes:
            events = row.events
            if events is None or not len(events):
                self._lanes[row.key] = ()
            else:
                self._lanes[row.key] = lanes_of(events, self._colours(events), MAX_LANES)
        return self._lanes[row.key]

    def _colours(self, events: RowEvents) -> npt.NDArray[np.uint16]:
        """Return the colour of each event: its name's, but red where it blocks, and the user's own (NVTX)."""
        palette = self._palette()
        colour = palette.index[np.asarray(events.name_id)]
        if events.kind is Kind.API:
            colour = np.where(self._is_blocking(events), np.uint16(palette.blocking), colour)
        if events.argb is not None:
            user_colour = palette.user_index(events.argb)
            colour = np.where(user_colour > 0, user_colour, colour)
        return colour

    def _is_blocking(self, events: RowEvents) -> npt.NDArray[np.bool_]:
        """Return which calls of a row copy from or to pageable memory: they wait for the GPU."""
        table = events.index
        index = np.arange(table.start, table.stop) if isinstance(table, slice) else table
        calls = self._pageable_calls
        if not len(calls):
            return np.zeros(len(events), bool)
        # The calls are sorted and few: a mask over all calls of the trace, once for each row, would cost
        # more.
        nearest = np.minimum(np.searchsorted(calls, index), len(calls) - 1)
        return np.asarray(calls[nearest] == index)

    @cached_property
    def _pageable_calls(self) -> Int32:
        copies = self._study.trace.events[Kind.MEMCPY]
        if not len(copies):
            return np.empty(0, np.int32)
        # By the copy, not by the call's name: an asynchronous copy blocks only where its memory is pageable.
        calls = np.unique(self._study.launches.api_of(Kind.MEMCPY)[is_pageable(copies)])
        return calls[calls >= 0]

    def prepare(self, row: Row) -> None:
        """Make the lanes of a row, and their coarse grids."""
        for lane in self.lanes(row):
            _ = lane.grid

    def layers(self, boxes: Sequence[BandBox[EventBand]], scale: Scale) -> list[Layer]:
        """Return columns, bars, what communication costs over its bars, and the edges between bars."""
        frame = self._frame(boxes, scale)
        lighter = self._palette().size
        bars, edges = bar_layers(frame.bars, frame.top, frame.bottom, lighter)
        costs = cost_layer(frame.cost, frame.top, frame.bottom)
        return [column_layer(frame.columns, frame.top, frame.bottom), bars, costs, edges]

    def labels(
        self, boxes: Sequence[BandBox[EventBand]], scale: Scale, dpr: float, limit: int
    ) -> list[Label]:
        """Return the names in the bars, the widest bars first."""
        frame = self._frame(boxes, scale)
        bars = frame.bars
        width = bars.x1 - bars.x0
        tall = (frame.bottom - frame.top >= MIN_LABEL_HEIGHT_PX * dpr)[bars.lane]
        shown = np.flatnonzero((width >= MIN_LABEL_PX * dpr) & tall)
        # The widest first: where the limit cuts, the names that would say least are missing.
        shown = shown[np.argsort(-width[shown], kind="stable")][:limit]
        columns = (bars.lane, bars.at, bars.x0, bars.x1, bars.colour)
        labels = []
        # Lists once for all bars: five hundred bars, read one by one from arrays, take a fifth of a frame.
        for number, event, x0, x1, colour in zip(*(c[shown].tolist() for c in columns), strict=True):
            text = self._text(frame.bands[number].row, frame.lanes[number], event, (x1 - x0) / dpr)
            if not text:
                continue
            if colour == HIDDEN:
                x0, x1, colour = widest_piece(frame.cost[number], x0, x1)
            if x1 - x0 >= MIN_LABEL_PX * dpr:
                top, bottom = int(frame.top[number]), int(frame.bottom[number])
                labels.append(Label(x0, top, x1 - x0, bottom - top, text, colour))
        return labels

    def _text(self, row: Row, lane: Lane, event: int, width_px: float) -> str:
        """Return the name of an event of a lane as far as it fits into its bar."""
        name = self._study.trace.names[int(row.events.name_id[lane.event(event)])]  # type: ignore[union-attr]
        duration_ns = int(lane.end_ns[event] - lane.start_ns[event])
        return fitted(name, row.kind.traits.names, duration_ns, width_px)

    def _frame(self, boxes: Sequence[BandBox[EventBand]], scale: Scale) -> _Frame:
        # The scene returns the same list as long as no row moves.
        known = self._last
        collectives = self._states.collectives
        if known is None or known[0] is not boxes or known[1:3] != (scale, collectives):
            known = self._last = (boxes, scale, collectives, self._computed(boxes, scale))
        return known[3]

    def _computed(self, boxes: Sequence[BandBox[EventBand]], scale: Scale) -> _Frame:
        # A row is given room for its lanes before its events are loaded; bands without a lane draw nothing.
        shown = [(box, lanes) for box in boxes if box.band.lane < len(lanes := self.lanes(box.band.row))]
        bands = [box.band for box, _ in shown]
        lanes_in_view = [lanes[box.band.lane] for box, lanes in shown]
        gpus = [band.row.gpu if band.row.kind.traits.names is NameStyle.KERNELS else None for band in bands]
        columns, bars, cost = lanes_by_cost(
            self._states, gpus, *self._columns.of(lanes_in_view, scale), scale
        )
        edges = tops_and_bottoms([box for box, _ in shown])
        return _Frame(bands, lanes_in_view, *edges, columns, bars, cost)

    def hit(
        self, placed: PlacedRow, band: EventBand, x: float, time_ns: int, scale: Scale
    ) -> HitResult | None:
        """Return the event at a point, or those of the pixel column; from two pixels away where none is."""
        lanes = self.lanes(band.row)
        events = band.row.events
        if band.lane >= len(lanes) or events is None:
            return None
        lane = lanes[band.lane]
        # Nearest first: an event under the pointer is never lost to a longer one two pixels away.
        for slop in range(MAX_SLOP_PX + 1):
            low, high = scale.to_ns(int(x) - slop), scale.to_ns(int(x) + 1 + slop)
            match = find(lane, time_ns, low, max(high, low + 1))
            if match is not None:
                break
        else:
            return None
        if isinstance(match, int):
            position = lane.event(match)
            ref = events.ref(position, band.row.key)
            return HitResult(placed, band.row, time_ns, ref, position, band=band)
        first, last = match
        positions = slice(first, last) if lane.position is None else lane.position[first:last]
        facts = column_facts(lane, events.name_id[positions], first, last, low, high)
        return HitResult(placed, band.row, time_ns, column=facts, band=band)
