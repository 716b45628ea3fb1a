"""TraceLoader: reads a trace in a thread, then computes its numbers and rows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from viewer.analysis.loading import Loading
from viewer.analysis.study import Study
from viewer.app.file_watch import Stamp, stamp_of
from viewer.app.session_store import fingerprint, read_session, stored_path
from viewer.demo import default_demo
from viewer.drawing.scene import Scene
from viewer.readers import Cancelled, ReadError, read
from viewer.rows import Row, RowKind
from viewer.rows.tree import build_rows
from viewer.state.jobs import REST_MS, IsCancelled, Worker, end_or_leave
from viewer.state.memory import give_back
from viewer.state.session import Session, marker_of
from viewer.state.session_json import SessionError
from viewer.trace import Kind, Trace

log = logging.getLogger("viewer.app")
READ_SHARE = 0.8
EARLY_FROM_EVENTS = 500_000
"""From this many events on, a trace appears in steps: its GPUs first, while the rest is read and computed."""

Progress = Callable[[str, float], None]
Show = Callable[["LoadedTrace"], None]
T = TypeVar("T")
_LATER = (RowKind.FAMILY, RowKind.KERNEL_NAME, RowKind.MEMORY_KIND)
"""Kinds of rows that are folded in every preset; there are many, and none is large."""


@dataclass(frozen=True)
class LoadedTrace:
    """A trace ready to show; ``study.loading`` says how much of it is there.

    The study of all rows is also that of the complete trace: the code that shows the complete trace sets its
    `loading`, in the thread of the window.

    Attributes
    ----------
    fingerprint : str
        Identifies the trace by its content; "" where it cannot be read again.
    scene : Scene or None
        The scene, prepared for the first view.
    stamp : Stamp
        The state of the file when reading it began; () where it was not read.
    """

    study: Study
    roots: tuple[Row, ...]
    is_demo: bool = False
    fingerprint: str = ""
    scene: Scene | None = None
    stamp: Stamp = ()


def open_file(path: Path | None, progress: Progress, cancelled: IsCancelled, show: Show) -> LoadedTrace:
    """Read a trace (None: the built-in demo) and compute what the first view shows.

    `show` is called with the GPUs' rows of a large trace first, then with all of its rows.

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
    stamp = stamp_of(source)
    early: list[Study] = []

    def show_early(trace: Trace) -> None:
        if _is_large(trace):
            study = Study(trace, loading=Loading.GPUS)
            roots = build_rows(study)
            _ = study.parts, trace.extent_ns
            early.append(study)
            if not cancelled():
                show(LoadedTrace(study, roots, path is None, scene=_scene(study, roots)))

    trace = read(source, lambda what, share: progress(what, share * READ_SHARE), cancelled, early=show_early)
    loaded = study_trace(trace, progress, cancelled, path is None, early[0] if early else None, show)
    return replace(loaded, stamp=stamp)


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
        The study of the same trace when only its GPUs were read.
    show : callable, optional
        Called with a large trace once all of its rows can be shown, before its iterations and sums are known.

    Raises
    ------
    Cancelled
        If `cancelled` said so.
    """
    study = Study(trace, early=early)

    def do(number: int, what: str, step: Callable[[], T]) -> T:
        if cancelled():
            raise Cancelled
        log.debug("computing %s", what)
        progress(what, READ_SHARE + (1 - READ_SHARE) * number / 5)
        return step()

    do(0, "kernel classes", lambda: study.classes)
    do(1, "the parts of each GPU's time", lambda: study.parts)
    roots = do(2, "rows", lambda: build_rows(study))
    scene = _scene(study, roots)
    if show is not None and _is_large(trace):
        study.loading = Loading.ROWS
        show(LoadedTrace(study, roots, is_demo, scene=scene))
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
    """Return the scene, prepared for the first view of the processes."""
    scene = Scene(study)
    _ = scene.palette, study.trace.extent_ns
    scene.prepare_states()
    _prepare(scene, roots, ())
    return scene


def _prepare(scene: Scene, roots: tuple[Row, ...], unfolded: Collection[str]) -> None:
    """Prepare the processes and the unfolded rows below them."""
    shown = list(roots)
    while shown:
        row = shown.pop()
        scene.prepare(row)
        if row.key in unfolded:
            shown.extend(row.children)


def _session_before(trace_fingerprint: str) -> Session | None:
    """Return the stored session of a trace, so that this thread can prepare the rows it shows."""
    if not trace_fingerprint:
        return None
    try:
        return read_session(stored_path(trace_fingerprint)).session
    except FileNotFoundError:
        return None
    except (OSError, SessionError) as error:
        log.debug("no rows are prepared for the session: %s", error)
        return None


def warm_up(opened: LoadedTrace, cancelled: IsCancelled) -> None:
    """Prepare the rows that the user may unfold next, so that the window need not wait for them."""
    for root in opened.roots:
        for row in root.walk():
            if cancelled() or opened.scene is None:
                return
            if row.kind not in _LATER:
                opened.scene.prepare(row)


class _LoadJob(QThread):
    progress = Signal(str, float)
    shown = Signal(object)
    loaded = Signal(object)
    failed = Signal(str)

    def __init__(self, work: Callable[[Progress, IsCancelled, Show], LoadedTrace], name: str) -> None:
        super().__init__()
        self._work = work
        self.name = name
        self._is_taken = threading.Event()
        self.take()

    def take(self) -> None:
        """Resume the thread: the window shows the part, or the loading is cancelled."""
        self._is_taken.set()

    def stop(self) -> None:
        """Ask the thread to end."""
        self.requestInterruption()
        self.take()

    def _is_unwanted(self) -> bool:
        """Return whether to end; the thread waits here while the window shows a part."""
        self._is_taken.wait()
        return self.isInterruptionRequested()

    def _show(self, early: LoadedTrace) -> None:
        """Hand over a part, and resume when the window shows it: both compete for Python's lock."""
        self._is_taken.clear()
        if self.isInterruptionRequested():
            self.take()
            return
        self.shown.emit(early)
        self._is_taken.wait()

    def run(self) -> None:
        try:
            result = self._work(self.progress.emit, self._is_unwanted, self._show)
        except Cancelled:
            log.debug("loading: cancelled")
        except ReadError as error:
            log.debug("loading: failed: %s", error)
            self.failed.emit(str(error))
        except MemoryError:
            self.failed.emit(f"{self.name} needs more memory than this machine has")
        except Exception:
            log.exception("loading failed")
            self.failed.emit(f"{self.name} cannot be opened: an error of this program, see the report")
        else:
            log.debug("loading: finished")
            self.loaded.emit(result)
            return
        give_back()


class TraceLoader(QObject):
    """Loads one trace at a time in a thread; drops the results of a superseded or cancelled one.

    Signals
    -------
    started(str), progress(str, float)
        The name of the file; the present step and the share done, below 0 if not known.
    gpus_ready(LoadedTrace), rows_ready(LoadedTrace)
        The GPUs' rows of a large trace can be shown; then all of its rows. More follows.
    finished(LoadedTrace), failed(str)
        How it ended; one that is cancelled ends with neither.
    ended()
        Nothing is being loaded any more.
    """

    started = Signal(str)
    progress = Signal(str, float)
    gpus_ready = Signal(object)
    rows_ready = Signal(object)
    finished = Signal(object)
    failed = Signal(str)
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._job: _LoadJob | None = None
        self._running: set[_LoadJob] = set()
        self._warmer = Worker(self)

    @property
    def is_busy(self) -> bool:
        """Whether a trace is being loaded."""
        return self._job is not None

    @property
    def name(self) -> str:
        """The name of the trace that is loading, "" for none."""
        return self._job.name if self._job is not None else ""

    @property
    def is_warming(self) -> bool:
        """Whether rows of the open trace are still being prepared."""
        return bool(self._running) or self._warmer.is_busy

    def open(self, path: Path | None) -> None:
        """Open a file, or the built-in demo."""
        name = path.name if path else "the demo"
        self._start(lambda progress, cancelled, show: open_file(path, progress, cancelled, show), name)

    def study(self, trace: Trace) -> None:
        """Compute a trace's numbers again after a change of its kernel classes or times."""
        self._start(lambda progress, cancelled, _: study_trace(trace, progress, cancelled), trace.path.name)

    def cancel(self) -> None:
        """Cancel the loading."""
        if self._job is not None:
            self._interrupt()
            self._job = None
            self.ended.emit()

    def shut_down(self) -> None:
        """Cancel, and wait for all threads except those that do not respond."""
        self.cancel()
        self._interrupt()
        for job in tuple(self._running):
            end_or_leave(job)

    def _start(self, work: Callable[[Progress, IsCancelled, Show], LoadedTrace], name: str) -> None:
        self._interrupt()
        job = self._job = _LoadJob(work, name)
        self._running.add(job)
        job.progress.connect(self._on_progress)
        job.shown.connect(self._on_shown)
        job.loaded.connect(self._on_loaded)
        job.failed.connect(self._on_failed)
        job.finished.connect(self._on_finished)
        self.started.emit(name)
        job.start()

    def _interrupt(self) -> None:
        """Ask the threads that load a trace, or prepare rows of the open one, to stop."""
        for job in self._running:
            job.stop()
        self._warmer.cancel()

    def _is_stale(self) -> bool:
        return self.sender() is not self._job

    def _on_progress(self, what: str, share: float) -> None:
        if not self._is_stale():
            self.progress.emit(what, share)

    def _on_shown(self, result: LoadedTrace) -> None:
        job = self._job
        if job is None or self._is_stale():
            return
        # The thread resumes after the window has painted the part that the signal below delivers.
        QTimer.singleShot(REST_MS, job, job.take)
        (self.rows_ready if result.study.loading.has_all_rows else self.gpus_ready).emit(result)

    def _on_loaded(self, result: LoadedTrace) -> None:
        if self._job is None or self._is_stale():
            return
        self._job = None
        self.ended.emit()
        self.finished.emit(result)
        self._warmer.start(partial(warm_up, result), lambda _: None, background=True)

    def _on_failed(self, text: str) -> None:
        if not self._is_stale():
            self._job = None
            self.ended.emit()
            self.failed.emit(text)

    def _on_finished(self) -> None:
        job = self.sender()
        if isinstance(job, _LoadJob):
            job.wait()
            self._running.discard(job)
