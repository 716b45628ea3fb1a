"""The reader of the NVTX table: ranges and marks, and the names of threads and domains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewer.readers.impossible import end_of_open, impossible_note, outermost
from viewer.readers.interning import NO_STRING
from viewer.readers.raw_events import (
    PROCESS_MASK,
    Codes,
    RawEvents,
    ReadContext,
    group,
    narrow_rows,
    read_spans,
)
from viewer.readers.schema import DOMAIN_CREATE, MARK, PUSH_POP, START_END, TABLE_OF, THREAD_NAME
from viewer.readers.tables import Field, RawColumns
from viewer.trace.events import AnyArray, Int64, Kind, UInt32
from viewer.trace.names import normalise_numbers

_MOST_NAMES = 100_000
"""So many distinct names are compared without their numbers; to do that with more would take too long."""
_CLOSED, _OPEN = 2, 4
"""With fewer ranges of a name that have an end, and fewer that have none, they may as well be nested."""
_OPAQUE = np.uint32(0xFF000000)


@dataclass
class Nvtx:
    """The NVTX events (owner: globalTid, domain id, start/end or not), and the names that its rows define."""

    events: RawEvents
    domains: dict[tuple[int, int], str] = field(default_factory=dict)
    """By (globalPid, domain id)."""
    thread_names: dict[int, str] = field(default_factory=dict)
    """By globalTid."""


def read_nvtx(reading: ReadContext) -> Nvtx:
    """Read NVTX_EVENTS. `close_open_ranges` sets the end of open ranges once the session's end is known."""
    fields = [
        Field("eventType", np.uint8), Field("color", np.uint32), Field("globalTid"), Field("domainId"),
        Field("textId", np.uint32, NO_STRING),
    ]  # fmt: skip
    table = TABLE_OF[Kind.NVTX]
    columns, is_open = read_spans(reading, table, fields)
    if not len(columns):
        return Nvtx(RawEvents.empty(Kind.NVTX))
    names = _names(reading, columns)
    nvtx = Nvtx(RawEvents.empty(Kind.NVTX))
    values = columns.values
    _take_names(reading, nvtx, columns, names)
    _guess_domains(reading, nvtx, columns, names)

    # The rows that define names are used up: only ranges and marks are events. Mostly all rows are, and
    # no column needs a copy then.
    kept = np.isin(values["eventType"], (MARK, PUSH_POP, START_END))
    if kept.all():
        rows = columns.rows
    else:
        rows, is_open, names = columns.rows[kept], is_open[kept], names[kept]
        columns = RawColumns(rows, {name: column[kept] for name, column in values.items()})
    kind = columns.take("eventType")
    thread = columns.take("globalTid")
    # Start/end ranges need not nest, push/pop ranges do: a thread's track per domain is split by that.
    owner, owners = group(thread, columns.take("domainId"), (kind == START_END).astype(np.uint8))
    # Colours with alpha 0 are meant to be opaque; 0 as a whole means that there is no colour.
    argb = columns.take("color")
    argb = np.where((argb != 0) & (argb >> 24 == 0), argb | _OPAQUE, argb).astype(np.uint32)
    extra: dict[str, AnyArray] = {
        "event_type": kind,
        "argb": argb,
        "is_open": (is_open & (kind != MARK)).astype(np.uint8),
        "file_row": narrow_rows(rows),
    }
    start, end = columns.take("start"), columns.take("end")
    nvtx.events = RawEvents(Kind.NVTX, start, end, names, owner, owners, extra)
    return nvtx


def close_open_ranges(reading: ReadContext, events: RawEvents, session_end_ns: int) -> None:
    """Set the end of ranges that have none in the file: to the session's end, if that can be.

    On a thread whose ranges nest, an open one ends at the latest with the closed range around it, and before
    the next range of its name; where that cuts any, a note names them.
    """
    if not len(events):
        return
    is_open = events.columns["is_open"] != 0
    events.end[is_open] = np.maximum(events.start[is_open], session_end_ns)
    nests = events.columns["event_type"] == PUSH_POP
    cut: list[Int64] = []
    # Only the threads that left ranges open are looked at, so that it costs nothing in files that are sound.
    for owner in np.unique(events.owner[is_open & nests]).tolist():
        rows = np.flatnonzero((events.owner == owner) & nests)
        rows = rows[np.lexsort((-events.end[rows], events.start[rows]))]
        start, end, opened = events.start[rows], events.end[rows], is_open[rows]
        kind = np.full(len(rows), -1, np.int64)
        matter = np.flatnonzero(outermost(start, end, opened) | opened)
        kind[matter] = _kinds(reading, events.name[rows[matter]])
        for nested in _may_nest(events.name[rows], start, end, opened, kind):
            kind[kind == nested] = -1
        latest = end_of_open(start, end, opened, kind)
        events.end[rows] = latest
        cut.append(np.asarray(events.columns["file_row"][rows[latest < end]], np.int64))
    every = np.sort(np.concatenate([np.empty(0, np.int64), *cut]))
    if len(every):
        share = 100 * len(every) / int(nests.sum())
        what = f"{share:.0f} % of the ranges have no end, though the range around them or the next one does"
        reading.notes.append(impossible_note(TABLE_OF[Kind.NVTX], every, what, "cut there"))


def _may_nest(
    names: UInt32, start: Int64, end: Int64, is_open: npt.NDArray[np.bool_], kind: Int64
) -> Iterator[int]:
    """Yield the kinds of open ranges that may lie in one another: they do elsewhere, or too few are known."""
    for number in np.unique(kind[is_open & (kind >= 0)]).tolist():
        of_kind = np.isin(names, names[kind == number])
        closed = np.flatnonzero(of_kind & ~is_open)
        if len(closed) < _CLOSED:
            if int((of_kind & is_open).sum()) < _OPEN:
                yield number
        elif not outermost(start[closed], end[closed], is_open[closed]).all():
            yield number


def _kinds(reading: ReadContext, names: UInt32) -> Int64:
    """Return a number for each name, equal for names that differ in their numbers alone."""
    used, code = np.unique(names, return_inverse=True)
    if len(used) > _MOST_NAMES:
        return names.astype(np.int64)
    kinds: dict[str, int] = {}
    texts = (normalise_numbers(reading.interner.text(int(name))) for name in used)
    return np.array([kinds.setdefault(text, len(kinds)) for text in texts], np.int64)[code.reshape(-1)]


def _names(reading: ReadContext, columns: RawColumns) -> UInt32:
    """Return provisional ids: the range's own text, else the registered string, else ""."""
    registered = reading.strings.provisional(columns.take("textId"))
    texts = reading.tables.texts(TABLE_OF[Kind.NVTX], "text", reading.cancelled)
    if not len(texts):
        return registered
    encoded = texts.dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = encoded.indices.to_numpy()
    # `texts` has every row of the file, `columns` only those with a valid start.
    if len(codes) != len(columns):
        codes = codes[_positions(reading, columns)]
    own = codes.astype(np.uint32) + np.uint32(reading.interner.add(encoded.dictionary))
    empty = pc.index(encoded.dictionary, pa.scalar("", pa.large_string())).as_py()
    return np.where(codes == empty, registered, own)


def _positions(reading: ReadContext, columns: RawColumns) -> Int64:
    """Return the positions of the rows of `columns` among all rows of the file."""
    all_rows = reading.tables.integers(TABLE_OF[Kind.NVTX], []).rows
    return np.searchsorted(all_rows, columns.rows)


def _take_names(reading: ReadContext, nvtx: Nvtx, columns: RawColumns, names: UInt32) -> None:
    """Store the names of threads and domains in `nvtx`."""
    values = columns.values
    for event_type in (THREAD_NAME, DOMAIN_CREATE):
        for row in np.flatnonzero(values["eventType"] == event_type).tolist():
            text = reading.interner.text(int(names[row]))
            thread = int(values["globalTid"][row])
            if text and event_type == THREAD_NAME:
                nvtx.thread_names[thread] = text
            elif text:
                nvtx.domains[thread & PROCESS_MASK, int(values["domainId"][row])] = text


def _guess_domains(reading: ReadContext, nvtx: Nvtx, columns: RawColumns, names: UInt32) -> None:
    """Name each domain whose creation was not recorded: "NCCL" if all its ranges are NCCL's, else its id."""
    values = columns.values
    nameless = values["domainId"] != 0
    if not nameless.any():
        return
    codes: Codes
    codes, keys = group(values["globalTid"][nameless] & PROCESS_MASK, values["domainId"][nameless])
    # Bring each domain's rows together: those of domain i are order[edges[i]:edges[i + 1]].
    order, used = np.argsort(codes, kind="stable"), names[nameless]
    edges = np.searchsorted(codes[order], np.arange(len(keys) + 1))
    for code, (process, domain) in enumerate(keys):
        if (process, domain) in nvtx.domains:
            continue
        # 64 distinct names decide: a domain of an application may have millions.
        samples = np.unique(used[order[edges[code] : edges[code + 1]]])[:64]
        nccl = all(reading.interner.text(name).startswith("nccl") for name in samples.tolist())
        nvtx.domains[process, domain] = "NCCL" if nccl else f"domain {domain}"
