"""Work on files in a separate thread, which is abandoned if the file system does not respond."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from viewer.process_end import leave_behind
from viewer.readers.errors import Cancel, check

_T = TypeVar("_T")
_ASK_S = 0.1
GRACE_S = 2.0
"""The time that cancelled work has to end by itself and to remove its files."""


def apart(work: Callable[[Cancel], _T], cancelled: Cancel | None = None) -> _T:
    """Run `work` in a thread, and return its result or raise its error.

    Parameters
    ----------
    work : callable
        Its argument is a callable that returns whether the work is cancelled; `work` calls it often.
    cancelled : callable, optional
        When it returns True, or a signal interrupts the wait, the work should end. If it is blocked in a
        system call and does not, its thread is abandoned.

    Raises
    ------
    Cancelled
    """
    unwanted, finished = threading.Event(), threading.Event()
    results: list[_T] = []
    errors: list[BaseException] = []

    def is_unwanted() -> bool:
        return unwanted.is_set() or (cancelled is not None and cancelled())

    def run() -> None:
        try:
            results.append(work(is_unwanted))
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            errors.append(error)
        finally:
            finished.set()

    thread = threading.Thread(target=run, name="lightbox-reading", daemon=True)
    thread.start()
    try:
        while not finished.wait(_ASK_S):
            check(cancelled)
    except BaseException:
        unwanted.set()
        leave_behind(thread.is_alive)
        finished.wait(GRACE_S)
        raise
    if errors:
        raise errors[0]
    return results[0]
