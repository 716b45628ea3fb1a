"""The sorting of raw events by owner and time: each table once; later only its owners are renumbered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from viewer.readers.errors import Cancel, check
from viewer.readers.impossible import impossible_note, overlong
from viewer.readers.owners import Owners
from viewer.readers.raw_events import PROCESS_MASK, Codes, RawEvents, pid_of
from viewer.readers.schema import TABLE_OF
from viewer.trace.events import GPU_KINDS, Events, Int64, Kind, UInt32

Keep = Callable[[Events], Events]
"""Stores a sorted table and returns it as stored, such as mapped into memory from the cache's file."""


class EventSorter:
    """Sorts tables by owner and time.

    Parameters
    ----------
    raw : dict of Kind to RawEvents
        Tables as they were read. A sorted one shares its arrays with its events.
    keep : callable
        Called with each table that is sorted.
    """

    def __init__(self, raw: dict[Kind, RawEvents], keep: Keep, cancelled: Cancel | None = None) -> None:
        self._raw, self._keep, self._cancelled = raw, keep, cancelled
        self._settled: dict[Kind, tuple[Codes, Events]] = {}
        self._cut: dict[Kind, Int64] = {}

    @property
    def notes(self) -> list[str]:
        """Lines about the operations that were cut, since they outlast later ones of their stream."""
        what, done = "longer than its stream allows", "cut at the start of the next operation of its stream"
        return [impossible_note(TABLE_OF[k], rows, what, done) for k, rows in sorted(self._cut.items())]

    def sort_events(self, kinds: Iterable[Kind], identity: Owners, final: UInt32) -> dict[Kind, Events]:
        """Return the events of some kinds; sort two tables at once, the largest first.

        Parameters
        ----------
        identity : Owners
            The owners. A table that was sorted before is sorted again only if their order has changed.
        final : ndarray of uint32
            The final id of each provisional name id; ids that earlier calls used have not changed.
        """

        def sort_kind(kind: Kind) -> Events:
            index_of = [identity.owner(kind, key) for key in self._raw[kind].owners]
            codes = np.array([-1 if index is None else index for index in index_of], np.int32)
            return self._sort_events(kind, codes, identity.owners(kind), final)

        # Large tables first: a large one that starts last would leave the other thread idle.
        order = sorted(kinds, key=lambda kind: -len(self._raw[kind]))
        with ThreadPoolExecutor(2, "lightbox-sort") as pool:
            return dict(zip(order, pool.map(sort_kind, order), strict=True))

    def settle_calls(self, final: UInt32) -> None:
        """Sort the API calls in their most likely final order: by process, main thread, thread.

        It takes long, and needs no other table: it runs while other threads read the rest of the file.
        """
        raw = self._raw[Kind.API]
        expected = sorted(range(len(raw.owners)), key=lambda owner: _place(raw.owners[owner][0]))
        codes = np.arange(len(expected), dtype=np.int32)
        # `expected` lists the old owner of each new one; its argsort is the inverse: the new one of each old.
        raw.owners = [raw.owners[owner] for owner in expected]
        raw.owner = codes[np.argsort(expected)][raw.owner]
        self._sort_events(Kind.API, codes, len(codes), final)

    def _sort_events(self, kind: Kind, index_of: Codes, owners: int, final: UInt32) -> Events:
        check(self._cancelled)
        raw, known = self._raw[kind], self._settled.get(kind)
        offsets = _renumbered(*known, index_of, owners) if known is not None else None
        if known is not None and offsets is not None:
            events = self._keep(replace(known[1], offsets=offsets))
        else:
            events = sort_events(raw, index_of, owners, final)
            if kind in GPU_KINDS:
                events, cut = overlong(events)
                self._cut |= {kind: cut} if len(cut) else {}
            events = self._keep(events)
            # Share the stored arrays, so that the ones read from the file can be freed. short_id stays
            # out: the events have final name ids, while `raw` must keep provisional ones.
            raw.start, raw.end = events.start_ns, events.end_ns
            raw.columns.update({n: c for n, c in events.columns.items() if n != "short_id"})
        self._settled[kind] = index_of, events
        return events


def _place(global_tid: int) -> tuple[int, bool, int]:
    thread = global_tid & ~PROCESS_MASK
    return global_tid & PROCESS_MASK, thread != pid_of(global_tid), thread


def _renumbered(before: Codes, events: Events, now: Codes, owners: int) -> Int64 | None:
    """Return the offsets of sorted events after their owners are renumbered; None if the order has changed.

    `before` and `now` hold the old and the new number of each of the table's own owners, -1 if not shown.
    """
    # In the old order the new numbers must still increase: then every row stays where it is, and only
    # the offsets change. An owner that appears or disappears would add or remove rows.
    shown = np.flatnonzero(before >= 0)
    shown = shown[np.argsort(before[shown], kind="stable")]
    if ((now >= 0) != (before >= 0)).any() or (np.diff(now[shown]) <= 0).any():
        return None
    counts = np.zeros(owners, np.int64)
    counts[now[shown]] = np.diff(events.offsets)[before[shown]]
    return np.concatenate(([0], np.cumsum(counts)))


def sort_events(raw: RawEvents, index_of: Codes, owners: int, final: UInt32) -> Events:
    """Return sorted events with final owners and name ids; drop the rows of owners that are not shown (-1).

    `raw` is sorted in place too, and shares its arrays with the events.
    """
    owner = index_of[raw.owner] if len(raw) else raw.owner
    order, owner, raw.start, raw.end = _sorted(owner, raw.start, raw.end)
    if order is not None:
        raw.name, raw.owner = raw.name[order], raw.owner[order]
        for name in raw.columns:
            raw.columns[name] = raw.columns[name][order]
    columns = dict(raw.columns)
    if "short_id" in columns:
        columns["short_id"] = final[columns["short_id"]]
    # `owner` is sorted now: the first row of owner i is offsets[i], and offsets[owners] is the row count.
    # The same dtype on both sides, or searchsorted copies the whole column.
    offsets = np.searchsorted(owner, np.arange(owners + 1, dtype=owner.dtype)).astype(np.int64)
    return Events(raw.kind, raw.start, raw.end, final[raw.name], offsets, columns)


def _sorted(owner: Codes, start: Int64, end: Int64) -> tuple[Int64 | None, Codes, Int64, Int64]:
    """Return the order by (owner, start, -end) without owner -1, and owner, start and end in that order.

    The order is None if the rows are sorted already.

    Files are nearly sorted: a stable sort brings each owner's rows together, then only the owners whose
    rows are out of order are sorted by time.
    """
    order: Int64 | None = None
    if len(owner) and (int(owner.min()) < 0 or (owner[1:] < owner[:-1]).any()):
        # numpy sorts 16-bit keys by radix, far faster than wider ones; + 1 makes -1 the smallest key, so
        # that the rows without an owner come first and one slice drops them.
        small = int(owner.max()) < 2**16 - 1
        key = (owner + 1).astype(np.uint16) if small else owner
        order = np.argsort(key, kind="stable")
        order = order[int((owner < 0).sum()) :]
        owner, start, end = owner[order], start[order], end[order]
    # Rows whose successor may be out of order: first by start alone, as few rows pass that test.
    suspects = np.flatnonzero(start[1:] <= start[:-1])
    suspects = suspects[owner[suspects + 1] == owner[suspects]]
    # Equal starts are in order where the longer event, which encloses the other, comes first.
    suspects = suspects[(start[suspects + 1] < start[suspects]) | (end[suspects + 1] > end[suspects])]
    unsorted = np.unique(owner[suspects]).tolist()
    # Without an order the arrays are still the caller's own: copy before writing into them.
    if unsorted and order is None:
        order, start, end = np.arange(len(owner)), start.copy(), end.copy()
    for number in unsorted:
        begin, stop = np.searchsorted(owner, np.array([number, number + 1], owner.dtype))
        inner = np.lexsort((-end[begin:stop], start[begin:stop]))
        for column in (order, start, end):
            assert column is not None
            column[begin:stop] = column[begin:stop][inner]
    return order, owner, start, end
