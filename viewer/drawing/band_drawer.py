"""What every kind of band does for the scene: prepare its rows, draw its boxes, answer to a hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from viewer.drawing.drawlist import Layer
from viewer.drawing.hit import HitResult
from viewer.drawing.layout import PlacedRow
from viewer.drawing.scale import Scale
from viewer.rows.row import Row

B = TypeVar("B")
Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class BandBox(Generic[B]):
    """A band, and the device rows that it lies on."""

    band: B
    top: int
    bottom: int


class BandDrawer(Protocol[B]):
    """Draws all bands of one kind at once: a call per band would cost more than its rectangles."""

    def prepare(self, row: Row) -> None:
        """Compute now, in any thread, what the first frame with this row would wait for."""

    def layers(self, boxes: Sequence[BandBox[B]], scale: Scale) -> list[Layer]:
        """Return the layers of the bands in view, always the same number, in paint order."""

    def hit(self, placed: PlacedRow, band: B, x: float, time_ns: int, scale: Scale) -> HitResult | None:
        """Return what lies under a point of a band, None where it shows nothing there."""


def tops_and_bottoms(boxes: Sequence[BandBox[B]]) -> tuple[Int32, Int32]:
    """Return the device rows of boxes as two arrays, shape (boxes,) each."""
    # The reshape gives two columns without any box, too.
    edges = np.array([(box.top, box.bottom) for box in boxes], np.int32).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]
