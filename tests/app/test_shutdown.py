"""Signals that end the program: a real process keeps what was done, whatever it was doing."""

import signal
import subprocess
import sys

import pytest
from PySide6.QtCore import QObject, Signal

from tests.conftest import ROOT
from viewer.app.session_store import read_session, sessions_folder
from viewer.app.shutdown import Ending

WAIT_S = 120
"""How long a process may take to end; only a fault takes that long."""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signals here")


def start(doing, path):
    """Start the program, and return it when it has something to lose."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.app.driven_window", doing, str(path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout.readline() == "ready\n", child.communicate()[1]
    return child


def ended(child):
    """Return what a program that was sent a signal says on stderr, once it has ended."""
    try:
        return child.communicate(timeout=WAIT_S)[1]
    finally:
        child.kill()


def kept():
    """Return the names of the measurements and the texts of the notes that were saved."""
    [file] = sessions_folder().iterdir()
    session = read_session(file).session
    return [m.name for m in session.measurements], [n.text for n in session.notes]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_what_was_done_is_saved(demo_path, number):
    with start("nothing", demo_path) as child:
        child.send_signal(number)
        complaint = ended(child)
    assert child.returncode == 0
    assert "Traceback" not in complaint
    assert kept() == (["kept"], [])


@pytest.mark.parametrize(("doing", "notes"), [("writing", ["half a note"]), ("dialog", []), ("opening", [])])
def test_whatever_is_being_done(demo_path, doing, notes):
    with start(doing, demo_path) as child:
        child.send_signal(signal.SIGTERM)
        complaint = ended(child)
    assert child.returncode == 0
    assert "Traceback" not in complaint
    assert kept() == (["kept"], notes)


def test_a_signal_that_was_ignored_stays_ignored(window, qapp):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ending = Ending(window, window.trace_controller.save, qapp)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        ending.release()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


class Desktop(QObject):
    """Stands for the application where the desktop speaks to it: Qt alone can make what it says."""

    commitDataRequest = Signal(object)


def test_the_end_of_the_desktops_session_saves(window):
    desktop = Desktop()
    ending = Ending(window, window.trace_controller.save, desktop)
    try:
        window.sessions.begin("1" * 32)
        window.state.measurements.keep(0, 1000, "kept")
        desktop.commitDataRequest.emit(None)
        assert kept() == (["kept"], [])
        assert window.isVisible()
    finally:
        ending.release()
