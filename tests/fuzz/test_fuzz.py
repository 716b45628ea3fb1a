"""A short run of the fuzzer; `python3 packaging/dev.py fuzz` runs more."""

import os
import signal

import pytest

from tests.fuzz import driver, trial, worker
from tests.fuzz.__main__ import KINDS

RUN = 8


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_input_is_answered_or_refused_in_a_line(kind):
    assert driver.run(kind, range(RUN)) == {}


def test_a_death_and_a_hang_are_found(tmp_path, monkeypatch):
    (tmp_path / "tests" / "fuzz").mkdir(parents=True)
    for file in (driver.ROOT / "tests" / "fuzz").glob("*.py"):
        (tmp_path / "tests" / "fuzz" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tests" / "fuzz" / "bad.py").write_text(
        "import os, pathlib, tempfile, time\n"
        "def attempt(seed, originals, folder):\n"
        "    if seed == 0: os.abort()\n"
        "    if seed == 1: time.sleep(1000)\n"
        "    if seed == 2: tempfile.mkdtemp()\n"
        "    if seed == 3: raise KeyError('x')\n"
        "    return ''\n"
    )
    monkeypatch.setattr(driver, "ROOT", tmp_path)
    monkeypatch.setattr(driver, "PATIENCE_S", 5)
    process = driver.Worker("bad", tmp_path, tmp_path / "tests")
    try:
        found = [process.attempt(seed) for seed in range(5)]
    finally:
        process.close()
    assert str(-signal.SIGABRT) in found[0]
    assert "no answer" in found[1]
    assert "left in the temporary folder" in found[2]
    assert "KeyError" in found[3]
    assert found[4] == ""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (trial.Answer(0, "{}", ""), ""),
        (trial.Answer(1, "", "lightbox: it is damaged\n"), ""),
        (trial.Answer(1, "", "one\ntwo\n"), "2 lines"),
        (trial.Answer(0, "{}", "a warning\n"), "1 lines"),
        (trial.Answer(2, "", "usage\n"), "exit code 2"),
        (trial.Answer(1, "", "", "Traceback\nKeyError: 'x'"), "KeyError"),
        (trial.Answer(1, "", "lightbox: this is an error of the program\n"), "error of the program"),
    ],
)
def test_what_is_against_the_rules(answer, words):
    assert words in trial.fault(answer)
    assert bool(words) == bool(trial.fault(answer))


def test_the_worker_leaves_the_environment_private(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    seen = {}

    class Kind:
        @staticmethod
        def attempt(seed, originals, folder):
            seen.update(os.environ)
            return ""

    assert worker.attempt(Kind, 1, tmp_path, tmp_path / "one") == ""
    for name in ("TMPDIR", "LIGHTBOX_CACHE_DIR", "XDG_STATE_HOME"):
        assert seen[name].startswith(str(tmp_path / "one"))
