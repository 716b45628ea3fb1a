"""TraceController: opens traces and sessions, and shows what was loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from viewer.analysis.loading import Loading
from viewer.analysis.study import Study
from viewer.app.file_watch import FileWatch
from viewer.app.folders import folder_to_open_from
from viewer.app.notices import NoticeBar, ProgressStrip
from viewer.app.session_store import SessionFile, is_session, read_session
from viewer.app.sessions import SessionKeeper, ask_for_session, ask_for_trace, ask_where_to_save
from viewer.app.settings import Settings
from viewer.app.trace_loader import LoadedTrace, TraceLoader
from viewer.drawing.format import format_ns
from viewer.printable import counted, visible
from viewer.state.session import Session, apply_session, take_session
from viewer.state.session_json import SessionError
from viewer.state.view_snapshot import restore_onto, take_snapshot
from viewer.state.view_state import Listing
from viewer.timeline.timeline import Timeline
from viewer.trace import Trace

FILES = "Traces and sessions (*.nsys-rep *.qdrep *.sqlite *.db *.lightbox.json);;All files (*)"
RETRY_MS = 100
"""How often to check whether the user has finished a drag, a note, a menu or a question."""


@dataclass(frozen=True)
class _FirstView:
    """The first view of an incomplete trace, and the session file through which it was opened."""

    session: Session
    opened: SessionFile | None


def shape_text(trace: Trace) -> str:
    """Return how many ranks (else GPUs) a trace has, and how long it is: "8 ranks · 1.378 s"."""
    low, high = trace.window_ns
    owners = {gpu.process for gpu in trace.gpus}
    ranked = bool(owners) and all(trace.processes[process].rank is not None for process in owners)
    size = counted(len(owners), "rank") if ranked else counted(len(trace.gpus), "GPU")
    return f"{size} · {format_ns(high - low)}"


class TraceController(QObject):
    """Opens one trace after another in a window, and saves the user's changes to each.

    Attributes
    ----------
    is_demo : bool
        Whether the open trace is the built-in demo.

    Signals
    -------
    shown()
        The window shows another trace, or none.
    """

    shown = Signal()

    def __init__(
        self,
        timeline: Timeline,
        loader: TraceLoader,
        sessions: SessionKeeper,
        settings: Settings,
        notice: NoticeBar,
        progress: ProgressStrip,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._state, self._timeline, self._loader = timeline.state, timeline, loader
        self._sessions, self._settings = sessions, settings
        self._notice, self._progress = notice, progress
        self._parent = parent
        self.is_demo = False
        self._session: SessionFile | None = None
        self._first_view: _FirstView | None = None
        self._pending: Callable[[], None] | None = None
        self._watch = FileWatch(self)
        self._watch.replaced.connect(self._offer_again)
        self._retry = QTimer(self, interval=RETRY_MS)
        self._retry.timeout.connect(self._show_pending)
        loader.started.connect(progress.start)
        loader.progress.connect(progress.set_progress)
        loader.ended.connect(progress.hide)
        loader.gpus_ready.connect(partial(self._when_free, self.show_partial))
        loader.rows_ready.connect(partial(self._when_free, self.show_partial))
        loader.finished.connect(partial(self._when_free, self.show))
        loader.failed.connect(self._on_failed)
        progress.cancelled.connect(self._cancel)

    def open(self, path: Path | None) -> None:
        """Open a trace (None: the demo) or a session; the present one stays until that has worked."""
        self._notice.hide()
        self._session = None
        self._drop_pending()
        if path is not None and is_session(path):
            self._open_session(path)
        else:
            self._loader.open(path)

    def _open_session(self, path: Path) -> None:
        try:
            session = read_session(path)
        except SessionError as error:
            self._notice.tell(f"{visible(path.name)} {error}.", severity="error")
            return
        except OSError as error:
            self._notice.tell(
                f"{visible(path.name)} cannot be read: {error.strerror or error}.", severity="error"
            )
            return
        trace = session.find_trace() or ask_for_trace(session, FILES, self._parent)
        if trace is not None:
            self._session = session
            self._loader.open(trace)

    def choose_session(self) -> None:
        """Ask for a session file and open its trace as it says."""
        path = ask_for_session(self._parent)
        if path is not None:
            self.open(path)

    def save_session(self) -> None:
        """Ask for a file and write the session into it."""
        study = self._state.study
        if study is None:
            return
        path = ask_where_to_save(study.trace.path, self.is_demo, self._parent)
        if path is not None and self._state.study is not study:
            self._notice.tell(
                f"{visible(path.name)} was not saved: another trace is open now", severity="error"
            )
        elif path is not None:
            try:
                self._sessions.save_to(path)
            except OSError as error:
                self._notice.tell(f"The session was not saved: {error.strerror or error}", severity="error")

    def choose_file(self) -> None:
        """Ask for a file and open it."""
        name, _ = QFileDialog.getOpenFileName(self._parent, "Open a trace", folder_to_open_from(), FILES)
        if name:
            self.open(Path(name))

    def close(self) -> None:
        """Close the open trace, and show the welcome page."""
        if self._is_incomplete:
            self._loader.cancel()
        self.leave()
        self._state.set_study(None)
        self._notice.hide()
        self.shown.emit()

    def save(self) -> None:
        """Save the user's changes to the open trace, and the text in an open editor."""
        if (focus := self._parent.focusWidget()) is not None:
            # An open editor commits its text when it loses the focus.
            focus.clearFocus()
        self._state.leave()
        self._sessions.save()

    def leave(self) -> None:
        """Save the user's changes before the open trace closes; ignore what still loads of it."""
        self._drop_pending()
        self._watch.watch(None)
        state, first_view = self._state, self._first_view
        self._first_view = None
        state.leave()
        if self._is_incomplete and state.study is not None and first_view is not None:
            trace, left = state.study.trace, take_session(state)
            self._sessions.add(trace, first_view.session, left, first_view.opened)
        self._sessions.end()

    def _when_free(self, show: Callable[[LoadedTrace], None], loaded: LoadedTrace) -> None:
        """Show more of the loaded trace, but only after the user has finished a drag, a note or a menu."""
        self._pending = partial(show, loaded)
        self._show_pending()

    def _show_pending(self) -> None:
        if self._is_user_busy():
            self._retry.start()
            return
        show = self._pending
        self._drop_pending()
        if show is not None:
            show()

    def _drop_pending(self) -> None:
        self._retry.stop()
        self._pending = None

    def _is_user_busy(self) -> bool:
        """Return whether a button is down, or a note editor, a menu or a dialog is open."""
        return (
            QApplication.mouseButtons() != Qt.MouseButton.NoButton
            or self._timeline.notes.editor.is_open
            or QApplication.activePopupWidget() is not None
            or QApplication.modalWindow() is not None
        )

    @property
    def _is_incomplete(self) -> bool:
        """Whether the open trace is still incomplete."""
        study = self._state.study
        return study is not None and not study.loading.is_complete

    def show(self, loaded: LoadedTrace) -> None:
        """Show a complete trace as its session left it."""
        with self._state.restoring():
            self._show(loaded)

    def _show(self, loaded: LoadedTrace) -> None:
        study, state = loaded.study, self._state
        opened, self._session = self._session, None
        shown = self._shown_of(study.trace)
        is_more = shown is not None and not shown.loading.is_complete
        # The same content, loaded again without a session file: the view stays.
        is_again = (
            shown is not None
            and not is_more
            and opened is None
            and loaded.fingerprint == self._sessions.fingerprint
        )
        # After the comparison above: with all rows the shown study is this one.
        study.loading = Loading.COMPLETE
        messages = [*(f"Class rules, {error}: left out" for error in study.rules.errors), *study.trace.notes]
        state.leave()
        left = take_snapshot(state)
        if is_again:
            self._take(loaded, left.listing)
            apply_session(state, left.session)
        elif is_more:
            first_view, self._first_view = self._first_view, None
            assert first_view is not None
            self._take(loaded, left.listing)
            state.rows.show_first()
            messages += self._sessions.begin(loaded.fingerprint, opened)
            restore_onto(state, first_view.session, left)
        else:
            self.leave()
            self._take(loaded)
            state.rows.show_first()
            messages += self._sessions.begin(loaded.fingerprint, opened)
        if not is_again and not loaded.is_demo:
            self._settings.add_recent(study.trace.path, shape_text(study.trace))
        self.is_demo = loaded.is_demo
        if loaded.stamp:
            self._watch.watch(None if loaded.is_demo else study.trace.path, loaded.stamp)
        if not is_more:
            self.shown.emit()
        if messages:
            self._notice.tell("\n".join(messages))

    def show_partial(self, loaded: LoadedTrace) -> None:
        """Show an incomplete trace, unless more of it is on screen; the user's changes since then stay."""
        with self._state.restoring():
            self._show_partial(loaded)

    def _show_partial(self, loaded: LoadedTrace) -> None:
        state, trace, loading = self._state, loaded.study.trace, loaded.study.loading
        shown = self._shown_of(trace)
        if shown is not None and (
            shown.loading.is_complete or (shown.loading.has_all_rows and not loading.has_all_rows)
        ):
            return
        state.leave()
        left, before = take_snapshot(state), self._first_view
        if shown is None:
            self.leave()
        self._take(loaded, left.listing if shown is not None else None)
        state.rows.show_first()
        self._first_view = _FirstView(take_session(state), self._session)
        if shown is not None and before is not None:
            restore_onto(state, before.session, left)
        self.is_demo = loaded.is_demo
        note = (
            "all rows are shown, numbers follow"
            if loading.has_all_rows
            else "the GPUs are shown, all else follows"
        )
        self._progress.set_note(note)
        if shown is None:
            self.shown.emit()

    def _shown_of(self, trace: Trace) -> Study | None:
        """Return the study on screen if it is of this trace."""
        study = self._state.study
        return study if study is not None and study.trace.path == trace.path else None

    def _take(self, loaded: LoadedTrace, listing: Listing | None = None) -> None:
        self._timeline.prepared = loaded.scene
        self._state.set_study(loaded.study, loaded.roots, listing)

    def read_rest(self) -> None:
        """Load the open trace again."""
        study = self._state.study
        if study is not None:
            self._state.set_loading(study.loading.resumed())
            self.open(None if self.is_demo else study.trace.path)
            self._session = self._first_view.opened if self._first_view is not None else None

    def _offer_again(self) -> None:
        study = self._state.study
        if study is not None:
            path = study.trace.path
            text = f"{visible(path.name)} was replaced on disk since it was opened."
            self._notice.tell(text, "Open it again", lambda: self.open(path))

    def _cancel(self) -> None:
        self._session = None
        self._drop_pending()
        self._loader.cancel()
        self._say_incomplete("")

    def _on_failed(self, reason: str) -> None:
        self._session = None
        self._notice.tell(reason, severity="error")
        self._say_incomplete(reason)

    def _say_incomplete(self, reason: str) -> None:
        """Show which part of the trace is still missing."""
        study = self._state.study
        if study is None or study.loading.is_complete:
            return
        self._state.set_loading(study.loading.cancelled())
        missing = (
            "Iterations and sums were not computed."
            if study.loading.has_all_rows
            else "Only what the GPUs did was read: calls, NVTX ranges and iterations are missing."
        )
        text = f"{reason} {missing}".lstrip()
        self._notice.tell(text, "Read the rest", self.read_rest, "error" if reason else "warning")
