"""Runs attempts in a process that may die or hang."""

import importlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120


class Worker:
    """A process that makes attempts of one kind, started anew when it has died or hung."""

    def __init__(self, kind, originals, folder):
        self._command = [sys.executable, "-m", "tests.fuzz.worker", kind, str(originals), str(folder)]
        self._log = Path(folder) / f"{kind}.stderr"
        self._process = None

    def attempt(self, seed):
        """Return what was wrong with an attempt, "" where nothing was."""
        if self._process is None:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                    env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
                )  # fmt: skip
        self._process.stdin.write(b"%d\n" % seed)
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        line = self._process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        code = self._process.poll() if ready and self._process.wait() else None
        self.close()
        said = self._log.read_text("utf-8", "replace").strip().splitlines()[-2:]
        return f"the process died: {code} {said}" if ready else f"no answer within {PATIENCE_S} s"

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def run(kind, seeds, keep=None, say=lambda seed, wrong: None):
    """Make the attempts of some seeds.

    Parameters
    ----------
    kind : str
        A module of this package.
    keep : Path, optional
        Where the input of attempts that went wrong stays.
    say : callable
        Called after each attempt with its seed and what was wrong.

    Returns
    -------
    dict of int to str
        What was wrong, by seed.
    """
    wrongs = {}
    with tempfile.TemporaryDirectory(prefix="lightbox-fuzz-") as scratch:
        originals, folder = Path(scratch, "originals"), Path(keep or scratch)
        for place in (originals, folder):
            place.mkdir(parents=True, exist_ok=True)
        importlib.import_module(f"tests.fuzz.{kind}").prepare(originals)
        worker = Worker(kind, originals, folder)
        try:
            for seed in seeds:
                wrong = worker.attempt(seed)
                if wrong:
                    wrongs[seed] = wrong
                if keep is None or not wrong:
                    shutil.rmtree(folder / f"{kind}-{seed}", ignore_errors=True)
                say(seed, wrong)
        finally:
            worker.close()
    return wrongs
