"""The state lanes of GPUs: their columns, kept while the window is the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.band_drawer import BandBox, tops_and_bottoms
from viewer.drawing.bands import StateBand
from viewer.drawing.drawlist import Layer
from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.palette import COMPUTE, EXPOSED
from viewer.drawing.scale import Scale
from viewer.drawing.states import (
    CoarseBreakdown,
    covered_shares,
    recorded_only,
    stacked,
    state_columns,
    state_layer,
)
from viewer.rows.row import Row


class StateBands:
    """Draws state lanes (`viewer.drawing.band_drawer.BandDrawer`)."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._collectives: Collectives | None = None
        self._waits: dict[int, Intervals] = {}
        self._spins: dict[int, Intervals] = {}
        self._waiting: dict[int, tuple[Scale, npt.NDArray[np.float32]]] = {}
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

    @property
    def collectives(self) -> Collectives | None:
        """The matched collectives: once known, exposed communication that waits for a rank is drawn apart."""
        return self._collectives

    @collectives.setter
    def collectives(self, collectives: Collectives | None) -> None:
        if collectives is not self._collectives:
            self._collectives = collectives
            self._waits, self._waiting = {}, {}

    def waiting(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32] | None:
        """Return the share of each pixel column that is exposed and waits in a collective, shape (width,).

        None as long as the collectives are not known.
        """
        if self._collectives is None:
            return None
        if gpu not in self._waits:
            exposed = self._study.parts[gpu].busy[EXPOSED]
            self._waits[gpu] = self._collectives.waits(gpu) & exposed
        known = self._waiting.get(gpu)
        if known is None or known[0] != scale:
            known = self._waiting[gpu] = (scale, covered_shares(self._waits[gpu], scale))
        return known[1]

    def spinning(self, gpu: int, scale: Scale) -> npt.NDArray[np.float32] | None:
        """Return the share of each column in which compute kernels only wait, shape (width,), or None."""
        breakdown = self._study.parts[gpu]
        if not len(breakdown.spinning):
            return None
        if gpu not in self._spins:
            self._spins[gpu] = breakdown.spinning & breakdown.busy[COMPUTE]
        return covered_shares(self._spins[gpu], scale)

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
        """Return the one layer of stacked columns."""
        pieces = []
        for gpu in (box.band.gpu for box in boxes):
            shares = self.columns(gpu, scale)
            pieces.append(stacked(shares, self.waiting(gpu, scale), self.spinning(gpu, scale)))
        return [state_layer(pieces, *tops_and_bottoms(boxes))]

    def hit(self, placed: PlacedRow, band: StateBand, x: float, time_ns: int, scale: Scale) -> HitResult:
        """Return the category that takes most of the pixel."""
        column = min(max(int(x), 0), scale.width - 1)
        shares = self.columns(band.gpu, scale)[:, column]
        # All are 0 outside the recording, where `argmax` would say compute.
        part = int(shares.argmax()) if shares.any() else IDLE
        return HitResult(placed, placed.row, time_ns, gpu=band.gpu, part=part, band=band)
