"""Texts of the cards: one event, and what every GPU does at an instant. Nothing is painted here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.launches.launches import Launches
from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import format_bytes, format_count, format_instant, format_ns, format_rate
from viewer.rows import EventRef
from viewer.timeline.cards.overlap_tax_lines import overlap_tax_lines
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import MIGRATIONS
from viewer.trace.names import base_name, short_name

CATEGORY_TITLES = ("Compute", "Hidden communication", "Exposed communication", "Copy only", "Idle")
TITLE_CHARACTERS = 300
_LAST_BEGUN = 64
"""How many of the operations that began last on a stream are searched for those that still run."""

Line = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CardText:
    """A card's text: a title, what kind of thing it is, lines of (label, value), and one line for all."""

    title: str
    subtitle: str
    lines: tuple[Line, ...]
    brief: str = ""


def event_facts(study: Study, ref: EventRef, collectives: Collectives | None = None) -> CardText:
    """Return everything known about one event; of a collective also who waited, where that is known."""
    trace = study.trace
    events = trace.events[ref.kind]
    start, end = int(events.start_ns[ref.index]), int(events.end_ns[ref.index])
    name = trace.names[int(events.name_id[ref.index])]
    lines = [
        ("Begins", format_instant(start)),
        ("Ends", f"{format_instant(end)}  (+{format_ns(end - start)})"),
    ]
    row = _file_row(trace, ref)
    if ref.kind in GPU_KINDS:
        lines += _operation(study, ref, row, end - start)
        if ref.kind is Kind.KERNEL and collectives is not None:
            lines += _collective(study, collectives, ref.index, end - start)
        if ref.kind is Kind.KERNEL and (tax := study.known_overlap_tax) is not None:
            lines += overlap_tax_lines(tax, ref.index)
    elif ref.kind is Kind.API:
        lines += _api(study, ref, row)
    elif ref.kind is Kind.NVTX:
        lines += _nvtx(study, ref, start, end)
    elif ref.kind is Kind.SYNC:
        lines.append(("Process", trace.process_label(events.owner_of(ref.index))))
    else:
        lines.append(("Thread", _thread(trace, events.owner_of(ref.index))))
    subtitle = "Page migration of unified memory" if _is_migration(trace, ref) else _SUBTITLES[ref.kind]
    brief = f"{format_ns(end - start)} · {subtitle}"
    return CardText(_title(name, ref.kind), subtitle, tuple(lines), brief)


def running_at(study: Study, gpu: int, time_ns: int) -> tuple[int, list[str]]:
    """Return a GPU's part at an instant (a position in `CATEGORIES`), and the names of what runs there."""
    trace = study.trace
    names = []
    for stream in trace.streams_of(gpu):
        for kind in GPU_KINDS:
            events = trace.events[kind]
            rows = events.of(stream.index)
            last = rows.start + int(np.searchsorted(events.start_ns[rows], time_ns, side="right"))
            names += [
                short_name(trace.names[int(events.name_id[i])])
                for i in range(max(rows.start, last - _LAST_BEGUN), last)
                if events.end_ns[i] > time_ns
            ]
    return study.parts[gpu].part_at(time_ns), names


def gpu_names(trace: Trace) -> tuple[str, ...]:
    """Return what to call each GPU in a narrow column: its rank where every process has one GPU."""
    processes = {g.process for g in trace.gpus}
    if len(processes) == len(trace.gpus):
        return tuple(trace.process_label(g.process) for g in trace.gpus)
    if len(processes) == 1:
        return tuple(f"GPU {g.device}" for g in trace.gpus)
    return tuple(trace.gpu_label(g.index) for g in trace.gpus)


_SUBTITLES = {
    Kind.KERNEL: "Kernel",
    Kind.MEMCPY: "Copy",
    Kind.MEMSET: "Memory set",
    Kind.GRAPH: "CUDA graph, recorded as one piece",
    Kind.API: "CUDA API call",
    Kind.SYNC: "Synchronisation",
    Kind.NVTX: "NVTX range, on the CPU",
    Kind.OSRT: "OS runtime call",
    Kind.ON_CPU: "On the CPU",
    Kind.OVERHEAD: "Overhead",
}


def _is_migration(trace: Trace, ref: EventRef) -> bool:
    kinds = trace.events[ref.kind].columns.get("copy_kind")
    return kinds is not None and int(kinds[ref.index]) in MIGRATIONS


def _title(name: str, kind: Kind) -> str:
    if not name:
        return "(no name)"
    cut = name[:TITLE_CHARACTERS]
    title = base_name(cut) if kind is Kind.KERNEL and len(name) > TITLE_CHARACTERS else cut
    return title if (len(title) < len(name) and kind is Kind.KERNEL) or cut == name else f"{cut}…"


def _file_row(trace: Trace, ref: EventRef) -> Mapping[str, Any]:
    """Return the columns of the file, none for an event without them or where the file is gone."""
    rows = trace.events[ref.kind].columns.get("file_row")
    if trace.source is None or rows is None:
        return {}
    try:
        return trace.source.row(ref.kind, int(rows[ref.index]))
    except (OSError, LookupError):
        return {}


def _operation(study: Study, ref: EventRef, row: Mapping[str, Any], length_ns: int) -> Iterator[Line]:
    trace = study.trace
    events = trace.events[ref.kind]
    stream = trace.streams[events.owner_of(ref.index)]
    name_id = int(events.name_id[ref.index])
    if ref.kind is Kind.KERNEL:
        rule = study.classes.rule(name_id)
        source = f"rule “{rule}”" if rule else "no rule matches"
        name = study.classes.class_name(name_id)
        yield "Class", f"{CLASS_LABELS.get(name, name)}  ({source})"
        yield from _launch_shape(row)
    if "bytes" in events.columns:
        size = int(events.columns["bytes"][ref.index])
        yield "Size", f"{format_bytes(size)}  ({format_count(size)} bytes)"
        if length_ns:
            yield "Throughput", format_rate(size, length_ns)
    kinds = [str(row[k]) for k in ("srcKind", "dstKind", "memKind") if row.get(k) is not None]
    if kinds:
        yield "Memory", " → ".join(kinds)
    where = f"({trace.gpu_label(stream.gpu)}, {trace.gpus[stream.gpu].name})"
    if _is_migration(trace, ref):
        yield "Row", f"{stream.name}  {where}"
        yield "Made by", "the driver: no call launched it"
        if (cause := row.get("migrationCause")) is not None:
            yield "Reason", str(cause)
        return
    label = f"{stream.stream_id}{' default' if stream.is_default else ''} {stream.name}".rstrip()
    yield "Stream", f"{label}  {where}"
    yield from _launch(study, ref)
    if (correlation := events.columns.get("correlation")) is not None:
        yield "Correlation", str(int(correlation[ref.index]))


def _collective(study: Study, collectives: Collectives, kernel: int, length_ns: int) -> Iterator[Line]:
    wait = int(collectives.wait_ns[kernel])
    if wait < 0:
        return
    last = int(collectives.last_gpu[kernel])
    own = study.trace.streams[study.trace.kernels.owner_of(kernel)].gpu == last
    if collectives.is_bound[kernel]:
        yield "Waiting", f"at least {format_ns(wait)}  (a member of the collective is not recorded)"
        yield "Transfer", f"at most {format_ns(length_ns - wait)}"
        return
    if own:
        yield "Waiting", "none: it is the last to arrive"
    elif last < 0:
        yield "Waiting", "none" if not wait else format_ns(wait)
    else:
        yield "Waiting", f"{format_ns(wait)}  (for {study.trace.gpu_label(last)}, the last to arrive)"
    yield "Transfer", format_ns(length_ns - wait)


def _launch_shape(row: Mapping[str, Any]) -> Iterator[Line]:
    for label, letter in (("Grid", "grid"), ("Block", "block")):
        sides = [row.get(f"{letter}{axis}") for axis in "XYZ"]
        if None not in sides:
            yield label, " × ".join(format_count(int(s)) for s in sides if s is not None)
    if row.get("registersPerThread") is not None:
        yield "Registers", f"{row['registersPerThread']} a thread"
    static, dynamic = row.get("staticSharedMemory"), row.get("dynamicSharedMemory")
    if static is not None and dynamic is not None:
        yield "Shared memory", f"{format_bytes(int(static))} static, {format_bytes(int(dynamic))} dynamic"
    if row.get("localMemoryPerThread"):
        yield "Local memory", f"{format_bytes(int(row['localMemoryPerThread']))} a thread"


def _later(study: Study) -> str:
    return "not read" if study.loading.is_cancelled else "known when all is read and counted"


def _launch(study: Study, ref: EventRef) -> Iterator[Line]:
    if not study.loading.is_complete:
        yield "Launched by", _later(study)
        return
    trace, launches = study.trace, study.launches
    call = int(launches.api_of(ref.kind)[ref.index])
    if call < 0:
        yield "Launched by", "no launch record"
        return
    api = trace.api
    yield "Launched by", f"{trace.names[int(api.name_id[call])]} on {_thread(trace, api.owner_of(call))}"
    this = np.array([ref.index], np.int32)
    latency, queued = (int(ns(ref.kind, this)[0]) for ns in (launches.latency_ns, launches.queued_ns))
    yield "Latency", f"{format_ns(latency)}  (in the queue {format_ns(queued)})"
    if latency < 0:
        yield "", "it starts before its launch: this GPU's clock is early"


def _api(study: Study, ref: EventRef, row: Mapping[str, Any]) -> Iterator[Line]:
    trace = study.trace
    yield "Thread", _thread(trace, trace.api.owner_of(ref.index))
    if (value := row.get("returnValue")) is not None:
        yield "Returned", "0  (success)" if value == 0 else str(value)
    operations = study.launches.ops_of(ref.index) if study.loading.is_complete else []
    if operations:
        kind, index = operations[0]
        events = trace.events[kind]
        name = short_name(trace.names[int(events.name_id[index])])
        more = f" and {format_count(len(operations) - 1)} more" if len(operations) > 1 else ""
        yield "Launched", f"{name}{more}"
        yield "Latency", format_ns(int(events.start_ns[index]) - int(trace.api.start_ns[ref.index]))
    if (correlation := trace.api.columns.get("correlation")) is not None:
        yield "Correlation", str(int(correlation[ref.index]))


def _nvtx(study: Study, ref: EventRef, start_ns: int, end_ns: int) -> Iterator[Line]:
    trace = study.trace
    track = trace.tracks[trace.nvtx.owner_of(ref.index)]
    yield "Domain", track.domain or "default"
    yield "Thread", _thread(trace, track.thread)
    if (is_open := trace.nvtx.columns.get("is_open")) is not None and is_open[ref.index]:
        yield "Open", "it has no end in the file; shown to the end of the session"
    if not study.loading.is_complete:
        yield "GPU projection", _later(study)
        return
    projected = _projected(trace, study.launches, track.thread, start_ns, end_ns)
    if projected is None:
        yield "GPU projection", "launched nothing from this thread"
    else:
        first, last, count = projected
        operations = f"{format_count(count)} operation{'' if count == 1 else 's'}"
        yield "GPU projection", f"{format_ns(last - first)}  ({operations}, own thread)"
        yield "From", f"{format_instant(first)} to {format_instant(last)}"
    adopted = _adopted(study, ref.index)
    if adopted is not None and adopted != projected:
        first, last, count = adopted
        operations = f"{format_count(count)} operation{'' if count == 1 else 's'}"
        yield "All threads", f"{format_ns(last - first)}  ({operations})"
        if projected is None or projected[:2] != (first, last):
            yield "From", f"{format_instant(first)} to {format_instant(last)}"


def _projected(
    trace: Trace, launches: Launches, thread: int, start_ns: int, end_ns: int
) -> tuple[int, int, int] | None:
    """Return first start, last end and number of what the thread launched inside [start, end]."""
    rows = trace.api.of(thread)
    low = rows.start + int(np.searchsorted(trace.api.start_ns[rows], start_ns, side="left"))
    high = rows.start + int(np.searchsorted(trace.api.start_ns[rows], end_ns, side="right"))
    inside = trace.api.end_ns[low:high] <= end_ns
    first, last, count = [], [], 0
    for kind in GPU_KINDS:
        calls = launches.api_of(kind)
        operations = np.flatnonzero((calls >= low) & (calls < high))
        operations = operations[inside[calls[operations] - low]]
        if len(operations):
            first.append(int(trace.events[kind].start_ns[operations].min()))
            last.append(int(trace.events[kind].end_ns[operations].max()))
            count += len(operations)
    return (min(first), max(last), count) if count else None


def _adopted(study: Study, index: int) -> tuple[int, int, int] | None:
    """Return first start, last end and number of a range's operations by the process projection."""
    table = study.projection("process")
    rows = np.flatnonzero(table["range"].to_numpy() == index)
    if not len(rows):
        return None
    first, last, count = (int(table[key].to_numpy()[rows[0]]) for key in ("start_ns", "end_ns", "ops"))
    return first, last, count


def _thread(trace: Trace, thread: int) -> str:
    t = trace.threads[thread]
    return f"{t.name} [{t.tid}], {trace.process_label(t.process)}" if t.name else f"thread {t.tid}"


assert len(CATEGORY_TITLES) == len(CATEGORIES)
