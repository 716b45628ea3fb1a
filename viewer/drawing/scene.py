"""Scene: what the rows of a trace show in a window. Keeps what is prepared once per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.launches.blocking_calls import is_pageable
from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.bands import MAX_LANES, Band, CurveBand, EventBand, StateBand
from viewer.drawing.curve import Curve, curve_layer
from viewer.drawing.drawlist import DrawList, bar_layers, column_layer, draw_list
from viewer.drawing.hit import MAX_SLOP_PX, HitResult, column_facts, find, nearest_edge
from viewer.drawing.kept_columns import KeptColumns
from viewer.drawing.labels import MAX_LABELS, MIN_LABEL_PX, Label, fitted
from viewer.drawing.lanes import Lane, lanes_of
from viewer.drawing.layout import PlacedRow, row_bands
from viewer.drawing.palette import Palette
from viewer.drawing.pixel_columns import Bars, PixelColumns
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.states import CoarseBreakdown, recorded_only, state_columns, state_layer
from viewer.drawing.waits import wait_layer, waiting_px
from viewer.rows.row import Row, RowEvents, RowKind
from viewer.trace import Kind
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class StateBox:
    """Where a GPU's state lane lies, device rows."""

    gpu: int
    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class CurveBox(StateBox):
    """Where a GPU's launch latency lies, device rows."""


@dataclass(frozen=True)
class _Frame:
    """A window, computed once for its rectangles and its labels."""

    bands: list[EventBand]
    lanes: list[Lane]
    top: Int32
    bottom: Int32
    columns: PixelColumns
    bars: Bars
    states: list[StateBox]
    waiting: Int32


class Scene:
    """Draws the rows of one trace.

    All methods take rows as `viewer.drawing.layout.place` puts them: `y` in logical pixels from the top of
    the area. `dpr` is the number of device pixels to a logical one. `origin_y` is the area's top in the
    window, in logical pixels: a row lands on device row ``q((origin_y + y) * dpr) - q(origin_y * dpr)`` with
    ``q(v) = floor(v + 0.5)``, as Qt puts the row's header. The scale's width is in device pixels.

    Attributes
    ----------
    collectives : Collectives or None
        Once they are known, waiting is drawn apart from transfer; set by whoever has computed them.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.collectives: Collectives | None = None
        self._waits: dict[int, Intervals] = {}
        self._curves: dict[int, Curve] = {}
        self._curve_shown: dict[int, tuple[Scale, tuple[Int64, Int64]]] = {}
        self._lanes: dict[str, tuple[Lane, ...]] = {}
        self._last: tuple[object, _Frame] | None = None
        self._columns = KeptColumns()
        self._states: dict[int, tuple[Scale, npt.NDArray[np.float32]]] = {}
        self._coarse: dict[int, CoarseBreakdown | None] = {}

    @cached_property
    def palette(self) -> Palette:
        """The colours of the trace's names."""
        return Palette(self.study)

    def lanes(self, row: Row) -> tuple[Lane, ...]:
        """Return the lanes of a row's events, prepared when first asked for."""
        if row.key not in self._lanes:
            events = row.events
            if events is None or not len(events):
                self._lanes[row.key] = ()
            else:
                colour = self.palette.index[np.asarray(events.name_id)]
                if events.kind is Kind.API:
                    colour = np.where(self._blocks(events), np.uint16(self.palette.blocking), colour)
                if events.argb is not None:
                    own = self.palette.user_index(events.argb)
                    colour = np.where(own > 0, own, colour)
                self._lanes[row.key] = lanes_of(events, colour, MAX_LANES)
        return self._lanes[row.key]

    def prepare(self, row: Row) -> None:
        """Make now, in any thread, what drawing a row takes, so that the first frame of it does not wait."""
        for lane in self.lanes(row):
            _ = lane.grid
        if row.kind is RowKind.LAUNCHES and row.gpu is not None:
            self.curve(row.gpu)
        for expanded in (False, True):
            row_bands(row, expanded)

    def draw_list(
        self, placed: Sequence[PlacedRow], scale: Scale, dpr: float = 1.0, origin_y: float = 0.0
    ) -> DrawList:
        """Return the rectangles of the rows in a window; hidden lanes give none."""
        frame = self._frame(placed, scale, dpr, origin_y)
        lighter = self.palette.size
        bars, edges = bar_layers(frame.bars, frame.top, frame.bottom, lighter)
        waits = wait_layer(frame.bars, frame.waiting, frame.top, frame.bottom, lighter)
        curves = self.curve_boxes(placed, dpr, origin_y)
        curve = curve_layer(
            [self._curve_columns(c.gpu, scale) for c in curves],
            np.array([box.top for box in curves], np.int32),
            np.array([box.bottom for box in curves], np.int32),
            self.palette.launch_latency,
            self.palette.launch_latency + lighter,
        )
        states = state_layer(
            [self.state_columns(box.gpu, scale) for box in frame.states],
            np.array([box.top for box in frame.states], np.int32),
            np.array([box.bottom for box in frame.states], np.int32),
        )
        columns = column_layer(frame.columns, frame.top, frame.bottom)
        return draw_list([columns, bars, edges, waits, states, curve])

    def labels(
        self,
        placed: Sequence[PlacedRow],
        scale: Scale,
        dpr: float = 1.0,
        origin_y: float = 0.0,
        limit: int = MAX_LABELS,
    ) -> list[Label]:
        """Return the names in the bars, the widest bars first."""
        frame = self._frame(placed, scale, dpr, origin_y)
        bars = frame.bars
        width = bars.x1 - bars.x0
        shown = np.flatnonzero(width >= MIN_LABEL_PX * dpr)
        shown = shown[np.argsort(-width[shown], kind="stable")][:limit]
        out = []
        for bar in shown.tolist():
            number = int(bars.lane[bar])
            row, lane = frame.bands[number].row, frame.lanes[number]
            at = int(bars.at[bar])
            name = self.study.trace.names[int(row.events.name_id[lane.event(at)])]  # type: ignore[union-attr]
            text = fitted(name, row.kind, int(lane.end_ns[at] - lane.start_ns[at]), float(width[bar]) / dpr)
            if text:
                top, bottom = int(frame.top[number]), int(frame.bottom[number])
                x0, x1, until = int(bars.x0[bar]), int(bars.x1[bar]), int(frame.waiting[bar])
                colour = int(bars.colour[bar])
                if until - x0 > x1 - until:
                    x1, colour = until, colour + self.palette.size
                elif until > x0:
                    x0 = until
                if x1 - x0 >= MIN_LABEL_PX * dpr:
                    out.append(Label(x0, top, x1 - x0, bottom - top, text, colour))
        return out

    def state_boxes(
        self, placed: Sequence[PlacedRow], dpr: float = 1.0, origin_y: float = 0.0
    ) -> list[StateBox]:
        """Return where the state lanes lie: what is painted under them is the hatch of idle."""
        return [
            StateBox(band.gpu, *_device_rows(row, band, dpr, origin_y))
            for row in placed
            for band in row_bands(row.row, row.expanded)
            if isinstance(band, StateBand)
        ]

    def curve_boxes(
        self, placed: Sequence[PlacedRow], dpr: float = 1.0, origin_y: float = 0.0
    ) -> list[CurveBox]:
        """Return where launch distances lie."""
        return [
            CurveBox(band.gpu, *_device_rows(row, band, dpr, origin_y))
            for row in placed
            for band in row_bands(row.row, row.expanded)
            if isinstance(band, CurveBand)
        ]

    def curve(self, gpu: int) -> Curve:
        """Return the launch latency of a GPU, prepared when first asked for."""
        if gpu not in self._curves:
            self._curves[gpu] = Curve.of(self.study.launch_latency(gpu))
        return self._curves[gpu]

    def _curve_columns(self, gpu: int, scale: Scale) -> tuple[Int64, Int64]:
        known = self._curve_shown.get(gpu)
        if known is None or known[0] != scale:
            busy = self.state_columns(gpu, scale)[:IDLE].sum(axis=0)
            known = self._curve_shown[gpu] = (scale, self.curve(gpu).columns(scale, busy))
        return known[1]

    def waiting_columns(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32] | None:
        """Return the share of each pixel column in which a GPU waits in a collective, shape (width,).

        None as long as the collectives are not known.
        """
        if self.collectives is None:
            return None
        if gpu not in self._waits:
            self._waits[gpu] = self.collectives.waits(gpu)
        edges = scale.edges()
        low, high = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
        return np.asarray(self._waits[gpu].covered(low, high) / (high - low), np.float32)

    def state_columns(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32]:
        """Return the share of each pixel column in each part of a GPU's time, shape (5, width).

        Outside the recording nothing is known: there all are 0.
        """
        known = self._states.get(gpu)
        if known is None or known[0] != scale:
            parts, coarse = self.study.parts[gpu], self._coarse_parts(gpu)
            served = coarse is not None and coarse.serves(scale)
            shares = coarse.columns(scale) if coarse and served else state_columns(parts, scale)
            shares = recorded_only(shares, scale, self.study.trace.span_ns)
            known = self._states[gpu] = (scale, shares)
        return known[1]

    def prepare_states(self) -> None:
        """Make now, in any thread, what the state lanes and the overlays of all GPUs take."""
        for gpu in range(len(self.study.parts)):
            self._coarse_parts(gpu)

    def _coarse_parts(self, gpu: int) -> CoarseBreakdown | None:
        if gpu not in self._coarse:
            self._coarse[gpu] = CoarseBreakdown.of(self.study.parts[gpu])
        return self._coarse[gpu]

    def hit(self, placed: Sequence[PlacedRow], x: float, y: float, scale: Scale) -> HitResult | None:
        """Return what lies under a point; `x` in the scale's (device) pixels, `y` in logical ones.

        None where there is no row. An event narrower than a pixel is found from two pixels away.
        """
        under = next((p for p in placed if p.y <= y < p.y + p.height), None)
        if under is None:
            return None
        time_ns = scale.to_ns(x)
        for band in row_bands(under.row, under.expanded):
            if band.y - 1 <= y - under.y < band.y + band.height + 1:
                if isinstance(band, StateBand):
                    return self._hit_state(under, band.gpu, x, time_ns, scale)
                if isinstance(band, CurveBand):
                    return HitResult(under, under.row, time_ns, gpu=band.gpu)
                if (hit := self._hit_lane(under, band, x, time_ns, scale)) is not None:
                    return hit
        return HitResult(under, under.row, time_ns)

    def snap(self, row: Row, t_ns: int, tolerance_ns: float) -> int | None:
        """Return the begin or end of an event of a row nearest to an instant, None beyond the tolerance.

        For processes and GPUs also those of the GPU's operations, which bound the parts of its time.
        """
        lanes = list(self.lanes(row))
        if row.kind in (RowKind.PROCESS, RowKind.GPU):
            for child in row.walk():
                if child.kind in (RowKind.KERNELS, RowKind.MEMORY):
                    lanes += self.lanes(child)
        return nearest_edge(lanes, t_ns, tolerance_ns)

    def _frame(self, placed: Sequence[PlacedRow], scale: Scale, dpr: float, origin_y: float) -> _Frame:
        rows = tuple((p.row.key, p.y, p.expanded) for p in placed)
        key = (rows, scale, dpr, origin_y, self.collectives)
        if self._last is None or self._last[0] != key:
            self._last = (key, self._computed(placed, scale, dpr, origin_y))
        return self._last[1]

    def _computed(self, placed: Sequence[PlacedRow], scale: Scale, dpr: float, origin_y: float) -> _Frame:
        bands: list[EventBand] = []
        lanes: list[Lane] = []
        rows: list[tuple[int, int]] = []
        for row in placed:
            for band in row_bands(row.row, row.expanded):
                if isinstance(band, EventBand):
                    held = self.lanes(band.row)
                    if band.lane < len(held):
                        bands.append(band)
                        lanes.append(held[band.lane])
                        rows.append(_device_rows(row, band, dpr, origin_y))
        found, bars = self._columns.of(lanes, scale)
        box = np.array(rows, np.int32).reshape(-1, 2)
        states = self.state_boxes(placed, dpr, origin_y)
        waiting = bars.x0
        if self.collectives is not None:
            waiting = waiting_px(self.collectives, [b.row for b in bands], lanes, bars, scale)
        return _Frame(bands, lanes, box[:, 0], box[:, 1], found, bars, states, waiting)

    def _blocks(self, events: RowEvents) -> npt.NDArray[np.bool_]:
        """Return which calls of a row copy from or to pageable memory: they wait for the GPU."""
        out = np.zeros(len(events), bool)
        held = events.index
        index = np.arange(held.start, held.stop) if isinstance(held, slice) else held
        calls = self._pageable
        at = np.minimum(np.searchsorted(calls, index), max(len(calls) - 1, 0))
        return calls[at] == index if len(calls) else out

    @cached_property
    def _pageable(self) -> Int32:
        copies = self.study.trace.events[Kind.MEMCPY]
        if not len(copies):
            return np.empty(0, np.int32)
        calls = np.unique(self.study.launches.api_of(Kind.MEMCPY)[is_pageable(copies)])
        return calls[calls >= 0]

    def _hit_state(self, placed: PlacedRow, gpu: int, x: float, time_ns: int, scale: Scale) -> HitResult:
        column = min(max(int(x), 0), scale.width - 1)
        shares = self.state_columns(gpu, scale)[:, column]
        part = int(shares.argmax()) if shares.any() else IDLE
        return HitResult(placed, placed.row, time_ns, gpu=gpu, part=part)

    def _hit_lane(
        self, placed: PlacedRow, band: EventBand, x: float, time_ns: int, scale: Scale
    ) -> HitResult | None:
        lanes = self.lanes(band.row)
        events = band.row.events
        if band.lane >= len(lanes) or events is None:
            return None
        lane = lanes[band.lane]
        for slop in range(MAX_SLOP_PX + 1):
            low, high = scale.to_ns(int(x) - slop), scale.to_ns(int(x) + 1 + slop)
            found = find(lane, time_ns, low, max(high, low + 1))
            if found is not None:
                break
        else:
            return None
        if isinstance(found, int):
            at = lane.event(found)
            return HitResult(placed, band.row, time_ns, events.ref(at, band.row.key), at)
        first, last = found
        held = slice(first, last) if lane.position is None else lane.position[first:last]
        facts = column_facts(lane, events.name_id[held], first, last, low, high)
        return HitResult(placed, band.row, time_ns, column=facts)


def _device_rows(placed: PlacedRow, band: Band, dpr: float, origin_y: float) -> tuple[int, int]:
    origin = snap_px(origin_y * dpr)
    top = snap_px((origin_y + placed.y + band.y) * dpr) - origin
    return top, max(snap_px((origin_y + placed.y + band.y + band.height) * dpr) - origin, top + 1)
