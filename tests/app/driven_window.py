"""A window that does something and says "ready": ``python -m tests.app.driven_window DOING TRACE``."""

import os
import sys
import traceback
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from viewer.app import run, trace_loader
from viewer.readers import Cancelled

LOOK_MS = 5


class DrivenWindow(run.MainWindow):
    """Keeps a measurement once its trace is there; then writes a note, asks for a file, or opens another."""

    doing = ""

    def show(self):
        """Show, and begin as soon as all is read."""
        super().show()
        self._when(lambda: self.state.study is not None and not self.loader.is_busy, self._work)

    def _when(self, is_ready, then):
        timer = QTimer(self, interval=LOOK_MS)

        def look():
            try:
                if is_ready():
                    timer.stop()
                    then()
            except Exception:  # noqa: BLE001  (whoever waits for this process is told)
                traceback.print_exc()
                os._exit(1)

        timer.timeout.connect(look)
        timer.start()

    def _work(self):
        self.state.measurements.keep(*self.state.axis.window, "kept")
        if self.doing == "writing":
            self.timeline.notes.write()
            QTest.keyClicks(self.timeline.notes.editor, "half a note")
            say_ready()
        elif self.doing == "opening":
            trace_loader.open_file = open_for_ever
            self.open(Path(sys.argv[2]))
        elif self.doing == "dialog":
            self._when(lambda: QApplication.activeModalWidget() is not None, say_ready)
            QFileDialog.getOpenFileName(self, "Open", options=QFileDialog.Option.DontUseNativeDialog)
        else:
            say_ready()


def open_for_ever(_path, _progress, cancelled, _show):
    """Open a trace that never ends to be read."""
    say_ready()
    while not cancelled():
        pass
    raise Cancelled


def say_ready():
    """Tell whoever started the process that it has something to lose."""
    print("ready", flush=True)


if __name__ == "__main__":
    DrivenWindow.doing = sys.argv[1]
    run.MainWindow = DrivenWindow
    sys.exit(run.run(Path(sys.argv[2]), "raster"))
