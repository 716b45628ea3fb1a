"""The overlap tax: a compute kernel takes longer while communication of its GPU runs beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

DEFAULT_TAX = 0.03


@dataclass
class OverlapTax:
    """Stretches kernels beside communication by the fraction `tax`; arrays have shape (ranks,), in ns.

    A collective must be added before the kernels that may run beside it: its stream waits for the compute
    stream, so no kernel launched before it does.
    """

    tax: float
    _communication: list[tuple[Int64, Int64]] = field(default_factory=list)
    _last_end: int = 0

    def add(self, start: Int64, end: Int64) -> None:
        """Add a collective's times on all ranks."""
        if self.tax:
            self._communication.append((start, end))
            self._last_end = max(self._last_end, int(end.max()))

    def end_of(self, start: Int64, work: Int64) -> Int64:
        """Return when kernels end that start at `start` and would take `work` alone."""
        if start.min() < self._last_end:  # the quick test, for the many kernels that have none beside them
            self._communication = [c for c in self._communication if (c[1] > start).any()]
        else:
            self._communication.clear()
        if not self._communication:
            alone: Int64 = start + work
            return alone
        # By start on each rank: the streams' collectives may overlap, and must not count twice.
        begins = np.stack([begin for begin, _ in self._communication])
        order = np.argsort(begins, axis=0, kind="stable")
        begins = np.take_along_axis(begins, order, axis=0)
        ends = np.take_along_axis(np.stack([end for _, end in self._communication]), order, axis=0)
        now, left = start.copy(), work.copy()
        for begin, end in zip(begins, ends, strict=True):
            alone = np.clip(begin - now, 0, left)
            now, left = now + alone, left - alone
            needed = np.rint(left * (1 + self.tax)).astype(np.int64)
            used = np.clip(end - now, 0, needed)
            left -= np.where(used == needed, left, (used / (1 + self.tax)).astype(np.int64))
            now += used
        return now + left
