"""Set up, run and test Lightbox from a checkout. Needs Python 3.11 or later, and nothing else.

    python3 packaging/dev.py run [TRACE]     open a trace, or the demo
    python3 packaging/dev.py test [ARG ...]  every check; the arguments go to pytest
    python3 packaging/dev.py test --lowest [ARG ...]  the tests with the oldest permitted dependencies
    python3 packaging/dev.py test --coverage [ARG ...]  the tests, and the lines below Qt that they do not run
    python3 packaging/dev.py bench [ARG ...] the measurements of tests/benchmarks; see docs/performance.md
    python3 packaging/dev.py fuzz [ARG ...]  damaged input of every kind; --count, --seed, --only
    python3 packaging/dev.py mutate [ARG ...]  small faults that no test sees; --package, --sample, --seed

Each makes `.venv` from the lock for this machine first, and looks for the system libraries that Qt loads.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOWEST = ROOT / ".venv-lowest"
FIRST_LOOK = ROOT / "build" / "first-look"

LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}
"""What Qt loads, and Debian's package for it, as in viewer/cli/libraries.py. Without the first Qt cannot be
imported at all, and without an xcb one its window system plugin ends the process."""

PROGRAMS = {"Xvfb": "xvfb", "xauth": "xauth"}
"""What the tests run, and Debian's package for it."""

FILES = {"dri/swrast_dri.so": "libgl1-mesa-dri", "NotoSansCJK-Regular.ttc": "fonts-noto-cjk"}
"""What the tests look for in the system's folders: the software OpenGL, and a Chinese font."""


QT_ON_ARM = (2, 39)
"""The glibc that every PySide6 for ARM needs that Lightbox can use."""


@dataclass(frozen=True)
class Lock:
    """Locked dependencies for Linux on some machines; elsewhere the first of `LOCKS` holds.

    Attributes
    ----------
    machine : str
        As `platform.machine` says.
    glibc : tuple of int
        The oldest glibc that it fits.
    path : Path
    options : tuple of str
        What uv is told when the lock is resolved.
    limit : str
        A requirement beside those of pyproject.toml.
    """

    machine: str
    glibc: tuple[int, int]
    path: Path
    options: tuple[str, ...] = ()
    limit: str = ""


LOCKS = (
    Lock("x86_64", (2, 34), ROOT / "requirements.lock"),
    Lock("x86_64", (2, 28), ROOT / "packaging/locks/x86_64-glibc-2.28.lock", limit="PySide6-Essentials<6.10"),
    Lock("aarch64", QT_ON_ARM, ROOT / "packaging/locks/aarch64-glibc-2.39.lock", ("--extra", "qt")),
    Lock("aarch64", (2, 28), ROOT / "requirements.lock"),
)
"""From PySide6 6.10 on, x86-64 needs glibc 2.34. ARM with an older glibc has no Qt."""


WORKERS = ("-n", "2")
"""How many processes share the tests; a later -n among pytest's arguments replaces it."""


class StopError(Exception):
    """What stands in the way, in one line that says what to do."""


def lock_for(machine: str, glibc: tuple[int, int] | None) -> Lock:
    """Return the lock that fits a machine with Linux; a `glibc` of None is another C library.

    Raises
    ------
    StopError
        If none does.
    """
    for lock in LOCKS:
        if lock.machine == machine and glibc is not None and glibc >= lock.glibc:
            return lock
    here = f"{machine} with glibc {glibc[0]}.{glibc[1]}" if glibc else f"{machine} without glibc"
    raise StopError(f"no lock fits {here}: x86-64 or ARM (aarch64) with glibc 2.28 or later is needed")


def lock_here() -> Lock:
    """Return the lock that fits this machine.

    Raises
    ------
    StopError
        If none does.
    """
    if sys.platform != "linux":
        return LOCKS[0]
    name, version = platform.libc_ver()
    glibc = tuple(int(part) for part in version.split(".")[:2]) if name == "glibc" else None
    return lock_for(platform.machine(), glibc)


def missing_packages(for_tests: bool) -> list[str]:
    """Return Debian's names of the system packages that are not there."""
    missing = [package for library, package in LIBRARIES.items() if not _loads(library)]
    if for_tests:
        missing += [package for program, package in PROGRAMS.items() if not shutil.which(program)]
        missing += [package for file, package in FILES.items() if not _is_installed(file)]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append(f"python3.{sys.version_info.minor}-venv")
    return list(dict.fromkeys(missing))


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _is_installed(file: str) -> bool:
    folders = ("/usr/lib", "/usr/lib64", "/usr/share/fonts")
    patterns = (file, f"*/{file}", f"*/*/{file}")
    return any(True for folder in folders for pattern in patterns for _ in Path(folder).glob(pattern))


def prepare_system(for_tests: bool) -> None:
    """Install the missing system packages where that is allowed; say which command does it elsewhere.

    Raises
    ------
    StopError
        If something is missing that cannot be installed from here.
    """
    if sys.platform != "linux" or not (missing := missing_packages(for_tests)):
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if not shutil.which("apt-get"):
        libraries = [library for library, package in LIBRARIES.items() if package in missing]
        raise StopError(f"install these with your system's package manager: {' '.join(libraries or missing)}")
    if os.geteuid() != 0:
        raise StopError(f"some system packages are missing; run: sudo {' '.join(install)}")
    print(f"Installing {len(missing)} system packages: {' '.join(missing)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "-q", "update"], install):
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise StopError(f"{' '.join(command)} failed: {' '.join(reason)}")


def prepare_venv() -> Path:
    """Make `.venv` as the lock for this machine says, unless it is so already, and return its Python.

    Raises
    ------
    StopError
        If no lock fits, or the packages cannot be installed.
    """
    lock = lock_here().path
    stamp = VENV / "lightbox-stamp"
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made_of = hashlib.sha256()
    for file in (lock, ROOT / "pyproject.toml"):
        made_of.update(file.read_bytes())
    made_of.update(f"{sys.version} {ROOT}".encode(errors="surrogateescape"))
    if stamp.is_file() and stamp.read_text() == made_of.hexdigest() and python.exists():
        return python
    print("Installing the locked dependencies into .venv; this takes a minute or two, once.", flush=True)
    venv.create(VENV, clear=True, with_pip=True, symlinks=os.name != "nt")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    for step in (
        ["--require-hashes", "--requirement", str(lock)],
        ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)],
    ):
        if subprocess.run([*pip, *step], stdin=subprocess.DEVNULL, check=False).returncode:
            raise StopError("the dependencies could not be installed (see above); run the command again")
    stamp.write_text(made_of.hexdigest())
    return python


def has_display() -> bool:
    """Whether a window can be shown."""
    if sys.platform != "linux":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def run(python: Path, arguments: list[str]) -> int:
    """Open a trace, or the demo; without a display, write its picture and its report into files."""
    lightbox = [str(python), "-m", "viewer"]
    if has_display():
        return subprocess.run([*lightbox, *(arguments or ["demo"])], check=False).returncode
    FIRST_LOOK.mkdir(parents=True, exist_ok=True)
    trace = arguments[0] if arguments else str(FIRST_LOOK / "demo.sqlite")
    picture, report = FIRST_LOOK / "picture.png", FIRST_LOOK / "report.txt"
    if not arguments:
        made = subprocess.run([*lightbox, "demo", "--out", trace], check=False).returncode
        if made:
            return made
    with report.open("wb") as file:
        code = subprocess.run([*lightbox, "report", trace], stdout=file, check=False).returncode
    if code:
        return code
    print(f"There is no display here. The report and the picture are in files:\n{report}", flush=True)
    return subprocess.run([*lightbox, "shot", trace, "-o", str(picture)], check=False).returncode


def test(python: Path, arguments: list[str]) -> int:
    """Run every check, stop at the first that fails, and return its exit code."""
    if arguments[:1] == ["--lowest"]:
        return test_lowest(python, arguments[1:])
    if arguments[:1] == ["--coverage"]:
        return test_coverage(python, arguments[1:])
    bin_ = python.parent
    return run_steps(
        {
            "ruff check": [bin_ / "ruff", "check", "."],
            "ruff format": [bin_ / "ruff", "format", "--check", "."],
            "import-linter": [bin_ / "lint-imports"],
            "mypy": [bin_ / "mypy"],
            "locks": [python, ROOT / "packaging" / "locks.py"],
            "pytest": [python, "-m", "pytest", *WORKERS, *arguments],
        }
    )


def test_lowest(python: Path, arguments: list[str]) -> int:
    """Run the tests with the oldest dependencies that pyproject.toml permits, in a `.venv-lowest`."""
    oldest = LOWEST / python.relative_to(VENV)
    pins = ROOT / "build" / "lowest.txt"
    pins.parent.mkdir(exist_ok=True)
    uv = [python, "-m", "uv"]
    resolve = ["--group", "dev", "--resolution", "lowest-direct", "--python", python, "--upgrade"]
    return run_steps(
        {
            "resolve": [*uv, "pip", "compile", "--quiet", "pyproject.toml", *resolve, "--output-file", pins],
            "make .venv-lowest": [*uv, "venv", "--quiet", "--clear", "--python", python, LOWEST],
            "install": [*uv, "pip", "sync", "--quiet", "--python", oldest, pins],
            "install Lightbox": [
                *(*uv, "pip", "install", "--quiet", "--python", oldest),
                *("--no-deps", "--no-build-isolation", "--editable", ROOT),
            ],
            "pytest": [oldest, "-m", "pytest", *WORKERS, *arguments],
        }
    )


def test_coverage(python: Path, arguments: list[str]) -> int:
    """Run the tests, and say which lines of the layers below Qt none of them runs; fail under 90 %."""
    return run_steps(
        {
            "pytest": [python, "-m", "coverage", "run", "-m", "pytest", *arguments],
            "layers": [python, ROOT / "packaging" / "coverage_layers.py"],
            "coverage": [python, "-m", "coverage", "report"],
        }
    )


def run_steps(steps: dict[str, list[Path | str]]) -> int:
    """Run commands in the checkout, stop at the first that fails, and return its exit code."""
    for name, command in steps.items():
        print(f"\n=== {name}", flush=True)
        code = subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode
        if code:
            print(f"=== {name} failed (exit code {code})", file=sys.stderr)
            return code
    print(f"=== passed: {', '.join(steps)}")
    return 0


def bench(python: Path, arguments: list[str]) -> int:
    """Run the measurements."""
    command = [str(python), str(ROOT / "tests" / "benchmarks" / "run.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def fuzz(python: Path, arguments: list[str]) -> int:
    """Damage input, and look how it is taken."""
    return subprocess.run([str(python), "-m", "tests.fuzz", *arguments], cwd=ROOT, check=False).returncode


def mutate(python: Path, arguments: list[str]) -> int:
    """Put small faults into the code, and look whether a test sees them."""
    return subprocess.run([str(python), "-m", "tests.mutation", *arguments], cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 it failed, 2 wrong usage."""
    commands = {"run": run, "test": test, "bench": bench, "fuzz": fuzz, "mutate": mutate}
    if not arguments or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is also run by Pythons too old for the project
        print(f"dev.py: Python 3.11 or later is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    try:
        prepare_system(for_tests=arguments[0] == "test")
        python = prepare_venv()
    except StopError as stop:
        print(f"dev.py: {stop}", file=sys.stderr)
        return 1
    return commands[arguments[0]](python, arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
