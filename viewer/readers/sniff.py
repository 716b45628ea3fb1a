"""What a file is, told from its content; its name is only used in messages."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from viewer.readers.errors import ReadError

HOW_TO_EXPORT = "choose an .nsys-rep report, or an export made by `nsys export --type sqlite REPORT`"


class Container(StrEnum):
    """The kinds of file that can be read."""

    SQLITE = "sqlite"
    REPORT = "report"
    PARQUET = "parquetdir"
    ARROW = "arrowdir"


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file is; `version` is the nsys that wrote a report, None where its header does not say."""

    container: Container
    version: str | None = None


_REPORT = b"NVIDIA Tegra Profiler Report "
_VERSION = re.compile(rb"NVIDIA Tegra Profiler Report (\d{4}@\d+@\d+)")

_FOREIGN = (
    (b"\x89HDF\r\n\x1a\n", "is an HDF5 export, which is not read here: use `nsys export --type sqlite`"),
    (b"PAR1", "is one table of a parquetdir export: open the folder that holds it"),
    (b"ARROW1", "is one table of an arrowdir export: open the folder that holds it"),
    (b"\x1f\x8b", "is compressed (gzip): unpack it first"),
    (b"PK\x03\x04", "is compressed (zip): unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed (zstd): unpack it first"),
    (b"\xfd7zXZ\x00", "is compressed (xz): unpack it first"),
    (b"BZh", "is compressed (bzip2): unpack it first"),
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself: run `git lfs pull`"),
)


def shown(path: Path) -> str:
    """Return a file's name as it can be printed, whatever bytes it holds."""
    return os.fsencode(path.name or str(path)).decode("utf-8", "replace")


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
    except OSError as error:
        raise ReadError(why_not(path, error)) from error
    if not head:
        raise ReadError(f"{name} is empty: the recording or export was interrupted; make it again.")
    if head.startswith(b"SQLite format 3\0"):
        _check_length(path, head, size)
        return FileKind(Container.SQLITE)
    if head.startswith(_REPORT):
        found = _VERSION.match(head)
        return FileKind(Container.REPORT, found[1].decode().replace("@", ".") if found else None)
    raise ReadError(f"{name} {_what_else(head)}.")


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
    raise ReadError(f"{name} is a folder without an export in it: {HOW_TO_EXPORT}.")


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


def _what_else(head: bytes) -> str:
    """Name a file that is no trace, as far as its first bytes tell."""
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            return what
    if b"NVIDIA Nsight Systems Stream" in head[:64]:
        return (
            "is a raw capture (.qdstrm): open it once in nsys-ui, or run QdstrmImporter, to make an .nsys-rep"
        )
    if head.lstrip()[:1] in (b"{", b"["):
        return f"is JSON, not an Nsight Systems trace: {HOW_TO_EXPORT}"
    if b"\0" not in head:
        return f"is a text file, not an Nsight Systems trace: {HOW_TO_EXPORT}"
    return f"is not an Nsight Systems trace: {HOW_TO_EXPORT}"
