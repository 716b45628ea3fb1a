"""What a counter row holds: a table of (time, value), its unit, and the scale that it is drawn on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from viewer.analysis.study import Study
from viewer.trace.events import Int64

Values = npt.NDArray[np.signedinteger] | npt.NDArray[np.floating]
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Samples:
    """A table of (time, value). A value holds until the next sample; NaN says that none is known from there.

    Attributes
    ----------
    times_ns : ndarray of int64, shape (n,)
        Rising; several samples may share a time.
    values : ndarray of any integer or float type, shape (n,)
    marks_ns : ndarray of int64, shape (m,)
        Instants to be marked at the bottom of the row, rising.
    """

    times_ns: Int64
    values: Values
    marks_ns: Int64 = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.times_ns)

    def at(self, time_ns: int) -> float | None:
        """Return the value that holds at an instant, None before the first sample and where none is known."""
        # The last of those at the same time holds: it was written after the others.
        position = int(np.searchsorted(self.times_ns, time_ns, side="right")) - 1
        value = float(self.values[position]) if position >= 0 else math.nan
        return None if math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class ValueScale:
    """The values at the bottom and the top of a counter row; beyond them a curve is cut off."""

    low: float
    high: float
    is_log: bool = False

    @classmethod
    def around(cls, values: Values, unit: str = "") -> ValueScale:
        """Return a linear scale that holds all the values and zero, with round ends: 80 GiB, 300 W, 100 %."""
        # NaN marks time without a value; one of them would make every extreme NaN.
        known = values[~np.isnan(values)]
        least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        # Zero is always on the scale: a curve that starts at 71 of 72 GiB would look like one that starts at
        # nothing.
        low = -_round_up(-least, unit) if least < 0 else 0.0
        high = _round_up(most, unit) if most > 0 else 0.0 if low < 0 else 1.0
        return cls(low, high)

    def share(self, values: npt.ArrayLike) -> Float64:
        """Return how high values stand, in [0, 1], in the shape of `values`; NaN stays NaN."""
        value = np.asarray(values, np.float64)
        if self.is_log:
            # What is below the scale stands at its bottom; a zero would have no logarithm.
            height = np.log10(np.maximum(value / self.low, 1.0)) / math.log10(self.high / self.low)
        else:
            height = (value - self.low) / (self.high - self.low)
        return np.asarray(np.clip(height, 0.0, 1.0))

    def ticks(self) -> tuple[tuple[float, float], ...]:
        """Return (value, share of the height) of the lines that are drawn: bottom, middle, top."""
        # Where the middle of the row is: on a logarithmic scale that is the geometric mean.
        middle = math.sqrt(self.low * self.high) if self.is_log else (self.low + self.high) / 2
        return (self.low, 0.0), (middle, 0.5), (self.high, 1.0)


def _round_up(value: float, unit: str) -> float:
    """Return the next 1, 2 or 5 times a power of ten; of bytes the next power of two."""
    # 80 GiB are a round number to who knows the GPU, and 85,899,345,920 bytes are not.
    if unit == "bytes":
        return float(2 ** math.ceil(math.log2(value)))
    power = 10.0 ** math.floor(math.log10(value))
    # A hair of slack: a value that is round already must not be rounded up by the error of its logarithm.
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-12)))


def _always(_study: Study, _owner: int) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Counter:
    """What a kind of counter row shows. Drawing, header, hover card and export follow from it.

    Attributes
    ----------
    label, detail : str
        As in `Row`; the detail also stands behind the value on the hover card: "12 µs in the queue".
    unit : str
        As `viewer.drawing.format.format_value` knows it: "ns", "bytes", "share", "count", else written out.
    meaning : str
        What a value is, in one line.
    load : callable
        Takes the study and the index of the owner, and returns its `Samples`; called when the row is first
        drawn.
    owner : str
        What has such a row: each GPU, or each process.
    has_row : callable
        Takes the same, and returns whether this owner has the row. It is asked before anything is drawn:
        it must be quick.
    scale : ValueScale or None
        None: from zero to the greatest value of all rows of the kind, rounded up.
    only_while_busy : bool
        A value holds no longer than the GPU is busy.
    """

    label: str
    detail: str
    unit: str
    meaning: str
    load: Callable[[Study, int], Samples]
    owner: Literal["gpu", "process"] = "gpu"
    has_row: Callable[[Study, int], bool] = _always
    scale: ValueScale | None = None
    only_while_busy: bool = False
