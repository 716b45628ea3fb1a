"""The metadata of a file: versions, session, processes, threads, ranks, diagnostics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import pandas as pd

from viewer.readers.interning import StringTable
from viewer.readers.raw_events import PROCESS_MASK
from viewer.readers.schema import (
    CUPTI_OVERHEAD,
    ENUMS,
    MAX_CONNECTIONS,
    NEWEST_KNOWN,
    RANK_VARIABLES,
    TABLE_OF,
    WORLD_SIZE_VARIABLES,
    parse_version,
)
from viewer.readers.tables import FARTHEST_NS, Tables
from viewer.trace.events import Kind
from viewer.trace.model import CaptureSession, Trace

_NORMALISED_FROM = 10**17
"""Times from here on (three years in ns) count from 1970, not from the start of the session."""
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\")
"""The start of a Windows path; in other paths a backslash begins the escape of an invisible character."""
_DAY_NS = 86_400 * 10**9
_CAPTURED = {"Cuda": "cuda", "NvtxEvents": "nvtx", "OSRuntime": "osrt", "Mpi": "mpi"}
_VERSIONS = ("PRODUCT_VERSION", "NSYS_VERSION", "CAPTURE_VERSION", "TOOL_VERSION")
_LINES = re.compile(r"(?:\n|\\r)+")
"""The separator of environment variables: line breaks, and escaped carriage returns."""
_INSTALLED = re.compile(r"(?i:nsight-?systems(?:-cli)?)[-/\\](20\d\d\.\d+\.\d+)(?:[/\\]|$)")
_CALL_CHAINS = ("CUDA_CALLCHAINS", "OSRT_CALLCHAINS", "SAMPLING_CALLCHAINS")


@dataclass
class FileMetadata:
    """Facts by the file's own ids; thread names from NVTX are added once its events are read."""

    recorded_version: str | None
    nsys_version: str | None
    schema_version: str | None
    duration_ns: int | None
    start_utc_ns: int | None
    shift_ns: int
    captured: frozenset[str]
    environment_rank: tuple[int, str] | None
    world_size: int | None
    max_connections: int | None
    process_names: Mapping[int, str]
    thread_names: dict[int, str]
    mpi_ranks: Mapping[int, int]
    notes: list[str] = field(default_factory=list)

    def process_name(self, global_pid: int) -> str:
        """Return a process's name without its folders, else its main thread's name."""
        name = self.process_names.get(global_pid, "")
        # A report may be opened on another system than that on which it was recorded, so the path says which
        # kind it is.
        name = PureWindowsPath(name).name if _WINDOWS.match(name) else PurePosixPath(name).name
        # The main thread has the pid as its thread id, in the lowest 24 bits.
        main = global_pid | (global_pid >> 24 & 0xFFFFFF)
        return name or self.thread_names.get(main, "") or "process"


def read_facts(tables: Tables, strings: StringTable, recorded_by: str | None = None) -> FileMetadata:
    """Read a file's metadata; `recorded_by` is the nsys version in a report's header."""
    export = _export_settings(tables)
    capture = _pairs(tables, "META_DATA_CAPTURE")
    environment = _environment(capture)
    # Of several records the longest: no event may lie beyond the end of the session.
    durations = [row[0] for row in tables.records("ANALYSIS_DETAILS", "duration") if _positive(row[0])]
    start_utc_ns = _session_start(tables)
    notes: list[str] = []
    version = export.get("EXPORT_SCHEMA_VERSION")
    if parse_version(version)[:2] > NEWEST_KNOWN:
        known = ".".join(map(str, NEWEST_KNOWN))
        notes.append(f"the export's schema {version} is newer than {known}: some of it may be missing here")
    return FileMetadata(
        recorded_version=_recorded_version(capture) or recorded_by or _installed_version(tables),
        nsys_version=export.get("EXPORT_PRODUCT_VERSION"),
        schema_version=version,
        duration_ns=max(durations, default=None),
        start_utc_ns=start_utc_ns,
        shift_ns=_shift(tables, export, start_utc_ns, notes),
        captured=frozenset(_CAPTURED[v] for k, v in capture if k == "CAPTURE_EVENT_TYPE" and v in _CAPTURED),
        environment_rank=_number(environment, RANK_VARIABLES),
        world_size=world[0] if (world := _number(environment, WORLD_SIZE_VARIABLES)) else None,
        max_connections=most[0] if (most := _number(environment, (MAX_CONNECTIONS,))) else None,
        process_names={g: str(n) for g, n in tables.records("PROCESSES", "globalPid", "name") if n},
        thread_names=_thread_names(tables, strings),
        mpi_ranks=_mpi_ranks(tables),
        notes=notes,
    )


def time_shift(tables: Tables) -> int:
    """Return what to subtract from the file's times to count from the trace's zero, ns."""
    return _shift(tables, _export_settings(tables), _session_start(tables), [])


def session_of(
    facts: FileMetadata, tables: Tables, rows: Mapping[Kind, int], *, has_nccl: bool
) -> CaptureSession:
    """Return the session's facts, with the kinds of data that were enabled or have rows."""
    recorded = set(facts.captured)
    cuda = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GRAPH, Kind.API)
    recorded |= {"cuda"} if any(rows[kind] for kind in cuda) else set()
    recorded |= {"nvtx"} if rows[Kind.NVTX] else set()
    recorded |= {"osrt"} if rows[Kind.OSRT] else set()
    recorded |= {"context-switches"} if rows[Kind.ON_CPU] else set()
    recorded |= {"call-chains"} if any(map(tables.has_rows, _CALL_CHAINS)) else set()
    recorded |= {"nccl"} if has_nccl else set()
    if any(name.startswith("MPI_") and tables.has_rows(name) for name in tables.names):
        recorded.add("mpi")
    return CaptureSession(
        facts.duration_ns,
        facts.start_utc_ns,
        facts.nsys_version,
        facts.schema_version,
        frozenset(recorded),
        facts.recorded_version,
        facts.world_size,
        facts.max_connections,
    )


def read_diagnostics(tables: Tables, shift_ns: int) -> pd.DataFrame:
    """Read DIAGNOSTIC_EVENT; nsys does not shift its times with --ts-normalize."""
    columns = ("timestamp", "severity", "source", "text", "globalPid")
    severities, sources = (_labels(tables, column) for column in ("severity", "source"))
    messages = []
    for time, severity, source, text, global_pid in tables.records("DIAGNOSTIC_EVENT", *columns):
        time_ns = time if isinstance(time, int) and abs(time) < FARTHEST_NS else 0
        # Only a time of day is shifted: most of these count from the session's start already.
        time_ns -= shift_ns if time_ns >= _NORMALISED_FROM else 0
        pid = (global_pid >> 24) & 0xFFFFFF if isinstance(global_pid, int) and global_pid > 0 else 0
        level = severities.get(severity, "info").lower()
        messages.append((time_ns, level, sources.get(source, ""), str(text or ""), pid))
    messages.sort(key=lambda row: row[0])
    frame = pd.DataFrame(messages, columns=["time_ns", "severity", "source", "text", "pid"])
    return frame.astype({"time_ns": np.int64, "pid": np.int64})


def doctor_facts(trace: Trace) -> list[tuple[str, str]]:
    """Return what was recorded, what was not, and the reader's notes about the file."""
    session = trace.session
    every = ("cuda", "nvtx", "osrt", "context-switches", "call-chains", "nccl", "mpi")
    present = [kind for kind in every if kind in session.recorded]
    absent = [kind for kind in every if kind not in session.recorded]
    lines = [
        ("Recorded by", f"nsys {session.recorded_version or 'of unknown version'}"),
        ("Exported by", f"nsys {session.nsys_version or 'of unknown version'}"),
        ("Schema", session.schema_version or "none (before 2022)"),
        ("Processes, GPUs, streams", f"{len(trace.processes)}, {len(trace.gpus)}, {len(trace.streams)}"),
        ("Recorded", ", ".join(present) or "nothing"),
        ("Not recorded", ", ".join(absent) or "all that is read was recorded"),
    ]
    return lines + [("Note", note) for note in trace.notes]


def _export_settings(tables: Tables) -> dict[str, str]:
    return dict(pair for table in ("EXPORT_META_DATA", "META_DATA_EXPORT") for pair in _pairs(tables, table))


def _session_start(tables: Tables) -> int | None:
    rows = tables.records("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")
    return min((row[0] for row in rows if _positive(row[0])), default=None)


def _pairs(tables: Tables, table: str) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in tables.records(table, "name", "value")]


def _positive(value: Any) -> bool:
    return isinstance(value, int) and 0 < value < FARTHEST_NS


def _labels(tables: Tables, column: str) -> dict[Any, str]:
    spelled, known = ENUMS[column]
    labels: dict[Any, str] = dict(known)
    for table in spelled:
        labels |= {value: str(label) for value, label in tables.records(table, "id", "label") if label}
    return labels


def _shift(tables: Tables, export: Mapping[str, str], start_utc_ns: int | None, notes: list[str]) -> int:
    """Return the shift to subtract from all times of an export made with --ts-normalize or --ts-shift."""
    names = [*TABLE_OF.values(), CUPTI_OVERHEAD]
    firsts = [tables.first(table, "start") for table in names if tables.has_rows(table)]
    samples = sorted(first for first in firsts if isinstance(first, int) and abs(first) < FARTHEST_NS)
    if not samples:
        return 0
    # The median of the tables' first times: one odd row of one table must not move the whole trace.
    sample = samples[len(samples) // 2]
    text = export.get("EXPORT_CONFIG_TIME_SHIFT", "0")
    declared = int(text) if re.fullmatch(r"-?\d{1,19}", text) else 0
    # Only where it brings the times nearer to zero: a declared shift need not have been applied.
    if declared and abs(sample - declared) < abs(sample):
        notes.append("the export's times were shifted (--ts-normalize or --ts-shift): taken back")
        return declared
    if sample < _NORMALISED_FROM:
        return 0
    notes.append("the export's times are of day (--ts-normalize): counted from the session's start")
    # Farther away one of the two clocks was wrong, and everything would lie years from zero.
    if start_utc_ns and abs(sample - start_utc_ns) < 30 * _DAY_NS:
        return start_utc_ns
    return min(time for time in samples if time >= _NORMALISED_FROM)


def _recorded_version(capture: list[tuple[str, str]]) -> str | None:
    """Return the version of the nsys that recorded, None if the capture's settings lack it."""
    for name, value in capture:
        if name.endswith(_VERSIONS):
            return _unquoted(value) or None
    return None


def _installed_version(tables: Tables) -> str | None:
    """Return the version in the name of the folder from which nsys recorded, "2025.1.3"."""
    for _, value in tables.records("TARGET_INFO_SYSTEM_ENV", "name", "value"):
        if isinstance(value, str) and (match := _INSTALLED.search(value)):
            return match[1]
    for (text,) in tables.records("DIAGNOSTIC_EVENT", "text"):
        if isinstance(text, str) and (match := _INSTALLED.search(text)):
            return match[1]
    return None


def _environment(capture: list[tuple[str, str]]) -> dict[str, str]:
    """Return the environment of the process that nsys launched, {} where it is not recorded."""
    environment: dict[str, str] = {}
    for name, value in capture:
        if "ENVIRONMENT" in name or name.split(":")[-1] == "ENV":
            for line in _LINES.split(_unquoted(value)):
                variable, _, text = line.partition("=")
                environment.setdefault(variable.strip(), _unquoted(text))
    return environment


def _number(environment: Mapping[str, str], variables: Sequence[str]) -> tuple[int, str] | None:
    """Return the first of some variables that holds a number, and its name; None where none does."""
    for variable in variables:
        text = environment.get(variable, "")
        # Variables hold anything; a rank is a small number or none at all.
        if text.isdecimal() and len(text) < 10:
            return int(text), variable
    return None


def _unquoted(text: str) -> str:
    """Return a text without surrounding spaces and one pair of quotes, which nsys writes around values."""
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1].strip() if quoted else text


def _thread_names(tables: Tables, strings: StringTable) -> dict[int, str]:
    """Return the names of threads by globalTid; of several names, the one with the highest priority."""
    rows = tables.records("ThreadNames", "globalTid", "priority", "nameId")
    known = [row for row in rows if isinstance(row[0], int) and isinstance(row[2], int)]
    # Later ones overwrite earlier ones in the mapping below, so that the highest priority stays.
    known.sort(key=lambda row: row[1] if isinstance(row[1], int) else 0)
    texts = strings.texts(np.array([row[2] for row in known], np.int64))
    return {row[0]: text for row, text in zip(known, texts, strict=True) if text}


def _mpi_ranks(tables: Tables) -> dict[int, int]:
    rows = tables.records("MPI_RANKS", "globalTid", "globalPid", "rank")
    ranks = {}
    for global_tid, global_pid, rank in rows:
        owner = global_tid if isinstance(global_tid, int) else global_pid
        if isinstance(owner, int) and isinstance(rank, int):
            # The rank is that of the process: any of its threads may have called MPI_Init.
            ranks[owner & PROCESS_MASK] = rank
    return ranks
