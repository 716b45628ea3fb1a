"""The lower half is a library without a window, and state needs no more than QtCore."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOWER_HALF = (
    "trace",
    "assets",
    "definitions",
    "logs",
    "private_files",
    "process_end",
    "printable",
    "readers",
    "analysis",
    "demo",
    "rows",
    "drawing",
)

BLOCKED = """
import importlib, pkgutil, sys
for name in ("PySide6", "shiboken6", "pyqtgraph"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    module = importlib.import_module("viewer." + name)
    for inner in pkgutil.walk_packages(getattr(module, "__path__", []), module.__name__ + "."):
        importlib.import_module(inner.name)
"""


def test_the_lower_half_imports_without_qt():
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *LOWER_HALF], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def imports_of(file):
    """Yield (module, name or None) of everything that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("file", sorted((ROOT / "viewer" / "state").glob("*.py")), ids=lambda file: file.name)
def test_state_needs_no_more_than_qtcore(file):
    qt = [
        m if m != "PySide6" else f"PySide6.{n}" for m, n in imports_of(file) if m.split(".")[0] == "PySide6"
    ]
    assert set(qt) <= {"PySide6.QtCore"}


def test_every_folder_of_the_lower_half_is_named_here():
    upper = {"state", "timeline", "panels", "export", "app", "cli", "__init__", "__main__"}
    found = {
        p.stem for p in (ROOT / "viewer").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    assert found == upper | set(LOWER_HALF)
