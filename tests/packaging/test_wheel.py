"""A built wheel is complete: it works without the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed: use packaging/dev.py test")
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (file,) = out.glob("*.whl")
    return file


def test_all_resources_are_inside(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [
        f.relative_to(ROOT / "resources").as_posix() for f in (ROOT / "resources").rglob("*") if f.is_file()
    ]
    assert files
    assert [f for f in files if f"viewer/resources/{f}" not in held] == []
    assert "viewer/py.typed" in held
    assert not [name for name in held if name.startswith(("tests/", "packaging/"))]


def test_it_finds_its_resources_and_its_commands(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import viewer, viewer.assets as a; print(viewer.__file__); "
        "print(len(a.asset('kernel-classes.txt').read_text())); "
        "from viewer import definitions as d; print(d.find('idle').anchor)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    place, length, anchor = done.stdout.splitlines()
    assert place.startswith(str(tmp_path))
    assert int(length) > 0
    assert anchor == "def-idle"
    (entries,) = tmp_path.glob("*.dist-info/entry_points.txt")
    assert "lightbox = viewer.cli:main" in entries.read_text()
    assert "lightbox-gui = viewer.cli:main" in entries.read_text()
