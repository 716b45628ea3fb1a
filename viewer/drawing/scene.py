"""Scene: what the rows of a trace show in a window. Keeps what is prepared once per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.study import Study
from viewer.drawing.band_drawer import BandBox, BandDrawer
from viewer.drawing.bands import Band, CounterBand, EventBand, StateBand
from viewer.drawing.counter_bands import CounterBands
from viewer.drawing.drawlist import DrawList, draw_list
from viewer.drawing.event_bands import EventBands
from viewer.drawing.hit import HitResult, nearest_edge
from viewer.drawing.labels import MAX_LABELS, Label
from viewer.drawing.lanes import Lane
from viewer.drawing.layout import PlacedRow, row_shape
from viewer.drawing.palette import Palette
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.state_bands import StateBands
from viewer.rows.kinds import RowKind
from viewer.rows.row import Row
from viewer.trace.lazy import cached_property

B = TypeVar("B", EventBand, StateBand, CounterBand)


class Scene:
    """Draws the rows of one trace: each kind of band by its drawer, in one list.

    All methods take rows as `viewer.drawing.layout.place` puts them: `y` in logical pixels from the top of
    the area. `dpr` is the number of device pixels to a logical one. `origin_y` is the area's top in the
    window, in logical pixels: a row lands on device row ``q((origin_y + y) * dpr) - q(origin_y * dpr)`` with
    ``q(v) = floor(v + 0.5)``, as Qt puts the row's header. The scale's width is in device pixels.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._boxes: tuple[object, dict[type[Band], list[BandBox[Any]]]] | None = None
        self._states = StateBands(study)
        self._events = EventBands(study, self._states, lambda: self.palette)
        counters = CounterBands(study.trace.span_ns, self._states, lambda: self.palette)
        # In paint order.
        self._drawers: dict[type[Band], BandDrawer[Any]] = {
            EventBand: self._events,
            StateBand: self._states,
            CounterBand: counters,
        }

    @cached_property
    def palette(self) -> Palette:
        """The colours of the trace's names."""
        return Palette(self.study)

    @property
    def collectives(self) -> Collectives | None:
        """The collectives once they are known: waiting is then drawn apart from the transfer."""
        return self._states.collectives

    @collectives.setter
    def collectives(self, collectives: Collectives | None) -> None:
        self._states.collectives = collectives

    def lanes(self, row: Row) -> tuple[Lane, ...]:
        """Return the lanes of a row's events, prepared when first asked for."""
        return self._events.lanes(row)

    def prepare(self, row: Row) -> None:
        """Compute now, in any thread, what the first frame with this row would wait for."""
        for drawer in self._drawers.values():
            drawer.prepare(row)
        # Both forms are laid out now: folding a row must not wait for it.
        for expanded in (False, True):
            row_shape(row, expanded)

    def draw_list(
        self, placed: Sequence[PlacedRow], scale: Scale, dpr: float = 1.0, origin_y: float = 0.0
    ) -> DrawList:
        """Return the rectangles of the rows in a window; hidden lanes give none."""
        layers = []
        for band, drawer in self._drawers.items():
            layers += drawer.layers(self.boxes(band, placed, dpr, origin_y), scale)
        return draw_list(layers)

    def labels(
        self,
        placed: Sequence[PlacedRow],
        scale: Scale,
        dpr: float = 1.0,
        origin_y: float = 0.0,
        limit: int = MAX_LABELS,
    ) -> list[Label]:
        """Return the names in the bars, the widest bars first."""
        return self._events.labels(self.boxes(EventBand, placed, dpr, origin_y), scale, dpr, limit)

    def boxes(
        self, band: type[B], placed: Sequence[PlacedRow], dpr: float = 1.0, origin_y: float = 0.0
    ) -> list[BandBox[B]]:
        """Return the bands of one kind, each with the device rows that it lies on.

        It is the same list as long as no row moves.
        """
        # Everything that moves a band, and nothing else: panning and zooming keep the list, and with it the
        # frame.
        key = (tuple((p.row.key, p.y, p.height, p.expanded, p.sizes) for p in placed), dpr, origin_y)
        if self._boxes is None or self._boxes[0] != key:
            self._boxes = (key, self._all_boxes(placed, dpr, origin_y))
        return self._boxes[1][band]

    def _all_boxes(
        self, placed: Sequence[PlacedRow], dpr: float, origin_y: float
    ) -> dict[type[Band], list[BandBox[Any]]]:
        origin = snap_px(origin_y * dpr)
        boxes: dict[type[Band], list[BandBox[Any]]] = {band: [] for band in self._drawers}
        for row in placed:
            for band in row.bands:
                y = origin_y + row.y + band.y
                top, bottom = snap_px(y * dpr) - origin, snap_px((y + band.height) * dpr) - origin
                # Both edges are rounded, never the height: neighbouring bands leave no gap and share no
                # pixel.
                boxes[type(band)].append(BandBox(band, top, max(bottom, top + 1)))
        return boxes

    def waiting_columns(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32] | None:
        """Return the share of each pixel column that is exposed and waits in a collective, shape (width,).

        None as long as the collectives are not known.
        """
        return self._states.waiting(gpu, scale)

    def state_columns(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32]:
        """Return the share of each pixel column in each category of a GPU's time, shape (5, width).

        Outside the recording nothing is known: there all are 0.
        """
        return self._states.columns(gpu, scale)

    def prepare_states(self) -> None:
        """Compute now, in any thread, what the state lanes and the overlays of all GPUs take."""
        self._states.prepare_all()

    def hit(self, placed: Sequence[PlacedRow], x: float, y: float, scale: Scale) -> HitResult | None:
        """Return what lies under a point; `x` in the scale's (device) pixels, `y` in logical ones.

        None where there is no row. An event narrower than a pixel is found from two pixels away.
        """
        under = next((p for p in placed if p.y <= y < p.y + p.height), None)
        if under is None:
            return None
        time_ns = scale.to_ns(x)
        for band in under.bands:
            # A pixel of slack above and below: bands are thin, and the pointer often lies on the line between
            # two.
            if band.y - 1 <= y - under.y < band.y + band.height + 1:
                hit: HitResult | None = self._drawers[type(band)].hit(under, band, x, time_ns, scale)
                if hit is not None:
                    return hit
        return HitResult(under, under.row, time_ns)

    def snap(self, row: Row, t_ns: int, tolerance_ns: float) -> int | None:
        """Return the begin or end of an event of a row nearest to an instant, None beyond the tolerance.

        For processes and GPUs also those of the GPU's operations, which bound the categories of its time.
        """
        lanes = list(self.lanes(row))
        if row.kind in (RowKind.PROCESS, RowKind.GPU):
            for child in row.walk():
                if child.kind in (RowKind.KERNELS, RowKind.MEMORY):
                    lanes += self.lanes(child)
        return nearest_edge(lanes, t_ns, tolerance_ns)
