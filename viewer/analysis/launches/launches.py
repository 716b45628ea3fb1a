"""Which API call launched which operation of a GPU (docs/definitions.md, section 4)."""

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
"""Stands for a time that is not known: an operation without a launch record."""
NEAR_ZERO_NS = 20_000
"""A queue shorter than this is no queue: the operation began as soon as it could be launched."""

_UInt64 = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.int32]


class Launches:
    """The launch records of a trace.

    An operation belongs to the call with the same (process, correlation id), the innermost where several
    share it. Correlation id 0 belongs to nobody.

    Parameters
    ----------
    trace : Trace
    order : callable
        Gives a GPU's operations by start, see `Study.order`.
    """

    def __init__(self, trace: Trace, order: Callable[[int], GpuOrder]) -> None:
        self.trace = trace
        self._order = order
        self._api_of: dict[Kind, _Rows] = {}
        self._ops: dict[Kind, tuple[_Rows, _Rows]] = {}
        self._spans: dict[int, tuple[PrefixSums, PrefixSums]] = {}

    def api_of(self, kind: Kind) -> _Rows:
        """Return the launching call of each operation: an index into `Trace.api`, -1 without a record."""
        if kind not in self._api_of:
            keys, calls = self._calls
            wanted = _keys(self.trace, kind)
            if len(keys):
                at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                self._api_of[kind] = np.where(keys[at] == wanted, calls[at], np.int32(-1))
            else:
                self._api_of[kind] = np.full(len(wanted), -1, np.int32)
        return self._api_of[kind]

    def prepare(self) -> None:
        """Find the calls of all operations now; what was needed to find them goes."""
        for kind in GPU_KINDS:
            self.api_of(kind)
        self.__dict__.pop("_calls", None)

    def latency_ns(self, kind: Kind, rows: _Rows | None = None) -> Int64:
        """Return operation start - call start for each operation, `UNKNOWN` without a record.

        `rows` are the operations asked for, shape (n,); all by default.
        """
        return self._since(kind, self.trace.api.start_ns, rows)

    def queued_ns(self, kind: Kind, rows: _Rows | None = None) -> Int64:
        """Return operation start - call end, 0 where that is negative, `UNKNOWN` without a record.

        `rows` are the operations asked for, shape (n,); all by default.
        """
        queued = self._since(kind, self.trace.api.end_ns, rows)
        return np.where(queued == UNKNOWN, UNKNOWN, np.maximum(queued, 0))

    def ops_of(self, api_index: int) -> list[tuple[Kind, int]]:
        """Return what a call launched: table and index there, kind by kind in order of index."""
        found: list[tuple[Kind, int]] = []
        for kind in GPU_KINDS:
            if kind not in self._ops:
                calls = self.api_of(kind)
                rows = np.argsort(calls, kind="stable").astype(np.int32)
                self._ops[kind] = calls[rows], rows
            calls, rows = self._ops[kind]
            low, high = np.searchsorted(calls, [api_index, api_index + 1])
            found.extend((kind, int(row)) for row in rows[low:high])
        return found

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

        Below zero, which no GPU can, its clock is early.
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
        """Return what each call launched on a GPU, as sums that count: calls of one operation, of several."""
        if gpu not in self._spans:
            self._spans[gpu] = self._spans_of(gpu)
        return self._spans[gpu]

    def _since(self, kind: Kind, times: Int64, rows: _Rows | None = None) -> Int64:
        calls, start = self.api_of(kind), self.trace.events[kind].start_ns
        if rows is not None:
            calls, start = calls[rows], start[rows]
        known = calls >= 0
        out = np.full(len(calls), UNKNOWN, np.int64)
        out[known] = start[known] - times[calls[known]]
        return out

    def _spans_of(self, gpu: int) -> tuple[PrefixSums, PrefixSums]:
        """Return what calls launched on a GPU: one operation, which stands in its order; or several."""
        order = self._order(gpu)
        calls = np.full(len(order), -1, np.int32)
        for position, kind in enumerate(GPU_KINDS):
            mine = order.kind == position
            calls[mine] = self.api_of(kind)[order.index[mine]]
        known = calls >= 0
        held = calls[known] - calls[known].min(initial=np.iinfo(np.int32).max)
        alone = known.copy()
        alone[known] = (np.bincount(held) == 1)[held]
        rest = np.flatnonzero(known & ~alone)
        rest = rest[np.argsort(calls[rest], kind="stable")]
        first = np.flatnonzero(np.diff(calls[rest], prepend=-1))
        start = end = np.empty(0, np.int64)
        if len(first):
            start = np.minimum.reduceat(order.start_ns[rest], first)
            end = np.maximum.reduceat(np.maximum(order.end_ns[rest], order.start_ns[rest] + 1), first)
            by_start = np.argsort(start, kind="stable")
            start, end = start[by_start], end[by_start]
        return (
            PrefixSums(order.start_ns, order.end_ns, np.zeros(len(order), np.uint8), alone),
            PrefixSums(start, end, np.zeros(len(start), np.uint8)),
        )

    @cached_property
    def _calls(self) -> tuple[_UInt64, _Rows]:
        """The innermost call of every (process, correlation id), sorted by that key."""
        api = self.trace.api
        keys = _keys(self.trace, Kind.API)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        order = order[np.searchsorted(keys[order], np.uint64(1)) :]
        keys = keys[order]
        same = keys[1:] == keys[:-1]
        if same.any():
            shared = np.flatnonzero(np.concatenate(([False], same)) | np.concatenate((same, [False])))
            rows = order[shared]
            order[shared] = rows[np.lexsort((-api.end_ns[rows], api.start_ns[rows], keys[shared]))]
        last = np.concatenate((~same, [True]))[: len(keys)]
        return keys[last], order[last]


def _keys(trace: Trace, kind: Kind) -> _UInt64:
    """Return (process + 1) << 32 | correlation id of every event; 0 for those without a correlation id."""
    events = trace.events[kind]
    if kind is Kind.API:
        process_of = np.array([t.process for t in trace.threads], np.uint64)
    else:
        process_of = np.array([trace.gpus[s.gpu].process for s in trace.streams], np.uint64)
    if not len(events):
        return np.empty(0, np.uint64)
    correlation = np.asarray(events.columns["correlation"])
    keys = correlation.astype(np.uint64)
    keys |= np.repeat((process_of + np.uint64(1)) << np.uint64(32), np.diff(events.offsets))
    keys[correlation == 0] = 0
    return keys
