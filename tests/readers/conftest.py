"""A real report, recorded by the real nsys; and files to read."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readers import exports
from viewer.readers import nsys

SCRIPT = """
import os, time, nvtx
child = os.fork()
for step in range(3):
    with nvtx.annotate(f"step_{step}", color="blue"):
        with nvtx.annotate("inner", domain="library"):
            time.sleep(0.001)
nvtx.mark("done")
if child:
    os.waitpid(child, 0)
"""
IMPORTER = Path("/usr/lib/nsight-systems/host-linux-x64")


def missing(reason):
    """Skip, or fail where everything must be there."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def nsys_report(tmp_path_factory):
    """A report of two processes with NVTX ranges, recorded here and now."""
    found = nsys.find_nsys()
    if found is None:
        missing("no nsys on this machine (Debian non-free: nsight-systems)")
    if importlib.util.find_spec("nvtx") is None:
        if sys.version_info >= (3, 12):
            pytest.skip("nvtx 0.2.8 is not made for this Python")
        missing("no nvtx 0.2.8 in this environment")
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "script.py").write_text(SCRIPT)
    record = [
        found.path, "profile", "-t", "nvtx,osrt", "-s", "none", "--cpuctxsw=none",
        "--trace-fork-before-exec=true", "-o", folder / "out", sys.executable, folder / "script.py",
    ]  # fmt: skip
    said = subprocess.run(record, capture_output=True, text=True, timeout=120, cwd=folder)
    report = folder / "out.nsys-rep"
    if not report.exists() and (folder / "out.qdstrm").exists() and IMPORTER.is_dir():
        environment = os.environ | {"LD_LIBRARY_PATH": str(IMPORTER)}
        convert = [IMPORTER / "QdstrmImporter", "-i", folder / "out.qdstrm", "-o", report]
        subprocess.run(convert, check=True, capture_output=True, env=environment, timeout=120)
    if not report.exists():
        missing(f"nsys recorded no report here: {said.stdout[-300:]} {said.stderr[-300:]}")
    return report


@pytest.fixture
def report(nsys_report, tmp_path):
    """The recorded report, alone in a folder of its own."""
    (tmp_path / "data").mkdir()
    return Path(shutil.copy(nsys_report, tmp_path / "data" / "job.nsys-rep"))


@pytest.fixture
def small(tmp_path):
    """A function that writes a small export alone in a folder: tables to path."""

    def make(tables=None, name="trace.sqlite", **more):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        usual = {exports.KERNELS: [exports.kernel()], exports.CALLS: [exports.call()]}
        return exports.write(folder / name, usual if tables is None else tables, **more)

    return make
