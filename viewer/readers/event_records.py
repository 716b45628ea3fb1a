"""The reader of CUPTI's table of CUDA events: which call recorded which event on which stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.printable import counted
from viewer.readers.interning import distinct
from viewer.readers.owners import Owners
from viewer.readers.raw_events import PROCESS_MASK, ReadContext
from viewer.readers.schema import EVENT_RECORDS
from viewer.readers.tables import Field, RawColumns
from viewer.trace.event_records import EventRecords

NO_ID = 0xFFFFFFFF
_FIELDS = (
    Field("contextId", np.uint32), Field("streamId", np.uint32), Field("correlationId", np.uint32),
    Field("eventId", np.uint32, NO_ID), Field("eventSyncId", np.uint64),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RawEventRecords:
    """The rows of the table; their processes are numbered once the owners of all events are known."""

    columns: RawColumns

    def of(self, owners: Owners, notes: list[str]) -> EventRecords:
        """Return the records of the processes that are shown.

        Rows without a process are of the only one that there is; of several, nobody's.
        """
        raw, index = self.columns.values, owners.index["process"]
        codes, ids = distinct(raw["globalPid"] & PROCESS_MASK)
        only = 0 if len(index) == 1 else -1
        numbers = [index.get((global_pid,), only if global_pid == 0 else -1) for global_pid in ids.tolist()]
        process = np.array(numbers, np.int32)[codes]
        shown = process >= 0
        if lost := int((~shown & (raw["globalPid"] == 0)).sum()):
            notes.append(f"{EVENT_RECORDS}: {counted(lost, 'row')} without a process")
        return EventRecords(process[shown], *(raw[field.name][shown] for field in _FIELDS))


def read_event_records(reading: ReadContext) -> RawEventRecords:
    """Read the records of CUDA events."""
    columns = reading.tables.integers(EVENT_RECORDS, [Field("globalPid"), *_FIELDS], reading.cancelled)
    if EVENT_RECORDS in reading.tables.names:
        reading.counts[EVENT_RECORDS] = len(columns)
    return RawEventRecords(columns)
