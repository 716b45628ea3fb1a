"""Memory mapping of files, by handle: Arrow accepts only paths that are UTF-8."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa


def map_file(path: Path) -> pa.Buffer:
    """Map a file read-only; its pages are read on access.

    Raises
    ------
    OSError
        It cannot be opened.
    pa.ArrowInvalid
        It is empty.
    """
    if not path.is_file():
        raise OSError("it is no regular file")
    with path.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise pa.ArrowInvalid(f"{path.name} is empty") from error
    return pa.py_buffer(mapped)


def ipc_schema(path: Path) -> pa.Schema:
    """Return the schema of an Arrow IPC file, of the file or the stream format."""
    return _reader(map_file(path)).schema


def map_ipc(path: Path, columns: Sequence[int]) -> pa.Table:
    """Map some columns of an Arrow IPC file, by their positions; the caller must validate them."""
    reader = _reader(map_file(path), pa.ipc.IpcReadOptions(included_fields=list(columns)))
    return reader.read_all()


def _reader(
    buffer: pa.Buffer, options: pa.ipc.IpcReadOptions | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(buffer, options=options)
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(buffer, options=options)
