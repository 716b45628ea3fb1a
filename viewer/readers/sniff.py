"""The detection of a file's kind from its content; the file's name only appears in messages."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from viewer.printable import visible
from viewer.readers.errors import ReadError
from viewer.readers.foreign import HOW_TO_EXPORT, foreign_folder, what_else


class Container(StrEnum):
    """The kinds of file that can be read."""

    SQLITE = "sqlite"
    REPORT = "report"
    PARQUET = "parquetdir"
    ARROW = "arrowdir"


@dataclass(frozen=True, slots=True)
class FileKind:
    """The kind of a file; `version` is that of the nsys that wrote a report, None if the report lacks it."""

    container: Container
    version: str | None = None


_REPORT = b"NVIDIA Tegra Profiler Report "
_VERSION = re.compile(rb"NVIDIA Tegra Profiler Report (\d{4}@\d+@\d+)")
_VERSION_IN_TAIL = re.compile(rb"(20\d\d\.\d+\.\d+)\.\d+-[0-9a-f]{4}")
"""Before 2023.3.3 the version is not in the header, but near the end of the file."""
_TAIL_BYTES = 65_536


def shown(path: Path) -> str:
    """Return a file's name in displayable form, whatever bytes it contains."""
    return visible(path.name or str(path))


def sniff(path: Path) -> FileKind:
    """Return the kind of a trace file or folder.

    Raises
    ------
    ReadError
        It is no trace, or of a kind that is not supported, or cut off, or access is denied.
    """
    name = shown(path)
    try:
        if path.is_dir():
            return _sniff_folder(path)
        if path.exists() and not path.is_file():
            raise ReadError(f"{name} is no regular file but a device, a pipe or a socket: {HOW_TO_EXPORT}.")
        with path.open("rb") as file:
            head = file.read(4096)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL_BYTES, 0))
            tail = file.read(_TAIL_BYTES) if head.startswith(_REPORT) else b""
    except OSError as error:
        raise ReadError(why_not(path, error)) from error
    if not head:
        raise ReadError(f"{name} is empty: the recording or export was interrupted; make it again.")
    if head.startswith(b"SQLite format 3\0"):
        _check_length(path, head, size)
        return FileKind(Container.SQLITE)
    if head.startswith(_REPORT):
        match = _VERSION.match(head) or _VERSION_IN_TAIL.search(tail)
        return FileKind(Container.REPORT, match[1].decode().replace("@", ".") if match else None)
    raise ReadError(f"{name} {what_else(head, size, path.suffix)}.")


def why_not(path: Path, error: OSError) -> str:
    """Return one line that says why the operating system refused access and what to do."""
    name = shown(path)
    if error.errno == errno.ENOENT:
        return f"{name} does not exist: check the path."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{name} may not be read: ask its owner for permission (chmod +r), or copy it."
    return f"{name} cannot be read: {error.strerror or error}."


def _sniff_folder(path: Path) -> FileKind:
    """Return whether a folder is a parquetdir or an arrowdir, by the files inside."""
    name = shown(path)
    for suffix, container in ((".parquet", Container.PARQUET), (".arrow", Container.ARROW)):
        if any(entry.suffix == suffix for entry in path.iterdir()):
            return FileKind(container)
    raise ReadError(f"{name} {foreign_folder(path)}.")


def _check_length(path: Path, head: bytes, size: int) -> None:
    """Raise `ReadError` for an SQLite file that is shorter than its header says."""
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    pages = int.from_bytes(head[28:32], "big")
    counted = head[24:28] == head[92:96]
    wal = path.with_name(path.name + "-wal")
    if len(head) < 100 or (counted and pages * page > size and not wal.exists()):
        raise ReadError(
            f"{shown(path)} is cut off ({size:,} of {pages * page:,} bytes): "
            "copy it again, or export the report again."
        )
