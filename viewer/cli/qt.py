"""Checks whether Qt can draw and show a window, made before it starts: Qt aborts where it cannot."""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from viewer.cli.libraries import not_loaded

PATIENCE_S = 10
"""How long a display may take to answer; over a slow network it takes a second or two."""

MODULES = ("QtCore", "QtGui", "QtWidgets", "QtOpenGL", "QtOpenGLWidgets", "QtSvg")
NEEDS_NO_DISPLAY = ("offscreen", "minimal")
_DISPLAYS = {"wayland": "WAYLAND_DISPLAY", "xcb": "DISPLAY"}
"""Qt's name of each kind of display, in Qt's order, and the variable that names the display."""

WITHOUT_WINDOW = (
    "`lightbox report TRACE` prints the numbers, `lightbox shot TRACE -o picture.png` draws the picture"
)
WITHOUT_QT = "`lightbox report`, `events`, `compare` and `doctor` work without it"
QT_ON_ARM = (2, 39)
"""The glibc that PySide6 for ARM is built for."""


def refuse_drawing() -> None:
    """Refuse to draw where Qt cannot.

    Raises
    ------
    typer.TyperException
    """
    if problem := drawing_problem():
        raise typer.TyperException(problem)


def refuse_window() -> None:
    """Refuse to open a window where Qt cannot.

    Raises
    ------
    typer.TyperException
    """
    if problem := drawing_problem(_platforms()) or window_problem():
        raise typer.TyperException(problem)


def is_installed() -> bool:
    """Whether PySide6 is installed, working or not."""
    return importlib.util.find_spec("PySide6") is not None


def drawing_problem(platforms: Sequence[str] = ()) -> str:
    """Return why Qt cannot draw on this machine and what to do, in one line; "" where it can.

    Parameters
    ----------
    platforms : sequence of str
        The kinds of display that Qt is to use; the line also names the libraries that they miss.
    """
    if not is_installed():
        return f"drawing needs Qt, which is not installed: {_where_qt_is()}; {WITHOUT_QT}"
    try:
        for module in MODULES:
            importlib.import_module(f"PySide6.{module}")
    except ImportError as error:
        return not_loaded(str(error), platforms)
    reason = _plugin_fault("offscreen")
    return not_loaded(reason, platforms) if reason else ""


def window_problem() -> str:
    """Return why no window can be shown and what to do, in one line; "" where it can. Qt can draw here.

    Where a Wayland display does not answer but an X one does, this makes Qt use the X one.
    """
    if not sys.platform.startswith("linux"):
        return ""
    problem = ""
    for name in _platforms():
        was_problem, problem = problem, _platform_problem(name)
        if not problem:
            if was_problem:
                os.environ["QT_QPA_PLATFORM"] = name
            return ""
    return problem or f"there is no display here; {WITHOUT_WINDOW}"


def has_display() -> bool:
    """Whether the environment names a display; `window_problem` checks whether it answers."""
    return not sys.platform.startswith("linux") or bool(_platforms())


def ask_renderer() -> str | None:
    """Return OpenGL's name of its renderer, "" without one; None where Qt shows no window at all.

    A process of its own asks for it, as the question may crash.
    """
    command = [sys.executable, *(() if getattr(sys, "frozen", False) else ("-m", "viewer")), "renderer"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _platforms() -> list[str]:
    """Return the kinds of display to try, by Qt's names; Qt uses the first that works."""
    if asked := os.environ.get("QT_QPA_PLATFORM"):
        return [name.partition(":")[0] for name in asked.split(";")]
    return [name for name, variable in _DISPLAYS.items() if os.environ.get(variable)]


def _where_qt_is() -> str:
    machine, (name, version) = platform.machine(), platform.libc_ver()
    if sys.platform == "linux" and machine != "x86_64":
        if name != "glibc" or tuple(int(part) for part in version.split(".")[:2]) < QT_ON_ARM:
            here = f"{machine} with {name or 'no glibc'} {version}".strip()
            return f"there is no PySide6 for {here}, it takes glibc 2.39 or later"
    return "run: pip install 'PySide6-Essentials>=6.8.3,<6.12'"


def _platform_problem(name: str) -> str:
    if name in NEEDS_NO_DISPLAY:
        return ""
    kind = name.partition("-")[0]
    if kind not in _DISPLAYS:
        if ask_renderer() is not None:
            return ""
        return f"'{name}', which QT_QPA_PLATFORM names, cannot be used; unset it"
    if reason := _plugin_fault(kind):
        return not_loaded(reason, [name])
    variable = _DISPLAYS[kind]
    place = os.environ.get(variable, "")
    refusal = _refusal(_answers_x if kind == "xcb" else _answers_wayland)
    if not refusal:
        return ""
    todo = f"start it, or name another in {variable}; without a display, {WITHOUT_WINDOW}"
    return f"the display {variable}={place} {refusal}: {todo}"


def _plugin_fault(name: str) -> str:
    """Return the loader's error about Qt's plugin for a kind of display; "" where it loads or is no file."""
    from PySide6.QtCore import QLibraryInfo

    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforms"
    for file in sorted(folder.glob(f"libq{name}*.so")):
        try:
            ctypes.CDLL(str(file))
        except OSError as error:
            return str(error)
    return ""


def _refusal(ask: Callable[[], bool]) -> str:
    """Return how a display refuses a connection; "" if it answers."""
    answers: list[bool] = []
    # A thread: there is no other way to stop waiting for a display that never answers.
    waiting = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
    with _stderr() as messages:
        waiting.start()
        waiting.join(PATIENCE_S)
    if not answers:
        return "does not answer"
    if answers[0]:
        return ""
    return f"refuses: {' '.join(messages)}" if messages else "cannot be reached"


def _answers_x() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    answers = xcb.xcb_connection_has_error(connection) == 0
    xcb.xcb_disconnect(connection)
    return answers


def _answers_wayland() -> bool:
    wayland = ctypes.CDLL("libwayland-client.so.0")
    wayland.wl_display_connect.restype = ctypes.c_void_p
    display = ctypes.c_void_p(wayland.wl_display_connect(None))
    if display.value is None:
        return False
    answers = bool(wayland.wl_display_roundtrip(display) >= 0)
    wayland.wl_display_disconnect(display)
    return answers


@contextmanager
def _stderr() -> Iterator[list[str]]:
    """Capture a library's output on stderr; the yielded list holds its words at the end."""
    words: list[str] = []
    with tempfile.TemporaryFile() as file:
        try:
            kept = os.dup(2)
        except OSError:
            yield words
            return
        os.dup2(file.fileno(), 2)
        try:
            yield words
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        words += file.read().decode(errors="replace").split()
