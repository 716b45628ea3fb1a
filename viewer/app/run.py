"""Starts the window's program."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from viewer.app import settings as remembered
from viewer.app.crash import CrashGuard
from viewer.app.garbage import GarbageCollector
from viewer.app.icons import app_icon
from viewer.app.main_window import MainWindow
from viewer.app.settings import Settings
from viewer.app.shutdown import Ending
from viewer.app.theme_manager import ThemeManager
from viewer.timeline.strips.gl_canvas import Renderer

_SWITCH_S = 0.00005


def be_responsive() -> None:
    """Keep the window responsive while threads compute: Python's switch interval, 5 ms, adds up in a repaint.

    Freeze the modules' hundred thousand objects, so that garbage collection does not scan them.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()


def run(path: Path | None, renderer: Renderer = "auto") -> int:
    """Open the window on a trace, or an empty one, and return the exit code when it is closed."""
    be_responsive()
    settings = Settings()
    scale = settings.get(remembered.SCALE)
    if scale != remembered.SCALE.default:
        # Qt reads it when the application starts. What the environment says already goes first.
        os.environ.setdefault("QT_SCALE_FACTOR", str(scale / 100))
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Lightbox")
    app.setDesktopFileName("io.github.lightbox_viewer.Lightbox")
    app.setWindowIcon(app_icon())
    garbage = GarbageCollector(app)
    crashes = CrashGuard()
    crashes.install()
    try:
        window = MainWindow(settings, ThemeManager(app, settings.get(remembered.THEME)), crashes, renderer)
        ending = Ending(window, window.trace_controller.save, app)
        window.show()
        if path is not None:
            window.open(path)
        elif crashes.last_crash:
            window.tell_last_crash(crashes.report(crashes.last_crash))
        code = app.exec()
        ending.release()
        return code
    finally:
        garbage.stop()
        crashes.uninstall()
