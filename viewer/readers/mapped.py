"""Files mapped into memory; by handle, because Arrow takes no path that is not UTF-8."""

from __future__ import annotations

import mmap
from pathlib import Path

import pyarrow as pa


def map_file(path: Path) -> pa.Buffer:
    """Map a file read-only; its pages are read when touched.

    Raises
    ------
    OSError
        It cannot be opened.
    pa.ArrowInvalid
        It is empty.
    """
    with path.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise pa.ArrowInvalid(f"{path.name} is empty") from error
    return pa.py_buffer(mapped)


def map_ipc(path: Path) -> pa.Table:
    """Map an Arrow IPC file, of the file or the stream format."""
    buffer = map_file(path)
    try:
        return pa.ipc.open_file(buffer).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(buffer).read_all()
