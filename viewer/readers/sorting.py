"""Loose events become sorted ones, each table once: what has found its place stays there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from viewer.readers.errors import Cancel, check
from viewer.readers.owners import Owners
from viewer.readers.raw_events import PROCESS_MASK, Codes, RawEvents, pid_of
from viewer.trace.events import Events, Int64, Kind, UInt32

Keep = Callable[[Events], Events]
"""Puts a table where it is to stay, and returns it from there."""


class EventSorter:
    """Sorts tables by owner and time.

    Parameters
    ----------
    raw : dict of Kind to RawEvents
        Tables as they were read. One that is settled shares its arrays with its events.
    keep : callable
        Called with each table that is settled.
    """

    def __init__(self, raw: dict[Kind, RawEvents], keep: Keep, cancelled: Cancel | None = None) -> None:
        self._raw, self._keep, self._cancelled = raw, keep, cancelled
        self._settled: dict[Kind, tuple[Codes, Events]] = {}

    def sort_events(self, kinds: Iterable[Kind], identity: Owners, final: UInt32) -> dict[Kind, Events]:
        """Return the events of some kinds, two tables at once, the large ones first.

        Parameters
        ----------
        identity : Identity
            The owners. A table is sorted anew only where they come in another order than when it was settled.
        final : ndarray of uint32
            The names' ids by their provisional ones; ids that were given stay.
        """

        def one(kind: Kind) -> Events:
            index_of = [identity.owner(kind, key) for key in self._raw[kind].owners]
            codes = np.array([-1 if index is None else index for index in index_of], np.int32)
            return self._sort_events(kind, codes, identity.owners(kind), final)

        order = sorted(kinds, key=lambda kind: -len(self._raw[kind]))
        with ThreadPoolExecutor(2, "lightbox-sort") as pool:
            return dict(zip(order, pool.map(one, order), strict=True))

    def settle_calls(self, final: UInt32) -> None:
        """Settle the API calls as they will most likely lie: by process, main thread, thread.

        It takes long, and can be done beside the reading of what tells the owners of the whole file.
        """
        raw = self._raw[Kind.API]
        by_place = sorted(range(len(raw.owners)), key=lambda at: _place(raw.owners[at][0]))
        codes = np.arange(len(by_place), dtype=np.int32)
        raw.owners = [raw.owners[at] for at in by_place]
        raw.owner = codes[np.argsort(by_place)][raw.owner]
        self._sort_events(Kind.API, codes, len(codes), final)

    def _sort_events(self, kind: Kind, index_of: Codes, owners: int, final: UInt32) -> Events:
        check(self._cancelled)
        raw, known = self._raw[kind], self._settled.get(kind)
        offsets = _renumbered(*known, index_of, owners) if known is not None else None
        if known is not None and offsets is not None:
            events = self._keep(replace(known[1], offsets=offsets))
        else:
            events = self._keep(sort_events(raw, index_of, owners, final))
            raw.start, raw.end = events.start_ns, events.end_ns
            raw.columns.update({n: c for n, c in events.columns.items() if n != "short_id"})
        self._settled[kind] = index_of, events
        return events


def _place(global_tid: int) -> tuple[int, bool, int]:
    thread = global_tid & ~PROCESS_MASK
    return global_tid & PROCESS_MASK, thread != pid_of(global_tid), thread


def _renumbered(before: Codes, events: Events, now: Codes, owners: int) -> Int64 | None:
    """Return the offsets of events under other numbers of their owners; None if these come in another order.

    `before` and `now` are the numbers of the table's own owners, -1 for those that are not shown.
    """
    shown = np.flatnonzero(before >= 0)
    shown = shown[np.argsort(before[shown], kind="stable")]
    if ((now >= 0) != (before >= 0)).any() or (np.diff(now[shown]) <= 0).any():
        return None
    counts = np.zeros(owners, np.int64)
    counts[now[shown]] = np.diff(events.offsets)[before[shown]]
    return np.concatenate(([0], np.cumsum(counts)))


def sort_events(raw: RawEvents, index_of: Codes, owners: int, final: UInt32) -> Events:
    """Make events: owners and names numbered, owners that are not shown (-1) dropped, sorted.

    `raw` is sorted too and shares its arrays with the events.
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
    offsets = np.searchsorted(owner, np.arange(owners + 1, dtype=owner.dtype)).astype(np.int64)
    return Events(raw.kind, raw.start, raw.end, final[raw.name], offsets, columns)


def _sorted(owner: Codes, start: Int64, end: Int64) -> tuple[Int64 | None, Codes, Int64, Int64]:
    """Sort by (owner, start, -end), without owner -1; return the order (None: it is so already) and these.

    Files are nearly sorted: owners are brought together stably, then only those are sorted
    whose events are not in order.
    """
    order: Int64 | None = None
    if len(owner) and (int(owner.min()) < 0 or (owner[1:] < owner[:-1]).any()):
        small = int(owner.max()) < 2**16 - 1
        key = (owner + 1).astype(np.uint16) if small else owner
        order = np.argsort(key, kind="stable")
        order = order[int((owner < 0).sum()) :]
        owner, start, end = owner[order], start[order], end[order]
    held = np.flatnonzero(start[1:] <= start[:-1])
    held = held[owner[held + 1] == owner[held]]
    held = held[(start[held + 1] < start[held]) | (end[held + 1] > end[held])]
    unsorted = np.unique(owner[held]).tolist()
    if unsorted and order is None:
        order, start, end = np.arange(len(owner)), start.copy(), end.copy()
    for one in unsorted:
        begin, stop = np.searchsorted(owner, np.array([one, one + 1], owner.dtype))
        inner = np.lexsort((-end[begin:stop], start[begin:stop]))
        for column in (order, start, end):
            assert column is not None
            column[begin:stop] = column[begin:stop][inner]
    return order, owner, start, end
