"""What tells a desktop which files are ours."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

LINUX = Path(__file__).resolve().parents[2] / "packaging" / "linux"
ID = "io.github.lightbox_viewer.Lightbox"
TYPES = {"application/x-nsys-report", "application/x-lightbox-session+json"}


def test_reports_and_sessions_open_with_lightbox():
    lines = (LINUX / f"{ID}.desktop").read_text().splitlines()
    held = next(line.partition("=")[2] for line in lines if line.startswith("MimeType="))
    assert set(filter(None, held.split(";"))) == TYPES
    info = ET.parse(LINUX / f"{ID}.metainfo.xml")
    assert {node.text for node in info.iter("mediatype")} == TYPES


def test_a_session_is_told_apart_from_other_json(tmp_path):
    if not shutil.which("update-mime-database"):
        pytest.skip("no update-mime-database on this machine")
    packages = tmp_path / "mime" / "packages"
    packages.mkdir(parents=True)
    shutil.copy(LINUX / f"{ID}.mime.xml", packages)
    subprocess.run(["update-mime-database", str(tmp_path / "mime")], check=True)
    globs = (tmp_path / "mime" / "globs2").read_text().splitlines()
    assert "60:application/x-lightbox-session+json:*.lightbox.json" in globs
    assert "50:application/x-nsys-report:*.nsys-rep" in globs
