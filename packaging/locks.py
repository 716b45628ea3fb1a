"""Check that the dependencies and their locks fit every machine that Lightbox is for, or write the locks.

    python packaging/locks.py           asks the package index about each machine and Python; installs nothing
    python packaging/locks.py --write   resolves the dependencies anew, as far as the locks allow

Runs with the Python of `.venv`, which has uv.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from dev import LOCKS, QT_ON_ARM, ROOT, Lock, StopError, lock_for

MACHINES = ("x86_64", "aarch64")
GLIBCS = ((2, 28), (2, 34), (2, 39))
PYTHONS = ("3.11", "3.12", "3.13")
AT_ONCE = 4
UNREACHED = re.compile(r"Failed to fetch|client error|error sending request|dns error", re.IGNORECASE)


class UnreachedError(Exception):
    """The package index does not answer."""


def main(arguments: list[str]) -> int:
    """Check or write the locks, and return the exit code."""
    if arguments == ["--write"]:
        for lock in LOCKS:
            write(lock)
        return 0
    targets = list(itertools.product(MACHINES, GLIBCS, PYTHONS))
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            faults = [fault for found in pool.map(lambda target: check(*target), targets) for fault in found]
    except UnreachedError:
        print("not checked: the package index cannot be reached")
        return 0
    for fault in faults:
        print(fault)
    if not faults:
        print(f"the dependencies and the locks fit all {len(targets)} kinds of machine")
    return 1 if faults else 0


def check(machine: str, glibc: tuple[int, int], python: str) -> list[str]:
    """Return what is wrong on one kind of machine, in one line each.

    Two questions are asked, of wheels alone: do permitted versions fit, with Qt where it is promised; and
    does the lock hold all that is needed, in versions that are permitted and fit?
    """
    name = f"{machine} with glibc {glibc[0]}.{glibc[1]}, Python {python}"
    platform = ["--python-platform", f"{machine}-manylinux_{glibc[0]}_{glibc[1]}", "--python-version", python]
    faults = []
    free, problem = compiled(*platform)
    if problem:
        faults.append(f"{name}: {problem}")
    elif has_qt(free) != (machine == "x86_64"):
        faults.append(f"{name}: PySide6 is asked for where it does not fit, or not where it does")
    try:
        lock = lock_for(machine, glibc)
    except StopError as stop:
        return [*faults, f"{name}: {stop}"]
    held = set(re.findall(r"^[\w.-]+==[\w.]+", lock.path.read_text(), re.MULTILINE))
    locked, problem = compiled(*platform, *lock.options, "--group", "dev", "--constraints", str(lock.path))
    if problem:
        faults.append(f"{name}: {lock.path.name}: {problem}")
    elif missing := sorted({line.split(" ")[0] for line in locked} - held):
        faults.append(f"{name}: {lock.path.name} lacks {', '.join(missing)}")
    elif has_qt(locked) != (machine == "x86_64" or glibc >= QT_ON_ARM):
        faults.append(f"{name}: {lock.path.name} holds Qt where it does not fit, or not where it does")
    return faults


def has_qt(versions: list[str]) -> bool:
    """Whether Qt is among the versions."""
    return any(version.startswith("pyside6-essentials==") for version in versions)


def compiled(*options: str) -> tuple[list[str], str]:
    """Return the versions that pyproject.toml resolves to, and why it does not.

    Raises
    ------
    UnreachedError
    """
    command = ["pip", "compile", "pyproject.toml", "--quiet", "--no-header", "--no-annotate"]
    # Otherwise uv asks every Python of this machine for its version.
    done = uv(*command, "--python", sys.executable, "--only-binary", ":all:", *options)
    if done.returncode == 0:
        return done.stdout.split("\n")[:-1], ""
    if UNREACHED.search(done.stderr):
        raise UnreachedError
    return [], " ".join(re.sub(r"[×╰│├─▶╭]", " ", done.stderr).split())


def write(lock: Lock) -> None:
    """Resolve a lock anew; versions stay as they are where they still fit."""
    if not lock.path.is_file():
        shutil.copy(LOCKS[0].path, lock.path)
    command = ["pip", "compile", "pyproject.toml", "-", "--group", "dev", *lock.options, "--quiet"]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate"]
    command += ["--custom-compile-command", "python packaging/locks.py --write"]
    done = uv(*command, "--output-file", str(lock.path), text=lock.limit)
    if done.returncode:
        sys.exit(f"{lock.path.name}: {done.stderr}")


def uv(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run uv in the checkout; `text` is what it reads from stdin."""
    command = [sys.executable, "-m", "uv", *arguments]
    return subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
