"""What a file is, told from its content; its name is only used in messages."""

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
    """What a file is; `version` is the nsys that wrote a report, None where it does not say."""

    container: Container
    version: str | None = None


_REPORT = b"NVIDIA Tegra Profiler Report "
_VERSION = re.compile(rb"NVIDIA Tegra Profiler Report (\d{4}@\d+@\d+)")
_VERSION_IN_TAIL = re.compile(rb"(20\d\d\.\d+\.\d+)\.\d+-[0-9a-f]{4}")
"""Before 2023.3.3 the version does not stand in the header, but near the end."""
_TAIL_BYTES = 65_536


def shown(path: Path) -> str:
    """Return a file's name as it can be shown, whatever bytes it holds."""
    return visible(path.name or str(path))


def sniff(path: Path) -> FileKind:
    """Say what kind of trace a file or folder is.

    Raises
    ------
    ReadError
        It is none that can be read, or it is cut off, or may not be read.
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
        found = _VERSION.match(head) or _VERSION_IN_TAIL.search(tail)
        return FileKind(Container.REPORT, found[1].decode().replace("@", ".") if found else None)
    raise ReadError(f"{name} {what_else(head, size, path.suffix)}.")


def why_not(path: Path, error: OSError) -> str:
    """Return an operating system's refusal as one line that says what to do."""
    name = shown(path)
    if error.errno == errno.ENOENT:
        return f"{name} does not exist: check the path."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{name} may not be read: ask its owner for permission (chmod +r), or copy it."
    return f"{name} cannot be read: {error.strerror or error}."


def _sniff_folder(path: Path) -> FileKind:
    """Tell a parquetdir from an arrowdir by the tables inside."""
    name = shown(path)
    for suffix, container in ((".parquet", Container.PARQUET), (".arrow", Container.ARROW)):
        if any(entry.suffix == suffix for entry in path.iterdir()):
            return FileKind(container)
    raise ReadError(f"{name} {foreign_folder(path)}.")


def _check_length(path: Path, head: bytes, size: int) -> None:
    """Refuse an SQLite file that is shorter than its own header says."""
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
