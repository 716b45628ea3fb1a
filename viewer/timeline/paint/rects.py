"""Many rectangles of one colour with one call of the raster engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pyqtgraph.Qt import compat
from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter


def corners(rect: npt.NDArray[np.float32] | npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return rectangles as a QRect holds them, in whole pixels: Qt takes twice as long over a QRectF.

    Parameters
    ----------
    rect : ndarray, shape (n, 4)
        Left, top, width, height.
    """
    result = rect.astype(np.int32)
    for side in (0, 1):
        result[:, 2 + side] += result[:, side] - 1
    return result


def draw_rects(painter: QPainter, rects: npt.NDArray[np.int32]) -> None:
    """Fill rectangles, as `corners` returns them, with the painter's brush."""
    # The array is handed over as it is: four 32-bit corners are what a QRect is in memory, and no object is
    # made for a rectangle.
    painter.drawRects(compat.wrapinstance(rects.ctypes.data, QRect), len(rects))
