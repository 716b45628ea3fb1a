"""Names of events that are picked from tables: looked up, not copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace import Events, Kind
from viewer.trace.events import UInt32

_KINDS = tuple(Kind)


class Named:
    """An array of ids of names, shape (n,), of which only the requested part is ever made.

    Parameters
    ----------
    tables : mapping of Kind to Events
    kind, index
        As in `viewer.rows.row.RowEvents`.
    """

    def __init__(
        self,
        tables: Mapping[Kind, Events],
        kind: Kind | npt.NDArray[np.uint8],
        index: npt.NDArray[np.int32],
    ) -> None:
        self._tables, self._kind, self._index = tables, kind, index

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, positions: Any) -> Any:
        """Return the id at a position, or an array of those at many."""
        index = self._index[positions]
        if isinstance(self._kind, Kind):
            return self._tables[self._kind].name_id[index]
        kind = self._kind[positions]
        # A single position: a number is returned, as an array would.
        if not np.ndim(kind):
            return self._tables[_KINDS[int(kind)]].name_id[index]
        names = np.empty(len(index), np.uint32)
        # Only over the kinds that are there, mostly two: kernels and copies of one stream.
        for code in np.flatnonzero(np.bincount(kind)).tolist():
            mask = kind == code
            names[mask] = self._tables[_KINDS[code]].name_id[index[mask]]
        return names

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> UInt32:
        return np.asarray(self[:], dtype)
