"""Scale: time to pixel and back."""

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
        whole, rest = divmod(self.length_ns, self.width)
        px = np.arange(self.width + 1, dtype=np.int64)
        # Not px * length // width: that overflows where one event lies a month or more outside the session.
        return self.start_ns + px * whole + px * rest // self.width
