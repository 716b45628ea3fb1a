"""The real window, on a trace made by hand."""

import logging

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QFont, QPalette

from tests.timeline.make import study_of, training
from viewer.app.crash import CrashGuard
from viewer.app.main_window import MainWindow
from viewer.app.settings import Settings
from viewer.app.theme_manager import ThemeManager
from viewer.app.trace_loader import LoadedTrace
from viewer.rows import build_rows


@pytest.fixture
def crashes(tmp_path):
    """The hooks, installed for one test."""
    guard = CrashGuard(tmp_path / "state")
    guard.install()
    yield guard
    guard.uninstall()
    logging.getLogger("viewer").setLevel(logging.NOTSET)


@pytest.fixture
def theme_manager(qapp):
    """The light theme; the application is itself again afterwards."""
    font, palette = QFont(qapp.font()), QPalette(qapp.palette())
    made = ThemeManager(qapp, "light")
    yield made
    made.deleteLater()
    qapp.setStyleSheet("")
    qapp.setPalette(palette)
    qapp.setFont(font)


@pytest.fixture
def open_window(qtbot, theme_manager, crashes):
    """A function that shows an empty, active window."""
    held = []

    def show():
        window = MainWindow(Settings(), theme_manager, crashes, "raster")
        held.append(window)
        window.show()
        window.activateWindow()
        qtbot.waitActive(window).__enter__()
        qtbot.waitUntil(window.isActiveWindow)
        return window

    yield show
    for window in held:
        window.close()
        window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def opened():
    """A trace of two ranks and three iterations, ready to be looked at."""
    study = study_of(training())
    return LoadedTrace(study, build_rows(study))


@pytest.fixture
def window(open_window, opened):
    """A window on that trace."""
    made = open_window()
    made.trace_controller.show(opened)
    return made
