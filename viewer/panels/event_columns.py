"""The columns of the Events dock: how each is computed and formatted for any subset of the events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.launches.launches import UNKNOWN
from viewer.drawing.format import format_bytes, format_instant, format_ns, format_rate
from viewer.panels.event_set import GROUPS, EventSet, Positions, Values
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import MIGRATION_CAUSES
from viewer.trace.model import UNIFIED_NAME
from viewer.trace.names import base_name

NONE = -1
_READ = "Read from the file when first shown"
_MEMORY_KINDS = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device static", "Managed static")
_ALL = tuple(Kind)
_COPIES = (Kind.MEMCPY, Kind.MEMSET)
_ALWAYS_KNOWN, _SINCE_LAUNCH = ("start_ns", "end_ns", "duration_ns"), ("latency_ns", "queued_ns")
_Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EventColumn:
    """One column.

    Attributes
    ----------
    key : str
        Its name in files, with the unit.
    title, tip : str
    kinds : tuple of Kind
        The tables whose events have it.
    values : callable
        Maps positions to an array of values; texts are ids or codes where `texts` spells them.
    text : callable
        Formats one value for people.
    texts : callable or None
        Spells an array of ids for files and for sorting; None where files get the values themselves.
    number : bool
        Right-aligned, sorted from the largest.
    is_place : bool
        A number that tells where, not how much: sorted from the smallest.
    shown : bool
        Whether the column is visible by default.
    """

    key: str
    title: str
    kinds: tuple[Kind, ...]
    values: Callable[[EventSet, Positions], Values]
    text: Callable[[EventSet, Any], str]
    texts: Callable[[EventSet, Values], list[str]] | None = None
    number: bool = True
    shown: bool = True
    tip: str = ""
    is_place: bool = False

    @property
    def largest_first(self) -> bool:
        """Whether the first sorting by this column begins with the largest."""
        return self.number and not self.is_place

    def sort_keys(self, events: EventSet, positions: Positions) -> Values:
        """Return numbers whose order is that of the column's values, shape (len(positions),)."""
        values = self.values(events, positions)
        if self.texts is None:
            return values
        # Shifted by one so that NONE (-1) is a valid index. Each distinct text is spelled and ranked once;
        # numpy sorts 16-bit ranks by radix.
        codes = values.astype(np.int64) + 1
        used = np.flatnonzero(np.bincount(codes))
        spelled = pa.array([t.casefold() for t in self.texts(events, used - 1)], pa.large_string())
        small = np.uint16 if len(used) < np.iinfo(np.uint16).max else np.uint32
        rank = np.zeros(int(used[-1]) + 1 if len(used) else 1, small)
        rank[used] = pc.rank(spelled, tiebreaker="dense").to_numpy()
        return rank[codes]

    def file_values(self, events: EventSet, positions: Positions) -> Values:
        """Return numbers, or texts as an object array, shape (len(positions),)."""
        values = self.values(events, positions)
        if self.texts is None:
            return values
        # Spell each distinct id once: a million events share a few thousand names.
        ids, inverse = np.unique(values, return_inverse=True)
        return np.array(self.texts(events, ids), object)[inverse]

    def written(self, events: EventSet, positions: Positions) -> pd.api.extensions.ExtensionArray | Values:
        """Return the column for a file: texts, or numbers that are null where unknown."""
        values = self.file_values(events, positions)
        if self.texts is not None or self.key in _ALWAYS_KNOWN or values.dtype.kind == "f":
            return values
        # A negative queue time is a real value, so times since the launch have a marker of their own.
        unknown = values == (UNKNOWN if self.key in _SINCE_LAUNCH else NONE)
        return pd.arrays.IntegerArray(values.astype(np.int64), unknown) if unknown.any() else values


def columns_for(events: EventSet) -> tuple[EventColumn, ...]:
    """Return the columns that some kind of event has.

    Visible by default are "gpu" only in rows of several GPUs, and those of copies only where no kernel is:
    beside kernels they would be nearly empty, and leave no room for names.
    """
    kinds = set(events.kinds)
    present = (c for c in COLUMNS if kinds & set(c.kinds))
    hidden = {"gpu"} if events.row.gpu is not None else set()
    if Kind.KERNEL in kinds:
        hidden |= {c.key for c in COLUMNS if set(c.kinds) <= set(_COPIES)}
    return tuple(replace(c, shown=False) if c.key in hidden else c for c in present)


def _table(name: str, missing: int = NONE) -> Callable[[EventSet, Positions], Values]:
    """Return a column of the trace's own tables as int64."""

    def values(events: EventSet, positions: Positions) -> Values:
        def read(kind: Kind, index: _Index) -> Values | None:
            column = events.study.trace.events[kind].columns.get(name)
            return None if column is None else column[index].astype(np.int64)

        return events.by_kind(positions, read, np.int64, missing)

    return values


def _file(name: str, kinds: tuple[Kind, ...]) -> Callable[[EventSet, Positions], Values]:
    """Return a column that only the file has, read at its first use."""

    def values(events: EventSet, positions: Positions) -> Values:
        trace = events.study.trace

        def read(kind: Kind, index: _Index) -> Values | None:
            # `file_row` maps an event to its row in the file's table, which has another order.
            rows = trace.events[kind].columns.get("file_row")
            if trace.source is None or rows is None or kind not in kinds:
                return None
            return trace.source.column(kind, name, rows[index])

        return events.by_kind(positions, read, np.int64, NONE)

    return values


_OfOwner = Callable[[Trace], "npt.NDArray[np.int64] | None"]


def _owner(of: Mapping[Kind, _OfOwner]) -> Callable[[EventSet, Positions], Values]:
    """Return a column that depends on an event's owner (stream, thread or track) alone.

    `of` maps a kind to a function that returns a value per owner, or None for the owner's own index.
    """

    def values(events: EventSet, positions: Positions) -> Values:
        trace = events.study.trace

        def read(kind: Kind, index: _Index) -> Values | None:
            if kind not in of:
                return None
            # Events are stored owner by owner; `offsets` holds where each owner begins.
            owner = np.searchsorted(trace.events[kind].offsets, index, side="right") - 1
            table = of[kind](trace)
            return owner if table is None else table[owner]

        return events.by_kind(positions, read, np.int64, NONE)

    return values


def _itself(_trace: Trace) -> None:
    return None


_GPU = dict.fromkeys(GPU_KINDS, lambda trace: np.array([s.gpu for s in trace.streams], np.int64))
_STREAM = dict.fromkeys(
    GPU_KINDS,
    lambda trace: np.array(
        [NONE if s.name == UNIFIED_NAME else s.stream_id for s in trace.streams], np.int64
    ),
)
gpu_of, stream_of = _owner(_GPU), _owner(_STREAM)
"""The GPU of each event as its index in the trace, and the number of its stream; NONE where it has none."""
_THREAD: dict[Kind, _OfOwner] = {
    **dict.fromkeys((Kind.API, Kind.OSRT, Kind.ON_CPU, Kind.OVERHEAD), _itself),
    Kind.NVTX: lambda trace: np.array([t.thread for t in trace.tracks], np.int64),
}


def _since_launch(which: str) -> Callable[[EventSet, Positions], Values]:
    def values(events: EventSet, positions: Positions) -> Values:
        launches = events.study.launches

        def read(kind: Kind, index: _Index) -> Values | None:
            return getattr(launches, which)(kind)[index] if kind in GPU_KINDS else None

        return events.by_kind(positions, read, np.int64, UNKNOWN)

    return values


def _rate(events: EventSet, positions: Positions) -> Values:
    length = events.durations(positions)
    size = _table("bytes", 0)(events, positions)
    # Bytes per ns are GB/s. NaN, not 0, where there is no length: nothing is known of the rate.
    return np.where(length > 0, size / np.maximum(length, 1), np.nan)


def _memory(events: EventSet, positions: Positions) -> Values:
    """Return source and destination kinds as one code, 16 * source + destination."""
    source, target = (np.asarray(_table(n)(events, positions), np.int64) for n in ("src_kind", "dst_kind"))
    return np.where(source < 0, NONE, source * 16 + target)


def _depth(events: EventSet, positions: Positions) -> Values:
    depth = events.events.depth
    return np.zeros(len(positions), np.int64) if depth is None else depth[positions].astype(np.int64)


def _name(events: EventSet, name_id: Any) -> str:
    """Return a kernel's name without its return type and leading namespaces; other names unchanged."""
    text = events.study.trace.names[int(name_id)]
    if not ("::" in text or text.startswith("void ")) or Kind.KERNEL not in events.kinds:
        return text or "(no name)"
    telling = base_name(text).rsplit("::", 1)[-1]
    return text[text.find(telling) :] if telling in text else text


def _names(events: EventSet, ids: Values) -> list[str]:
    return events.study.trace.names.take(np.asarray(ids))


def _spell(one: Callable[[EventSet, int], str]) -> Callable[[EventSet, Values], list[str]]:
    return lambda events, codes: [one(events, int(c)) if c >= 0 else "" for c in codes]


def _gpu_name(events: EventSet, gpu: int) -> str:
    return events.study.trace.gpu_label(gpu) if gpu >= 0 else ""


def _thread_name(events: EventSet, thread: int) -> str:
    if thread < 0:
        return ""
    record = events.study.trace.threads[thread]
    return f"{record.name} [{record.tid}]".strip()


def _domain(events: EventSet, track: int) -> str:
    return (events.study.trace.tracks[track].domain or "default") if track >= 0 else ""


def _memory_name(_events: EventSet, code: int) -> str:
    if code < 0:
        return ""
    ends = [_MEMORY_KINDS[k] if k < len(_MEMORY_KINDS) else str(k) for k in divmod(code, 16)]
    return " → ".join(ends)


def _count(_events: EventSet, value: Any) -> str:
    return "" if value < 0 else f"{int(value):,}"


def _plain(_events: EventSet, value: Any) -> str:
    return "" if value < 0 else str(int(value))


def _size(_events: EventSet, value: Any) -> str:
    return "" if value < 0 else format_bytes(int(value))


def _length(_events: EventSet, value: Any) -> str:
    return "" if value == UNKNOWN else format_ns(int(value))


def _instant(_events: EventSet, value: Any) -> str:
    return format_instant(int(value))


def _group(_events: EventSet, value: Any) -> str:
    return GROUPS[int(value)]


def _group_label(events: EventSet, value: Any) -> str:
    """Return the label of a class; files have its name, which `_group` returns."""
    name = _group(events, value)
    return CLASS_LABELS.get(name, name)


def _speed(_events: EventSet, gb_s: Any) -> str:
    return format_rate(float(gb_s) * 1000, 1000) if gb_s > 0 else ""


def _returned(_events: EventSet, value: Any) -> str:
    return "" if value < 0 else "success" if value == 0 else f"error {int(value)}"


def _reason(_events: EventSet, code: int) -> str:
    return "" if code <= 0 else MIGRATION_CAUSES.get(code, str(code))


def _sides(letter: str, title: str) -> tuple[EventColumn, ...]:
    return tuple(
        EventColumn(
            f"{letter}_{axis.lower()}", f"{title} {axis.lower()}", (Kind.KERNEL,),
            _file(f"{letter}{axis}", (Kind.KERNEL,)), _count, shown=False, tip=_READ,
        )
        for axis in "XYZ"
    )  # fmt: skip


def _bytes_of_file(name: str, title: str) -> EventColumn:
    return EventColumn(
        f"{name}_bytes", title, (Kind.KERNEL,), _file(name, (Kind.KERNEL,)), _size, shown=False, tip=_READ,
    )  # fmt: skip


COLUMNS: tuple[EventColumn, ...] = (
    EventColumn("name", "Name", _ALL, lambda e, p: e.events.name_id[p],
                _name, _names, number=False),
    EventColumn("start_ns", "Start", _ALL, lambda e, p: e.events.start_ns[p],
                _instant, tip="From the trace's zero", is_place=True),
    EventColumn("duration_ns", "Duration", _ALL, lambda e, p: e.durations(p), _length),
    EventColumn("class", "Class", _ALL, lambda e, p: e.groups(p), _group_label,
                _spell(_group), number=False,
                tip="The class of a kernel by the rules (Tools > Settings), else what kind of event it is"),
    EventColumn("gpu", "GPU", GPU_KINDS, gpu_of, _gpu_name, _spell(_gpu_name), number=False),
    EventColumn("stream", "Stream", GPU_KINDS, stream_of, _plain, is_place=True),
    EventColumn("bytes", "Size", _COPIES, _table("bytes"), _size),
    EventColumn("throughput_gb_s", "Throughput", _COPIES, _rate,
                _speed,
                tip="Bytes over duration, in 10⁹ bytes a second"),
    EventColumn("memory", "Memory", (Kind.MEMCPY,), _memory, _memory_name, _spell(_memory_name), number=False,
                tip="From → to"),
    EventColumn("migration_cause", "Reason", (Kind.MEMCPY,), _file("migrationCause", (Kind.MEMCPY,)), _reason,
                _spell(_reason), number=False, shown=False,
                tip="Why the driver migrated pages of unified memory. " + _READ),
    EventColumn("latency_ns", "Latency", GPU_KINDS, _since_launch("latency_ns"), _length,
                tip="Start less that of the launching call; empty: no launch record"),
    EventColumn("queued_ns", "Queued", GPU_KINDS, _since_launch("queued_ns"), _length,
                tip="Start less the end of the launching call; near zero after a gap: the CPU launched late"),
    EventColumn("thread", "Thread", tuple(_THREAD), _owner(_THREAD), _thread_name, _spell(_thread_name),
                number=False),
    EventColumn("domain", "Domain", (Kind.NVTX,), _owner({Kind.NVTX: _itself}), _domain, _spell(_domain),
                number=False),
    EventColumn("depth", "Depth", (Kind.NVTX, Kind.API), _depth, _plain,
                tip="How many events of the row enclose it", is_place=True),
    EventColumn("end_ns", "End", _ALL, lambda e, p: e.events.end_ns[p],
                _instant, shown=False, is_place=True),
    *_sides("grid", "Grid"),
    *_sides("block", "Block"),
    EventColumn("registers", "Registers", (Kind.KERNEL,), _file("registersPerThread", (Kind.KERNEL,)), _count,
                shown=False, tip="Per thread. " + _READ),
    _bytes_of_file("staticSharedMemory", "Static shared"),
    _bytes_of_file("dynamicSharedMemory", "Dynamic shared"),
    EventColumn("return_value", "Returned", (Kind.API,), _file("returnValue", (Kind.API,)), _returned,
                shown=False, tip=_READ),
    EventColumn("correlation", "Correlation", (*GPU_KINDS, Kind.API), _table("correlation"), _plain,
                shown=False, is_place=True),
)  # fmt: skip
