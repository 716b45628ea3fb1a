"""What is wrong with a recording, and what therefore cannot be known (definitions, section 10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from viewer.analysis.alignment import ALIGNED, offsets
from viewer.analysis.intervals import union
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.study import Study

Severity = Literal["error", "warning", "info"]
_ORDER = {"error": 0, "warning": 1, "info": 2}

FEW_ROWS = 0.9
FEW_ROWS_CAPTURED = 0.02
"""Launches while a graph is captured run nothing: with captures only an all but empty GPU is told as lost."""

_LAUNCHING = "LaunchKernel"
_CAPTURING = "StreamBeginCapture"
_FAR_OUTSIDE_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a reader of the trace has to know.

    Attributes
    ----------
    severity : {"error", "warning", "info"}
        An error makes numbers wrong, a warning doubtful; info says what is not there to be known.
    title : str
        What it is, in a line.
    meaning : str
        What it means for reading.
    where : str
        The process or GPU concerned, "" for the whole recording.
    gpu : int or None
    align_ns : int or None
        What `alignment.align` would add to the times of `gpu`.
    time_ns : int or None
        A moment at which it can be seen.
    process : int or None
        The one whose rows were lost.
    """

    severity: Severity
    title: str
    meaning: str
    where: str = ""
    gpu: int | None = None
    time_ns: int | None = None
    align_ns: int | None = None
    process: int | None = None

    @property
    def spoils(self) -> bool:
        """Whether it makes the numbers of its GPU doubtful."""
        return self.severity == "error" and self.gpu is not None


def doubtful_gpus(study: Study) -> frozenset[int]:
    """Return the GPUs whose rows were lost or whose clock is shifted: their numbers are to be marked."""
    return frozenset(f.gpu for f in study.findings if f.spoils and f.gpu is not None)


def findings(study: Study) -> tuple[Finding, ...]:
    """Return what the trace's own diagnostics and our checks say, worst first."""
    found = [
        *_no_gpu_rows(study.trace),
        *_lost_rows(study),
        *_shifted_clocks(study),
        *_contradictions(study),
        *_aligned(study.trace),
        *_shared_boards(study.trace),
        *_unknown_launches(study),
        *_graphs(study),
        *_outside(study.trace),
        *_profiler_overhead(study.trace),
        *_own_diagnostics(study.trace),
        *_reading(study.trace),
        *_not_recorded(study.trace),
    ]
    return tuple(sorted(found, key=lambda f: _ORDER[f.severity]))


def _no_gpu_rows(trace: Trace) -> Iterator[Finding]:
    if any(len(trace.events[kind]) for kind in GPU_KINDS):
        return
    calls = len(trace.api)
    if calls:
        yield Finding(
            "error",
            f"{calls:,} CUDA calls, but no GPU activity at all",
            "The GPU's side was not recorded (seen under WSL, without permission, or when events were lost): "
            "lanes are empty because nothing was recorded, not because the GPU was idle.",
        )
    else:
        yield Finding(
            "info",
            "no GPU activity in this recording",
            "There are no CUDA calls either: the program used no GPU, or CUDA was not traced.",
        )


def _lost_rows(study: Study) -> Iterator[Finding]:
    """Say where there are launches without kernels, and not as many kernels without launches."""
    trace = study.trace
    if not any(len(trace.events[kind]) for kind in GPU_KINDS):
        return
    for process in trace.processes:
        asked, captures = _launched(trace, process.index)
        found = _correlations(trace, process.index)
        count, held = len(asked), int(np.isin(asked, found).sum())
        if count < 10 or max(held, len(found)) >= (FEW_ROWS_CAPTURED if captures else FEW_ROWS) * count:
            continue
        where = trace.process_label(process.index)
        yield Finding(
            "error",
            f"{where}: {count:,} kernel launches, but kernels for {held:,} of them ({held / count:.1%})",
            f"GPU events of {where} were lost while recording: its lanes are empty because rows are missing, "
            "not because it was idle. Its parts, and what compares ranks, are wrong.",
            where,
            next((g.index for g in trace.gpus if g.process == process.index), None),
            process=process.index,
        )


def _launched(trace: Trace, process: int) -> tuple[Int64, bool]:
    """Return the correlation ids of a process's kernel launches, and whether it captures graphs."""
    api = trace.api
    rows = [api.of(t.index) for t in trace.threads_of(process)]
    names = np.concatenate([np.empty(0, np.uint32), *(api.name_id[r] for r in rows)])
    ids = np.concatenate([np.empty(0, np.int64), *(np.asarray(api.columns["correlation"][r]) for r in rows)])
    used = np.flatnonzero(np.bincount(names, minlength=len(trace.names)))
    texts = trace.names.take(used)
    is_launch = np.zeros(len(trace.names), bool)
    is_launch[used] = [_LAUNCHING in text for text in texts]
    asked = np.sort(ids[is_launch[names]])
    first = np.concatenate(([True], asked[1:] != asked[:-1]))[: len(asked)]
    return asked[first].astype(np.int64), any(_CAPTURING in text for text in texts)


def _correlations(trace: Trace, process: int) -> Int64:
    """Return the correlation ids of the kernels and graphs that a process ran."""
    pieces = [np.empty(0, np.int64)]
    for kind in (Kind.KERNEL, Kind.GRAPH):
        events = trace.events[kind]
        pieces += [
            np.asarray(events.columns["correlation"][events.of(s.index)], np.int64)
            for s in trace.streams
            if trace.gpus[s.gpu].process == process and len(events)
        ]
    return np.concatenate(pieces)


def _shifted_clocks(study: Study) -> Iterator[Finding]:
    by_ns = offsets(study)
    for clock in study.clocks:
        if not clock.is_shifted:
            continue
        offset = by_ns[clock.gpu]
        where = study.trace.gpu_label(clock.gpu)
        early = clock.is_early
        least = abs(clock.lower_ns or 0) if early else abs(clock.upper_ns or 0)
        seen = (
            "Operations start up to that long before they were launched"
            if early
            else "Synchronisations return up to that long before the work that they wait for ends"
        )
        yield Finding(
            "error",
            f"{where}: its clock is {'early' if early else 'late'} by at least {least / 1e6:,.2f} ms",
            f"{seen}. Numbers over the common window and between GPUs are unreliable until it is aligned: "
            f"by {offset / 1e6:+,.3f} ms.",
            where,
            clock.gpu,
            align_ns=offset,
        )


def _contradictions(study: Study) -> Iterator[Finding]:
    for clock in study.clocks:
        if clock.contradicts and clock.lower_ns is not None and clock.upper_ns is not None:
            where = study.trace.gpu_label(clock.gpu)
            yield Finding(
                "warning",
                f"{where}: its times contradict the CPU's",
                f"Judged by the launches, {clock.lower_ns / 1e6:+,.2f} ms or more would have to be added to "
                f"them; judged by the synchronisations, {clock.upper_ns / 1e6:+,.2f} ms or less. No offset "
                "does both: a few rows have wrong times, or are matched with a launch that is not theirs.",
                where,
                clock.gpu,
            )


def _aligned(trace: Trace) -> Iterator[Finding]:
    for gpu in trace.gpus:
        if gpu.aligned_ns:
            where = trace.gpu_label(gpu.index)
            yield Finding(
                "warning",
                f"{where}: its times are moved by {gpu.aligned_ns / 1e6:+,.3f} ms",
                "Its clock was off. Numbers that compare it with the CPU and with other GPUs are good to "
                "some microseconds.",
                where,
                gpu.index,
            )


def _shared_boards(trace: Trace) -> Iterator[Finding]:
    boards: dict[int, list[int]] = {}
    for gpu in trace.gpus:
        if gpu.physical is not None:
            boards.setdefault(gpu.physical, []).append(gpu.index)
    for board, sharers in boards.items():
        if len(sharers) > 1:
            names = ", ".join(trace.gpu_label(g) for g in sharers)
            yield Finding(
                "warning",
                f"{names} are one physical GPU ({board})",
                "Each of them counts as idle while another one runs: add their parts up with care.",
            )


def _unknown_launches(study: Study) -> Iterator[Finding]:
    """Say where operations have no launch record."""
    trace = study.trace
    for gpu in trace.gpus:
        count = missing = 0
        for kind in GPU_KINDS:
            calls = study.launches.api_of(kind)
            for stream in trace.streams_of(gpu.index):
                held = calls[trace.events[kind].of(stream.index)]
                count, missing = count + len(held), missing + int((held < 0).sum())
        if missing * 20 > count:
            yield Finding(
                "warning",
                f"{trace.gpu_label(gpu.index)}: {missing:,} of {count:,} operations have no launch record",
                "What launched them is not known: no latency, no range on the GPU, and no cause for the idle "
                "time before them.",
                trace.gpu_label(gpu.index),
                gpu.index,
            )


def _graphs(study: Study) -> Iterator[Finding]:
    graphs = len(study.trace.events[Kind.GRAPH])
    if graphs:
        yield Finding(
            "warning",
            f"{graphs:,} CUDA graphs are recorded as one piece each",
            "The kernels inside are not known and count as compute; exposed communication is a lower bound. "
            "Record with --cuda-graph-trace=node to see them.",
        )


def _outside(trace: Trace) -> Iterator[Finding]:
    duration = trace.session.duration_ns
    if not duration:
        return
    for kind in GPU_KINDS:
        events = trace.events[kind]
        early = events.start_ns < -_FAR_OUTSIDE_NS
        late = events.end_ns > duration + _FAR_OUTSIDE_NS
        if count := int((early | late).sum()):
            yield Finding(
                "warning",
                f"{count:,} {kind.value} events lie far outside the session",
                "Their GPU's clock, or the file, is off; they stretch the window that numbers are of.",
                time_ns=int(events.start_ns[early | late][0]),
            )


def _profiler_overhead(trace: Trace) -> Iterator[Finding]:
    overhead = trace.events[Kind.OVERHEAD]
    start, end = trace.window_ns
    covered = union(overhead.start_ns, overhead.end_ns).clip(start, end).total()
    if covered * 100 > end - start:
        yield Finding(
            "warning",
            f"the profiler itself took {covered / 1e6:,.1f} ms, {covered / (end - start):.1%} of the window",
            "Holes beneath it are the profiler's doing, not the program's.",
            time_ns=int(overhead.start_ns[0]),
        )


def _own_diagnostics(trace: Trace) -> Iterator[Finding]:
    """Repeat the recording's own warnings and errors as they are, equal ones once."""
    rows = trace.diagnostics
    rows = rows[rows["severity"].isin(["error", "warning"])]
    for (severity, text), held in rows.groupby(["severity", "text"], sort=False):
        times = f" ({len(held)} times)" if len(held) > 1 else ""
        yield Finding(
            "error" if severity == "error" else "warning",
            f"{text}{times}",
            "nsys said so while recording.",
            time_ns=int(held["time_ns"].iloc[0]),
        )


def _reading(trace: Trace) -> Iterator[Finding]:
    """Repeat what the reader had to do to open the file."""
    for note in trace.notes:
        if note.startswith(ALIGNED):
            continue
        newer = "schema" in note
        yield Finding(
            "warning" if newer else "info",
            note,
            "What a newer schema has renamed is not shown." if newer else "Nothing else is left out.",
        )


_WITHOUT = {
    "cuda": "CUDA was not traced: there are no kernels, copies or launches to be seen.",
    "nvtx": "No ranges: iterations can only be guessed, and forward and backward not told apart.",
    "osrt": "Waiting inside the operating system (reading, locks) can only be told from context switches.",
    "context-switches": "Whether a thread was on a CPU is not known: waiting and host code look alike.",
    "call-chains": "No line of code can be named for a call.",
    "nccl": "Communicators are not recorded: which ranks belong together is found by how they run.",
}


def _not_recorded(trace: Trace) -> Iterator[Finding]:
    for what, meaning in _WITHOUT.items():
        if what not in trace.session.recorded:
            yield Finding("info", f"not recorded: {what.replace('-', ' ')}", meaning)
