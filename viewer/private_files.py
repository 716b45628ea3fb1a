"""Private folders and files: only their user can read them, independent of the umask."""

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
    """Make a private folder and its missing parents; make an existing one private if it is not.

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
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _set_mode(new, _FOLDER)


def make_part(folder: Path) -> Path:
    """Make a temporary private folder in another one, for unfinished files, and return its path.

    Raises
    ------
    OSError
        It cannot be made.
    """
    part = Path(tempfile.mkdtemp(prefix="part-", dir=folder))
    _set_mode(part, _FOLDER)
    return part


def create(file: Path) -> BinaryIO:
    """Return a new private file, open for writing; never overwrite an existing one.

    Raises
    ------
    OSError
        It exists, or cannot be made.
    """
    return open(file, "xb", opener=_open)


def close_to_others(folder: Path) -> None:
    """Make a folder and everything in it private; targets of links do not change."""
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
    """Set the permissions of a path; ignore file systems without permissions."""
    with suppress(OSError):
        path.chmod(mode)
