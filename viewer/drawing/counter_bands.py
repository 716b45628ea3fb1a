"""The curves of counter rows: their columns, kept while the window is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.band_drawer import BandBox, tops_and_bottoms
from viewer.drawing.bands import CounterBand
from viewer.drawing.curve import Curve, Heights, curve_layer
from viewer.drawing.drawlist import Layer
from viewer.drawing.hit import CounterFacts, HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.palette import Palette
from viewer.drawing.scale import Scale
from viewer.drawing.state_bands import StateBands
from viewer.rows.counter import Float64
from viewer.rows.row import Row


class CounterBands:
    """Draws counter rows (`viewer.drawing.band_drawer.BandDrawer`)."""

    def __init__(self, span_ns: tuple[int, int], states: StateBands, palette: Callable[[], Palette]) -> None:
        self._span_ns, self._states, self._palette = span_ns, states, palette
        self._curves: dict[str, Curve] = {}
        self._heights: dict[str, tuple[Scale, Heights]] = {}

    def prepare(self, row: Row) -> None:
        """Make the table of a row's extremes."""
        if row.kind.traits.counter is not None:
            self._curve(row)

    def _curve(self, row: Row) -> Curve:
        if row.key not in self._curves:
            if row.samples is None:
                raise ValueError(f"{row.key} is no counter row")
            self._curves[row.key] = Curve.of(row.samples)
        return self._curves[row.key]

    def _heights_of(self, row: Row, scale: Scale) -> Heights:
        known = self._heights.get(row.key)
        if known is None or known[0] != scale:
            low, high = self._columns(row, scale)
            if row.scale is not None:
                # Kept as shares of the height: a frame with the same window only rounds them.
                low, high = row.scale.share(low), row.scale.share(high)
            known = self._heights[row.key] = (scale, (low, high))
        return known[1]

    def _columns(self, row: Row, scale: Scale) -> tuple[Float64, Float64]:
        counter = row.kind.traits.counter
        if counter is not None and counter.only_while_busy and row.gpu is not None:
            busy = self._states.columns(row.gpu, scale)[:IDLE].sum(axis=0)
            return self._curve(row).columns(scale, busy > 0, holds=False)
        edges_ns, (start_ns, end_ns) = scale.edges(), self._span_ns
        # A value holds until the next sample, but not beyond what was recorded.
        is_recorded = (edges_ns[1:] > start_ns) & (edges_ns[:-1] < end_ns)
        return self._curve(row).columns(scale, is_recorded)

    def layers(self, boxes: Sequence[BandBox[CounterBand]], scale: Scale) -> list[Layer]:
        """Return the one layer of filled curves."""
        colour, lighter = self._palette().counter, self._palette().size
        heights = [self._heights_of(box.band.row, scale) for box in boxes]
        return [curve_layer(heights, *tops_and_bottoms(boxes), colour, colour + lighter)]

    def hit(self, placed: PlacedRow, band: CounterBand, x: float, time_ns: int, scale: Scale) -> HitResult:
        """Return the value at the instant, and the samples of the pixel column."""
        curve = self._curve(band.row)
        low_ns, high_ns = scale.to_ns(int(x)), scale.to_ns(int(x) + 1)
        first, last = np.searchsorted(curve.samples.times_ns, (low_ns, max(high_ns, low_ns + 1))).tolist()
        # The extremes are those of the samples in the column, the value the one that holds: both can differ.
        facts = CounterFacts(curve.samples.at(time_ns), last - first, *curve.extremes_of(first, last))
        return HitResult(placed, band.row, time_ns, gpu=band.row.gpu, counter=facts, band=band)
