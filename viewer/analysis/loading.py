"""How much of a trace is loaded, and whether the rest follows."""

from __future__ import annotations

from enum import Enum, auto


class Loading(Enum):
    """How much of a trace is loaded, and whether the rest follows.

    A large trace goes from `GPUS` (the rows of its GPUs) over `ROWS` (all rows, without iterations and sums)
    to `COMPLETE`. Where loading is cancelled, or fails, the rows that are there stay: `CANCELLED_AT_GPUS` or
    `CANCELLED_AT_ROWS`.
    """

    GPUS = auto()
    ROWS = auto()
    COMPLETE = auto()
    CANCELLED_AT_GPUS = auto()
    CANCELLED_AT_ROWS = auto()

    @property
    def is_complete(self) -> bool:
        """Whether all rows are there, and the numbers."""
        return self is Loading.COMPLETE

    @property
    def has_all_rows(self) -> bool:
        """Whether all rows are there, not those of the GPUs alone."""
        return self not in (Loading.GPUS, Loading.CANCELLED_AT_GPUS)

    @property
    def is_cancelled(self) -> bool:
        """Whether the rest does not follow."""
        return self in (Loading.CANCELLED_AT_GPUS, Loading.CANCELLED_AT_ROWS)

    def cancelled(self) -> Loading:
        """Return the state after loading was cancelled or failed."""
        if self.is_complete:
            return self
        return Loading.CANCELLED_AT_ROWS if self.has_all_rows else Loading.CANCELLED_AT_GPUS

    def resumed(self) -> Loading:
        """Return the state after loading has begun again."""
        if self.is_complete:
            return self
        return Loading.ROWS if self.has_all_rows else Loading.GPUS
