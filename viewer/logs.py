"""The log: its outputs, a ring of its last lines, and the removal of private names from reports."""

from __future__ import annotations

import getpass
import logging
import os
import platform
import re
import sysconfig
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from viewer import private_files

log = logging.getLogger("viewer")
"""The logger of the whole program; each package has one below it: "viewer.readers", "viewer.app", …"""
FORMAT = "%(asctime)s %(levelname)s %(name)s [%(threadName)s]: %(message)s"
HEAD = "Lightbox log"
"""The beginning of a log file's first line."""
LINES_KEPT = 400

_private: set[str] = set()
_PATH = re.compile(r"(?<![\w/\\.<>])(?:~|[A-Za-z]:)?[\\/](?![\s\\/])[^\s'\"<>|:,;()]+")
_QUOTED_PATH = re.compile(r"(['\"])(?:~|[A-Za-z]:|\.{1,2})?[\\/](?:(?!\1)[^\n])*\1")
_SHORTEST_NAME = 3


class LogRing(logging.Handler):
    """Stores the last lines of the log in memory, for crash reports."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.setFormatter(logging.Formatter(FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        """Store a line."""
        self.lines.append(self.format(record))


class _LogFile(logging.FileHandler):
    """A log file; a disk that becomes full ends the log, not the command."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        pass


@contextmanager
def logging_to(stderr: bool, file: Path | None, *, is_stream: bool = False) -> Iterator[None]:
    """Write all lines of the log, including debug lines, to stderr, into a file, or both.

    Parameters
    ----------
    file : Path or None
        The log file. An existing one is replaced, also through a link. It names opened files, so only its
        user can read it.
    is_stream : bool
        The file is a device or a pipe: it is written to, and never replaced.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    handlers: list[logging.Handler] = []
    if file is not None:
        if not is_stream:
            file = Path(os.path.realpath(file))
            with suppress(FileNotFoundError):
                file.unlink()
            private_files.create(file).close()
        handlers.append(_LogFile(file, "a", "utf-8", errors="backslashreplace"))
    if stderr:
        handlers.append(logging.StreamHandler())
    level = log.level
    for handler in handlers:
        handler.setFormatter(logging.Formatter(FORMAT))
        log.addHandler(handler)
    if handlers:
        log.setLevel(logging.DEBUG)
        if file is not None:
            stream = handlers[0].stream  # type: ignore[attr-defined]
            stream.write(f"{HEAD}, {platform.platform()}\n")
            stream.flush()
    try:
        yield
    finally:
        log.setLevel(level)
        for handler in handlers:
            log.removeHandler(handler)
            with suppress(OSError):
                handler.close()


def keep_private(path: Path) -> None:
    """Remove a file's path, name and folder from all later reports: `redact` replaces them."""
    for text in (str(path), str(path.absolute()), str(path.absolute().parent), path.name):
        if len(text) >= _SHORTEST_NAME:
            _private.add(text)


def redact(text: str) -> str:
    """Return a text without the names of the user, the machine, and files outside the program.

    Paths of the program's files are kept from its package on, so that a report shows where it failed.
    """
    package = Path(__file__).parent
    own = {f"{package}{os.sep}": f"{package.name}/"}
    own |= {f"{sysconfig.get_path(name)}{os.sep}": "" for name in ("purelib", "platlib", "stdlib")}
    # Longest first: a path must go before its folder, or a part of it would remain.
    for place in sorted(own, key=len, reverse=True):
        text = text.replace(place, own[place])
    for name in sorted(_private, key=len, reverse=True):
        text = text.replace(name, "<file>")
    text = _QUOTED_PATH.sub(r"\1<path>\1", text)
    text = _PATH.sub("<path>", text)
    for word, sign in ((_user(), "<user>"), (platform.node(), "<host>")):
        if len(word) >= _SHORTEST_NAME:
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", sign, text, flags=re.IGNORECASE)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
