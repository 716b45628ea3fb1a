"""Finds what is wrong with a recording, and what cannot be known (docs/definitions.md, section 10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import union
from viewer.analysis.launches.launches import Launches
from viewer.analysis.recording.clock_diagnostics import clock_diagnostics
from viewer.analysis.recording.clocks import Clock
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.recording.losses import lost_rows
from viewer.analysis.recording.reported import about_recording
from viewer.analysis.recording.stopped_calls import stopped_calls
from viewer.printable import counted
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import MIGRATION_CAUSES

_ORDER = {"error": 0, "warning": 1, "info": 2}

_PUTS_WORK = re.compile(r"cu(da)?(Launch(?!HostFunc)|GraphLaunch|Mem(cpy|set|Prefetch))")
_FAR_OUTSIDE_NS = 1_000_000_000


def lost_gpus(trace: Trace, found: Iterable[Diagnostic]) -> frozenset[int]:
    """Return the GPUs of the processes whose rows were lost: where nothing is seen, nothing is known."""
    lost = (diagnostic.process for diagnostic in found if diagnostic.process is not None)
    return frozenset(gpu.index for process in lost for gpu in trace.gpus_of(process))


def diagnostics(
    launches: Launches, classes: KernelClasses, clocks: Sequence[Clock]
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of all checks and of the trace's own diagnostics, worst first."""
    trace = launches.trace
    found = [
        *_no_gpu_rows(trace),
        *lost_rows(launches, clocks),
        *stopped_calls(trace),
        *clock_diagnostics(launches, classes, clocks),
        *_aligned(trace),
        *_shared_gpus(trace),
        *_unknown_launches(launches),
        *_graphs(trace),
        *_outside(trace),
        *_overhead(trace),
        *_migrations(trace),
        *about_recording(trace),
    ]
    return tuple(sorted(found, key=lambda f: _ORDER[f.severity]))


def _no_gpu_rows(trace: Trace) -> Iterator[Diagnostic]:
    if any(len(trace.events[kind]) for kind in GPU_KINDS):
        return
    calls, launches = len(trace.api), _launching_calls(trace)
    if launches:
        yield Diagnostic(
            "no-gpu-activity",
            "error",
            f"{counted(launches, 'call')} that {'launches' if launches == 1 else 'launch'} work, but no GPU "
            "activity at all",
            "The GPU's side was not recorded (seen under WSL, without permission, or when events were lost): "
            "lanes are empty because nothing was recorded, not because the GPU was idle.",
        )
    elif calls:
        yield Diagnostic(
            "no-gpu-activity",
            "info",
            "No GPU activity in this recording",
            f"None of its {counted(calls, 'CUDA call')} launched work on a GPU.",
        )
    else:
        yield Diagnostic(
            "no-gpu-activity",
            "info",
            "No GPU activity in this recording",
            "There are no CUDA calls either: the program used no GPU, or CUDA was not traced.",
        )


def _launching_calls(trace: Trace) -> int:
    """Return how many calls put work on a GPU, as far as the file tells without those that failed."""
    api = trace.api
    used = np.flatnonzero(np.bincount(api.name_id, minlength=len(trace.names)))
    launching = used[[bool(_PUTS_WORK.match(text)) for text in trace.names.take(used)]]
    rows = np.flatnonzero(np.isin(api.name_id, launching))
    if trace.source is not None and len(rows):
        returned = trace.source.column(Kind.API, "returnValue", api.columns["file_row"][rows])
        if returned is not None:
            rows = rows[returned == 0]
    return len(rows)


def _aligned(trace: Trace) -> Iterator[Diagnostic]:
    for gpu in trace.gpus:
        if gpu.aligned_ns:
            where = trace.gpu_label(gpu.index)
            yield Diagnostic(
                "aligned",
                "warning",
                f"{where}: its times are moved by {gpu.aligned_ns / 1e6:+,.3f} ms",
                "Its clock was off. Numbers that compare it with the CPU and with other GPUs are good to "
                "some microseconds.",
                where,
                gpu.index,
            )


def _shared_gpus(trace: Trace) -> Iterator[Diagnostic]:
    # Physical GPUs are numbered anew on every host.
    by_physical_gpu: dict[tuple[int, int], list[int]] = {}
    for gpu in trace.gpus:
        if gpu.physical is not None:
            host = trace.processes[gpu.process].global_pid >> 48
            by_physical_gpu.setdefault((host, gpu.physical), []).append(gpu.index)
    for (_, physical_gpu), sharers in by_physical_gpu.items():
        if len(sharers) > 1:
            names = ", ".join(trace.gpu_label(g) for g in sharers)
            yield Diagnostic(
                "shared-gpu",
                "warning",
                f"{names} are one physical GPU ({physical_gpu})",
                "Each of them counts as idle while another one runs: add their parts up with care.",
            )


def _unknown_launches(launches: Launches) -> Iterator[Diagnostic]:
    """Yield the GPUs with operations that have no launch record."""
    trace = launches.trace
    drivers = {kind: trace.events[kind].migrations() for kind in GPU_KINDS}
    for gpu in trace.gpus:
        count = missing = 0
        for kind in GPU_KINDS:
            rows = rows_of_gpu(trace, kind, gpu.index)
            calls = launches.api_of(kind)[rows][~drivers[kind][rows]]
            count, missing = count + len(calls), missing + int((calls < 0).sum())
        if missing * 20 > count:
            yield Diagnostic(
                "unknown-launches",
                "warning",
                f"{trace.gpu_label(gpu.index)}: {missing:,} of {count:,} operations have no launch record",
                "What launched them is not known: no latency, no range on the GPU, and no cause for the idle "
                "time before them.",
                trace.gpu_label(gpu.index),
                gpu.index,
            )


def _migrations(trace: Trace) -> Iterator[Diagnostic]:
    """Yield how many pages of unified memory the driver migrated, and why."""
    copies = trace.events[Kind.MEMCPY]
    rows = np.flatnonzero(copies.migrations())
    if not len(rows):
        return
    size = int(copies.columns["bytes"][rows].astype(np.int64).sum())
    causes = None
    if trace.source is not None:
        causes = trace.source.column(Kind.MEMCPY, "migrationCause", copies.columns["file_row"][rows])
    why = ""
    if causes is not None and causes.any():
        values, counts = np.unique(causes, return_counts=True)
        by_count = sorted(zip(counts.tolist(), values.tolist(), strict=True), reverse=True)
        named = (f"{MIGRATION_CAUSES.get(value, 'unknown')} {count:,}" for count, value in by_count)
        why = f" Their reasons: {', '.join(named)}."
    yield Diagnostic(
        "page-migrations",
        "info",
        f"{counted(len(rows), 'page migration')} of unified memory, {size / 1e6:,.1f} MB",
        f"The driver made them: no call launched them, and they mark no iteration.{why}",
        time_ns=int(copies.start_ns[rows].min()),
    )


def _graphs(trace: Trace) -> Iterator[Diagnostic]:
    graphs = len(trace.events[Kind.GRAPH])
    if graphs:
        yield Diagnostic(
            "whole-graphs",
            "warning",
            f"{counted(graphs, 'CUDA graph')} {'is' if graphs == 1 else 'are'} recorded as one piece each",
            "The kernels inside are not known and count as compute; exposed communication is a lower bound. "
            "Record with --cuda-graph-trace=node to see them.",
        )


def _outside(trace: Trace) -> Iterator[Diagnostic]:
    duration = trace.session.duration_ns
    if not duration:
        return
    for kind in GPU_KINDS:
        events = trace.events[kind]
        early = events.start_ns < -_FAR_OUTSIDE_NS
        late = events.end_ns > duration + _FAR_OUTSIDE_NS
        if count := int((early | late).sum()):
            yield Diagnostic(
                "far-outside",
                "warning",
                f"{counted(count, f'{kind.value} event')} far outside the session",
                "A GPU's clock, or the file, is off; the window that numbers are of is stretched by them.",
                time_ns=int(events.start_ns[early | late][0]),
            )


def _overhead(trace: Trace) -> Iterator[Diagnostic]:
    """Yield what the profiler itself took of the window, and what CUDA did there besides its calls."""
    overhead = trace.events[Kind.OVERHEAD]
    if not len(overhead):
        return
    start, end = trace.window_ns
    is_cuda = overhead.columns["is_cuda"] != 0
    for rows in (np.flatnonzero(~is_cuda), np.flatnonzero(is_cuda)):
        covered = union(overhead.start_ns[rows], overhead.end_ns[rows]).clip(start, end).total()
        if covered * 100 <= end - start:
            continue
        inside = rows[(overhead.end_ns[rows] > start) & (overhead.start_ns[rows] < end)]
        share = f"{covered / 1e6:,.1f} ms, {100 * covered / (end - start):.1f} % of the window"
        at = int(overhead.start_ns[inside].min())
        if not is_cuda[rows[0]]:
            yield Diagnostic(
                "profiler-overhead",
                "warning",
                f"The profiler itself took {share}",
                "Gaps during it are the profiler's doing, not the program's.",
                time_ns=at,
            )
            continue
        used, count = np.unique(overhead.name_id[inside], return_counts=True)
        named = ", ".join(
            f"{name.lower()} {times:,} times"
            for times, name in sorted(zip(count.tolist(), trace.names.take(used), strict=True), reverse=True)
        )
        yield Diagnostic(
            "cuda-overhead",
            "info",
            f"CUDA itself worked or waited inside calls for {share}: {named}",
            "It is the program's own time, not the profiler's. A full command buffer means that the CPU runs "
            "ahead of the GPU; modules and functions are loaded when they are first used.",
            time_ns=at,
        )
