"""``python -m tests.mutation.watch OUT FOLDER ...``: run tests, and write which files run which lines."""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

from tests.mutation.tree import OPTIONS


class _Contexts:
    """Tells coverage which test file is running, and takes its time."""

    def __init__(self, running):
        self.running = running
        self.seconds = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Run a test, with what it sets up."""
        file = item.nodeid.split("::")[0]
        self.running.switch_context(file)
        begun = time.monotonic()
        result = yield
        self.seconds[file] += time.monotonic() - begun
        self.running.switch_context("")
        return result


def main(out, *folders):
    """Run the tests of some folders and return pytest's exit code."""
    running = coverage.Coverage(data_file=None, source=["viewer"], config_file=False)
    contexts = _Contexts(running)
    running.start()
    code = int(pytest.main([*OPTIONS, *folders], plugins=[contexts]))
    running.stop()
    data, root, files = running.get_data(), Path.cwd(), {}
    for path in data.measured_files():
        lines = data.contexts_by_lineno(path)
        files[str(Path(path).relative_to(root))] = {
            line: sorted(filter(None, tests)) for line, tests in lines.items() if any(tests)
        }
    Path(out).write_text(json.dumps({"seconds": contexts.seconds, "files": files}))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
