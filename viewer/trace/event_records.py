"""Event records: the calls that recorded a CUDA event on a stream."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from viewer.trace.events import UInt32


@dataclass(frozen=True, slots=True)
class EventRecords:
    """The records of CUDA events, in the order of the file; they have no times but those of their calls.

    Attributes
    ----------
    process : ndarray of int32, shape (n,)
        Index into `Trace.processes`.
    context, stream_id : ndarray of uint32, shape (n,)
        The stream on which the event was recorded; `Trace.streams` need not have it, where nothing ran on it.
    correlation : ndarray of uint32, shape (n,)
        That of the call, within the process.
    event_id : ndarray of uint32, shape (n,)
        The event's handle within its context; handles are used again.
    sync_id : ndarray of uint64, shape (n,)
        Joins this record with the synchronisations that wait for it, within (process, context); 0,
        4294967295 and 2^64 - 1 are none.
    """

    process: npt.NDArray[np.int32]
    context: UInt32
    stream_id: UInt32
    correlation: UInt32
    event_id: UInt32
    sync_id: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.process)

    @classmethod
    def empty(cls) -> EventRecords:
        """Return no records."""
        id32 = np.empty(0, np.uint32)
        return cls(np.empty(0, np.int32), id32, id32, id32, id32, np.empty(0, np.uint64))


COLUMNS = tuple(field.name for field in fields(EventRecords))
"""The columns of `EventRecords`, in order."""
