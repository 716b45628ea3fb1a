"""``python -m tests.mutation.watch OUT PACKAGES FOLDER ...``: run tests, and write which run which lines.

The tests of each file run in a process of their own: whatever they share with other files, they make anew.
"""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

from tests.mutation.tree import OPTIONS, load_libraries

NO_RESULT = {"qapp", "shared", "shared_trace"}
"""Fixtures of a session that hold nothing which a test computes."""


class _Contexts:
    """Tells coverage which test is running, and takes its processor time.

    Attributes
    ----------
    seconds : dict of str to float
        By test, with what it sets up.
    groups : dict of str to set of str
        The tests to which a fixture, or a cached function of their file, gives the same object: a line that
        the first of them runs concerns them all.
    """

    def __init__(self, running):
        self.running = running
        self.seconds = {}
        self.groups = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Run a test, with what it sets up."""
        self.running.switch_context(item.nodeid)
        begun = sum(os.times()[:4])
        result = yield
        self.seconds[item.nodeid] = sum(os.times()[:4]) - begun
        self.running.switch_context("")
        for name in _kept(item):
            self.groups[name].add(item.nodeid)
        return result


def _kept(item):
    """Return names for what outlives a test and has been made for it."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        made = definitions[-1]
        is_ours = Path(made.func.__code__.co_filename).is_relative_to(Path.cwd() / "tests")
        is_ours &= name not in NO_RESULT and name[0] != "_"
        if made.scope != "function" and is_ours:
            yield f"{name} {given.get(name)}"
    if any(hasattr(value, "cache_info") for value in vars(item.module).values()):
        yield "cached"


def main(out, packages, *folders):
    """Run the tests of some folders and return the exit code of the first file of which one falls.

    `packages` are those below ``viewer/`` whose lines are asked for, with commas between.
    """
    # Lines of others are not followed, which takes half of the time.
    include = [f"viewer/{package}/*" for package in packages.split(",")]
    load_libraries()
    files = sorted(file for folder in folders for file in Path(folder).rglob("test_*.py"))
    for number, file in enumerate(file for file in files if file.name != "test_oracles.py"):
        process = os.fork()
        if process == 0:
            os._exit(_watch(Path(f"{out}.{number}"), include, str(file)))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code:
            return code
    parts = [Path(f"{out}.{number}") for number in range(len(files)) if Path(f"{out}.{number}").exists()]
    Path(out).write_text(json.dumps([json.loads(part.read_text()) for part in parts]))
    return 0


def _watch(out, include, file):
    """Run the tests of a file, write what they run, and return pytest's exit code."""
    running = coverage.Coverage(data_file=None, include=include, config_file=False)
    contexts = _Contexts(running)
    running.start()
    code = int(pytest.main([*OPTIONS, file], plugins=[contexts]))
    running.stop()
    data, root, modules = running.get_data(), Path.cwd(), {}
    for path in data.measured_files():
        modules[str(Path(path).relative_to(root))] = lines = {}
        for line, tests in data.contexts_by_lineno(path).items():
            shared = (group for group in contexts.groups.values() if not group.isdisjoint(tests))
            lines[line] = sorted(set(tests).union(*shared))
    out.write_text(json.dumps({"seconds": contexts.seconds, "modules": modules}))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
