"""CrashGuard: exceptions are logged and shown once; they never end the program."""

from __future__ import annotations

import faulthandler
import logging
import platform
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import TextIO

import platformdirs
import PySide6
from PySide6.QtCore import QObject, Signal, qVersion

from viewer import __version__, private_files
from viewer.logs import LogRing, log, redact

REPORT_LINES = 80


class CrashGuard(QObject):
    """Owns the exception hooks and the file that a hard crash leaves behind.

    Signals
    -------
    happened(str, str)
        An exception of a kind that was not shown yet: one line for people, and the report to copy.
    """

    happened = Signal(str, str)

    def __init__(self, folder: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ring = LogRing()
        self._folder = folder or Path(platformdirs.user_state_dir("lightbox", appauthor=False))
        self._shown: set[str] = set()
        self._file: TextIO | None = None
        self._level = log.level
        self.last_crash = ""

    def install(self) -> None:
        """Install the hooks; read the file that a hard crash of the last session left."""
        self._level = log.level
        log.setLevel(logging.DEBUG)
        log.addHandler(self.ring)
        log.addHandler(_Escalation(self))
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        try:
            private_files.make_folder(self._folder)
            path = self._folder / "crash.txt"
            self.last_crash = path.read_text(errors="replace") if path.exists() else ""
            self._file = path.open("w")
            private_files.close_to_others(self._folder)
            faulthandler.enable(self._file)
        except OSError as error:
            log.warning("no crash file: %s", error)

    def uninstall(self) -> None:
        """Restore the hooks; a session that ends here did not crash."""
        sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
        for handler in [h for h in log.handlers if isinstance(h, LogRing | _Escalation)]:
            log.removeHandler(handler)
        log.setLevel(self._level)
        if self._file is not None:
            faulthandler.disable()
            self._file.close()
            Path(self._file.name).unlink(missing_ok=True)
            self._file = None

    def report(self, what: str) -> str:
        """Return the text to paste into an issue: it names neither the user nor any of their files."""
        head = [
            f"Lightbox {__version__}",
            f"Python {platform.python_version()}, PySide6 {PySide6.__version__}, Qt {qVersion()}",
            platform.platform(),
        ]
        lines = [what.rstrip(), "", "Last lines of the log:", *list(self.ring.lines)[-REPORT_LINES:]]
        return "\n".join([*head, "", redact("\n".join(lines))])

    def show(self, kind: str, line: str, what: str) -> None:
        """Emit `happened` for an exception, once per kind."""
        if kind not in self._shown:
            self._shown.add(kind)
            self.happened.emit(line, self.report(what))

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        log.error("unexpected", exc_info=(kind, error, trace))

    def _on_thread_exception(self, hooked: threading.ExceptHookArgs) -> None:
        if hooked.exc_value is not None:
            self._on_exception(hooked.exc_type, hooked.exc_value, hooked.exc_traceback)


class _Escalation(logging.Handler):
    """Shows every logged exception, wherever it was caught."""

    def __init__(self, guard: CrashGuard) -> None:
        super().__init__(logging.ERROR)
        self._guard = guard

    def emit(self, record: logging.LogRecord) -> None:
        if not record.exc_info or record.exc_info[1] is None:
            return
        error = record.exc_info[1]
        frames = traceback.extract_tb(record.exc_info[2])
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        what = "".join(traceback.format_exception(error))
        self._guard.show(f"{type(error).__name__} {place}", f"{type(error).__name__}: {error}", what)
