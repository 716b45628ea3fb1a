"""Integer columns that are kept for every event, in half the memory where that is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace.events import Int64

Whole = npt.NDArray[np.signedinteger[Any]]
"""int32 or int64. Add int64 to it, and sum it as int64: sums of int32 may not fit int32."""


def narrowed(values: Int64) -> Whole:
    """Return the same numbers as int32 if all of them fit, else the array as it is; any shape."""
    limits = np.iinfo(np.int32)
    # Half the memory for the large columns that are kept; an empty one fits anything.
    all_fit = not len(values) or (values.min() >= limits.min and values.max() <= limits.max)
    return values.astype(np.int32) if all_fit else values
