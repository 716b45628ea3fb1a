"""Opening a trace beside the window's own work: reading, then the numbers and the rows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from viewer.analysis.study import Study
from viewer.app.session_store import fingerprint, read_session, stored_path
from viewer.demo import default_demo
from viewer.drawing.scene import Scene
from viewer.readers import Cancelled, ReadError, read
from viewer.rows import Row, RowKind
from viewer.rows.tree import build_rows
from viewer.state.jobs import REST_MS, Worker, background, end_or_leave
from viewer.state.memory import give_back
from viewer.state.session import Session, marker_of
from viewer.state.session_json import SessionError
from viewer.trace import Kind, Trace

log = logging.getLogger("viewer.app")
READ_SHARE = 0.8
EARLY_FROM_EVENTS = 500_000
"""From here on one sees the GPUs while the rest is still being read and computed."""

Progress = Callable[[str, float], None]
IsCancelled = Callable[[], bool]
Show = Callable[["LoadedTrace"], None]
T = TypeVar("T")
_LATER = (RowKind.FAMILY, RowKind.KERNEL_NAME, RowKind.MEMORY_KIND)
"""Folded in every preset; there are many, and none is large."""


@dataclass(frozen=True)
class LoadedTrace:
    """A trace that is ready to be looked at; `fingerprint` tells it by its content, "" by nothing.

    Where `partial` says so, the whole of it follows: its iterations and sums, and all rows but those of the
    GPUs where ``study.trace.partial`` says so, too. With all rows the study is that of the whole already: who
    shows the whole says that it is no longer partial.
    """

    study: Study
    roots: tuple[Row, ...]
    is_demo: bool = False
    fingerprint: str = ""
    scene: Scene | None = None
    partial: bool = False


def open_file(path: Path | None, progress: Progress, cancelled: IsCancelled, show: Show) -> LoadedTrace:
    """Read a trace (None: the built-in demo) and compute what the first view shows.

    Of a large trace `show` gets the GPUs' rows first.

    Raises
    ------
    ReadError
        If it cannot be read.
    Cancelled
        If `cancelled` said so.
    """
    source = path
    if source is None:
        progress("making the demo", -1.0)
        source = default_demo()
    early: list[Study] = []

    def show_early(trace: Trace) -> None:
        if _is_large(trace):
            study = Study(trace)
            roots = build_rows(study)
            _ = study.parts, trace.extent_ns
            early.append(study)
            if not cancelled():
                show(LoadedTrace(study, roots, path is None, scene=_scene(study, roots), partial=True))

    trace = read(source, lambda what, share: progress(what, share * READ_SHARE), cancelled, early=show_early)
    return study_trace(trace, progress, cancelled, path is None, early[0] if early else None, show)


def study_trace(
    trace: Trace,
    progress: Progress,
    cancelled: IsCancelled,
    is_demo: bool = False,
    early: Study | None = None,
    show: Show | None = None,
) -> LoadedTrace:
    """Compute what the first view of a trace shows.

    Parameters
    ----------
    early : Study, optional
        That of the partial trace.
    show : callable, optional
        Gets a large trace once all of its rows can be shown, before its iterations and sums are known.

    Raises
    ------
    Cancelled
        If `cancelled` said so.
    """
    study = Study(trace, early=early)

    def do(number: int, what: str, step: Callable[[], T]) -> T:
        if cancelled():
            raise Cancelled
        progress(what, READ_SHARE + (1 - READ_SHARE) * number / 5)
        return step()

    do(0, "kernel classes", lambda: study.classes)
    do(1, "the parts of each GPU's time", lambda: study.parts)
    roots = do(2, "rows", lambda: build_rows(study))
    scene = _scene(study, roots)
    if show is not None and _is_large(trace):
        study.partial = True
        show(LoadedTrace(study, roots, is_demo, scene=scene, partial=True))
    do(3, "iterations", study.iterations)
    do(4, "sums for selections", study.prepare)
    print_ = fingerprint(trace.path)
    before = _session_before(print_)
    if before is not None:
        if (marker := marker_of(study, before.iterations)) is not None:
            study.iterations(marker)
        _prepare(scene, roots, before.rows.expanded)
    return LoadedTrace(study, roots, is_demo, print_, scene)


def _is_large(trace: Trace) -> bool:
    return sum(len(trace.events[kind]) for kind in Kind) >= EARLY_FROM_EVENTS


def _scene(study: Study, roots: tuple[Row, ...]) -> Scene:
    """Make the scene, ready for the first view: the processes."""
    scene = Scene(study)
    _ = scene.palette, study.trace.extent_ns
    scene.prepare_states()
    _prepare(scene, roots, ())
    return scene


def _prepare(scene: Scene, roots: tuple[Row, ...], unfolded: Collection[str]) -> None:
    """Prepare the processes, and what is unfolded below them."""
    shown = list(roots)
    while shown:
        row = shown.pop()
        scene.prepare(row)
        if row.key in unfolded:
            shown.extend(row.children)


def _session_before(trace_fingerprint: str) -> Session | None:
    """Return the session that is kept of a trace: what it shows is made ready beside the window."""
    if not trace_fingerprint:
        return None
    try:
        return read_session(stored_path(trace_fingerprint)).session
    except (OSError, SessionError):
        return None


def warm_up(opened: LoadedTrace, cancelled: IsCancelled) -> None:
    """Prepare the rows that the user may unfold next, so that the window does not wait for them then."""
    for root in opened.roots:
        for row in root.walk():
            if cancelled() or opened.scene is None:
                return
            if row.kind not in _LATER:
                opened.scene.prepare(row)


class _Job(QThread):
    progress = Signal(str, float)
    opened = Signal(object)
    filled = Signal(object)
    failed = Signal(str)

    def __init__(self, work: Callable[[Progress, IsCancelled, Show], LoadedTrace], name: str) -> None:
        super().__init__()
        self._work = work
        self.name = name
        self._is_taken = threading.Event()
        self.take()

    def take(self) -> None:
        """Say that the window shows what there was to show early, or that nobody wants it any more."""
        self._is_taken.set()

    def stop(self) -> None:
        """Ask it to end."""
        self.requestInterruption()
        self.take()

    def _is_unwanted(self) -> bool:
        """Say whether to end; whoever reads or counts asks, and waits here while the window has its turn."""
        self._is_taken.wait()
        return self.isInterruptionRequested()

    def _show(self, early: LoadedTrace) -> None:
        """Show a part, and go on when the window has it: both would want Python's lock all the time."""
        self._is_taken.clear()
        if self.isInterruptionRequested():
            self.take()
            return
        (self.opened if early.study.trace.partial else self.filled).emit(early)
        self._is_taken.wait()

    def run(self) -> None:
        try:
            result = self._work(self.progress.emit, self._is_unwanted, self._show)
        except Cancelled:
            pass
        except ReadError as error:
            self.failed.emit(str(error))
        except MemoryError:
            self.failed.emit(f"{self.name} needs more memory than this machine has")
        except Exception:
            log.exception("opening %s", self.name)
            self.failed.emit(f"{self.name} cannot be opened: an error of this program, see the report")
        else:
            self.opened.emit(result)
            return
        give_back()


class TraceLoader(QObject):
    """Opens one trace at a time in a thread; what an overtaken or cancelled one yields is dropped.

    Signals
    -------
    started(str), progress(str, float)
        The name of what is opened; what is being read and the share done, below 0 if not known.
    opened(Opened), failed(str)
        How it ended; a cancelled one ends with neither. A large trace comes with its GPUs' rows first.
    filled(Opened)
        All rows of a large trace are there; it is still partial, its iterations and sums follow.
    ended()
        Nothing is being opened any more.
    """

    started = Signal(str)
    progress = Signal(str, float)
    opened = Signal(object)
    filled = Signal(object)
    failed = Signal(str)
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._job: _Job | None = None
        self._running: set[_Job] = set()
        self._warmer = Worker(self)

    @property
    def is_busy(self) -> bool:
        """Whether something is being opened."""
        return self._job is not None

    @property
    def name(self) -> str:
        """What is being opened, "" for nothing."""
        return self._job.name if self._job is not None else ""

    @property
    def is_warming(self) -> bool:
        """Whether rows are still being prepared for the trace that is open."""
        return bool(self._running) or self._warmer.is_busy

    def open(self, path: Path | None) -> None:
        """Open a file, or the built-in demo."""
        name = path.name if path else "the demo"
        self._start(lambda progress, cancelled, show: open_file(path, progress, cancelled, show), name)

    def study(self, trace: Trace) -> None:
        """Compute a trace's numbers again: the kernel classes are others."""
        self._start(lambda progress, cancelled, _: study_trace(trace, progress, cancelled), trace.path.name)

    def cancel(self) -> None:
        """Give up what is being opened."""
        if self._job is not None:
            self._interrupt()
            self._job = None
            self.ended.emit()

    def shut_down(self) -> None:
        """Give up, and wait until no thread is left but those that hang."""
        self.cancel()
        self._interrupt()
        for job in tuple(self._running):
            end_or_leave(job)

    def _start(self, work: Callable[[Progress, IsCancelled, Show], LoadedTrace], name: str) -> None:
        self._interrupt()
        job = self._job = _Job(work, name)
        self._running.add(job)
        job.progress.connect(self._on_progress)
        job.opened.connect(self._on_opened)
        job.filled.connect(self._on_filled)
        job.failed.connect(self._on_failed)
        job.finished.connect(self._on_finished)
        self.started.emit(name)
        job.start()

    def _interrupt(self) -> None:
        """Ask what runs to stop, be it to open a trace or to prepare rows of the one that is open."""
        for job in self._running:
            job.stop()
        self._warmer.cancel()

    def _is_stale(self) -> bool:
        return self.sender() is not self._job

    def _on_progress(self, what: str, share: float) -> None:
        if not self._is_stale():
            self.progress.emit(what, share)

    def _on_opened(self, result: LoadedTrace) -> None:
        job = self._job
        if job is None or self._is_stale():
            return
        if not result.partial:
            self._job = None
            self.ended.emit()
        else:
            QTimer.singleShot(REST_MS, job, job.take)
        with background():
            self.opened.emit(result)
            if not result.partial:
                self._warmer.start(partial(warm_up, result), lambda _: None)

    def _on_filled(self, result: LoadedTrace) -> None:
        job = self._job
        if job is None or self._is_stale():
            return
        QTimer.singleShot(REST_MS, job, job.take)
        with background():
            self.filled.emit(result)

    def _on_failed(self, text: str) -> None:
        if not self._is_stale():
            self._job = None
            self.ended.emit()
            self.failed.emit(text)

    def _on_finished(self) -> None:
        job = self.sender()
        if isinstance(job, _Job):
            job.wait()
            self._running.discard(job)
