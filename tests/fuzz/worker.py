"""The process that takes damaged input: ``python -m tests.fuzz.worker KIND ORIGINALS``; seeds on stdin."""

import contextlib
import gc
import importlib
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path


def attempt(module, seed, originals, folder):
    """Make one attempt in a private folder; return what is wrong, "" where nothing is."""
    case, scratch = folder / "case", folder / "tmp"
    for place in (case, scratch):
        place.mkdir(parents=True)
    os.environ["TMPDIR"] = os.environ["SQLITE_TMPDIR"] = str(scratch)
    os.environ["LIGHTBOX_CACHE_DIR"] = str(folder / "cache")
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    tempfile.tempdir = None
    try:
        wrong = module.attempt(seed, originals, case)
    except BaseException:  # noqa: BLE001  (the fault of the test itself is told like any other)
        wrong = "the attempt failed: " + " / ".join(traceback.format_exc().splitlines()[-6:])
    gc.collect()  # copies go with the trace that asks them
    left = sorted(one.name for one in scratch.iterdir())
    return wrong or (f"left in the temporary folder: {left}" if left else "")


def main(kind, originals, folder):
    """Answer each seed on stdin with a line of JSON; the folder keeps the last attempt that went wrong."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    module = importlib.import_module(f"tests.fuzz.{kind}")
    for line in sys.stdin:
        seed = int(line)
        place = Path(folder) / f"{kind}-{seed}"
        wrong = attempt(module, seed, Path(originals), place)
        if not wrong:
            with contextlib.suppress(OSError):
                shutil.rmtree(place)
        answers.write(json.dumps(wrong) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
