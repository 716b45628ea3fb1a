"""Which record of an event each wait is for (docs/definitions.md, section 11)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.dependencies.event_calls import NO_ID, EventCalls, EventUse
from viewer.analysis.dependencies.graph import Codes, Grade, Mask, Rows
from viewer.trace.events import AnyArray, Int64


def join(use: EventUse, waits: EventCalls) -> tuple[Rows, Codes]:
    """Return the record that each wait is for, and how that is known.

    Returns
    -------
    record : ndarray of int32, shape (waits,)
        Index into ``use.records``; -1 where the event stands for nothing, or is not known.
    grade : ndarray of uint8, shape (waits,)
        A `Grade`; `Grade.UNKNOWN` where the record is not known.
    """
    record = np.full(len(waits), -1, np.int32)
    grade = np.full(len(waits), Grade.UNKNOWN, np.uint8)
    with_id = np.flatnonzero(waits.sync_id != 0)
    found = _by_sync_id(use.records, waits.take(with_id))
    record[with_id] = found
    grade[with_id[found >= 0]] = Grade.PROVEN
    # Without an id the handle tells, where no record was lost: every row is there, and none of the process
    # has an id. Where some have ids, what has none is known only if its handle was never recorded before; and
    # that tells nothing where the process opened events of others.
    named = (waits.sync_id == 0) & (waits.event_id != NO_ID)
    without = np.flatnonzero(named & use.is_complete[waits.process])
    found, is_sure = _by_handle(use.records, waits.take(without))
    process = waits.process[without]
    is_joined = (found >= 0) & ~use.has_sync_ids[process]
    record[without[is_joined]] = found[is_joined]
    grade[without[is_joined]] = np.where(is_sure[is_joined], Grade.HANDLE, Grade.TIMING)
    grade[without[(found < 0) & ~use.has_foreign[process]]] = Grade.HANDLE
    # A record whose stream is not in the file is one, but what it stands for is not known.
    is_nowhere = (record >= 0) & (use.records.lane[record] < 0) if len(use.records) else record >= 0
    record[is_nowhere] = -1
    grade[is_nowhere] = Grade.UNKNOWN
    return record, grade


def _by_sync_id(records: EventCalls, waits: EventCalls) -> Rows:
    """Return the record with the same id within (process, context), -1 where there is not exactly one."""
    usable = np.flatnonzero((records.sync_id != 0) & (records.call >= 0))
    columns = [
        np.concatenate((getattr(records, name)[usable], getattr(waits, name)))
        for name in ("sync_id", "context", "process")
    ]
    key = numbered(*columns)
    of_record, of_wait = key[: len(usable)], key[len(usable) :]
    count = np.bincount(of_record, minlength=int(key.max(initial=-1)) + 1)
    record_of = np.full(len(count), -1, np.int32)
    record_of[of_record] = usable
    # Two records with one id cannot be: which of them is meant is not known.
    found = np.where(count[of_wait] == 1, record_of[of_wait], np.int32(-1))
    # Nor can a wait be over before what it waits for is recorded.
    is_later = records.start_ns[found] > waits.end_ns if len(records) else found >= 0
    return np.where((found >= 0) & ~is_later, found, np.int32(-1))


def _by_handle(records: EventCalls, waits: EventCalls) -> tuple[Rows, Mask]:
    """Return the last record of a wait's event before it, -1 for none, and whether the order is sure."""
    usable = np.flatnonzero(records.call >= 0)
    found, is_sure = np.full(len(waits), -1, np.int32), np.ones(len(waits), bool)
    if not len(usable) or not len(waits):
        return found, is_sure
    joined = [
        np.concatenate((getattr(records, name)[usable], getattr(waits, name)))
        for name in ("event_id", "context", "process", "start_ns")
    ]
    key, start = numbered(*joined[:3]), joined[3]
    is_record = np.arange(len(key)) < len(usable)
    # By event, then by time, records first where they begin with a wait (the sort keeps the order of equal
    # ones): the last record so far, and the first one after, are then those of neighbours.
    order = np.lexsort((start, key))
    at = np.arange(len(order))
    before = np.maximum.accumulate(np.where(is_record[order], at, -1))
    after = np.minimum.accumulate(np.where(is_record[order], at, len(order))[::-1])[::-1]
    of_waits = np.flatnonzero(~is_record[order])
    wait = order[of_waits] - len(usable)
    last, following = (_of_same(key, order, of_waits, places[of_waits], usable) for places in (before, after))
    found[wait] = last
    for other in (last, following):
        is_sure[wait] &= ~((other >= 0) & overlap(records, other, waits, wait))
    return found, is_sure


def _of_same(key: Int64, order: Int64, of_waits: Int64, places: Int64, usable: Int64) -> Rows:
    """Return the records at some places in the order, -1 where they are beyond or of another event."""
    inside = (places >= 0) & (places < len(order))
    at = order[np.where(inside, places, 0)]
    inside &= key[at] == key[order[of_waits]]
    return np.where(inside, usable[np.where(inside, at, 0)], -1).astype(np.int32)


def overlap(first: EventCalls, rows: AnyArray, second: EventCalls, others: AnyArray) -> Mask:
    """Return which pairs of calls are of two threads and overlap in time, so that their order is not sure."""
    return np.asarray(
        (first.thread[rows] != second.thread[others])
        & (first.start_ns[rows] < second.end_ns[others])
        & (second.start_ns[others] < first.end_ns[rows])
    )


def numbered(*columns: AnyArray) -> Int64:
    """Return a number for each distinct combination of some columns, shape (n,)."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        # Each step numbers anew, so that the product of two counts never overflows.
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return number
