"""The launch latency of a GPU as a filled curve: how long its operations were queued, on a log scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.arrays import Whole
from viewer.drawing.drawlist import Layer, merged_runs
from viewer.drawing.scale import Scale
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.launches.latency import LaunchLatency

BLOCK = 32
FLOOR_NS, DECADES = 1_000, 6
"""The scale: 1 µs at the bottom, 1 s at the top."""
SCALE_TEXTS = (("1 s", 1.0), ("1 ms", 0.5), ("1 µs", 0.0))


class Extremes:
    """Least and greatest of any run of values: tables over blocks of 32, and the values at both ends.

    Parameters
    ----------
    values : ndarray of int32 or int64, shape (n,)
    """

    def __init__(self, values: Whole) -> None:
        self._values = values
        blocks = len(values) // BLOCK
        whole = values[: blocks * BLOCK].reshape(blocks, BLOCK)
        self._low = [whole.min(axis=1)] if blocks else []
        self._high = [whole.max(axis=1)] if blocks else []
        step = 1
        while blocks >= 2 * step:
            low, high = self._low[-1], self._high[-1]
            self._low.append(np.minimum(low[:-step], low[step:]))
            self._high.append(np.maximum(high[:-step], high[step:]))
            step *= 2

    def of(self, first: Int64, last: Int64) -> tuple[Int64, Int64]:
        """Return the extremes of the runs first:last, int64, shape (runs,) each; -1 for empty ones."""
        # One line for the whole blocks of the runs, one for what is before those, one for what is behind.
        low = np.full((3, len(first)), np.iinfo(np.int64).max)
        high = np.full((3, len(first)), -1, np.int64)
        begin, end = -(-first // BLOCK), last // BLOCK
        levels = np.frexp(np.maximum(end - begin, 0))[1] - 1
        for level in set(levels.tolist()) - {-1}:
            here = np.flatnonzero(levels == level)
            a, b = begin[here], end[here] - (1 << level)
            low[0, here] = np.minimum(self._low[level][a], self._low[level][b])
            high[0, here] = np.maximum(self._high[level][a], self._high[level][b])
        head = np.minimum(begin * BLOCK, last)
        tail = np.maximum(end * BLOCK, head)
        start, length = np.concatenate((first, tail)), np.concatenate((head - first, last - tail))
        run = np.flatnonzero(length > 0)
        if len(run):
            length = length[run]
            begins = np.cumsum(length) - length
            at = np.repeat(start[run] - begins, length)
            at += np.arange(len(at))
            values = self._values[at]
            low[1:].reshape(-1)[run] = np.minimum.reduceat(values, begins)
            high[1:].reshape(-1)[run] = np.maximum.reduceat(values, begins)
        least = low.min(axis=0)
        least[last <= first] = -1
        return least, high.max(axis=0)


@dataclass(frozen=True)
class Curve:
    """The launch latency of one GPU, prepared for drawing."""

    distance: LaunchLatency
    extremes: Extremes

    @classmethod
    def of(cls, distance: LaunchLatency) -> Curve:
        """Make the tables."""
        return cls(distance, Extremes(distance.queued_ns))

    def columns(self, scale: Scale, busy: npt.NDArray[np.float32]) -> tuple[Int64, Int64]:
        """Return the least and the greatest queued time per pixel column, -1 where there is none.

        A column in which nothing starts shows what is running there; where the GPU is idle, nothing:
        how far ahead the CPU is while nothing starts is not known.

        Parameters
        ----------
        busy : ndarray of float32, shape (width,)
            The share of each column in which the GPU is not idle.
        """
        edges = np.searchsorted(self.distance.times_ns, scale.edges())
        first, last = edges[:-1], edges[1:]
        carried = (first == last) & (first > 0) & (busy > 0)
        return self.extremes.of(np.where(carried, first - 1, first), last)


def height_of(queued_ns: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return how high queued times stand on the scale, in [0, 1]."""
    ratio = np.maximum(np.asarray(queued_ns, np.float64) / FLOOR_NS, 1.0)
    return np.asarray(np.minimum(np.log10(ratio) / DECADES, 1.0))


def curve_layer(
    found: Sequence[tuple[Int64, Int64]],
    top: npt.NDArray[np.int32],
    bottom: npt.NDArray[np.int32],
    colour: int,
    faint: int,
) -> Layer:
    """Return the filled curves between device rows `top` and `bottom`, shape (lanes,) each.

    A column is filled up to its least queued time, and fainter up to its greatest; an operation that was
    not queued at all still shows one pixel.
    """
    if not found:
        return np.empty((0, 4), np.float32), np.empty(0, np.uint16)
    room = (bottom - top)[:, None]
    low, high = (np.stack([pair[k] for pair in found]) for k in (0, 1))
    solid, whole = (np.floor(height_of(v) * room + 0.5).astype(np.int32) for v in (low, high))
    solid = np.where(high >= 0, np.maximum(solid, 1), 0)
    whole = np.where(high >= 0, np.maximum(whole, solid), 0)
    rects, colours = [], []
    for y0, y1, of in ((np.zeros_like(solid), solid, colour), (solid, whole, faint)):
        look = np.where(y1 > y0, (y0 << 12) | y1, -1).astype(np.int32)
        lane, x, width, packed = merged_runs(look)
        low_px, high_px = packed >> 12, packed & 0xFFF
        rect = np.empty((len(packed), 4), np.float32)
        rect[:, 0], rect[:, 1], rect[:, 2], rect[:, 3] = x, bottom[lane] - high_px, width, high_px - low_px
        rects.append(rect)
        colours.append(np.full(len(packed), of, np.uint16))
    return np.concatenate(rects), np.concatenate(colours)
