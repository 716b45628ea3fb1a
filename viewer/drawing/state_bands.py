"""The state lanes of GPUs: their columns, kept while the window is the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.band_drawer import BandBox, tops_and_bottoms
from viewer.drawing.bands import StateBand
from viewer.drawing.drawlist import Layer
from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import Scale
from viewer.drawing.states import (
    CoarseBreakdown,
    recorded_only,
    spinning_columns,
    spinning_layer,
    state_columns,
    state_layer,
)
from viewer.rows.row import Row


class StateBands:
    """Draws state lanes (`viewer.drawing.band_drawer.BandDrawer`)."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._columns: dict[int, tuple[Scale, npt.NDArray[np.float32]]] = {}
        self._coarse: dict[int, CoarseBreakdown | None] = {}

    def columns(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32]:
        """Return the share of each pixel column in each category of a GPU's time, shape (5, width).

        Outside the recording nothing is known: there all are 0.
        """
        known = self._columns.get(gpu)
        if known is None or known[0] != scale:
            breakdown, coarse = self._study.parts[gpu], self._coarse_breakdown(gpu)
            is_served = coarse is not None and coarse.serves(scale)
            shares = coarse.columns(scale) if coarse and is_served else state_columns(breakdown, scale)
            # Cut here, for the lane, the overlay and the hit alike: none may call unrecorded time idle.
            shares = recorded_only(shares, scale, self._study.trace.span_ns)
            known = self._columns[gpu] = (scale, shares)
        return known[1]

    def prepare_all(self) -> None:
        """Compute now, in any thread, what the state lanes and the overlays of all GPUs take."""
        for gpu in range(len(self._study.parts)):
            self._coarse_breakdown(gpu)

    def _coarse_breakdown(self, gpu: int) -> CoarseBreakdown | None:
        if gpu not in self._coarse:
            self._coarse[gpu] = CoarseBreakdown.of(self._study.parts[gpu])
        return self._coarse[gpu]

    def prepare(self, row: Row) -> None:
        """Do nothing: `prepare_all` serves the overlays too."""

    def layers(self, boxes: Sequence[BandBox[StateBand]], scale: Scale) -> list[Layer]:
        """Return the layer of stacked columns, and that of the hatch where kernels only wait."""
        columns = [self.columns(box.band.gpu, scale) for box in boxes]
        layers = [state_layer(columns, *tops_and_bottoms(boxes))]
        parts = [self._study.parts[box.band.gpu] for box in boxes]
        if any(len(of_gpu.spinning) for of_gpu in parts):
            spinning = [spinning_columns(of_gpu, scale) for of_gpu in parts]
            layers.append(spinning_layer(columns, spinning, *tops_and_bottoms(boxes)))
        return layers

    def hit(self, placed: PlacedRow, band: StateBand, x: float, time_ns: int, scale: Scale) -> HitResult:
        """Return the category that takes most of the pixel."""
        column = min(max(int(x), 0), scale.width - 1)
        shares = self.columns(band.gpu, scale)[:, column]
        # All are 0 outside the recording, where `argmax` would say compute.
        part = int(shares.argmax()) if shares.any() else IDLE
        return HitResult(placed, placed.row, time_ns, gpu=band.gpu, part=part, band=band)
