"""LaneSizes: how tall the lanes of rows are, so that they fill the height that there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

STEPS = 64
"""How many steps there are from the least sizes to the usual ones, and as many from there to the largest."""


@dataclass(frozen=True, slots=True)
class Size:
    """The height of a kind of lane or gap, in logical pixels: where room is scarce, usually, at most."""

    least: int
    usual: int
    most: int
    fills: bool = False
    """Whether it takes what the steps leave of the room."""


@dataclass(frozen=True, slots=True)
class LaneSizes:
    """All lanes at one step: 0 the least sizes, `STEPS` the usual ones, ``2 * STEPS`` the largest.

    Attributes
    ----------
    extra : int
        What the lanes that fill the room are taller, logical pixels.
    """

    step: int = STEPS
    extra: int = 0

    def of(self, size: Size) -> int:
        """Return the height of a lane in logical pixels."""
        if self.step <= STEPS:
            low, high, share = size.least, size.usual, self.step / STEPS
        else:
            low, high, share = size.usual, size.most, self.step / STEPS - 1
        return int(low + (high - low) * share + 0.5) + (self.extra if size.fills else 0)


LEAST, USUAL, MOST = LaneSizes(0), LaneSizes(STEPS), LaneSizes(2 * STEPS)


def largest_that_fits(
    height_at: Callable[[LaneSizes], int], room: int, most: LaneSizes = MOST
) -> LaneSizes | None:
    """Return the largest sizes, no larger than `most`, at which rows are no higher than `room`.

    Parameters
    ----------
    height_at : callable
        Returns how high the rows together are at some sizes, logical pixels; rises with the sizes.

    Returns
    -------
    LaneSizes or None
        None where the rows are too high even at the least sizes.
    """
    if height_at(LEAST) > room:
        return None
    low, high = 0, most.step
    while low < high:
        middle = (low + high + 1) // 2
        if height_at(LaneSizes(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return LaneSizes(low)
