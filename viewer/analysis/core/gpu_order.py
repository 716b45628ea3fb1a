"""The operations of a GPU over all its streams, in order of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64


@dataclass(frozen=True, slots=True)
class GpuOrder:
    """All operations of a GPU by start; those that start together, by end.

    Attributes
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Nanoseconds since the trace's zero.
    kind : ndarray of uint8, shape (n,)
        Position in `tuple(Kind)`; those of GPU operations are 0 to 3, as in `GPU_KINDS`.
    index : ndarray of int32, shape (n,)
        Index into the events of that kind.
    """

    start_ns: Int64
    end_ns: Int64
    kind: npt.NDArray[np.uint8]
    index: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.start_ns)

    def ref(self, position: int) -> tuple[Kind, int]:
        """Return the kind of one operation and its index into the events of that kind."""
        return GPU_KINDS[self.kind[position]], int(self.index[position])


def rows_of_gpu(trace: Trace, kind: Kind, gpu: int) -> npt.NDArray[np.int32]:
    """Return the indices of one kind of operation on one GPU, stream by stream, shape (n,)."""
    return trace.events[kind].rows_of([s.index for s in trace.streams_of(gpu)])


def gpu_order(trace: Trace, gpu: int) -> GpuOrder:
    """Return the operations of one GPU over all its streams, sorted."""
    rows = [rows_of_gpu(trace, kind, gpu) for kind in GPU_KINDS]
    tables = [trace.events[kind] for kind in GPU_KINDS]
    start = np.concatenate([events.start_ns[r] for events, r in zip(tables, rows, strict=True)])
    end = np.concatenate([events.end_ns[r] for events, r in zip(tables, rows, strict=True)])
    kind = np.repeat(np.arange(len(rows), dtype=np.uint8), [len(r) for r in rows])
    # The streams are sorted already, which makes the stable sort a cheap merge; the dearer sort by two keys
    # is needed only where operations start at the same nanosecond.
    order = np.argsort(start, kind="stable")
    if (np.diff(start[order]) == 0).any():
        order = np.lexsort((end, start))
    return GpuOrder(start[order], end[order], kind[order], np.concatenate(rows)[order])
