"""The tree of rows of a trace: processes in order of rank, their GPUs, their threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from viewer.analysis.study import Study
from viewer.rows.counters import CounterTable, counter_rows, counter_tables
from viewer.rows.gpu import gpu_row, projection_rows
from viewer.rows.kinds import RowKind
from viewer.rows.outline import outline
from viewer.rows.row import Row
from viewer.rows.streams import StreamSums
from viewer.rows.threads import event_counts, threads_row
from viewer.trace import Gpu, Process, Trace

MAX_GPUS = 2
OTHERS_KEY = "others"
_VM_BITS = 48


def build_rows(study: Study) -> tuple[Row, ...]:
    """Return one row per process that has events, with all rows under it; no events are made yet.

    Where some processes have a rank, GPUs or NVTX ranges, two or more others stand under one row together.
    """
    trace = study.trace
    counters, streams = counter_tables(study), StreamSums(study)
    order, pids = _in_order(trace), Counter(p.pid for p in trace.processes)
    plain = [p for p in order if _is_plain(trace, p)]
    others = None
    if 1 < len(plain) < len(order):
        others = Row(OTHERS_KEY, RowKind.OTHERS, f"{len(plain):,} processes without GPU")
        folded = {p.index for p in plain}
        order = [p for p in order if p.index not in folded]
        others.children.extend(
            _process_row(study, p, counters, streams, pids[p.pid] > 1, others) for p in plain
        )
    rows = [_process_row(study, p, counters, streams, pids[p.pid] > 1) for p in order]
    return (*(row for row in rows if row.children), *([others] if others else []))


def _is_plain(trace: Trace, process: Process) -> bool:
    """Return whether a process has events, but no rank, GPUs and ranges: a compiler, a shell."""
    threads = [thread.index for thread in trace.threads_of(process.index)]
    if process.rank is not None or trace.gpus_of(process.index) or _has_ranges(trace, threads):
        return False
    return bool(event_counts(trace, threads).any())


def _has_ranges(trace: Trace, threads: list[int]) -> bool:
    tracks = [track.index for thread in threads for track in trace.tracks_of(thread)]
    return bool(trace.nvtx.counts(tracks).any())


def _in_order(trace: Trace) -> list[Process]:
    """Ranks in order, then processes with GPUs, then the others, by pid."""
    working = {gpu.process for gpu in trace.gpus}

    def place(process: Process) -> tuple[bool, int, bool, int]:
        rank = process.rank
        return rank is None, rank or 0, process.index not in working, process.pid

    return sorted(trace.processes, key=place)


def _physical_gpus(gpus: list[Gpu], between: str = " ") -> str:
    """Return the physical GPUs that a process works on: "GPU 0 H200, GPU 1 H200 and 2 more"."""
    shown = []
    for gpu in gpus[:MAX_GPUS]:
        number = gpu.device if gpu.physical is None else gpu.physical
        shown.append(between.join(t for t in (f"GPU {number}", gpu.name.removeprefix("NVIDIA ")) if t))
    more = f" and {len(gpus) - MAX_GPUS} more" if len(gpus) > MAX_GPUS else ""
    return ", ".join(shown) + more


def _process_row(
    study: Study,
    process: Process,
    counters: Sequence[CounterTable],
    streams: StreamSums,
    pid_is_shared: bool,
    parent: Row | None = None,
) -> Row:
    trace = study.trace
    gpus = list(trace.gpus_of(process.index))
    key = str(process.pid) + (f"@{process.global_pid >> _VM_BITS}" if pid_is_shared else "")
    who = f"{process.name} [{process.pid}]" if process.rank is not None else ""
    ranges = _has_ranges(trace, [thread.index for thread in trace.threads_of(process.index)])
    row = Row(
        key,
        RowKind.PROCESS,
        trace.process_label(process.index),
        " · ".join(text for text in (who, _physical_gpus(gpus)) if text),
        parent,
        process=process.index,
        gpu=gpus[0].index if len(gpus) == 1 else None,
        load=partial(outline, trace, process.index) if ranges else None,
        hardware=_physical_gpus(gpus, " · "),
        program=who,
    )
    for gpu in gpus:
        row.children.append(gpu_row(study, gpu, row, counters, streams, ranges and len(gpus) == 1))
    if ranges and len(gpus) > 1:
        row.children.extend(projection_rows(study, row, process.index))
    row.children.extend(counter_rows(counters, row))
    threads = threads_row(trace, row, process.index)
    if threads is not None:
        row.children.append(threads)
    return row
