"""Session files: located by a trace's content, and written atomically."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from viewer import __version__, private_files
from viewer.state.session import Session
from viewer.state.session_json import SessionError, from_dict, to_dict
from viewer.state.session_text import plain_values

log = logging.getLogger("viewer.app")

SUFFIX = ".lightbox.json"
_MEBIBYTE = 2**20
LARGEST_BYTES = 64 * _MEBIBYTE
"""The largest session file that is read: some hundred thousand notes."""
_PART = ".part"
_PART_IS_LEFT_S = 3600


@dataclass(frozen=True, slots=True)
class SessionFile:
    """The content of a session file.

    Attributes
    ----------
    trace_name, trace_path : str
        The trace it belongs to: its name, and its path from the file's folder; "" where unknown.
    fingerprint : str
        Of that trace, "" where unknown.
    digest : str
        Of the file's own content.
    """

    path: Path
    session: Session
    trace_name: str
    trace_path: str
    fingerprint: str
    digest: str

    def find_trace(self) -> Path | None:
        """Return the trace's path: the recorded one, else beside this file; None if it is at neither."""
        folder = self.path.absolute().parent
        for name in (self.trace_path, self.trace_name):
            if name and _is_there(folder / name):
                return Path(os.path.normpath(folder / name))
        return None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        log.debug("this is no session: %s", error)
        # The name is too long, or the folder cannot be read.
        return False


def is_session(path: Path) -> bool:
    """Whether a path has the name of a session file."""
    return path.name.lower().endswith(SUFFIX)


def sessions_folder() -> Path:
    """Return the folder for the sessions of all traces."""
    return Path(platformdirs.user_data_dir("lightbox", appauthor=False)) / "sessions"


def stored_path(fingerprint: str, digest: str = "") -> Path:
    """Return the path of a trace's session; one opened through a session file has its own."""
    name = f"{fingerprint}-{digest}" if digest else fingerprint
    return sessions_folder() / f"{name}{SUFFIX}"


def fingerprint(path: Path) -> str:
    """Return a hash of a trace's content: sizes, and the first, middle and last MiB.

    It depends neither on the name nor on how this program parses the file, so that neither a move nor an
    upgrade loses a session. "" where the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
        piece = _MEBIBYTE // len(files) if files else 0
        for file in files:
            size = file.stat().st_size
            digest.update(f"{size} {file.name if path.is_dir() else ''}\n".encode(errors="surrogateescape"))
            with file.open("rb") as stream:
                for start in sorted({0, max(0, (size - piece) // 2), max(0, size - piece)}):
                    stream.seek(start)
                    digest.update(stream.read(piece))
    except OSError as error:
        log.debug("no fingerprint: %s", error)
        return ""
    return digest.hexdigest()[:32] if files else ""


def session_text(session: Session, trace: Path, trace_fingerprint: str, folder: Path) -> str:
    """Return the content of a session file in `folder`."""
    try:
        place = Path(os.path.relpath(trace, folder)).as_posix()
    except ValueError:
        place = ""
    plain: dict[str, Any] = {"schema": 0, "program": "", "trace": {}, **to_dict(session)}
    known = plain["trace"] if isinstance(plain["trace"], dict) else {}
    plain["program"] = f"Lightbox {__version__}"
    plain["trace"] = {**known, "name": trace.name, "path": place, "fingerprint": trace_fingerprint}
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def read_session(path: Path) -> SessionFile:
    """Read a session file.

    Raises
    ------
    SessionError
        If it is not a session or damaged; `NewerSessionError` where a newer program wrote it.
    OSError
    """
    content = _content(path)
    plain = plain_values(content)
    session = from_dict(plain)
    facts = plain.get("trace") if isinstance(plain, dict) else None
    name, place, known = (
        facts[key] if isinstance(facts, dict) and isinstance(facts.get(key), str) else ""
        for key in ("name", "path", "fingerprint")
    )
    digest = hashlib.sha256(content).hexdigest()[:12]
    return SessionFile(path, session, name, place, known, digest)


def _content(path: Path) -> bytes:
    """Return the bytes of a session file; refuse pipes and devices, which might never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise SessionError("is no file, but a folder, a pipe or a device: choose a session file")
    if status.st_size > LARGEST_BYTES:
        raise SessionError(
            f"is too large for a session ({status.st_size / 2**20:,.0f} MiB; up to {LARGEST_BYTES // 2**20})"
        )
    return path.read_bytes()


def write_atomically(path: Path, text: str) -> None:
    """Write a file atomically: the old one stays until the new one is on the disk.

    Only the user can read the sessions in the program's own folder.

    Raises
    ------
    OSError
        If it cannot be written; nothing is changed then.
    """
    is_own = path.parent == sessions_folder()
    if is_own:
        private_files.make_folder(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    part.unlink(missing_ok=True)
    try:
        with private_files.create(part) if is_own else part.open("wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that nothing of it is lost, and return its new path.

    Raises
    ------
    OSError
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    path.rename(aside)
    return aside


def clear_parts() -> None:
    """Remove the temporary files of killed processes."""
    for part in sessions_folder().glob(f".*{_PART}"):
        try:
            if time.time() - part.stat().st_mtime > _PART_IS_LEFT_S:
                part.unlink()
        except OSError as error:
            log.debug("a leftover of a session stays: %s", error)


def _sync_folder(folder: Path) -> None:
    """Sync a folder so that a rename survives a crash; not every system can open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        log.debug("the folder of sessions cannot be synced: %s", error)
        return
    try:
        os.fsync(handle)
    except OSError as error:
        log.debug("the folder of sessions cannot be synced: %s", error)
    finally:
        os.close(handle)
