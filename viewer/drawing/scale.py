"""Scale: time to pixel and back; and the pixels that a time axis lies on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64


def snap_px(value: float) -> int:
    """Return the device pixel that a coordinate lands on: Qt's rounding, halves up."""
    return math.floor(value + 0.5)


@dataclass(frozen=True, slots=True)
class Scale:
    """The window [start_ns, end_ns) laid over `width` device pixels.

    Integers go in, numbers relative to the window come out, so that nothing jitters far into a trace.
    """

    start_ns: int
    end_ns: int
    width: int

    @property
    def length_ns(self) -> int:
        """The window's length."""
        return self.end_ns - self.start_ns

    @property
    def ns_per_px(self) -> float:
        """How long a device pixel is."""
        return self.length_ns / self.width

    def to_px(self, t_ns: int | Int64) -> npt.NDArray[np.float64]:
        """Return where instants lie, in device pixels from the window's left edge; float64, any shape."""
        # Subtracted as integers first: a float64 of the absolute time loses the single nanosecond after 104
        # days.
        offset = np.asarray(t_ns, np.int64) - self.start_ns
        return np.asarray(offset * (self.width / self.length_ns), np.float64)

    def x(self, t_ns: int) -> float:
        """Return where one instant lies, in device pixels from the window's left edge."""
        return (t_ns - self.start_ns) * self.width / self.length_ns

    def to_ns(self, px: float) -> int:
        """Return the instant at a device pixel coordinate, rounded down to a whole nanosecond."""
        return self.start_ns + math.floor(px * self.length_ns / self.width)

    def edges(self) -> Int64:
        """Return the instants of the pixel edges, int64, shape (width + 1,); the columns tile the window."""
        per_px, rest = divmod(self.length_ns, self.width)
        px = np.arange(self.width + 1, dtype=np.int64)
        # Not px * length // width: that overflows where one event lies a month or more outside the session.
        return self.start_ns + px * per_px + px * rest // self.width


@dataclass(frozen=True, slots=True)
class AxisPixels:
    """The pixels that a time axis lies on, in a window or a picture.

    Both edges land on device pixels as Qt lets widgets land on them: from the window's own left edge. At a
    fractional scale the axis is then as wide as what is seen of it, which `width * dpr` is not.

    Attributes
    ----------
    left, width : int
        Where it begins and how wide it is, logical pixels.
    dpr : float
        Device pixels per logical pixel.
    """

    left: int
    width: int
    dpr: float = 1.0

    @property
    def columns(self) -> int:
        """How wide it is in device pixels, at least 1."""
        return max(1, self.column(self.width))

    @property
    def width_px(self) -> float:
        """The width of its device pixels together, in logical pixels."""
        return self.columns / self.dpr

    def device_x(self, x: float) -> float:
        """Return where a logical x, counted from the left edge, lies in device pixels from there."""
        return (self.left + x) * self.dpr - snap_px(self.left * self.dpr)

    def logical_x(self, device_x: float) -> float:
        """Return the logical x, counted from the left edge, of a place in device pixels from there."""
        return (snap_px(self.left * self.dpr) + device_x) / self.dpr - self.left

    def column(self, x: float) -> int:
        """Return the device column that a logical x, counted from the left edge, lands on."""
        return snap_px((self.left + x) * self.dpr) - snap_px(self.left * self.dpr)

    def scale(self, window_ns: tuple[int, int]) -> Scale:
        """Return a window of time laid over the axis."""
        return Scale(*window_ns, self.columns)
