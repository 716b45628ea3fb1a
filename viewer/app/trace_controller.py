"""Films: opens traces and sessions, and hangs what was read in the window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QFileDialog

from viewer.app.session_store import SessionFile, is_session, read_session
from viewer.app.sessions import ask_for_session, ask_for_trace, ask_where_to_save
from viewer.app.trace_loader import LoadedTrace
from viewer.printable import visible
from viewer.state.jobs import background
from viewer.state.session import Session, apply_session, take_session
from viewer.state.session_json import SessionError
from viewer.state.view_snapshot import restore_onto, take_snapshot

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow

FILES = "Traces and sessions (*.nsys-rep *.qdrep *.sqlite *.db *.lightbox.json);;All files (*)"
BUSY_HAND_MS = 100
"""How often it is looked whether the user has let go."""


@dataclass(frozen=True)
class _Early:
    """How a trace was shown of which more follows, and the session file that it was opened through."""

    begun: Session
    opened: SessionFile | None


class TraceController(QObject):
    """Takes one trace from the light box and hangs another.

    Attributes
    ----------
    is_demo : bool
        Whether the trace that hangs is the built-in demo.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.is_demo = False
        self._session: SessionFile | None = None
        self._early: _Early | None = None
        self._next: LoadedTrace | None = None
        self._hand = QTimer(self, interval=BUSY_HAND_MS)
        self._hand.timeout.connect(self._show_next)
        opening, progress = window.opening, window.progress
        opening.started.connect(progress.start)
        opening.progress.connect(progress.set_progress)
        opening.ended.connect(progress.hide)
        opening.started.connect(window.welcome.show_opening)
        opening.ended.connect(window.welcome.show_opening)
        opening.opened.connect(self._arrive)
        opening.filled.connect(self._arrive)
        opening.failed.connect(self._on_failed)
        progress.cancelled.connect(self._cancel)

    def open(self, path: Path | None) -> None:
        """Open a trace (None: the demo) or a session; the present one stays until that has worked."""
        self._window.notice.hide()
        self._session = None
        self._drop_next()
        if path is not None and is_session(path):
            self._open_session(path)
        else:
            self._window.opening.open(path)

    def _open_session(self, path: Path) -> None:
        try:
            session = read_session(path)
        except SessionError as error:
            self._window.notice.tell(f"{visible(path.name)} {error}.", severity="error")
            return
        except OSError as error:
            self._window.notice.tell(
                f"{visible(path.name)} cannot be read: {error.strerror or error}.", severity="error"
            )
            return
        trace = session.find_trace() or ask_for_trace(session, FILES, self._window)
        if trace is not None:
            self._session = session
            self._window.opening.open(trace)

    def choose_session(self) -> None:
        """Ask for a session file and open its trace as it says."""
        recent = self._window.settings.recent()
        path = ask_for_session(str(recent[0].parent) if recent else "", self._window)
        if path is not None:
            self.open(path)

    def save_session(self) -> None:
        """Ask for a file and write the session into it."""
        study = self._window.state.study
        if study is None:
            return
        path = ask_where_to_save(study.trace.path, self._window)
        if path is not None and self._window.state.study is not study:
            self._window.notice.tell(
                f"{visible(path.name)} was not saved: another trace is open now", severity="error"
            )
        elif path is not None:
            try:
                self._window.sessions.save_to(path)
            except OSError as error:
                self._window.notice.tell(
                    f"The session was not saved: {error.strerror or error}", severity="error"
                )

    def choose_file(self) -> None:
        """Ask for a file and open it."""
        recent = self._window.settings.recent()
        folder = str(recent[0].parent) if recent else ""
        name, _ = QFileDialog.getOpenFileName(self._window, "Open a trace", folder, FILES)
        if name:
            self.open(Path(name))

    def close(self) -> None:
        """Look at nothing."""
        if self._early is not None:
            self._window.opening.cancel()
        self.leave()
        self._window.state.set_study(None)
        self._window.notice.hide()
        self._window.show_page()

    def save(self) -> None:
        """Save what was done to the trace that hangs, also what is being written; it stays."""
        if (focus := self._window.focusWidget()) is not None:
            # What is being written into a cell or a field is kept when that loses the focus.
            focus.clearFocus()
        self._window.state.leave()
        self._window.sessions.save()

    def leave(self) -> None:
        """Keep what was done to the trace that hangs: it goes, and whatever would have followed of it."""
        self._drop_next()
        state, early = self._window.state, self._early
        self._early = None
        state.leave()
        if early is not None and state.study is not None:
            self._window.sessions.add(state.study.trace, early.begun, take_session(state), early.opened)
        self._window.sessions.end()

    def _arrive(self, result: LoadedTrace) -> None:
        self._next = result
        self._show_next()

    def _show_next(self) -> None:
        """Hang what was opened, unless the user has hold of what hangs: then when it is let go."""
        if self._is_held():
            self._hand.start()
            return
        result = self._next
        self._drop_next()
        if result is not None:
            with background():
                self.show(result)

    def _drop_next(self) -> None:
        self._hand.stop()
        self._next = None

    def _is_held(self) -> bool:
        """Say whether a button is down, a note being written, a menu open or a question asked."""
        return (
            QApplication.mouseButtons() != Qt.MouseButton.NoButton
            or self._window.timeline.notes.editor.is_open
            or QApplication.activePopupWidget() is not None
            or QApplication.modalWindow() is not None
        )

    def show(self, result: LoadedTrace) -> None:
        """Show what was opened, as its session left it."""
        study, state = result.study, self._window.state
        if result.partial:
            self._show_partial(result)
            return
        study.partial = False
        opened, self._session = self._session, None
        early = self._early
        if state.study is None or state.study.trace.path != study.trace.path:
            early = None
        old = state.study.trace.path if state.study and opened is None and early is None else None
        is_same = old == study.trace.path and result.fingerprint == self._window.sessions.fingerprint
        told = [
            *(f"Class rules, {e}: left out" for e in study.rules.errors),
            *study.trace.notes,
        ]
        state.leave()
        left = take_snapshot(state)
        if is_same:
            self._take(result)
            apply_session(state, left.session)
        elif early is not None:
            self._early = None
            self._take(result, left.listed_key)
            state.rows.show_first()
            told += self._window.sessions.begin(result.fingerprint, opened)
            restore_onto(state, early.begun, left)
        else:
            self.leave()
            self._take(result)
            state.rows.show_first()
            told += self._window.sessions.begin(result.fingerprint, opened)
        if not is_same and not result.is_demo:
            self._window.settings.add_recent(study.trace.path)
        self.is_demo = result.is_demo
        if early is None:
            self._window.show_page()
        if told:
            self._window.notice.tell("\n".join(told))

    def _show_partial(self, result: LoadedTrace) -> None:
        """Show what is there of a trace, unless more of it is shown; what was done meanwhile stays."""
        state, early = self._window.state, self._early
        trace, shown = result.study.trace, state.study.trace if state.study else None
        is_same = shown is not None and shown.path == trace.path
        if shown is not None and is_same and (early is None or shown.partial < trace.partial):
            return
        state.leave()
        left = take_snapshot(state)
        if not is_same:
            self.leave()
        self._take(result, left.listed_key if is_same else "")
        state.rows.show_first()
        self._early = _Early(take_session(state), self._session)
        if is_same and early is not None:
            restore_onto(state, early.begun, left)
        self.is_demo = result.is_demo
        note = (
            "the GPUs are shown, all else follows" if trace.partial else "all rows are shown, numbers follow"
        )
        self._window.progress.set_note(note)
        if not is_same:
            self._window.show_page()

    def _take(self, result: LoadedTrace, listed_key: str = "") -> None:
        self._window.timeline.prepared = result.scene
        self._window.state.set_study(result.study, result.roots, listed_key)

    def read_rest(self) -> None:
        """Open again what is open."""
        study = self._window.state.study
        if study is not None:
            self._window.state.cancel(False)
            self.open(None if self.is_demo else study.trace.path)
            self._session = self._early.opened if self._early is not None else None

    def _cancel(self) -> None:
        self._session = None
        self._drop_next()
        self._window.opening.cancel()
        self._say_incomplete("")

    def _on_failed(self, reason: str) -> None:
        self._session = None
        self._window.notice.tell(reason, severity="error")
        self._say_incomplete(reason)

    def _say_incomplete(self, reason: str) -> None:
        """Say that what is shown of a trace is not all of it."""
        if self._early is None or self._window.state.study is None:
            return
        self._window.state.cancel()
        told = f"{reason} " if reason else ""
        what = (
            "Only what the GPUs did was read: calls, NVTX ranges and iterations are missing."
            if self._window.state.study.trace.partial
            else "Iterations and sums were not computed."
        )
        text = f"{told}{what}"
        self._window.notice.tell(text, "Read the rest", self.read_rest, "error" if reason else "warning")
