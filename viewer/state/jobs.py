"""Jobs: calculations in threads beside the window; of each worker only the last one counts.

What the user asks for starts at once. Background jobs wait until the window has come to rest; they run one
after the other, and only while nothing else is calculated: each thread more takes its share of Python's lock
from the window.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from viewer.process_end import leave_behind
from viewer.state.memory import give_back

log = logging.getLogger("viewer.state")

REST_MS = 30
"""How long the window paints undisturbed before the next background job starts."""
_NICE = 5
_PATIENCE_MS = 5_000

IsCancelled = Callable[[], bool]
"""Returns whether the result is not wanted any more; long jobs call it now and then."""


def end_or_leave(thread: QThread) -> None:
    """Wait for a thread that was asked to end; leave it behind where it does not."""
    if not thread.wait(_PATIENCE_MS):
        leave_behind(thread.isRunning)


def step_back() -> None:
    """Lower the priority of this thread, and of those that it starts, below the window's, where possible."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


class _Job(QThread):
    done = Signal(object, object)

    def __init__(self, work: Callable[[IsCancelled], Any], name: str, background: bool) -> None:
        super().__init__()
        self._work: Callable[[IsCancelled], Any] | None = work
        self.name = name
        self.is_background = background
        self.is_cancelled = False

    def run(self) -> None:
        step_back()
        work, self._work = self._work, None
        assert work is not None
        result, error = None, None
        try:
            result = work(lambda: self.is_cancelled)
        except Exception as caught:  # noqa: BLE001  (handed to the main thread, which logs and shows it)
            error = caught
        # Logged here, from its own thread: the main thread may be busy for long when it hears of it.
        log.debug("job %s: %s", self.name, "cancelled" if self.is_cancelled else "finished")
        self.done.emit(result, error)


class _Lane(QObject):
    """All jobs of the program: those that run, and those that wait for their turn."""

    def __init__(self) -> None:
        super().__init__()
        self._running: set[_Job] = set()
        self._waiting: list[_Job] = []
        self._has_litter = False
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._go_on)

    @property
    def is_busy(self) -> bool:
        return bool(self._running or self._waiting or self._has_litter)

    def put(self, job: _Job) -> None:
        job.finished.connect(self._on_finished)
        if job.is_background:
            self._waiting.append(job)
            self._rest.start()
        else:
            self._run(job)

    def cancel(self, job: _Job) -> None:
        """Ask a job to stop; one that still waits never starts."""
        if job in self._waiting:
            self._waiting.remove(job)
            log.debug("job %s: cancelled before it started", job.name)
        job.is_cancelled = True

    def join(self) -> None:
        for job in (*self._waiting, *self._running):
            self.cancel(job)
        self._has_litter = False
        for job in self._running:
            end_or_leave(job)
        self._running.clear()

    def _run(self, job: _Job) -> None:
        log.debug("job %s: started%s", job.name, " in the background" if job.is_background else "")
        self._running.add(job)
        self._has_litter = True
        job.start()

    def _on_finished(self) -> None:
        job = self.sender()
        if isinstance(job, _Job):
            job.wait()
            self._running.discard(job)
            self._rest.start()

    def _go_on(self) -> None:
        if self._running:
            return
        if self._waiting:
            self._run(self._waiting.pop(0))
        elif self._has_litter:
            self.put(_Job(lambda _: give_back(), "give memory back", background=False))
            self._has_litter = False


_lane = _Lane()


class Worker(QObject):
    """Runs one job at a time and drops the result of one that was overtaken.

    Signals
    -------
    busy_changed(bool)
        Whether a result is awaited.
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

    def start(
        self, work: Callable[[IsCancelled], Any], then: Callable[[Any], None], *, background: bool = False
    ) -> None:
        """Run `work` in a thread and pass its result to `then` in this one.

        Parameters
        ----------
        work : callable
            Touches no widget. An exception in it is logged, and `then` is not called.
        background : bool
            The user has not asked for it: it waits for its turn, and for the window.
        """
        was_busy = self.is_busy
        if self._job is not None:
            _lane.cancel(self._job)
        job = self._job = _Job(work, type(self.parent() or self).__name__, background)
        self._then = then
        job.done.connect(self._on_done)
        _lane.put(job)
        if not was_busy:
            self.busy_changed.emit(True)

    def cancel(self) -> None:
        """Cancel the job that runs or waits; no result is awaited any more."""
        if self._job is not None:
            _lane.cancel(self._job)
            self._job = self._then = None
            self.busy_changed.emit(False)

    def _on_done(self, result: object, error: Exception | None) -> None:
        job, then = self._job, self._then
        if job is None or then is None or self.sender() is not job:
            return
        self._job = self._then = None
        if error is not None:
            log.error("a calculation failed", exc_info=error)
        elif not job.is_cancelled:
            then(result)
        if self._job is None:
            self.busy_changed.emit(False)


def is_anything_running() -> bool:
    """Return whether any job runs or waits for its turn."""
    return _lane.is_busy


def join_all() -> None:
    """Cancel all jobs, and wait until no thread is left."""
    _lane.join()
