"""Another program is run: heard while it works, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from viewer.readers.errors import Cancel, check

_POLL_S = 0.1
_LAST_WORDS_S = 1.0
"""So long what an ended program said is waited for while its pipe is still open."""


def talk(
    command: list[str], folder: Path | None, hear: Callable[[bytes], None], cancelled: Cancel | None
) -> int:
    """Run a program and hand on what it says; return its exit code.

    It has a process group of its own: when it is not wanted any more, it is killed with all that it started.

    Raises
    ------
    Cancelled
    OSError
        It cannot be started.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        umask=0o077,
    )
    said: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(process, said), name="lightbox-nsys", daemon=True).start()
    silent_s = 0.0
    try:
        # What it started may hold the pipe open when it has ended itself.
        while process.poll() is None or silent_s < _LAST_WORDS_S:
            check(cancelled)
            try:
                heard = said.get(timeout=_POLL_S)
            except queue.Empty:
                silent_s += _POLL_S
                continue
            if not heard:
                break
            silent_s = 0.0
            hear(heard)
        while process.poll() is None:
            check(cancelled)
            time.sleep(_POLL_S)
    finally:
        _kill(process)
    return process.returncode


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started, as far as that still runs."""
    if sys.platform == "win32":
        if process.poll() is None:
            ending = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(ending, capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _listen(process: subprocess.Popen[bytes], said: queue.Queue[bytes]) -> None:
    """Pass on what a process says; b"" at its end."""
    assert process.stdout is not None
    with process.stdout as out:
        while heard := os.read(out.fileno(), 65_536):
            said.put(heard)
    said.put(b"")
