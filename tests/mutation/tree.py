"""A copy of the checkout in which faults are put and tests are run, in processes that may hang."""

import json
import math
import os
import resource
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
LEAST_PATIENCE_S = 15
"""Processor time that a test may take whatever it takes without a fault."""
HANG_S = 600
"""Wall-clock time after which a run is taken to wait for what never comes."""
MEMORY = 16 << 30
"""What a run may take, bytes: a fault can make a loop that appends without end."""
OPTIONS = (
    "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-xvfb", "--hypothesis-seed=0", "--no-header",
)  # fmt: skip

PASSED_OR_FELL = {0: "survived", 1: "killed", 2: "killed", -signal.SIGXCPU: "timeout"}
"""By exit code; 2: a test could not be collected, since the faulty module cannot be imported."""


@dataclass
class Watched:
    """What the tests run when nothing is wrong.

    Attributes
    ----------
    seconds : dict of str to float
        Processor time of each test, with what it sets up.
    lines : dict of str to dict of int to set of str
        By module and line, the tests that run the line; "" stands for those that import the module.
    """

    seconds: dict = field(default_factory=dict)
    lines: dict = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def add(self, said):
        """Add what a file's tests run, as `tests.mutation.watch` writes it."""
        self.seconds.update(said["seconds"])
        for module, lines in said["modules"].items():
            for line, tests in lines.items():
                self.lines[module][int(line)].update(tests)

    def concerned(self, module, statement, most_s):
        """Return the tests that run a statement, from its first to its last line, in an order to run them.

        Those of the files that mirror the module come first, file by file, then those of other files, the
        quickest file first, as many as fit in `most_s` seconds. A statement that runs as the module is
        imported concerns all tests that run any of the module's lines.
        """
        lines = self.lines[module]
        runs = set().union(*(lines.get(line, ()) for line in range(statement[0], statement[1] + 1)))
        if "" in runs:
            runs = set().union(*lines.values()) - {""}
        mirror, stem = Path("tests", *Path(module).parts[1:-1]), Path(module).stem
        by_file = defaultdict(list)
        for test in self.seconds:
            if test in runs:
                by_file[test.split("::")[0]].append(test)
        takes = {file: sum(self.seconds[test] for test in tests) for file, tests in by_file.items()}
        is_near = {file: Path(file).parent == mirror for file in by_file}
        files = sorted(takes, key=lambda f: (not is_near[f], not (is_near[f] and stem in f), takes[f]))
        chosen, spent = [], 0.0
        for file in files:
            for test in by_file[file]:
                taken = 0.0 if is_near[file] else self.seconds[test]
                if spent + taken <= most_s:
                    spent += taken
                    chosen.append(test)
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

    def watch(self, packages, folders):
        """Run the tests of some folders under coverage, and return what they run of some packages.

        Raises
        ------
        RuntimeError
            If they do not pass.
        """
        out = self.scratch / "watched.json"
        command = [sys.executable, "-m", "tests.mutation.watch", str(out), ",".join(packages), *folders]
        done = subprocess.run(command, cwd=self.root, env=_environment(), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the tests do not pass without a fault:\n{done.stdout[-3000:]}{done.stderr}")
        watched = Watched()
        for said in json.loads(out.read_text()):
            watched.add(said)
        return watched

    def outcome(self, module, text, tests, seconds):
        """Return how tests take a module's faulty text: "killed", "survived" or "timeout".

        `seconds` is the processor time that each takes without a fault. A test times out when it takes five
        times as long as all of its file, which may be what it has to set up.

        Raises
        ------
        RuntimeError
            If they were not run.
        """
        if not tests:
            return "survived"
        path = self.root / module
        kept = self.scratch / "kept.py"
        shutil.copy2(path, kept)
        try:
            path.write_text(text, "utf-8")
            os.utime(path, (1, 1))
            return self._tested(tests, seconds)
        finally:
            shutil.copy2(kept, path)

    def _tested(self, tests, seconds):
        """Run tests in a fork, which has the libraries loaded already."""
        process = os.fork()
        if process == 0:
            os.setsid()
            os._exit(_run_tests(self.root, self.scratch / "out.txt", tests, seconds))
        deadline = time.monotonic() + HANG_S
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


class _Chosen:
    """Runs certain tests alone, in their order, each within its processor time."""

    def __init__(self, tests, seconds):
        self.place = {test: number for number, test in enumerate(tests)}
        self.file_s = defaultdict(float)
        for test, taken in seconds.items():
            self.file_s[test.split("::")[0]] += taken

    def pytest_collection_modifyitems(self, items):
        """Drop the others. Those of a file stay together, and share what the file makes once."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place), key=lambda item: self.place[item.nodeid]
        )

    def pytest_runtest_logstart(self, nodeid):
        """Move the limit of the processor time on, from test to test."""
        most_s = LEAST_PATIENCE_S + 5 * self.file_s[nodeid.split("::")[0]]
        limit_processor_time(most_s)


def limit_processor_time(most_s):
    """End this process by a signal once it has taken so much more processor time."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + most_s), hard))


def load_libraries():
    """Import what every run of the tests needs, for the forks to have; nothing of the program, no plugin."""
    import pandas as pd  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import pytest  # noqa: F401
    from PySide6 import QtCore, QtGui, QtWidgets  # noqa: F401


def _environment():
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen"}


def _run_tests(root, out, tests, seconds):
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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    limit_processor_time(4 * LEAST_PATIENCE_S)
    files = dict.fromkeys(test.split("::")[0] for test in tests)
    return int(pytest.main([*OPTIONS, *files], plugins=[_Chosen(tests, seconds)]))
