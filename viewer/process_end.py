"""How the process ends: temporary folders are removed, and no thread that hangs is waited for."""

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
    """Make a temporary folder, which is gone at the latest when the process ends by `end`.

    Returns
    -------
    Path
    callable
        Removes it with all that is in it; may be called more than once.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"lightbox-{purpose}-"))
    _folders.add(folder)
    return folder, partial(_remove, folder)


def leave_behind(is_running: Callable[[], bool]) -> None:
    """Say of a thread that nobody waits for it: it may hang in a file that does not answer."""
    _left.append(is_running)


def end(code: int) -> int:
    """Return the exit code; where a thread that was left behind still runs, end the process here.

    Python's own end would wait for it.
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
