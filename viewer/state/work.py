"""Long work beside the window: calculations in threads, of which only the last one asked for counts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal

from viewer.state.memory import give_back

log = logging.getLogger("viewer.state")

Asked = Callable[[], bool]
"""Says whether the result is still wanted; long work asks now and then."""

_running: set[_Job] = set()


class _Job(QThread):
    done = Signal(object, object)

    def __init__(self, work: Callable[[Asked], Any]) -> None:
        super().__init__()
        self._work = work

    def run(self) -> None:
        result, error = None, None
        try:
            result = self._work(self.isInterruptionRequested)
        except Exception as caught:  # noqa: BLE001  (handed to the main thread, which logs and shows it)
            error = caught
        self.done.emit(result, error)
        give_back()


class Worker(QObject):
    """Runs one calculation at a time; what an overtaken one yields is dropped.

    Signals
    -------
    busy_changed(bool)
        Something is being calculated, or nothing is any more.
    """

    busy_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._job: _Job | None = None
        self._then: Callable[[Any], None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a result is awaited."""
        return self._job is not None

    def start(self, work: Callable[[Asked], Any], then: Callable[[Any], None]) -> None:
        """Calculate `work` in a thread and hand its result to `then` in this one.

        `work` touches no widget; an exception in it is logged, and `then` is not called.
        """
        was_busy = self.is_busy
        if self._job is not None:
            self._job.requestInterruption()
        job = self._job = _Job(work)
        self._then = then
        _running.add(job)
        job.done.connect(self._on_done)
        job.finished.connect(_forget)
        job.start()
        if not was_busy:
            self.busy_changed.emit(True)

    def cancel(self) -> None:
        """Await nothing any more."""
        if self._job is not None:
            self._job.requestInterruption()
            self._job = self._then = None
            self.busy_changed.emit(False)

    def _on_done(self, result: object, error: Exception | None) -> None:
        if self.sender() is not self._job or self._then is None:
            return
        then, self._job, self._then = self._then, None, None
        if error is not None:
            log.error("a calculation failed", exc_info=error)
        else:
            then(result)
        if self._job is None:
            self.busy_changed.emit(False)


def is_anything_running() -> bool:
    """Whether anything is being calculated beside the window."""
    return any(not job.isFinished() for job in _running)


def join_all() -> None:
    """Give up all calculations, and wait until no thread is left."""
    for job in tuple(_running):
        job.requestInterruption()
    for job in tuple(_running):
        job.wait()
    _running.clear()


def _forget() -> None:
    for job in tuple(_running):
        if job.isFinished():
            _running.discard(job)
