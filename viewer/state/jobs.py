"""Long work beside the window: calculations in threads, of which only the last one asked for counts.

What the user asks for starts at once. What is made ready unasked waits until the window has come to rest; it
is done one after the other, and while nothing else is calculated: each thread more takes its share of
Python's lock from the window.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from viewer.process_end import leave_behind
from viewer.state.memory import give_back

log = logging.getLogger("viewer.state")

REST_MS = 30
"""So long the window has for itself, to paint what is new, before what nobody has asked for goes on."""
_NICE = 5
_PATIENCE_MS = 5_000

IsCancelled = Callable[[], bool]
"""Says whether the result is not wanted any more; long work asks now and then."""


def end_or_leave(thread: QThread) -> None:
    """Wait for a thread that was asked to end; leave it behind where it does not."""
    if not thread.wait(_PATIENCE_MS):
        leave_behind(thread.isRunning)


def step_back() -> None:
    """Let the window's thread go before this one, and before those that it starts, where the system can."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


class _Job(QThread):
    done = Signal(object, object)

    def __init__(self, work: Callable[[IsCancelled], Any], is_background: bool) -> None:
        super().__init__()
        self._work: Callable[[IsCancelled], Any] | None = work
        self.is_background = is_background
        self.is_given_up = False

    def run(self) -> None:
        step_back()
        work, self._work = self._work, None
        assert work is not None
        result, error = None, None
        try:
            result = work(lambda: self.is_given_up)
        except Exception as caught:  # noqa: BLE001  (handed to the main thread, which logs and shows it)
            error = caught
        self.done.emit(result, error)


class _Lane(QObject):
    """All jobs of the program: those that run, and those that wait for their turn."""

    def __init__(self) -> None:
        super().__init__()
        self.is_background = False
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
        job.is_given_up = True

    def join(self) -> None:
        for job in (*self._waiting, *self._running):
            self.cancel(job)
        self._has_litter = False
        for job in self._running:
            end_or_leave(job)
        self._running.clear()

    def _run(self, job: _Job) -> None:
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
            self.put(_Job(lambda _: give_back(), is_background=False))
            self._has_litter = False


_lane = _Lane()


@contextmanager
def background() -> Iterator[None]:
    """Whatever is started within, and whatever follows from its results, is not waited for by anybody."""
    before, _lane.is_background = _lane.is_background, True
    try:
        yield
    finally:
        _lane.is_background = before


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

    def start(self, work: Callable[[IsCancelled], Any], then: Callable[[Any], None]) -> None:
        """Calculate `work` in a thread and hand its result to `then` in this one.

        `work` touches no widget; an exception in it is logged, and `then` is not called.
        """
        was_busy = self.is_busy
        if self._job is not None:
            _lane.cancel(self._job)
        job = self._job = _Job(work, _lane.is_background)
        self._then = then
        job.done.connect(self._on_done)
        _lane.put(job)
        if not was_busy:
            self.busy_changed.emit(True)

    def cancel(self) -> None:
        """Await nothing any more."""
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
        elif not job.is_given_up:
            with background() if job.is_background else nullcontext():
                then(result)
        if self._job is None:
            self.busy_changed.emit(False)


def is_anything_running() -> bool:
    """Whether anything is being calculated beside the window, or waits for its turn."""
    return _lane.is_busy


def join_all() -> None:
    """Give up all calculations, and wait until no thread is left."""
    _lane.join()
