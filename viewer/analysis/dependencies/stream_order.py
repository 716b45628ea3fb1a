"""The order in which each stream runs its operations, and when each of them was launched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.dependencies.graph import Operations, Rows
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS
from viewer.trace.events import Int64
from viewer.trace.model import UNIFIED_NAME

NEVER = int(np.iinfo(np.int64).min)
"""When an operation was launched of which, and of those before it on its stream, no launch is recorded."""


@dataclass(frozen=True, eq=False)
class StreamOrder:
    """The operations of all streams, stream by stream, in the order in which they were launched.

    Attributes
    ----------
    order : ndarray of int32, shape (n,)
        Numbers of operations.
    offsets : ndarray of int64, shape (streams + 1,)
        Stream k has ``order[offsets[k]:offsets[k + 1]]``.
    launched_ns : ndarray of int64, shape (n,)
        The start of the call that launched ``order[i]``, never less than that of one before it on the stream;
        of one without a launch record, that of the one before it.
    """

    order: Rows
    offsets: Int64
    launched_ns: Int64

    def last_before(self, streams: Rows, times_ns: Int64) -> Int64:
        """Return the place in `order` of the last operation launched on each stream before a time.

        Shape (m,) all, -1 where there is none; streams without operations may have any number.
        """
        return last_below(self.offsets, self.launched_ns, streams, times_ns)


def last_below(offsets: Int64, values: Int64, owners: Rows, limits: Int64) -> Int64:
    """Return the place of the last value of an owner that is below a limit, -1 where there is none.

    Parameters
    ----------
    offsets : ndarray of int64, shape (owners + 1,)
        Owner k has ``values[offsets[k]:offsets[k + 1]]``, which increase; one beyond has none.
    owners, limits : ndarray, shape (m,)

    Returns
    -------
    ndarray of int64, shape (m,)
        Indices into `values`.
    """
    places = np.full(len(owners), -1, np.int64)
    by_owner = np.argsort(owners, kind="stable")
    present, first = np.unique(owners[by_owner], return_index=True)
    # A turn for each owner: all of its questions are one search in its sorted values.
    for owner, begin, stop in zip(present.tolist(), first, np.append(first, len(owners))[1:], strict=True):
        rows = by_owner[begin:stop]
        if 0 <= owner < len(offsets) - 1:
            low, high = offsets[owner], offsets[owner + 1]
            found = np.searchsorted(values[low:high], limits[rows], side="left") - 1
            places[rows] = np.where(found >= 0, found + low, -1)
    return places


def find_operations(launches: Launches) -> tuple[Operations, StreamOrder]:
    """Return the operations of all GPUs with the call and the stream's operation before each.

    A stream runs its operations in the order in which they were launched, so that their starts tell that
    order, for operations without a launch record too, and where two threads launch on one stream. What
    starts together is ordered by its calls.
    """
    trace = launches.trace
    tables = [trace.events[kind] for kind in GPU_KINDS]
    first = np.concatenate(([0], np.cumsum([len(events) for events in tables])))
    start = np.concatenate([events.start_ns for events in tables])
    end = np.concatenate([events.end_ns for events in tables])
    stream = np.concatenate([events.owners() for events in tables])
    call = np.concatenate([launches.api_of(kind) for kind in GPU_KINDS])
    # Every kind has all streams as owners, so that the places of all kinds add up to those of the streams.
    offsets: Int64 = np.array([events.offsets for events in tables], np.int64).sum(axis=0)
    order = np.empty(len(start), np.int32)
    for number in range(len(trace.streams)):
        rows = np.concatenate(
            [
                np.arange(*events.offsets[number : number + 2]) + at
                for events, at in zip(tables, first[:-1], strict=True)
            ]
        )
        # Each kind is sorted, and the stable sort merges sorted runs; two keys only where starts are equal.
        by_start = np.argsort(start[rows], kind="stable")
        if (np.diff(start[rows][by_start]) == 0).any():
            by_start = np.lexsort((end[rows], call[rows], start[rows]))
        order[offsets[number] : offsets[number + 1]] = rows[by_start]
    previous = np.full(len(order), -1, np.int32)
    # Shifted by one place; the first of each stream has none before it.
    is_first = np.zeros(len(order), bool)
    is_first[offsets[:-1][np.diff(offsets) > 0]] = True
    previous[order[1:]] = np.where(is_first[1:], np.int32(-1), order[:-1])
    launched = np.full(len(order), NEVER, np.int64)
    known = call[order] >= 0
    launched[known] = trace.api.start_ns[call[order][known]]
    for number in range(len(trace.streams)):
        of_stream = slice(offsets[number], offsets[number + 1])
        np.maximum.accumulate(launched[of_stream], out=launched[of_stream])
    drivers = tuple(s.index for s in trace.streams if s.name == UNIFIED_NAME)
    previous[np.isin(stream, drivers)] = -1
    operations = Operations(first, start, end, stream, call, previous, drivers)
    return operations, StreamOrder(order, offsets, launched)
