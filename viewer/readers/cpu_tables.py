"""Readers of the host's tables: CUDA API, synchronisation, OS runtime, context switches, overhead."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from viewer.readers.event_records import NO_ID
from viewer.readers.interning import NO_STRING, distinct
from viewer.readers.raw_events import (
    PROCESS_MASK,
    RawEvents,
    ReadContext,
    group,
    is_time,
    narrow_rows,
    read_spans,
)
from viewer.readers.schema import (
    CUDA_OVERHEAD,
    CUPTI_OVERHEAD,
    ENUMS,
    PROFILER_OVERHEAD,
    RUNNABLE,
    SYNC_FALLBACK,
    TABLE_OF,
    UNNAMED,
)
from viewer.readers.tables import NO_TIME, Field, RawColumns
from viewer.trace.events import AnyArray, Int64, Kind, UInt32

_SUFFIX = re.compile(r"_v\d+$")
NO_STREAM = 0xFFFFFFFF
NO_TYPE = -1
_LOW_BITS = np.uint32((1 << 24) - 1)

_THREAD = Field("globalTid")
_NAME = Field("nameId", np.uint32, NO_STRING)


def read_api(reading: ReadContext) -> RawEvents:
    """Read the CUDA runtime and driver calls, named without their version suffix (``_v7000``)."""
    columns, _ = read_spans(reading, TABLE_OF[Kind.API], [_THREAD, _NAME, Field("correlationId", np.uint32)])
    name = _call_names(reading, columns.take("nameId"))
    return _of_thread(Kind.API, columns, name, {"correlation": columns.take("correlationId")})


def read_osrt(reading: ReadContext) -> RawEvents:
    """Read the calls into the OS runtime."""
    columns, _ = read_spans(reading, TABLE_OF[Kind.OSRT], [_THREAD, _NAME])
    return _of_thread(Kind.OSRT, columns, _call_names(reading, columns.take("nameId")), {})


def read_overhead(reading: ReadContext) -> RawEvents:
    """Read the overhead: PROFILER_OVERHEAD, and CUPTI's table with negative row numbers.

    CUPTI's table holds what CUDA does itself too, such as loading a module, or waiting where the buffer of
    commands is full: `is_cuda` tells it from the profiler's own work.
    """
    parts = []
    known = enum_labels(reading, "overheadType")
    for table in (TABLE_OF[Kind.OVERHEAD], CUPTI_OVERHEAD):
        columns, _ = read_spans(reading, table, [_THREAD, _NAME, Field("overheadType", np.int32, NO_TYPE)])
        name = _call_names(reading, columns.take("nameId"))
        codes, types = distinct(columns.take("overheadType"))
        is_cuda = np.array([_is_cuda(table, kind, known) for kind in types.tolist()], np.uint8)[codes]
        # The sign tells the two tables apart; - 1, as row 0 has no negative.
        rows = columns.rows if table != CUPTI_OVERHEAD else -columns.rows - 1
        span = columns.take("start"), columns.take("end")
        parts.append((*span, columns.take("globalTid"), name, rows, is_cuda))
    start, end, thread, name, rows, is_cuda = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    owner, owners = group(_main_thread(thread))
    extra: dict[str, AnyArray] = {"file_row": rows, "is_cuda": is_cuda.astype(np.uint8)}
    return RawEvents(Kind.OVERHEAD, start, end, name.astype(np.uint32), owner, owners, extra)


def _is_cuda(table: str, kind: int, labels: Mapping[int, str]) -> bool:
    """Return whether an overhead is CUDA's own, not the profiler's: by its type, in the words of the file.

    In CUPTI's table what is of no known type is not the profiler's, in the profiler's own it is.
    """
    label = labels.get(kind, "").lower()
    if "(profiler)" in label or "cupti" in label:
        return False
    if "(cuda)" in label or kind in CUDA_OVERHEAD:
        return True
    return table == CUPTI_OVERHEAD and kind not in PROFILER_OVERHEAD


def read_on_cpu(reading: ReadContext, session_end_ns: int) -> RawEvents:
    """Return the spans that threads spent on a CPU, made from the context switches.

    A span ends at the thread's next switch of either direction: a thread that is switched in twice
    counts as on the CPU throughout. After the last switch in it ends with the session. The time before a
    thread's first switch is unknown and gives no span. `preempted` tells the spans after which the thread was
    ready to run and did not: it had not gone to wait.
    """
    table = TABLE_OF[Kind.ON_CPU]
    fields = [
        Field("start", np.int64, NO_TIME), Field("cpu", np.uint16), Field("isSchedIn", np.uint8), _THREAD,
        Field("threadState", np.int32),
    ]  # fmt: skip
    columns = reading.tables.integers(table, fields, reading.cancelled)
    if table in reading.tables.names:
        reading.counts[table] = len(columns)
    values = columns.values
    placed = is_time(values["start"])
    start = values["start"][placed] - reading.shift_ns
    cpu, is_in, thread = values["cpu"][placed], values["isSchedIn"][placed] != 0, values["globalTid"][placed]
    state = values["threadState"][placed]
    codes, owners = group(thread)
    # By thread, then by time: each row's successor is then the thread's next switch, and its start is the
    # end of this row. Rows that are a thread's last have a successor of another thread.
    order = np.lexsort((start, codes))
    start, cpu, is_in = start[order], cpu[order], is_in[order]
    codes, state = codes[order], state[order]
    end = np.full(len(start), session_end_ns)
    same = codes[1:] == codes[:-1]
    end[:-1][same] = start[1:][same]
    runnable = [k for k, label in enum_labels(reading, "threadState").items() if label in RUNNABLE]
    preempted = np.zeros(len(start), np.uint8)
    preempted[:-1] = same & ~is_in[1:] & np.isin(state[1:], runnable)
    # A switch after the session's end would give a negative length.
    end = np.maximum(end, start)
    start, end, cpu, codes, preempted = start[is_in], end[is_in], cpu[is_in], codes[is_in], preempted[is_in]
    numbers, cpus = distinct(cpu)
    base = reading.interner.add([f"CPU {number}" for number in cpus.tolist()])
    name = numbers.astype(np.uint32) + np.uint32(base)
    extra: dict[str, AnyArray] = {"cpu": cpu, "preempted": preempted}
    return RawEvents(Kind.ON_CPU, start, end, name, codes, owners, extra)


def read_sync(reading: ReadContext) -> RawEvents:
    """Read the synchronisations, named by their type; `name_by_calls` gives more precise names later."""
    fields = [
        Field("globalPid"), Field("correlationId", np.uint32), Field("contextId", np.uint32),
        Field("streamId", np.uint32, NO_STREAM), Field("syncType", np.int32),
        Field("eventId", np.uint32, NO_ID), Field("eventSyncId", np.uint64),
    ]  # fmt: skip
    columns, _ = read_spans(reading, TABLE_OF[Kind.SYNC], fields)
    types, values = distinct(columns.take("syncType"))
    labels = enum_labels(reading, "syncType")
    base = reading.interner.add([labels.get(value, SYNC_FALLBACK) for value in values.tolist()])
    name = types.astype(np.uint32) + np.uint32(base)
    owner, owners = group(columns.take("globalPid") & PROCESS_MASK)
    extra = {
        "correlation": columns.take("correlationId"),
        "stream_id": columns.take("streamId"),
        "context": columns.take("contextId"),
        "event_id": columns.take("eventId"),
        "sync_id": columns.take("eventSyncId"),
        "file_row": narrow_rows(columns.rows),
    }
    start, end = columns.take("start"), columns.take("end")
    return RawEvents(Kind.SYNC, start, end, name, owner, owners, extra)


def name_by_calls(sync: RawEvents, calls: RawEvents) -> None:
    """Name each synchronisation by the API call with its correlation id, if there is one."""
    process = np.array([key[0] for key in sync.owners], np.int64)[sync.owner]
    name = _names_of_calls(calls, process, np.asarray(sync.columns["correlation"], np.uint32))
    sync.name = np.where(name != 0, name, sync.name)


def enum_labels(reading: ReadContext, column: str) -> dict[int, str]:
    """Return the labels of an enum column's values: from the file's enum tables, else the known ones."""
    tables, known = ENUMS[column]
    labels = dict(known)
    for table in tables:
        for value, label, name in reading.tables.records(table, "id", "label", "name"):
            if isinstance(value, int) and (label or name):
                labels[value] = str(label or name)
    return labels


def _names_of_calls(api: RawEvents, process: Int64, correlation: UInt32) -> UInt32:
    """Return the name of the innermost API call of each (process, correlation id), 0 if there is none.

    The calls are sorted by process, as `EventSorter.settle_calls` leaves them.
    """
    names = np.zeros(len(process), np.uint32)
    callers = np.array([key[0] & PROCESS_MASK for key in api.owners], np.int64)
    ids = np.asarray(api.columns["correlation"], np.uint32)
    is_wanted = np.zeros(int(_LOW_BITS) + 1, bool)
    # One process at a time: correlation ids of different processes collide.
    for caller in np.unique(process).tolist():
        rows, owners = process == caller, np.flatnonzero(callers == caller)
        if not len(owners):
            continue
        # The calls of a process are one range of rows, as its owners have consecutive numbers.
        low, high = np.searchsorted(api.owner, np.array([owners[0], owners[-1] + 1], np.int32))
        # Synchronisations are few and calls many: a table of the ids' low bits selects the candidates
        # without a sort of all calls. It may let some others pass; the search below compares whole ids.
        wanted = correlation[rows]
        is_wanted[wanted & _LOW_BITS] = True
        calls = low + np.flatnonzero(is_wanted[ids[low:high] & _LOW_BITS])
        is_wanted[wanted & _LOW_BITS] = False
        if len(calls):
            # By id, then by start: the last call of an id starts latest, so it is the innermost.
            calls = calls[np.lexsort((api.start[calls], ids[calls]))]
            keys = ids[calls]
            position = np.searchsorted(keys, wanted, side="right") - 1
            has_call = (position >= 0) & (keys[np.maximum(position, 0)] == wanted)
            names[rows] = np.where(has_call, api.name[calls[position]], 0)
    return names


def _call_names(reading: ReadContext, references: AnyArray) -> UInt32:
    """Return provisional ids of references to function names."""
    codes, values = distinct(references)
    texts = [_SUFFIX.sub("", text) or UNNAMED for text in reading.strings.texts(values)]
    return codes.astype(np.uint32) + np.uint32(reading.interner.add(texts))


def _main_thread(thread: Int64) -> Int64:
    """Return thread ids; an id without a thread becomes that of the process's main thread."""
    pid = (thread >> 24) & 0xFFFFFF
    return np.where(thread & 0xFFFFFF, thread, thread | pid)


def _of_thread(kind: Kind, columns: RawColumns, name: UInt32, extra: dict[str, AnyArray]) -> RawEvents:
    owner, owners = group(columns.take("globalTid"))
    extra["file_row"] = narrow_rows(columns.rows)
    return RawEvents(kind, columns.take("start"), columns.take("end"), name, owner, owners, extra)
