"""Which files may be written: never the trace, and no file of another kind unless that is meant."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from viewer.export.atomic import facts, is_stream
from viewer.export.kinds import Kind, is_of_kind
from viewer.readers.cache import cache_folder

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside a database belongs to it."""


class OutputError(Exception):
    """A file that is not to be written; its text is one line for people."""


class TraceOutputError(OutputError):
    """It is the trace, or lies in it: no one can mean that."""


class ForeignOutputError(OutputError):
    """It is of another kind; the user may say that it is meant."""


def check_output(path: Path, kind: Kind, traces: Iterable[Path] = (), is_meant: bool = False) -> None:
    """Refuse a file that may not be written.

    Parameters
    ----------
    path : Path
        Where; `-` is stdout.
    traces : iterable of Path
        What is read: files, or folders with an export or several reports.
    is_meant : bool
        Whether the user has said that a file of another kind is to be replaced.

    Raises
    ------
    OutputError
        It cannot be written; `TraceOutputError` if it is a trace or lies in one, `ForeignOutputError` if it
        is there, or is called, like another kind.
    """
    for trace in traces:
        _refuse_trace(path, trace)
    if is_stream(path):
        return
    place = Path(os.path.realpath(path))
    if place.is_relative_to(os.path.realpath(cache_folder() / "traces")):
        raise TraceOutputError(f"{path} lies in what Lightbox keeps of traces: name another file")
    try:
        found = facts(path)
    except FileNotFoundError:
        found = None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise OutputError(f"{path} is a folder: name a file in it")
    if not place.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {place.parent}; make it, or name another")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: the folder {place.parent} may not be written to; name another")
    if not is_meant:
        _refuse_foreign(path, kind, found)


def _refuse_foreign(path: Path, kind: Kind, found: os.stat_result | None) -> None:
    if found is not None:
        try:
            is_own = is_of_kind(path, kind)
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
    """Yield the files that a trace consists of."""
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
