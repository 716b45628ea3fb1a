"""The log goes where it is wanted, and a report names neither the user nor his files."""

import getpass
import logging
import os
import platform
import stat
import threading
from pathlib import Path

import pytest

import viewer
from viewer import logs
from viewer.cli.main import _main
from viewer.logs import HEAD, keep_private, logging_to, redact

PACKAGE = Path(viewer.__file__).parent


@pytest.mark.parametrize("text", [
    "[Errno 2] No such file or directory: '/home/mallory/My Runs/gpt secret.sqlite'",
    '  File "/srv/mallory/secret.py", line 3',
    "cannot read /data/mallory/secret/run.nsys-rep: it is locked",
    r"cannot read 'C:\Users\mallory\secret.sqlite'",
    "~/mallory/secret.sqlite is damaged",
    "at (/data/mallory/secret.sqlite)",
])  # fmt: skip
def test_paths_are_left_out(text):
    told = redact(text)
    assert "mallory" not in told.casefold()
    assert "secret" not in told


def test_the_programs_own_files_keep_their_names():
    told = redact(f'  File "{PACKAGE / "readers" / "cache.py"}", line 80, in load')
    assert told == '  File "viewer/readers/cache.py", line 80, in load'


def test_user_and_machine_are_left_out(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "mallory")
    monkeypatch.setattr(platform, "node", lambda: "gpu-node-17")
    assert redact("Mallory on gpu-node-17.cluster, mallorys") == "<user> on <host>.cluster, mallorys"


def test_a_file_that_was_opened_is_left_out_wherever_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(logs, "_private", set())
    keep_private(tmp_path / "our new model.sqlite")
    assert redact("our new model.sqlite is damaged") == "<file> is damaged"
    assert redact("kernels: 12 rows, 3/4 done") == "kernels: 12 rows, 3/4 done"


def test_lines_go_into_the_file_and_no_more_afterwards(tmp_path):
    file, log = tmp_path / "run.log", logging.getLogger("viewer.readers")
    before = logs.log.level, list(logs.log.handlers)
    with logging_to(False, file):
        log.debug("kernels: %d rows", 7)
    log.debug("later")
    text = file.read_text()
    assert text.startswith(HEAD)
    assert "DEBUG viewer.readers" in text
    assert "kernels: 7 rows" in text
    assert "later" not in text
    assert (logs.log.level, list(logs.log.handlers)) == before
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("where", ["before", "after"])
def test_every_command_says_its_steps_and_prints_the_same(where, demo_path, capsys):
    words = ["report", str(demo_path), "--json"]
    assert _main(list(words)) == 0
    plain = capsys.readouterr()
    assert _main(["--debug", *words] if where == "before" else [*words, "--debug"]) == 0
    told = capsys.readouterr()
    assert told.out == plain.out
    assert plain.err == ""
    assert "from the cache" in told.err
    assert "exit code 0" in told.err


def test_store_hits_misses_and_damage_are_logged(demo_path, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "cache"))
    with caplog.at_level(logging.DEBUG, "viewer.readers"):
        viewer.open_trace(demo_path)
        assert "not in the cache" in caplog.text
        assert "stored" in caplog.messages
        caplog.clear()
        viewer.open_trace(demo_path)
        assert any(line.startswith("from the cache: ") for line in caplog.messages)
        [kernels] = (tmp_path / "cache").rglob("kernel.arrow")
        kernels.write_bytes(kernels.read_bytes()[:-1])
        caplog.clear()
        viewer.open_trace(demo_path)
        assert any(line.startswith("damaged in the cache, removed") for line in caplog.messages)


def test_a_log_replaces_neither_a_trace_nor_a_file_of_another_kind(demo_path, tmp_path, capsys):
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    for file in (demo_path, other):
        before = file.read_bytes()
        assert _main(["report", str(demo_path), "--log-file", str(file)]) == 1
        assert file.read_bytes() == before
        assert "lightbox: " in capsys.readouterr().err
    file = tmp_path / "run.log"
    for _ in range(2):
        assert _main(["definitions", "idle", f"--log-file={file}"]) == 0
    assert file.read_text().count(HEAD) == 1


def test_a_log_without_a_name_is_wrong_usage(capsys):
    assert _main(["doctor", "--log-file"]) == 2
    assert "needs the name of a file" in capsys.readouterr().err


def test_devices_and_pipes_are_written_to_and_a_link_stays(demo_path, tmp_path):
    pipe, target, link = tmp_path / "pipe", tmp_path / "a.log", tmp_path / "link.log"
    os.mkfifo(pipe)
    link.symlink_to(target)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    assert _main(["events", str(demo_path), "--row", "Rank 0", "--limit", "1", "--log-file", str(pipe)]) == 0
    reader.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert heard[0].startswith(HEAD)
    assert _main(["cache", "--log-file", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text().startswith(HEAD)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no such device here")
def test_a_full_device_is_one_line_and_stays_a_device(capsys):
    assert _main(["cache", "--log-file", "/dev/full"]) == 1
    assert Path("/dev/full").is_char_device()
    assert len(capsys.readouterr().err.splitlines()) == 1
