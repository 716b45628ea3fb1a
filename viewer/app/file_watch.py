"""FileWatch: notices that the open trace was replaced on disk."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from viewer.state.jobs import Worker

SETTLE_MS = 1000
"""How long a file must stay the same before it counts as written."""

Stamp = tuple[tuple[str, int, int, int], ...]
"""Name, size, time of change and inode of each file of a trace; () where there is none."""


def stamp_of(path: Path) -> Stamp:
    """Return the present state of a trace on disk: of a file, or of the files in a folder."""
    stamps = []
    with suppress(OSError):
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            facts = file.stat()
            stamps.append((file.name, facts.st_size, facts.st_mtime_ns, facts.st_ino))
    return tuple(stamps)


class FileWatch(QObject):
    """Watches one trace: looks when the system reports a change, and when the program comes to the front.

    Network file systems report no changes that another machine makes: hence the second occasion.

    Signals
    -------
    replaced()
        Another file stands at the path, and it is complete: it has not changed for `SETTLE_MS`.
    """

    replaced = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path: Path | None = None
        self._known: Stamp = ()
        self._seen: Stamp = ()
        self._worker = Worker(self)
        self._watcher = QFileSystemWatcher(self)
        self._later = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._later.timeout.connect(self.check)
        self._watcher.fileChanged.connect(lambda _: self._later.start())
        self._watcher.directoryChanged.connect(lambda _: self._later.start())
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.applicationStateChanged.connect(self._follow_application)

    def watch(self, path: Path | None, stamp: Stamp = ()) -> None:
        """Watch a trace that was read as `stamp` says, None for none."""
        self._later.stop()
        self._worker.cancel()
        if paths := self._watcher.files() + self._watcher.directories():
            self._watcher.removePaths(paths)
        self._path, self._known, self._seen = path, stamp, stamp
        if path is not None and stamp:
            # The folder too: a file that is replaced by another one is watched no more.
            self._watcher.addPaths([str(path.absolute()), str(path.absolute().parent)])
            self._later.start()

    def check(self) -> None:
        """Look at the file, in a thread: it may be on a file system that does not answer."""
        path = self._path
        if path is not None and self._known:
            self._worker.start(lambda _: stamp_of(path), self._take)

    def _take(self, stamp: Stamp) -> None:
        before, self._seen = self._seen, stamp
        if not stamp or stamp == self._known:
            return
        if stamp != before:
            self._later.start()
            return
        self._known = stamp
        if self._path is not None:
            self._watcher.addPath(str(self._path.absolute()))
        self.replaced.emit()

    def _follow_application(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self.check()
