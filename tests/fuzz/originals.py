"""What is damaged: small exports, of the demo, and real ones where `../shared` is there."""

import shutil
from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared" / "traces"
REAL = ("power-iteration-t4", "no-version-no-events-2021", "cupti-events-missing", "single-gpu-2024.6")


def copy_originals(folder):
    """Put the exports into a folder."""
    from viewer.demo import DemoOptions, make_demo

    make_demo(folder / "demo.sqlite", DemoOptions(iterations=2))
    for name in REAL:
        if (SHARED / f"{name}.sqlite").is_file():
            shutil.copyfile(SHARED / f"{name}.sqlite", folder / f"{name}.sqlite")
