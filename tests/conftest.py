"""Fixtures of all tests: real traces, the demo, and a world in which no test meets another's leftovers."""

import gc
import os
import shutil
import signal
import threading
import weakref
from pathlib import Path

import hypothesis
import pytest

# A shell that starts the tests in the background, or `nohup`, makes them ignore signals. Every program that a
# test starts would inherit that, and never end when the test sends it one.
for _signal in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, signal.default_int_handler if _signal is signal.SIGINT else signal.SIG_DFL)

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
PATIENCE_S = 10
ASK_NSYS = ("tests/analysis/test_oracles.py", "tests/readers/test_nsys.py")

hypothesis.settings.register_profile("lightbox", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("lightbox")


def pytest_configure(config):
    """Take screen, theme and width of the terminal out of the tests; use no screen where there is none."""
    for name in ("QT_SCALE_FACTOR", "QT_SCREEN_SCALE_FACTORS", "QT_QPA_PLATFORMTHEME", "QT_STYLE_OVERRIDE"):
        os.environ.pop(name, None)
    # A process that has loaded readline hands them to its children, and so to the workers of xdist.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    if shutil.which("Xvfb"):
        # Tests run on a virtual X screen, on a Wayland desktop too.
        os.environ.pop("WAYLAND_DISPLAY", None)
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_screen and (config.getoption("--no-xvfb", False) or not shutil.which("Xvfb")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker whole files, since a file's tests share what is slow to make; and one of them nsys.

    Two recordings at once disturb each other.
    """
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "nsys" if file in ASK_NSYS else file

    # Its own order puts many quick tests before few slow ones, and one worker then waits at the end.
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.fixture(scope="session", autouse=True)
def _session_cache(tmp_path_factory):
    """Keep what session-wide fixtures store out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path_factory.mktemp("session-cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _application(qapp):
    """Make the application first: a command that runs in this process would make one without widgets.

    There is one application in a process, and what the first test makes is what all later ones have.
    """


@pytest.fixture(scope="session", autouse=True)
def _garbage():
    """As in the program, no thread beside the main one deletes what a closed window has left."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _collect():
    """Collect between tests, in the main thread, once enough has come together to be worth it."""
    yield
    if gc.get_count()[0] > 20_000:
        gc.collect()


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    """Give each test its own settings and its own cache, and never the user's."""
    from PySide6.QtCore import QSettings

    folder = tmp_path / ".home"
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    for form in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        for scope in (QSettings.Scope.UserScope, QSettings.Scope.SystemScope):
            QSettings.setPath(form, scope, str(folder / "config"))


@pytest.fixture(autouse=True)
def _no_leaked_threads(monkeypatch):
    """Fail a test that leaves a thread running; what waits for its turn never has it in another test."""
    from PySide6.QtCore import QThread

    from viewer.state.jobs import join_all

    before = set(threading.enumerate())
    started: list[weakref.ref[QThread]] = []
    start = QThread.start

    def remember(thread, *arguments):
        started.append(weakref.ref(thread))
        start(thread, *arguments)

    monkeypatch.setattr(QThread, "start", remember)
    yield
    left = []
    for reference in started:
        thread = reference()
        if thread is not None and not thread.wait(PATIENCE_S * 1000):
            left.append(repr(thread))
    for thread in set(threading.enumerate()) - before:
        if not isinstance(thread, threading._DummyThread):
            thread.join(PATIENCE_S)
            if thread.is_alive():
                left.append(thread.name)
    if left:
        pytest.fail(f"threads left running: {', '.join(left)}", pytrace=False)
    join_all()


@pytest.fixture(scope="session")
def qapp(qapp):
    """The application with the style and the font that the product uses, whatever the machine has."""
    from fontpkg_inter import ROOT as FONTS
    from PySide6.QtGui import QFontDatabase

    for file in sorted((FONTS / "files").glob("*.ttf")):
        assert QFontDatabase.addApplicationFont(str(file)) >= 0
    qapp.setStyle("Fusion")
    return qapp


@pytest.fixture(scope="session")
def shared():
    """The folder beside the checkout that holds real traces and tools; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared with real traces beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def shared_trace(shared):
    """A function from a real trace's name ("pytorch-a100-nvtx") to its path; skips where it is absent."""

    def path(name):
        file = shared / "traces" / (name if name.endswith(".sqlite") else f"{name}.sqlite")
        if not file.is_file():
            pytest.skip(f"no {file.name} in ../shared/traces")
        return file

    return path


@pytest.fixture(scope="session")
def demo_path(tmp_path_factory):
    """A small demo trace: eight ranks, three iterations."""
    from viewer.demo import DemoOptions, make_demo

    return make_demo(tmp_path_factory.mktemp("demo") / "demo.sqlite", DemoOptions(iterations=3))


@pytest.fixture(scope="session")
def demo_trace(demo_path):
    """The small demo, read."""
    from viewer.readers import read

    return read(demo_path, cache=False)


@pytest.fixture(scope="session")
def demo_study(demo_trace):
    """The numbers of the small demo."""
    from viewer.analysis.study import Study

    return Study(demo_trace)
