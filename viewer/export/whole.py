"""Files that are there whole, or as they were before."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that no reader, and no crash, ever meets half of it.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is then still there.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        if error.filename is not None:
            # Of the file that was asked for: nobody has heard of its first name.
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        part.unlink(missing_ok=True)
