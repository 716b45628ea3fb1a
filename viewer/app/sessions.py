"""Sessions: restores the session of the open trace, and saves it while the user works."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from viewer.app import session_store as store
from viewer.app.folders import folder_to_open_from, path_to_save_as
from viewer.app.save_questions import may_write
from viewer.app.session_store import SUFFIX, SessionFile
from viewer.export.atomic import write_atomic
from viewer.export.file_types import SESSION
from viewer.printable import visible
from viewer.state import ViewState
from viewer.state.session import Session, apply_session, carried_over, take_session
from viewer.state.session_json import NewerSessionError, SessionError
from viewer.timeline.plain_text import for_title

log = logging.getLogger("viewer.app")

if TYPE_CHECKING:
    from viewer.trace import Trace

EDIT_MS, LOOK_MS = 2_000, 20_000
"""How long after an edit, or a move of the view, the session is saved."""
FILES = f"Lightbox sessions (*{SUFFIX})"


class SessionKeeper(QObject):
    """Owns the session file of the open trace.

    Attributes
    ----------
    fingerprint : str
        Of the open trace (`session_store.fingerprint`).

    Signals
    -------
    failed(str)
        What could not be saved, in one line for people.
    """

    failed = Signal(str)
    _wrote = Signal(str, str)

    def __init__(self, state: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._file: Path | None = None
        self._trace: Trace | None = None
        self.fingerprint = ""
        self._before: Session | None = None
        self._written = ""
        self._has_failed = False
        self._writer: threading.Thread | None = None
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._save_beside)
        self._wrote.connect(self._on_written)
        for edited in (state.notes.changed, state.measurements.changed, state.bookmarks.changed):
            edited.connect(lambda: self._save_within(EDIT_MS))
        for looked in (
            state.axis.changed,
            state.rows.changed,
            state.overlays_changed,
            state.iterations_changed,
        ):
            looked.connect(lambda: self._save_within(LOOK_MS))

    def begin(self, fingerprint: str, opened: SessionFile | None = None) -> list[str]:
        """Restore the session of the opened trace, and save it from now on.

        Parameters
        ----------
        fingerprint : str
            Of the trace; "" saves nothing.
        opened : SessionFile, optional
            The session file through which the user opened the trace.

        Returns
        -------
        list of str
            Messages for the user, one line each.
        """
        study = self._state.study
        if study is None:
            return []
        self._trace, self.fingerprint = study.trace, fingerprint
        self._before, messages = opened.session if opened else None, []
        self._file = store.stored_path(fingerprint, opened.digest if opened else "") if fingerprint else None
        if opened and opened.fingerprint and fingerprint and opened.fingerprint != fingerprint:
            messages.append(
                f"{visible(opened.path.name)} was made on another trace; its notes may stand elsewhere."
            )
        if self._file is not None:
            messages += self._restored(self._file, opened)
        if self._before is not None:
            apply_session(self._state, self._before)
        self._written = self._text() if self._file else ""
        return messages

    def add(self, trace: Trace, begun: Session, left: Session, opened: SessionFile | None = None) -> None:
        """Save the changes to a trace that closes before its session has begun.

        Parameters
        ----------
        begun, left : Session
            The view at first, and the view at the end.
        """
        fingerprint = store.fingerprint(trace.path)
        if not fingerprint:
            return
        file = store.stored_path(fingerprint, opened.digest if opened else "")
        kept = opened.session if opened else begun
        try:
            kept = store.read_session(file).session
        except FileNotFoundError:
            pass
        except (SessionError, OSError) as error:
            log.warning("what was done to an incomplete trace is not kept: %s", error)
            return
        session = carried_over(kept, begun, left)
        if session != kept:
            text = store.session_text(session, trace.path.absolute(), fingerprint, store.sessions_folder())
            if failure := _write(file, text):
                self.failed.emit(
                    f"Notes and view of {visible(trace.path.name)} could not be saved: {failure}."
                )

    def end(self) -> None:
        """Save pending changes, and stop saving."""
        self.save()
        self._file = self._trace = self._before = None

    def save(self) -> None:
        """Save now if anything has changed."""
        self._timer.stop()
        self._join()
        if self._file is None or (text := self._text()) == self._written:
            return
        self._on_written(text, _write(self._file, text))

    def save_to(self, path: Path) -> None:
        """Write the session into a file of the user's.

        Raises
        ------
        OSError
        """
        study = self._state.study
        if study is None:
            return
        trace = study.trace.path.absolute()
        fingerprint = self.fingerprint if self._trace is not None else store.fingerprint(trace)
        session = take_session(self._state, self._before)
        text = store.session_text(session, trace, fingerprint, path.absolute().parent)
        write_atomic(path, text.encode("utf-8", "surrogatepass"))

    def _restored(self, file: Path, opened: SessionFile | None) -> list[str]:
        store.clear_parts()
        try:
            self._before = store.read_session(file).session
        except FileNotFoundError:
            return []
        except NewerSessionError as error:
            self._file = None
            return [f"The session of this trace {error}. It is left as it is, and nothing is saved over it."]
        except SessionError as error:
            return [self._aside(file, error)]
        except OSError as error:
            self._file = None
            return [
                f"The session of this trace cannot be read: {error.strerror or error}. It is left as it is."
            ]
        if opened is None:
            return []
        return [
            f"What you changed since {visible(opened.path.name)} was opened first is shown with it; "
            "File > Save session as… writes it into a file."
        ]

    def _aside(self, file: Path, error: SessionError) -> str:
        try:
            aside = store.set_aside(file)
        except OSError:
            self._file = None
            return f"The session of this trace {error}. It could not be set aside and is left as it is."
        return f"The session of this trace {error}. It was set aside as {aside}, and a new one begun."

    def _text(self) -> str:
        assert self._trace is not None
        session = take_session(self._state, self._before)
        path = self._trace.path.absolute()
        return store.session_text(session, path, self.fingerprint, store.sessions_folder())

    def _save_within(self, delay_ms: int) -> None:
        if self._file is None or self._state.study is None:
            return
        if not self._timer.isActive() or self._timer.remainingTime() > delay_ms:
            self._timer.start(delay_ms)

    def _save_beside(self) -> None:
        """Save in a thread: a slow disk must not block the window."""
        if self._file is None or (text := self._text()) == self._written:
            return
        self._join()
        file = self._file

        def write() -> None:
            self._wrote.emit(text, _write(file, text))

        self._writer = threading.Thread(target=write, name="lightbox-session")
        self._writer.start()

    def _join(self) -> None:
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def _on_written(self, text: str, failure: str) -> None:
        if not failure:
            self._written, self._has_failed = text, False
        elif not self._has_failed:
            self._has_failed = True
            self.failed.emit(
                f"Notes and view could not be saved: {failure}. "
                "They stay in this window; File > Save session as… puts them elsewhere."
            )


def _write(path: Path, text: str) -> str:
    """Write a session; return the error, "" on success."""
    try:
        store.write_atomically(path, text)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def ask_where_to_save(trace: Path, is_demo: bool, parent: QWidget) -> Path | None:
    """Ask for a session file to write: beside the trace at first, of the demo in the user's folder."""
    name = trace.stem + SUFFIX
    first = path_to_save_as(name) if is_demo else str(trace.with_name(name))
    name, _ = QFileDialog.getSaveFileName(parent, "Save the session", first, FILES)
    if not name:
        return None
    path = Path(name)
    if not store.is_session(path):
        path = path.with_name(path.name.removesuffix(".json") + SUFFIX)
    return path if may_write(path, name, SESSION, parent) else None


def ask_for_session(parent: QWidget) -> Path | None:
    """Ask for a session file to open."""
    name, _ = QFileDialog.getOpenFileName(parent, "Open a session", folder_to_open_from(), FILES)
    return Path(name) if name else None


def ask_for_trace(opened: SessionFile, files: str, parent: QWidget) -> Path | None:
    """Ask where the trace of a session is."""
    title = for_title(f"Where is {opened.trace_name or 'the trace of this session'}?")
    name, _ = QFileDialog.getOpenFileName(parent, title, str(opened.path.parent), files)
    return Path(name) if name else None
