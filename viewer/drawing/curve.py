"""A counter row as a filled curve: the least and the greatest value of every pixel column, none left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.drawing.drawlist import Layer, merged_runs
from viewer.drawing.scale import Scale
from viewer.rows.counter import Float64, Samples, Values
from viewer.trace.events import Int64

BLOCK = 32
Heights = tuple[Float64, Float64]
"""Least and greatest of each column as shares of the row's height, shape (width,) each; NaN: nothing."""


class Extremes:
    """Least and greatest of any run of values: tables over blocks of 32, and the values at both ends.

    Level k of the tables holds the extremes of 2 ** k blocks from each block on; two of them, which may
    overlap, cover any run of blocks. NaN counts as no value.

    Parameters
    ----------
    values : ndarray of any integer or float type, shape (n,)
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        blocks = len(values) // BLOCK
        # The rest behind the last whole block is in no table: it is always the tail of a run.
        in_blocks = values[: blocks * BLOCK].reshape(blocks, BLOCK)
        self._low = [np.fmin.reduce(in_blocks, axis=1)] if blocks else []
        self._high = [np.fmax.reduce(in_blocks, axis=1)] if blocks else []
        step = 1
        while blocks >= 2 * step:
            low, high = self._low[-1], self._high[-1]
            self._low.append(np.fmin(low[:-step], low[step:]))
            self._high.append(np.fmax(high[:-step], high[step:]))
            step *= 2

    def of(self, first: Int64, last: Int64) -> tuple[Float64, Float64]:
        """Return the extremes of the runs first:last, float64, shape (runs,) each; NaN for empty ones."""
        # Three lines: of the blocks that a run holds whole, of what is before them, and of what is behind.
        low, high = np.full((3, len(first)), np.nan), np.full((3, len(first)), np.nan)
        begin, end = -(-first // BLOCK), last // BLOCK
        # The exponent is the bit length: the largest power of two of blocks that fits, -1 for none.
        levels = np.frexp(np.maximum(end - begin, 0))[1] - 1
        for level in set(levels.tolist()) - {-1}:
            runs = np.flatnonzero(levels == level)
            left, right = begin[runs], end[runs] - (1 << level)
            low[0, runs] = np.fmin(self._low[level][left], self._low[level][right])
            high[0, runs] = np.fmax(self._high[level][left], self._high[level][right])
        # A run without a whole block has begin > end: all of it is head, and its tail is empty.
        head = np.minimum(begin * BLOCK, last)
        tail = np.maximum(end * BLOCK, head)
        start, length = np.concatenate((first, tail)), np.concatenate((head - first, last - tail))
        runs = np.flatnonzero(length > 0)
        if len(runs):
            # The values of all heads and tails behind one another, summed up by one `reduceat`.
            length = length[runs]
            begins = np.cumsum(length) - length
            position = np.repeat(start[runs] - begins, length)
            position += np.arange(len(position))
            values = self._values[position]
            low[1:].reshape(-1)[runs] = np.fmin.reduceat(values, begins)
            high[1:].reshape(-1)[runs] = np.fmax.reduceat(values, begins)
        return np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)


@dataclass(frozen=True)
class Curve:
    """The samples of one row, prepared for drawing."""

    samples: Samples
    extremes: Extremes

    @classmethod
    def of(cls, samples: Samples) -> Curve:
        """Make the tables."""
        return cls(samples, Extremes(samples.values))

    def columns(
        self, scale: Scale, is_known: npt.NDArray[np.bool_], holds: bool = True
    ) -> tuple[Float64, Float64]:
        """Return the least and the greatest value of each pixel column, NaN where there is none.

        Parameters
        ----------
        is_known : ndarray of bool, shape (width,)
            Where a value is carried on while no sample comes.
        holds : bool
            A value holds until the next sample, also into the column of that one. False: a column with
            samples shows these alone.
        """
        times_ns, edges_ns = self.samples.times_ns, scale.edges()
        edges = np.searchsorted(times_ns, edges_ns)
        first, last = edges[:-1], edges[1:]
        # A column without a sample shows the value that holds there: a curve has no gaps between samples.
        is_carried = first == last
        if holds and len(times_ns):
            is_carried |= times_ns[np.minimum(first, len(times_ns) - 1)] > edges_ns[:-1]
        is_carried &= is_known & (first > 0)
        return self.extremes.of(np.where(is_carried, first - 1, first), last)

    def extremes_of(self, first: int, last: int) -> tuple[float, float] | tuple[None, None]:
        """Return the extremes of the samples first:last, None where no value is known."""
        low, high = self.extremes.of(np.array([first]), np.array([last]))
        return (None, None) if np.isnan(low[0]) else (float(low[0]), float(high[0]))


def curve_layer(
    heights: Sequence[Heights],
    top: npt.NDArray[np.int32],
    bottom: npt.NDArray[np.int32],
    colour: int,
    faint: int,
) -> Layer:
    """Return the filled curves between device rows `top` and `bottom`, shape (curves,) each.

    A column is filled up to its least value, and fainter up to its greatest; a value at the bottom of the
    scale still shows one pixel.
    """
    if not heights:
        return np.empty((0, 4), np.float32), np.empty(0, np.uint16)
    # Both heights are rounded from the bottom: rounded as a difference, the fainter part would wobble by a
    # pixel.
    room = (bottom - top)[:, None]
    low, high = (np.stack([pair[side] for pair in heights]) for side in (0, 1))
    is_shown = ~np.isnan(high)
    solid, full = (np.floor(np.nan_to_num(v) * room + 0.5).astype(np.int32) for v in (low, high))
    # A value of zero is a value: it shows as one pixel, unlike time in which nothing is known.
    solid = np.where(is_shown, np.maximum(solid, 1), 0)
    full = np.where(is_shown, np.maximum(full, solid), 0)
    rects, colours = [], []
    for y0, y1, fill in ((np.zeros_like(solid), solid, colour), (solid, full, faint)):
        # Both ends packed into one number, so that neighbouring columns that look alike become one rectangle.
        cells = np.where(y1 > y0, (y0 << 12) | y1, -1).astype(np.int32)
        lane, x, width, packed = merged_runs(cells)
        low_px, high_px = packed >> 12, packed & 0xFFF
        rect = np.empty((len(packed), 4), np.float32)
        rect[:, 0], rect[:, 1], rect[:, 2], rect[:, 3] = x, bottom[lane] - high_px, width, high_px - low_px
        rects.append(rect)
        colours.append(np.full(len(packed), fill, np.uint16))
    return np.concatenate(rects), np.concatenate(colours)
