"""Launch records: which API call launched which operation of a GPU (docs/definitions.md, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.core.prefix_sums import PrefixSums
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

UNKNOWN = int(np.iinfo(np.int64).min)
"""The latency and the queue time of an operation without a launch record."""
NEAR_ZERO_NS = 20_000
"""An operation that was queued for less than this was not queued: it began as soon as it was launched."""

_UInt64 = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.int32]


class Launches:
    """The launch records of a trace.

    The call that launched an operation is the one with the same (process, correlation id), the innermost
    where several share it. Correlation id 0 matches nothing.

    Parameters
    ----------
    trace : Trace
    order : callable
        Returns the operations of a GPU by start, see `Study.order`.

    Attributes
    ----------
    trace : Trace
    """

    def __init__(self, trace: Trace, order: Callable[[int], GpuOrder]) -> None:
        self.trace = trace
        self._order = order
        self._api_of: dict[Kind, _Rows] = {}
        self._ops: dict[Kind, tuple[_Rows, _Rows]] = {}
        self._spans: dict[int, tuple[PrefixSums, PrefixSums]] = {}

    def api_of(self, kind: Kind) -> _Rows:
        """Return the call that launched each operation: indices into `Trace.api`, -1 without a record.

        Shape (operations of that kind,), int32; computed once.
        """
        if kind not in self._api_of:
            keys, calls = self._calls
            wanted = _keys(self.trace, kind)
            if len(keys):
                # Binary searches over sorted keys: no pairs are built, and the order of the events stays.
                nearest = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                self._api_of[kind] = np.where(keys[nearest] == wanted, calls[nearest], np.int32(-1))
            else:
                self._api_of[kind] = np.full(len(wanted), -1, np.int32)
        return self._api_of[kind]

    def prepare(self) -> None:
        """Find the calls of all operations now, and free the sorted keys that this takes."""
        for kind in GPU_KINDS:
            self.api_of(kind)
        self.__dict__.pop("_calls", None)

    def latency_ns(self, kind: Kind, rows: _Rows | None = None) -> Int64:
        """Return operation start - call start of each operation, in ns; `UNKNOWN` without a record.

        `rows` are the wanted operations, shape (n,); by default all of the kind.
        """
        return self._since(kind, self.trace.api.start_ns, rows)

    def queued_ns(self, kind: Kind, rows: _Rows | None = None) -> Int64:
        """Return operation start - call end in ns, 0 where that is negative, `UNKNOWN` without a record.

        `rows` are the wanted operations, shape (n,); by default all of the kind.
        """
        queued = self._since(kind, self.trace.api.end_ns, rows)
        return np.where(queued == UNKNOWN, UNKNOWN, np.maximum(queued, 0))

    def ops_of(self, api_index: int) -> list[tuple[Kind, int]]:
        """Return what a call launched, as (kind, index into its events), by kind and index."""
        launched: list[tuple[Kind, int]] = []
        for kind in GPU_KINDS:
            if kind not in self._ops:
                calls = self.api_of(kind)
                # The other direction, sorted when the first link is asked for: many sessions never ask.
                rows = np.argsort(calls, kind="stable").astype(np.int32)
                self._ops[kind] = calls[rows], rows
            calls, rows = self._ops[kind]
            first, stop = np.searchsorted(calls, [api_index, api_index + 1])
            # A call that launched nothing has an empty run; -1, without a record, sorts first and is never
            # asked for.
            launched.extend((kind, int(row)) for row in rows[first:stop])
        return launched

    def other_ends(self, kind: Kind, index: int) -> list[tuple[Kind, int]]:
        """Return the call that launched an operation, or the operations that a call launched, by their start.

        Empty without a launch record, for a call that launched nothing, and for other kinds of events.
        """
        if kind in GPU_KINDS:
            call = int(self.api_of(kind)[index])
            return [(Kind.API, call)] if call >= 0 else []
        if kind is Kind.API:
            events = self.trace.events
            return sorted(self.ops_of(index), key=lambda op: int(events[op[0]].start_ns[op[1]]))
        return []

    def latency_of(self, kind: Kind, index: int) -> int | None:
        """Return the latency of an operation, or of the first one that a call launched, ns; None without.

        A negative one shows that the GPU's clock is early: no operation starts before its call.
        """
        if kind not in GPU_KINDS:
            ends = self.other_ends(kind, index)
            return self.latency_of(*ends[0]) if ends else None
        ns = int(self.latency_ns(kind, np.array([index], np.int32))[0])
        return None if ns == UNKNOWN else ns

    def count(self, gpu: int, start_ns: int, end_ns: int) -> int:
        """Return how many calls launched work of a GPU that touches the window [start, end).

        What a call launched reaches from the start of its first operation on that GPU to the end of its last.
        """
        return sum(spans.count(start_ns, end_ns) for spans in self.spans(gpu))

    def spans(self, gpu: int) -> tuple[PrefixSums, PrefixSums]:
        """Return the time from the first to the last operation of each call on a GPU, to be counted.

        The first one holds the calls that launched one operation there, the second one those that launched
        several; `PrefixSums.count` of both together counts the launches in a window.
        """
        if gpu not in self._spans:
            self._spans[gpu] = self._spans_of(gpu)
        return self._spans[gpu]

    def _since(self, kind: Kind, times: Int64, rows: _Rows | None = None) -> Int64:
        """Return operation start - time of its call, `times` being one a call; `UNKNOWN` without a record."""
        calls, start = self.api_of(kind), self.trace.events[kind].start_ns
        if rows is not None:
            calls, start = calls[rows], start[rows]
        known = calls >= 0
        since = np.full(len(calls), UNKNOWN, np.int64)
        since[known] = start[known] - times[calls[known]]
        return since

    def _spans_of(self, gpu: int) -> tuple[PrefixSums, PrefixSums]:
        order = self._order(gpu)
        calls = np.full(len(order), -1, np.int32)
        for position, kind in enumerate(GPU_KINDS):
            of_kind = order.kind == position
            calls[of_kind] = self.api_of(kind)[order.index[of_kind]]
        known = calls >= 0
        # Nearly all calls launch one operation: these are counted where they stand in the GPU's order, which
        # is sorted and in memory already; only the others need spans of their own.
        shifted = calls[known] - calls[known].min(initial=np.iinfo(np.int32).max)
        is_single = known.copy()
        is_single[known] = (np.bincount(shifted) == 1)[shifted]
        several = np.flatnonzero(known & ~is_single)
        several = several[np.argsort(calls[several], kind="stable")]
        first_of_call = np.flatnonzero(np.diff(calls[several], prepend=-1))
        start = end = np.empty(0, np.int64)
        if len(first_of_call):
            starts, ends = order.start_ns[several], order.end_ns[several]
            start = np.minimum.reduceat(starts, first_of_call)
            # An operation of length zero counts where it starts, so that a span is at least 1 ns long.
            end = np.maximum.reduceat(np.maximum(ends, starts + 1), first_of_call)
            by_start = np.argsort(start, kind="stable")
            start, end = start[by_start], end[by_start]
        return (
            PrefixSums(order.start_ns, order.end_ns, np.zeros(len(order), np.uint8), is_single),
            PrefixSums(start, end, np.zeros(len(start), np.uint8)),
        )

    @cached_property
    def _calls(self) -> tuple[_UInt64, _Rows]:
        """The keys of all calls, increasing, each once, and the innermost call of each; shape (keys,)."""
        api = self.trace.api
        keys = _keys(self.trace, Kind.API)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        # Key 0 stands for "no correlation id" and comes first.
        order = order[np.searchsorted(keys[order], np.uint64(1)) :]
        keys = keys[order]
        equals_next = keys[1:] == keys[:-1]
        if equals_next.any():
            # Among calls of one key the innermost starts last, of those that start together it ends first:
            # sort them so that it stands last. Only the shared keys are sorted again.
            is_shared = np.concatenate(([False], equals_next)) | np.concatenate((equals_next, [False]))
            shared = np.flatnonzero(is_shared)
            rows = order[shared]
            order[shared] = rows[np.lexsort((-api.end_ns[rows], api.start_ns[rows], keys[shared]))]
        is_last = np.concatenate((~equals_next, [True]))[: len(keys)]
        return keys[is_last], order[is_last]


def _keys(trace: Trace, kind: Kind) -> _UInt64:
    """Return (process + 1) << 32 | correlation id of every event, 0 without a correlation id.

    Shape (events,). One number sorts and compares faster than two columns.
    """
    events = trace.events[kind]
    if kind is Kind.API:
        process_of = np.array([thread.process for thread in trace.threads], np.uint64)
    else:
        process_of = np.array([trace.gpus[stream.gpu].process for stream in trace.streams], np.uint64)
    if not len(events):
        return np.empty(0, np.uint64)
    correlation = np.asarray(events.columns["correlation"])
    keys = correlation.astype(np.uint64)
    # Events lie owner by owner (stream or thread): `offsets` tells how many each owner has.
    keys |= np.repeat((process_of + np.uint64(1)) << np.uint64(32), np.diff(events.offsets))
    keys[correlation == 0] = 0
    return keys
