"""The state lane of a GPU and the overlay over its rows: the five categories of its time at every zoom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.time.time_breakdown import CATEGORIES, TimeBreakdown
from viewer.drawing.colour import channels
from viewer.drawing.drawlist import Layer, merged_runs
from viewer.drawing.palette import COMPUTE, COPY, EXPOSED, HIDDEN, HIDDEN_EDGE, SPINNING, WAITING
from viewer.drawing.scale import Scale, snap_px
from viewer.drawing.theme import Theme
from viewer.trace.events import Int64

HATCH_PX = 8
COARSE_FROM_INTERVALS = 20_000
COARSE_BITS = 17
COARSE_BUCKETS = 32
BLOCK_BITS = 8
_COPY, _EXPOSED, _IDLE = (CATEGORIES.index(p) for p in ("copy_only", "exposed_comm", "idle"))
_STRENGTH = {_EXPOSED: 0.20, _COPY: 0.30, _IDLE: 0.4}
_WAITING_STRENGTH = 0.5
PIECES = (COMPUTE, SPINNING, HIDDEN, EXPOSED, WAITING, COPY)
"""The pieces of a column of a state lane from the bottom, positions in the palette."""
MIN_EDGED_PX = 3


@dataclass(frozen=True)
class CoarseBreakdown:
    """The categories of a GPU's time before each bucket of ``2 ** bits`` ns of absolute time.

    A table look-up for views of so much of a trace that a pixel holds many buckets; binary searches in a
    million intervals take too long for a frame.

    Attributes
    ----------
    before_ns : ndarray of int64, shape (blocks, 4)
        As `TimeBreakdown.cumulative` without idle, at the first of each ``2 ** block_bits`` buckets.
    since_ns : ndarray of uint32, shape (buckets + 1, 4)
        What has come to that since, at ``(first_bucket + i) << bits``.
    """

    bits: int
    first_bucket: int
    block_bits: int
    before_ns: Int64
    since_ns: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, breakdown: TimeBreakdown) -> CoarseBreakdown | None:
        """Make the table, None where there are so few intervals that searching is as fast."""
        # Counted over the categories: that is how many a frame would have to search in.
        if sum(len(intervals) for intervals in breakdown.busy) < COARSE_FROM_INTERVALS:
            return None
        start, end = breakdown.window_ns
        # A power of two in absolute time: panning moves no bucket, so that columns do not shimmer.
        bits = max((end - start).bit_length() - COARSE_BITS, 0)
        first, last = start >> bits, (end >> bits) + 1
        edges = np.arange(first, last + 1, dtype=np.int64) << bits
        # Buckets first: a look-up gathers whole rows of four, which lie together in memory.
        spent = breakdown.cumulative(edges)[:_IDLE].T
        # A block is shorter than 2 ** 31 ns, unless one bucket is longer.
        block_bits = max(min(BLOCK_BITS, 31 - bits), 0)
        before = np.ascontiguousarray(spent[:: 1 << block_bits])
        since = spent - before[np.arange(len(spent)) >> block_bits]
        return cls(bits, first, block_bits, before, since.astype(np.uint32))

    def serves(self, scale: Scale) -> bool:
        """Return whether a pixel holds enough buckets that moving its edges to theirs is not seen."""
        return scale.ns_per_px >= COARSE_BUCKETS << self.bits

    def columns(self, scale: Scale) -> npt.NDArray[np.float32]:
        """Return `state_columns` with the pixel edges moved by at most a 64th of a pixel."""
        buckets = (scale.edges() + (1 << self.bits >> 1)) >> self.bits
        # Before the first and behind the last bucket nothing is busy: the clamped sums differ by zero there.
        number = np.clip(buckets - self.first_bucket, 0, len(self.since_ns) - 1)
        widths = np.diff(buckets << self.bits)
        spent = np.empty((len(CATEGORIES), scale.width), np.int64)
        spent[:_IDLE] = np.diff(self.before_ns[number >> self.block_bits] + self.since_ns[number], axis=0).T
        # The rest, so that the five sum to 1 in every column, as they do without the table.
        spent[_IDLE] = widths - spent[:_IDLE].sum(axis=0)
        return np.asarray(spent / widths, np.float32)


def state_columns(breakdown: TimeBreakdown, scale: Scale) -> npt.NDArray[np.float32]:
    """Return the share of each pixel column in each of the five categories, shape (5, width); they sum to 1.

    Where a pixel is shorter than a nanosecond a column shows the nanosecond that holds it.
    """
    edges = scale.edges()
    spent = np.diff(breakdown.cumulative(edges), axis=1)
    widths = np.diff(edges)
    if (thin := widths == 0).any():
        low = edges[:-1][thin]
        spent[:, thin] = breakdown.cumulative(low + 1) - breakdown.cumulative(low)
        widths[thin] = 1
    return (spent / widths).astype(np.float32)


def covered_shares(intervals: Intervals, scale: Scale) -> npt.NDArray[np.float32]:
    """Return the share of each pixel column that a set of time covers, shape (width,).

    Where a pixel is shorter than a nanosecond, it shows the nanosecond that holds it.
    """
    edges = scale.edges()
    low, high = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
    return np.asarray(intervals.covered(low, high) / (high - low), np.float32)


def recorded_only(
    shares: npt.NDArray[np.float32], scale: Scale, span_ns: tuple[int, int]
) -> npt.NDArray[np.float32]:
    """Take time outside the recording out of idle: columns sum to the share of them that was recorded.

    Parameters
    ----------
    shares : ndarray of float32, shape (5, width)
        As `state_columns` returns them.
    span_ns : (int, int)
        What was recorded.
    """
    low, high = span_ns
    if low <= scale.start_ns and scale.end_ns <= high:
        return shares
    edges = scale.edges()
    start, end = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
    # Nothing but idle can lie outside the recording, so that only idle is taken from.
    outside = 1 - (np.clip(end, low, high) - np.clip(start, low, high)) / (end - start)
    recorded = shares.copy()
    recorded[_IDLE] = np.maximum(recorded[_IDLE] - outside.astype(np.float32), 0)
    return recorded


def stacked(
    shares: npt.NDArray[np.float32],
    waiting: npt.NDArray[np.float32] | None = None,
    spinning: npt.NDArray[np.float32] | None = None,
) -> npt.NDArray[np.float32]:
    """Return what a state lane shows of each column from the bottom, shape (pieces, width), as `PIECES`.

    Parameters
    ----------
    shares : ndarray of float32, shape (5, width)
        As `state_columns` returns them.
    waiting, spinning : ndarray of float32, shape (width,), optional
        How much of each column is exposed communication that waits, and compute that only waits.
    """
    pieces = np.zeros((len(PIECES), shares.shape[1]), np.float32)
    pieces[0], pieces[2], pieces[3], pieces[5] = shares[:_IDLE]
    for position, part in ((1, spinning), (4, waiting)):
        if part is not None:
            np.minimum(part, pieces[position - 1], out=pieces[position])
            pieces[position - 1] -= pieces[position]
    return pieces


def state_layer(
    fractions: Sequence[npt.NDArray[np.float32]],
    top: npt.NDArray[np.int32],
    bottom: npt.NDArray[np.int32],
    colours: Sequence[int] = PIECES,
) -> Layer:
    """Return the stacked columns of state lanes between device rows `top` and `bottom`, shape (lanes,) each.

    From the bottom: compute, hidden and exposed communication, copies; idle stays empty. The borders are
    rounded, not the heights, so that each part is off by less than a pixel and the lane is never too full;
    a column that is busy at all shows one pixel of what it does most. Where hidden communication, which may
    be pale, is on top, its upper pixel is an edge.

    Parameters
    ----------
    fractions : sequence of ndarray of float32, shape (pieces, width)
        As `stacked` returns them.
    colours : sequence of int, one per piece
        Positions in the palette.
    """
    if not fractions:
        return np.empty((0, 4), np.float32), np.empty(0, np.uint16)
    shares, count = np.stack(fractions), len(colours)
    room = (bottom - top).astype(np.float32)[:, None, None]
    # From the bottom up, so that the border of each part is the sum of those below it.
    above = np.cumsum(shares, axis=1)
    border = np.minimum(np.floor(above * room + np.float32(0.5)), room).astype(np.int32)
    lane, column = np.nonzero((border[:, -1] == 0) & (above[:, -1] > 0))
    if len(lane):
        # Busy for less than half a pixel: the whole column would vanish, so that one pixel shows the largest
        # part.
        most = shares[lane, :, column].argmax(axis=1)
        border[lane, :, column] = np.arange(count)[None, :] >= most[:, None]
    low = np.zeros_like(border)
    low[:, 1:] = border[:, :-1]
    # Both borders packed into one number; a row of `cells` is one piece of one lane.
    # Twelve bits: no lane is as high as 4,096 device pixels. Above them whether the piece has an edge.
    cells = np.where(border > low, (low << 12) | border, -1)
    pale = np.asarray(colours) == HIDDEN
    is_edged = (border[:, pale] == border[:, -1:]) & (border[:, pale] - low[:, pale] >= MIN_EDGED_PX)
    cells[:, pale] |= is_edged.astype(np.int32) << 24
    row, x, width, packed = merged_runs(cells.reshape(-1, cells.shape[-1]))
    edged, y0, y1 = packed >> 24, packed >> 12 & 0xFFF, packed & 0xFFF
    lane = row // count
    rect = np.empty((len(packed), 4), np.float32)
    rect[:, 0], rect[:, 1], rect[:, 2], rect[:, 3] = x, bottom[lane] - y1 + edged, width, y1 - y0 - edged
    edge = rect[edged > 0]
    edge[:, 1], edge[:, 3] = edge[:, 1] - 1, 1
    colour = np.asarray(colours, np.uint16)[row % count]
    return np.concatenate((rect, edge)), np.concatenate((colour, np.full(len(edge), HIDDEN_EDGE, np.uint16)))


@lru_cache(maxsize=8)
def hatch(width: int, dpr: float = 1.0) -> npt.NDArray[np.bool_]:
    """Return a hatch of thin slanting lines, shape (tile, width) in device pixels; it tiles downwards.

    At any number of device pixels to a logical one it looks as wide apart. Not to be written to.
    """
    tile = snap_px(HATCH_PX * dpr)
    y, x = np.mgrid[0:tile, 0:width]
    lines = (x + y) % tile < max(1, int(dpr))
    lines.setflags(write=False)
    return np.asarray(lines)


def overlay_tile(
    breakdown: TimeBreakdown | npt.NDArray[np.float32],
    scale: Scale,
    theme: Theme,
    overlays: Collection[str],
    waiting: npt.NDArray[np.float32] | None = None,
    dpr: float = 1.0,
) -> npt.NDArray[np.uint8]:
    """Return one tile of a GPU's overlay, to be repeated down its rows under the bars.

    Parameters
    ----------
    breakdown : TimeBreakdown, or its `state_columns`
    overlays : collection of str
        "idle" (hatched; copies alone are a lighter tint), "exposed", and "waiting" (hatched the other way).
    waiting : ndarray of float32, shape (width,), optional
        The share of each column that the GPU waits in a collective.

    Returns
    -------
    ndarray of uint8, shape (8 * dpr, width, 4)
        Premultiplied blue, green, red, alpha. The alpha of a column is its share of that part times the
        strength of the overlay.
    """
    shares = state_columns(breakdown, scale) if isinstance(breakdown, TimeBreakdown) else breakdown
    waits = waiting if "waiting" in overlays else None
    # A pixel of a column looks in one of two ways, on a line or beside it; with the lines of waiting, four.
    width, variants = shares.shape[1], 2 if waits is None else 4
    on_line, on_waiting = (np.float32(np.arange(variants)[:, None] // bit % 2) for bit in (1, 2))
    colours = np.zeros((variants, width, 4), np.float32)
    if "exposed" in overlays:
        _lay(colours, theme.parts[_EXPOSED], shares[_EXPOSED] * _STRENGTH[_EXPOSED])
    if "idle" in overlays:
        _lay(colours, theme.parts[_COPY], on_line * shares[_COPY] * _STRENGTH[_COPY])
        _lay(colours, theme.hatch, on_line * shares[_IDLE] * _STRENGTH[_IDLE])
    variant = hatch(width, dpr).astype(np.intp)
    if waits is not None:
        _lay(colours, theme.waiting, on_waiting * waits * _WAITING_STRENGTH)
        variant += 2 * variant[::-1]
    # Four bytes as one number: picking a pixel's look is one gather instead of four.
    pixels = np.asarray(np.floor(colours * 255 + 0.5), np.uint8).view(np.uint32)[..., 0]
    return pixels[variant, np.arange(width)].view(np.uint8).reshape(*variant.shape, 4)


def _lay(picture: npt.NDArray[np.float32], argb: int, alpha: npt.NDArray[np.float32]) -> None:
    """Lay a colour over a premultiplied picture, in place."""
    # Premultiplied, alpha with the rest: the tile is laid over the rows by the painter in one go.
    picture *= (1 - alpha)[..., None]
    picture += _premultiplied(argb) * alpha[..., None]


@cache
def _premultiplied(argb: int) -> npt.NDArray[np.float32]:
    """Return blue, green, red and alpha of an opaque colour, in [0, 1]."""
    red, green, blue = channels(np.array(argb, np.uint32))
    return np.array([blue, green, red, 1], np.float32)
