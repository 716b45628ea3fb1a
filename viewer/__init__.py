"""Lightbox: read the trace of a multi-GPU training run, and measure what the eye sees.

The packages without a window are a library: ``from viewer import open_trace``.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.trace import Trace

__version__ = "0.1.0"
__all__ = ["__version__", "open_trace"]


def open_trace(path: str | PathLike[str]) -> Trace:
    """Read a trace: a SQLite, Parquet or Arrow export of Nsight Systems, or a report through `nsys`.

    Raises
    ------
    viewer.readers.ReadError
        If the file cannot be read; the message is one line that says what to do.
    """
    from viewer.readers import read

    return read(path)
