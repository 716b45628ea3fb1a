"""Sealed folders: a list with the size and checksums of each file. A folder that differs is never used.

The list has its own checksum and names the folder's place, so that no file or folder can replace another.
Files are mapped first and verified in memory: the bytes that were verified are the bytes that are used.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import shutil
import stat
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from viewer import private_files
from viewer.readers.errors import Cancel, check

log = logging.getLogger("viewer.readers")

Sums = tuple[int, list[int]]
"""A file's size, and the CRC-32 of each of its pieces."""

_LIST = "seal.json"
_PIECE_BYTES = 2**24
_THREADS = 2


def sums(content: pa.Buffer) -> Sums:
    """Return the size and checksums of a file with this content."""
    return content.size, [zlib.crc32(piece) for piece in _pieces(content)]


def sums_in(folder: Path) -> dict[str, Sums]:
    """Return the size and checksums of all files below a folder, by their paths in it.

    Raises
    ------
    OSError, ValueError
        A file cannot be read, or is not a regular file.
    """
    return {name: sums(map_plain(folder / name)) for name in _files(folder)}


def seal(folder: Path, place: Path, files: Mapping[str, Sums]) -> None:
    """Seal a folder.

    Parameters
    ----------
    place : Path
        The folder's final path; its last two names are part of the seal.
    files : mapping of str to Sums
        All files of the folder, by their paths in it.

    Raises
    ------
    OSError
        The list cannot be written.
    """
    listed = json.dumps({"place": _name(place), "files": files}).encode()
    with private_files.create(folder / _LIST) as out:
        out.write(b"%08x\n" % zlib.crc32(listed) + listed)


def unseal(folder: Path, cancelled: Cancel | None = None) -> dict[str, pa.Buffer] | None:
    """Map the files of a sealed folder and verify them.

    Returns
    -------
    dict of str to Buffer, or None
        The files by their paths in the folder; None if there is no such folder, or if it differs from its
        seal, which removes it.

    Raises
    ------
    Cancelled
    """
    if not os.path.lexists(folder):
        return None
    try:
        return _checked(folder, cancelled)
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.debug("damaged in the cache, removed: %s: %s", _name(folder), error)
        remove(folder)
        return None


def remove(place: Path) -> None:
    """Remove a folder, or a file in its place, as far as possible."""
    with suppress(OSError):
        if stat.S_ISDIR(place.lstat().st_mode):
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink()


def _checked(folder: Path, cancelled: Cancel | None) -> dict[str, pa.Buffer]:
    listed = _listed(folder)
    if listed["place"] != _name(folder) or set(listed["files"]) | {_LIST} != set(_files(folder)):
        raise ValueError("other files")
    files = {name: map_plain(folder / name, size) for name, (size, _) in listed["files"].items()}
    pieces = [
        (piece, crc)
        for name, (_, crcs) in listed["files"].items()
        for piece, crc in zip(_pieces(files[name]), crcs, strict=True)
    ]

    def is_whole(known: tuple[memoryview, int]) -> bool:
        check(cancelled)
        return zlib.crc32(known[0]) == known[1]

    with ThreadPoolExecutor(_THREADS, "lightbox-check") as pool:
        if not all(pool.map(is_whole, pieces)):
            raise ValueError("damaged")
    return files


def _name(place: Path) -> str:
    return "/".join(place.parts[-2:])


def _listed(folder: Path) -> dict[str, Any]:
    crc, _, listed = bytes(map_plain(folder / _LIST)).partition(b"\n")
    if int(crc, 16) != zlib.crc32(listed):
        raise ValueError("the list is damaged")
    return dict(json.loads(listed))


def _files(folder: Path) -> Iterator[str]:
    for above, _, files in os.walk(folder):
        for name in files:
            yield Path(above, name).relative_to(folder).as_posix()


def map_plain(file: Path, size: int | None = None) -> pa.Buffer:
    """Map a regular file, whose size must be `size` if given; its pages are read on access.

    Raises
    ------
    OSError, ValueError
        It cannot be opened, is not a regular file, or has another size.
    """
    # Without O_NONBLOCK the open itself would wait if somebody had put a pipe in the file's place.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(file, "rb", opener=lambda path, mode: os.open(path, mode | flags)) as opened:
        facts = os.fstat(opened.fileno())
        if not stat.S_ISREG(facts.st_mode) or size not in (None, facts.st_size):
            raise ValueError(f"{file.name} is not what was stored")
        if not facts.st_size:
            return pa.py_buffer(b"")
        return pa.py_buffer(mmap.mmap(opened.fileno(), facts.st_size, access=mmap.ACCESS_READ))


def _pieces(content: pa.Buffer) -> list[memoryview]:
    view = memoryview(content)
    return [view[begin : begin + _PIECE_BYTES] for begin in range(0, len(view), _PIECE_BYTES)]
