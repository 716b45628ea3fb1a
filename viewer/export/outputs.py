"""check_output: refuses to overwrite a trace, and files of another kind unless the user insists."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from viewer.export.atomic import facts, is_stream
from viewer.export.file_types import FileType, is_of_type
from viewer.readers.cache import cache_folder

_BESIDE = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database; they belong to the trace."""


class OutputError(Exception):
    """A file that must not be written; its text is one line for people."""


class TraceOutputError(OutputError):
    """The file is the trace or lies in it; nothing overrides this."""


class ForeignOutputError(OutputError):
    """The file is of another kind; the user may override this."""


def check_output(path: Path, kind: FileType, traces: Iterable[Path] = (), is_meant: bool = False) -> None:
    """Refuse a file that may not be written.

    Parameters
    ----------
    path : Path
        The file; `-` is stdout.
    traces : iterable of Path
        The traces that are read: files, or folders with an export or several reports.
    is_meant : bool
        Whether the user has agreed to replace a file of another kind.

    Raises
    ------
    OutputError
        If it cannot be written; `TraceOutputError` if it is a trace or lies in one, `ForeignOutputError` if
        its content or its name is that of another kind.
    """
    for trace in traces:
        _refuse_trace(path, trace)
    if is_stream(path):
        return
    place = Path(os.path.realpath(path))
    if place.is_relative_to(os.path.realpath(cache_folder() / "traces")):
        raise TraceOutputError(f"{path} lies in what Lightbox keeps of traces: name another file")
    try:
        status = facts(path)
    except FileNotFoundError:
        status = None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path} is a folder: name a file in it")
    if not place.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {place.parent}; make it, or name another")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: the folder {place.parent} may not be written to; name another")
    if not is_meant:
        _refuse_foreign(path, kind, status)


def _refuse_foreign(path: Path, kind: FileType, found: os.stat_result | None) -> None:
    if found is not None:
        try:
            is_own = is_of_type(path, kind)
        except OSError:
            is_own = False
        if not is_own:
            raise ForeignOutputError(f"{path} is there and is not {kind.name}")
        if not (found.st_mode & 0o222 and os.access(path, os.W_OK)):
            raise ForeignOutputError(f"{path} is there and is read-only")
    if path.suffix and path.suffix.casefold() not in kind.suffixes:
        names = " or ".join(kind.suffixes)
        raise ForeignOutputError(f"{path} is not called like {kind.name} ({names})")


def _refuse_trace(path: Path, trace: Path) -> None:
    try:
        found = facts(path)
    except OSError:
        found = None
    place, source = Path(os.path.realpath(path)), Path(os.path.realpath(trace))
    if source.is_dir() and place.is_relative_to(source):
        raise TraceOutputError(f"{path} lies in the trace, in which nothing is written: name another file")
    for part in _parts(trace, source):
        if place == part or (found is not None and _is_same(found, part)):
            raise TraceOutputError(f"{path} is the trace, which is never replaced: name another file")


def _parts(trace: Path, source: Path) -> Iterator[Path]:
    """Yield the files of a trace."""
    if source.is_dir():
        for folder, _, names in os.walk(source):
            yield from (Path(folder, name) for name in names)
        return
    for file in dict.fromkeys((source, trace.absolute())):
        yield from (file.with_name(file.name + ending) for ending in _BESIDE)


def _is_same(found: os.stat_result, other: Path) -> bool:
    try:
        return os.path.samestat(found, other.stat())
    except OSError:
        return False
