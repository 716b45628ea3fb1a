"""Signals that end the program: a real process keeps what was done, whatever it was doing."""

import signal
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from viewer.app.session_store import read_session, sessions_folder
from viewer.app.shutdown import Ending

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signals here")

PROGRAM = """
import signal, sys
from pathlib import Path
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from viewer.app import run
from viewer.app import trace_loader

doing, path = sys.argv[1], Path(sys.argv[2])

def when(ready, then):
    timer = QTimer(interval=5)
    def look():
        if ready():
            timer.stop()
            then()
    timer.timeout.connect(look)
    timer.start()
    return timer

def window():
    return next(w for w in QApplication.topLevelWidgets() if w.objectName() == "" and hasattr(w, "traces"))

def work():
    state = window().state
    low, high = state.axis.window
    state.measurements.keep(low, high, "kept")
    if doing == "writing":
        window().timeline.notes.write()
        QTest.keyClicks(window().timeline.notes.editor, "half a note")
    if doing == "opening":
        # The trace that follows never ends to be read; that it is being read is the time to be ended.
        def read(path, progress, cancelled, show):
            said()
            while not cancelled():
                pass
            raise opening.Cancelled
        opening.open_file = read
        window().open(path)
    elif doing == "dialog":
        QTimer.singleShot(0, lambda: when(QApplication.activeModalWidget, said))
        QFileDialog.getOpenFileName(window(), "Open", options=QFileDialog.Option.DontUseNativeDialog)
    else:
        said()

def said():
    print("ready", flush=True)

first = when(lambda: QApplication.topLevelWidgets() and window().state.study is not None
             and not window().state.study.partial and not window().opening.is_busy, work)
"""


def start(doing, path):
    """Start the program, and return it when it has something to lose."""
    # The timers of the script need an application that `run` makes: they begin with its window.
    script = PROGRAM.replace("\nfirst = ", "\ndef begin():\n    global first\n    first = ")
    script += """
show = run.MainWindow.show
def shown(self):
    show(self)
    begin()
run.MainWindow.show = shown
sys.exit(run.run(path, "raster"))
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script, doing, str(path)], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout.readline() == "ready\n", child.communicate()[1]
    return child


def kept():
    """Return the names of the measurements and the texts of the notes that were saved."""
    [file] = sessions_folder().iterdir()
    session = read_session(file).session
    return [m.name for m in session.measurements], [n.text for n in session.notes]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_what_was_done_is_saved(demo_path, number):
    with start("nothing", demo_path) as child:
        child.send_signal(number)
        _, complaint = child.communicate()
    assert child.returncode == 0
    assert "Traceback" not in complaint
    assert kept() == (["kept"], [])


@pytest.mark.parametrize(("doing", "notes"), [("writing", ["half a note"]), ("dialog", []), ("opening", [])])
def test_whatever_is_being_done(demo_path, doing, notes):
    with start(doing, demo_path) as child:
        child.send_signal(signal.SIGTERM)
        _, complaint = child.communicate()
    assert child.returncode == 0
    assert "Traceback" not in complaint
    assert kept() == (["kept"], notes)


def test_a_signal_that_was_ignored_stays_ignored(window, qapp):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ending = Ending(window, qapp)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        ending.release()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_end_of_the_desktops_session_saves(window, qapp):
    ending = Ending(window, qapp)
    try:
        window.sessions.begin("1" * 32)
        window.state.measurements.keep(0, 1000, "kept")
        qapp.commitDataRequest.emit(None)
        assert kept() == (["kept"], [])
        assert window.isVisible()
    finally:
        ending.release()
