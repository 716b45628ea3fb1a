"""Running another program: passes on its output while it works, and ends it with all its children."""

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
"""The wait for more output of an ended program while its pipe is still open."""


def talk(
    command: list[str], folder: Path | None, hear: Callable[[bytes], None], cancelled: Cancel | None
) -> int:
    """Run a program, pass each piece of its output to `hear`, and return its exit code.

    The program gets a separate process group: on cancellation it is killed with all its children.

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
    output: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(process, output), name="lightbox-nsys", daemon=True).start()
    silent_s = 0.0
    try:
        # Its children may keep the pipe open after the program itself has ended.
        while process.poll() is None or silent_s < _LAST_WORDS_S:
            check(cancelled)
            try:
                heard = output.get(timeout=_POLL_S)
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
    """Kill a program and all its children that still run."""
    if sys.platform == "win32":
        if process.poll() is None:
            ending = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(ending, capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _listen(process: subprocess.Popen[bytes], output: queue.Queue[bytes]) -> None:
    """Put the output of a process into a queue, and b"" at its end."""
    assert process.stdout is not None
    with process.stdout as out:
        while heard := os.read(out.fileno(), 65_536):
            output.put(heard)
    output.put(b"")
