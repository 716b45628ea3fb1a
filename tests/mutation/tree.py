"""A copy of the checkout in which faults are put and tests are run, in processes that may hang."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("viewer", "tests", "resources", "docs", "packaging", "pyproject.toml", "main.py")
LEAST_PATIENCE_S = 30
OPTIONS = (
    "-q", "-x", "-p", "no:cacheprovider", "--no-xvfb", "--hypothesis-seed=0", "--no-header",
    "--ignore-glob=*/test_oracles.py",
)  # fmt: skip
"""Tests that ask nsys for everything take minutes, and fall where others do."""

PASSED_OR_FELL = {0: "survived", 1: "killed", 2: "killed"}
"""By pytest's exit code; 2: a test could not be collected, since the faulty module cannot be imported."""


@dataclass
class Watched:
    """What the tests run when nothing is wrong.

    Attributes
    ----------
    files : dict of str to dict of int to set of str
        By module and line, the test files that run the line.
    seconds : dict of str to float
        How long the tests of each file take.
    """

    files: dict = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    seconds: dict = field(default_factory=lambda: defaultdict(float))

    def concerned(self, module, line, most_s):
        """Return the test files that concern a line: those of its mirror, then those that run it.

        Beside the mirror, the quickest first, as many as fit in `most_s` seconds.
        """
        mirror, stem = Path("tests", *Path(module).parts[1:-1]), Path(module).stem
        near = sorted(f for f in self.seconds if Path(f).parent == mirror)
        near.sort(key=lambda f: (stem not in Path(f).stem, self.seconds[f]))
        lines = self.files[module]
        runs = lines[line] if line in lines else set().union(*lines.values())
        spent, chosen = 0.0, [f for f in near if f in runs or stem in Path(f).stem]
        for file in sorted(runs - set(chosen), key=self.seconds.__getitem__):
            spent += self.seconds[file]
            if spent <= most_s:
                chosen.append(file)
        return chosen


class Tree:
    """The copy. Its modules are compiled once; a faulty one is never kept compiled."""

    def __init__(self, folder):
        self.root = Path(folder) / "checkout"
        self.scratch = Path(folder) / "scratch"
        self.root.mkdir()
        self.scratch.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, self.root / name)
        if (ROOT.parent / "shared").is_dir():
            (self.root.parent / "shared").symlink_to(ROOT.parent / "shared")

    def watch(self, folders):
        """Run the tests of some folders under coverage, and return what they run.

        Raises
        ------
        RuntimeError
            If they do not pass.
        """
        out = self.scratch / "watched.json"
        command = [sys.executable, "-m", "tests.mutation.watch", str(out), *folders]
        done = subprocess.run(command, cwd=self.root, env=_environment(), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the tests do not pass without a fault:\n{done.stdout[-3000:]}{done.stderr}")
        said = json.loads(out.read_text())
        watched = Watched()
        watched.seconds.update(said["seconds"])
        for module, lines in said["files"].items():
            for line, files in lines.items():
                watched.files[module][int(line)] = set(files)
        return watched

    def outcome(self, module, text, files, patience_s):
        """Return how the tests take a module's faulty text: "killed", "survived" or "timeout".

        Raises
        ------
        RuntimeError
            If they were not run.
        """
        if not files:
            return "survived"
        path = self.root / module
        kept = self.scratch / "kept.py"
        shutil.copy2(path, kept)
        try:
            path.write_text(text, "utf-8")
            os.utime(path, (1, 1))
            return self._tested(files, patience_s)
        finally:
            shutil.copy2(kept, path)

    def _tested(self, files, patience_s):
        """Run tests in a fork, which has the libraries loaded already."""
        process = os.fork()
        if process == 0:
            os.setsid()
            os._exit(_run_tests(self.root, self.scratch / "out.txt", files))
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return self._said(os.waitstatus_to_exitcode(status))
            time.sleep(0.05)
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return "timeout"

    def _said(self, code):
        """Return what an exit code says; a negative one: a signal ended the process."""
        if code < 0 or code in PASSED_OR_FELL:
            return PASSED_OR_FELL.get(code, "killed")
        log = (self.scratch / "out.txt").read_text("utf-8", "replace")
        raise RuntimeError(f"pytest ended with {code}:\n{log[-3000:]}")


def load_libraries():
    """Import what every run of the tests needs, for the forks to have; nothing of the program, no plugin."""
    import pandas as pd  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import pytest  # noqa: F401
    from PySide6 import QtCore, QtGui, QtWidgets  # noqa: F401


def _environment():
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen"}


def _run_tests(root, out, files):
    """Run tests in this process, and return the exit code."""
    import pytest

    with out.open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(root)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "viewer")]:
        del sys.modules[name]
    sys.path[:] = [str(root), *(p for p in sys.path if p not in ("", str(ROOT)))]
    return int(pytest.main([*OPTIONS, *files]))
