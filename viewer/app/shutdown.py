"""Shutdown: on a signal or the end of the desktop's session, saves the session and closes the window."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier
from PySide6.QtWidgets import QApplication, QWidget

ASKS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # fmt: skip
"""Signals that ask a process to end."""


class Ending(QObject):
    """Closes the window on a signal, from the event loop; a second signal ends the process at once.

    Parameters
    ----------
    save : callable
        Saves what the user did.

    Notes
    -----
    Python writes a signal's number into a socket, which wakes the event loop: the window never closes in
    the middle of other work. A signal that was ignored when the program was started (nohup,
    a job in the background) stays ignored.
    """

    def __init__(self, window: QWidget, save: Callable[[], None], app: QApplication) -> None:
        super().__init__(window)
        self._window, self._save_session = window, save
        self._woken, self._waking = socket.socketpair()
        self._waking.setblocking(False)
        self._notifier = QSocketNotifier(self._woken.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._end)
        self._before = {s: signal.getsignal(s) for s in ASKS if signal.getsignal(s) is not signal.SIG_IGN}
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        for number in self._before:
            signal.signal(number, lambda *_: None)
        app.commitDataRequest.connect(self._save)

    def release(self) -> None:
        """Restore the signal handlers."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._woken.close()
        self._waking.close()

    def _save(self, _manager: object) -> None:
        """Save before the desktop's session ends; the user may still cancel that."""
        self._save_session()

    def _end(self, *_: object) -> None:
        """Close the window and any dialog or menu in front of it."""
        self._notifier.setEnabled(False)
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)
        self._window.close()
        QApplication.exit(0)
