"""Folders and files that their user alone can read, whatever the umask."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_FOLDER, _FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing; one that others can look into is closed to them.

    Raises
    ------
    OSError
        It cannot be made.
    """
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    if not missing:
        if folder.stat().st_mode & _OTHERS:
            close_to_others(folder)
        return
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        _set_mode(one, _FOLDER)


def make_part(folder: Path) -> Path:
    """Make a folder of its own in another one, for what is not finished yet, and return its path.

    Raises
    ------
    OSError
        It cannot be made.
    """
    part = Path(tempfile.mkdtemp(prefix="part-", dir=folder))
    _set_mode(part, _FOLDER)
    return part


def create(file: Path) -> BinaryIO:
    """Return a new file, open for writing; one that exists is never written over.

    Raises
    ------
    OSError
        It exists, or cannot be made.
    """
    return open(file, "xb", opener=_open)


def close_to_others(folder: Path) -> None:
    """Let nobody else into a folder, nor at what is in it; what links lead to stays as it is."""
    _set_mode(folder, _FOLDER)
    for above, folders, files in os.walk(folder):
        for names, mode in ((folders, _FOLDER), (files, _FILE)):
            for name in names:
                path = Path(above, name)
                with suppress(OSError):
                    if not stat.S_ISLNK(path.lstat().st_mode):
                        _set_mode(path, mode)


def _open(path: str, flags: int) -> int:
    handle = os.open(path, flags, _FILE)
    _set_mode(Path(path), _FILE)
    return handle


def _set_mode(path: Path, mode: int) -> None:
    """Set who may do what; a disk that knows nothing of that is no obstacle."""
    with suppress(OSError):
        path.chmod(mode)
