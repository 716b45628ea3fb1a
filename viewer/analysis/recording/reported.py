"""Diagnostics that the recording itself contains: nsys's messages, what was not read and not recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from viewer.analysis.recording.alignment import ALIGNED
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.printable import counted
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.model import GUESSED_RANK, IMPOSSIBLE

_NO_CONCERN = re.compile(
    r"OpenGL|Vulkan|Direct3D|\bDX1[12]\b|WDDM|paranoid|IP/backtrace|backtrace sampl"
    r"|unified memory.*(cannot|not) (be )?(traced|traceable|supported)"
    r"|No (?!CUDA\b)[\w ./-]+ events collected",
    re.IGNORECASE | re.DOTALL,
)
"""Messages of nsys that concern no number here."""
_NO_CUDA = re.compile(r"No CUDA events collected", re.IGNORECASE)
_NAMES_OF_CODES = "ENUM_"
_IMPOSSIBLE = "No program can have done that: the file is wrong there, and numbers around these rows may be."

_WITHOUT = {
    "cuda": "CUDA was not traced: there are no kernels, copies or launches to be seen.",
    "nvtx": "No ranges: iterations can only be guessed, and forward and backward cannot be separated.",
    "osrt": "Waiting inside the operating system (reading, locks) can only be seen in context switches.",
    "context-switches": "Whether a thread was on a CPU is not known: waiting and host code look alike.",
    "call-chains": "No line of code can be named for a call.",
    "nccl": "Communicators are not recorded: which ranks belong together is found by how they run.",
}


def about_recording(trace: Trace) -> Iterator[Diagnostic]:
    """Yield nsys's own messages, notes about reading the file, unread tables, and what was not recorded."""
    yield from _of_nsys(trace)
    yield from _reading(trace)
    yield from _unread(trace)
    yield from _guessed_ranks(trace)
    for what, meaning in _WITHOUT.items():
        if what not in trace.session.recorded:
            yield Diagnostic("not-recorded", "info", f"Not recorded: {what.replace('-', ' ')}", meaning)


def _of_nsys(trace: Trace) -> Iterator[Diagnostic]:
    """Yield nsys's warnings and errors, equal ones once; those that concern no number as one diagnostic."""
    rows = trace.diagnostics
    rows = rows[rows["severity"].isin(["error", "warning"])]
    folded: dict[str, int] = {}
    for (severity, raw), equal in rows.groupby(["severity", "text"], sort=False):
        text = str(raw)
        line = " ".join(text.split()).rstrip(".")
        if _concerns_nothing(trace, line):
            first = " ".join(text.strip().split("\n")[0].split()).rstrip(".")
            folded[first] = folded.get(first, 0) + len(equal)
            continue
        times = f" ({len(equal)} times)" if len(equal) > 1 else ""
        yield Diagnostic(
            "reported-by-nsys",
            "error" if severity == "error" else "warning",
            f"{line}{times}",
            "Reported by nsys.",
            time_ns=int(equal["time_ns"].iloc[0]),
        )
    if folded:
        title = f"{counted(sum(folded.values()), 'message')} of nsys on what no number here needs"
        yield Diagnostic(
            "of-no-concern", "info", title, " ".join(s if s.endswith("?") else f"{s}." for s in folded)
        )


def _concerns_nothing(trace: Trace, text: str) -> bool:
    if _NO_CUDA.search(text):
        return any(len(trace.events[kind]) for kind in GPU_KINDS)
    return bool(_NO_CONCERN.search(text))


def _reading(trace: Trace) -> Iterator[Diagnostic]:
    """Yield the reader's notes about opening the file."""
    notes = [note for note in trace.notes if not note.startswith(ALIGNED)]
    for note in notes:
        if f": {IMPOSSIBLE}: " in note:
            yield Diagnostic("impossible-rows", "warning", note, _IMPOSSIBLE)
        elif "schema" in note or "has no column" in note:
            yield Diagnostic("newer-schema", "warning", note, "What a newer schema has renamed is not shown.")
        else:
            only = len(notes) == 1 and not trace.unread
            yield Diagnostic("reader-note", "info", note, "Nothing else is left out." if only else "")


def _unread(trace: Trace) -> Iterator[Diagnostic]:
    """Yield the tables that have rows and are not read, with their counts, as one diagnostic."""
    if not trace.unread:
        return
    named = {name: rows for name, rows in trace.unread.items() if not name.startswith(_NAMES_OF_CODES)}
    parts = [f"{name} ({counted(rows, 'row')})" for name, rows in named.items()]
    if codes := len(trace.unread) - len(named):
        parts.append(f"{counted(codes, 'table')} that only name codes ({_NAMES_OF_CODES}*)")
    are = "is" if len(trace.unread) == 1 else "are"
    title = f"{counted(len(trace.unread), 'table')} of this file {are} not read"
    yield Diagnostic("unread-tables", "info", title, f"{', '.join(parts)}.")


def _guessed_ranks(trace: Trace) -> Iterator[Diagnostic]:
    guessed = sum(process.rank_from == GUESSED_RANK for process in trace.processes)
    if guessed:
        yield Diagnostic(
            "guessed-ranks",
            "info",
            "The rank of 1 process is a guess"
            if guessed == 1
            else f"The ranks of {guessed:,} processes are a guess",
            "Nothing in the file names them: the processes are numbered in the order of their pids.",
        )
