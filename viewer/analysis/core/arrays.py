"""Whole numbers that are kept for every event, in half the room where that is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

Whole = npt.NDArray[np.signedinteger[Any]]
"""int32 or int64: add to it what is int64, and sum it as int64."""


def narrowed(values: Int64) -> Whole:
    """Return the same numbers as int32 where they all fit, else as they are."""
    limits = np.iinfo(np.int32)
    fit = not len(values) or (values.min() >= limits.min and values.max() <= limits.max)
    return values.astype(np.int32) if fit else values
