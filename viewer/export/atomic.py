"""Atomic writes: a file is replaced completely or not at all; streams are written directly."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

STDOUT = "-"
_DESCRIPTOR = re.compile(rf"/(?:dev|proc/(?:self|{os.getpid()}))/fd/(\d+)")
_MOST_LINKS = 40


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a file so that no reader and no crash ever sees half of it; write to a stream directly.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is then still there.
    """
    if is_stream(path):
        with open_stream(path) as stream:
            stream.write(content)
    else:
        with replacing(path) as part:
            part.write_bytes(content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a new file, which replaces `path` when the context ends without an error.

    A link stays, and its target is replaced. A replaced file keeps its owner and permissions; a new file
    gets those that the umask allows.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is then still there.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".lightbox-{os.getpid()}-{secrets.token_hex(4)}")
    with _named(path):
        try:
            part.open("xb").close()
            yield part
            with suppress(FileNotFoundError):
                _keep_permissions(target, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether a path is stdout (`-`), a pipe or a device, which is never replaced."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a stream to write to.

    Raises
    ------
    OSError
    """
    number = _descriptor(path)
    with _named(path):
        if number is None:
            stream: BinaryIO = path.open("wb")
        else:
            # Opening /dev/stdout by name would truncate the file that stdout is redirected to.
            sys.stdout.flush()
            stream = os.fdopen(os.dup(number), "wb")
        with stream:
            yield stream


def facts(path: Path) -> os.stat_result:
    """Return the status of a path; links are followed, and `-` is stdout.

    Raises
    ------
    OSError
    """
    number = _descriptor(path)
    return os.stat(path if number is None else number)


def _descriptor(path: Path) -> int | None:
    """Return the file descriptor that a path such as /dev/stdout names, None if it names none."""
    if str(path) == STDOUT:
        return 1
    place = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        if match := _DESCRIPTOR.fullmatch(place):
            return int(match[1])
        if not os.path.islink(place):
            break
        place = os.path.abspath(os.path.join(os.path.dirname(place), os.readlink(place)))
    return None


def _keep_permissions(old: Path, new: Path) -> None:
    """Copy owner, permissions and attributes to a file from the one that it replaces."""
    facts = old.stat()
    if hasattr(os, "chown"):
        for owner in ((facts.st_uid, -1), (-1, facts.st_gid)):
            with suppress(OSError):
                os.chown(new, *owner)
    shutil.copystat(old, new)
    os.utime(new)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let errors name the requested file, not the temporary one beside it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is not None:
            error.filename, error.filename2 = os.fspath(path), None
        raise
