"""Where Qt cannot draw or show a window, one line says why, and what works without it works."""

import ctypes
import os
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.cli import libraries, qt

ROOT = Path(__file__).resolve().parents[2]
NAMED = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
WITHOUT_QT = (
    "import sys; sys.modules['PySide6'] = sys.modules['shiboken6'] = None; "
    "from viewer.cli import main; sys.exit(main())"
)


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    for name in NAMED:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def lightbox(monkeypatch):
    """Run one command in a process of its own; `code` is what Python runs first."""

    def run(*words, code="from viewer.cli import main; import sys; sys.exit(main())", **named):
        environment = {k: v for k, v in os.environ.items() if k not in NAMED} | named
        command = [sys.executable, "-c", code, *map(str, words)]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def refused(done):
    """Return the one line that was said by a command that ended with 1."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("lightbox: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "--json"],
        ["events", "--row", "Stream 7", "--limit", "1"],
        ["doctor"],
        ["compare", "B"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_numbers_need_no_qt(lightbox, demo_path, words):
    words = [demo_path if word == "B" else word for word in words]
    done = lightbox(words[0], demo_path, *words[1:], code=WITHOUT_QT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("words", [["X"], ["shot", "X", "-o", "a.png"], ["report", "X", "--html", "a.html"]])
def test_what_draws_says_that_qt_is_not_installed(lightbox, demo_path, tmp_path, words):
    words = [demo_path if w == "X" else tmp_path / w if w.startswith("a.") else w for w in words]
    line = refused(lightbox(*words, code=WITHOUT_QT, DISPLAY=":77"))
    assert "needs Qt, which is not installed" in line
    assert "`lightbox report`" in line
    assert not list(tmp_path.glob("a.*"))


@pytest.mark.parametrize(
    ("glibc", "said"),
    [
        ("2.36", "there is no PySide6 for aarch64 with glibc 2.36"),
        ("2.39", "pip install"),
        ("", "aarch64 with no glibc"),
    ],
)
def test_on_arm_the_c_library_decides(monkeypatch, glibc, said):
    monkeypatch.setattr(qt, "is_installed", lambda: False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc" if glibc else "", glibc))
    assert said in qt.drawing_problem()


@pytest.fixture
def without(monkeypatch):
    """Make the loader find some of the libraries no more; only apt-get installs packages here."""
    monkeypatch.setattr(libraries.shutil, "which", lambda program: program == "apt-get")
    load = ctypes.CDLL

    def lose(*names):
        def fail(name, *rest, **named):
            if name in names:
                raise OSError(f"{name}: cannot open shared object file: No such file or directory")
            if "libqxcb" in name and any("xcb" in lost for lost in names):
                raise OSError(f"{names[0]}: cannot open shared object file: No such file or directory")
            return load(name, *rest, **named)

        monkeypatch.setattr(ctypes, "CDLL", fail)

    return lose


def test_all_libraries_that_are_missing_are_named_at_once(without, monkeypatch):
    def fail(name):
        raise ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")

    without("libEGL.so.1", "libglib-2.0.so.0", "libgthread-2.0.so.0", "libxcb-cursor.so.0")
    monkeypatch.setattr(qt.importlib, "import_module", fail)
    assert qt.drawing_problem() == (
        "missing for Qt: libEGL.so.1 and 2 more; run: sudo apt-get install libegl1 libglib2.0-0"
    )
    assert qt.drawing_problem(["wayland", "xcb"]).endswith("install libegl1 libglib2.0-0 libxcb-cursor0")


def test_other_systems_install_a_library_by_its_name(without, monkeypatch):
    reason = "libodd.so.1: cannot open shared object file: No such file or directory"
    assert libraries.not_loaded(reason, []).endswith("package manager what holds libodd.so.1")
    monkeypatch.setattr(libraries.shutil, "which", lambda program: program == "dnf")
    assert libraries.not_loaded(reason, []).endswith("run: sudo dnf install 'libodd.so.1()(64bit)'")
    assert "GLIBC_2.34" in libraries.not_loaded("version `GLIBC_2.34' not found", [])


def test_a_window_needs_more_than_a_picture(without, monkeypatch):
    without("libxcb-cursor.so.0")
    monkeypatch.setenv("DISPLAY", ":77")
    assert qt.drawing_problem() == ""
    assert (
        qt.window_problem() == "missing for Qt: libxcb-cursor.so.0; run: sudo apt-get install libxcb-cursor0"
    )


@pytest.fixture
def silent(tmp_path):
    """A Wayland display that takes calls and never answers: the folder and its name."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-9"))
        server.listen()
        yield {"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-9"}


@pytest.fixture
def screen(tmp_path):
    """An X display that answers who knows its password, and nobody else."""
    if not shutil.which("Xvfb"):
        pytest.skip("no Xvfb on this machine")
    secret = tmp_path / "secret"
    # A display of any name, and its 16 bytes.
    secret.write_bytes(b"\xff\xff\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x10" + bytes(range(16)))
    told, tell = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(tell), "-auth", str(secret)], pass_fds=[tell], stderr=subprocess.DEVNULL
    )
    os.close(tell)
    with os.fdopen(told) as pipe:
        number = pipe.readline().strip()
    yield {"DISPLAY": f":{number}", "XAUTHORITY": str(secret)}
    server.kill()
    server.wait()


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, "there is no display"),
        ({"DISPLAY": ":1977"}, "DISPLAY=:1977 cannot be reached"),
        ({"DISPLAY": "nonsense"}, "DISPLAY=nonsense cannot be reached"),
        ({"WAYLAND_DISPLAY": "wayland-1977"}, "WAYLAND_DISPLAY=wayland-1977 cannot be reached"),
        ({"WAYLAND_DISPLAY": "wayland-1977", "DISPLAY": ":1977"}, "DISPLAY=:1977 cannot be reached"),
        ({"QT_QPA_PLATFORM": "xcb"}, "DISPLAY= cannot be reached"),
        ({"QT_QPA_PLATFORM": "nonsense"}, "unset it"),
    ],
)
def test_a_display_that_is_not_there_is_named(monkeypatch, tmp_path, named, said):
    for name, value in ({"XDG_RUNTIME_DIR": str(tmp_path)} | named).items():
        monkeypatch.setenv(name, value)
    assert said in qt.window_problem()


def test_a_display_that_is_not_there_is_one_line(lightbox, demo_path):
    assert "DISPLAY=:1977 cannot be reached" in refused(lightbox(demo_path, DISPLAY=":1977"))


def test_a_display_that_stays_silent_is_left(silent, monkeypatch):
    monkeypatch.setattr(qt, "PATIENCE_S", 0.2)
    for name, value in silent.items():
        monkeypatch.setenv(name, value)
    assert "WAYLAND_DISPLAY=wayland-9 does not answer" in qt.window_problem()


def test_an_x_display_takes_over_from_one_that_does_not_work(screen, tmp_path, monkeypatch):
    for name, value in screen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert qt.window_problem() == ""
    assert "QT_QPA_PLATFORM" not in os.environ
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-1977")
    assert qt.window_problem() == ""
    assert os.environ["QT_QPA_PLATFORM"] == "xcb"


def test_a_display_that_wants_a_password_says_so_in_the_same_line(lightbox, screen):
    line = refused(lightbox(DISPLAY=screen["DISPLAY"], XAUTHORITY="/dev/null"))
    assert f"DISPLAY={screen['DISPLAY']} refuses: " in line


@pytest.mark.parametrize("words", [["shot", "X", "-o", "a.png"], ["report", "X", "--html", "a.html"]])
def test_files_need_no_display(lightbox, demo_path, tmp_path, words):
    words = [demo_path if w == "X" else tmp_path / w if w.startswith("a.") else w for w in words]
    done = lightbox(*words, DISPLAY=":1977", QT_QPA_PLATFORM="xcb")
    assert (done.returncode, done.stderr) == (0, "")


def test_doctor_checks_the_same(lightbox, tmp_path):
    done = lightbox("doctor", DISPLAY=":1977", COLUMNS="300")
    assert done.returncode == 1
    assert "the display DISPLAY=:1977 cannot be reached" in done.stdout
    assert lightbox("doctor").returncode == 0


def test_doctor_names_what_is_missing(monkeypatch, capsys):
    from viewer.cli import doctor_command, main

    monkeypatch.setattr(doctor_command, "drawing_problem", lambda: "missing for Qt: libodd")
    assert main(["doctor"]) == 1
    assert "missing for Qt: libodd" in capsys.readouterr().out
    monkeypatch.setattr(doctor_command, "is_installed", lambda: False)
    assert main(["doctor"]) == 0
