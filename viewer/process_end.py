"""The end of the process: removes temporary folders, and does not wait for blocked threads."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

_folders: set[Path] = set()
_left: list[Callable[[], bool]] = []


def temporary_folder(purpose: str) -> tuple[Path, Callable[[], None]]:
    """Make a temporary folder, which `end` removes at the latest.

    Returns
    -------
    Path
    callable
        Removes the folder with its content; may be called more than once.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"lightbox-{purpose}-"))
    _folders.add(folder)
    return folder, partial(_remove, folder)


def leave_behind(is_running: Callable[[], bool]) -> None:
    """Register a thread for which `end` does not wait; a file system that does not respond may block it."""
    _left.append(is_running)


def end(code: int) -> int:
    """Return the exit code, or end the process here if an abandoned thread still runs.

    The interpreter's normal exit would wait for that thread.
    """
    if not any(is_running() for is_running in _left):
        return code
    for folder in tuple(_folders):
        _remove(folder)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _folders.discard(folder)
