"""Files that commands write, by real processes: what is refused, what is forced, what is a stream."""

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trace(demo_path, tmp_path):
    path = tmp_path / "X.sqlite"
    path.write_bytes(demo_path.read_bytes())
    return path


def run(words, folder, **more):
    return subprocess.run(
        [sys.executable, "-m", "viewer", *words],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, stderr=subprocess.PIPE,
        **{"stdout": subprocess.PIPE, **more},
    )  # fmt: skip


def content_of(folder):
    """Return what lies in a folder: names, modes and contents."""
    return {
        path.name: (path.lstat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.iterdir()
        if path.is_file()
    }


def commands(out):
    return [["report", "X.sqlite", "--html", out], ["shot", "X.sqlite", "-o", out]]


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_the_trace_stays_whatever_is_forced(trace, tmp_path, force):
    (tmp_path / "link.png").symlink_to(trace)
    before = content_of(tmp_path)
    for out in ("X.sqlite", "./X.sqlite", "link.png", "X.sqlite-wal"):
        for words in commands(out):
            if out.endswith("-wal") and words[0] == "shot" and not force:
                continue
            done = run([*words, *force], tmp_path)
            assert (done.returncode, done.stdout) == (1, b"")
            assert done.stderr.count(b"\n") == 1
            assert done.stderr.startswith(f"lightbox: {Path(out)} is the trace".encode())
            assert b"--force" in done.stderr
    assert content_of(tmp_path) == before


def test_a_path_is_printed_with_what_is_invisible_in_it_escaped(trace, tmp_path):
    out = "x\x1b[31m\u202ered\udcff.html"
    done = run(["report", "X.sqlite", "--html", out], tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "x\\x1b[31m\\u202ered\\udcff.html\n"
    assert (tmp_path / out).stat().st_size


def test_a_file_of_another_kind_is_replaced_only_by_force(trace, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_bytes(b"notes\n")
    notes.chmod(0o640)
    outs = [*commands("notes.txt"), ["demo", "--iterations", "1", "--out", "notes.txt"]]
    for words, magic in zip(outs, (b"<!DOCTYPE html>", b"\x89PNG", b"SQLite format 3"), strict=True):
        before = content_of(tmp_path)
        done = run(words, tmp_path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.count(b"\n") == 1
        assert b"notes.txt" in done.stderr
        assert b"--force" in done.stderr
        assert content_of(tmp_path) == before
        done = run([*words, "--force"], tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"notes.txt\n", b"")
        assert notes.read_bytes().startswith(magic)
        assert stat.S_IMODE(notes.stat().st_mode) == 0o640


def test_its_own_kind_is_replaced(trace, tmp_path):
    for words in (
        ["report", "X.sqlite", "--html", "x.html"], ["shot", "X.sqlite", "-o", "x.pdf"],
        ["demo", "--iterations", "1", "--out", "demo.sqlite"],
    ):  # fmt: skip
        for _ in range(2):
            assert run(words, tmp_path).returncode == 0
    done = run(["report", "X.sqlite", "--html", "x.pdf"], tmp_path)
    assert done.returncode == 1
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


def test_a_dash_and_what_is_open_are_written_to(trace, tmp_path):
    page, png = commands("-")
    assert run(page, tmp_path).stdout.startswith(b"<!DOCTYPE html>")
    picture = run(png, tmp_path).stdout
    assert picture.startswith(b"\x89PNG")
    log = tmp_path / "log"
    log.write_bytes(b"before")
    with log.open("ab") as end:
        assert run(commands("/dev/stdout")[1], tmp_path, stdout=end).returncode == 0
    assert log.read_bytes() == b"before" + picture
    assert run(["demo", "--iterations", "1", "--out", "-"], tmp_path).stdout.startswith(b"SQLite format 3")
    assert not (tmp_path / "-").exists()
    with trace.open("ab") as end:
        done = run(page, tmp_path, stdout=end)
    assert done.returncode == 1
    assert b"is the trace" in done.stderr


def test_a_pipe_stays_a_pipe(trace, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Into a file: a picture that does not fit into a second pipe would be waited for by nobody.
    with (tmp_path / "read").open("wb") as read:
        reader = subprocess.Popen(["cat", str(pipe)], stdout=read)
        done = run(["shot", "X.sqlite", "-o", "pipe"], tmp_path)
        assert reader.wait() == 0
    assert (done.returncode, done.stdout) == (0, b"")
    assert (tmp_path / "read").read_bytes().startswith(b"\x89PNG")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "words", [*commands("/dev/full"), ["demo", "--iterations", "1", "--out", "/dev/full"]]
)
def test_a_full_disk_is_one_line(trace, tmp_path, words):
    done = run(words, tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"lightbox: /dev/full: No space left on device\n"


def test_a_demo_that_finds_no_room_leaves_nothing(tmp_path):
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); "
        "from viewer.cli import main; sys.exit(main(['demo', '--iterations', '1', '--out', 'x.sqlite']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(b"lightbox: x.sqlite: ")
    assert done.stderr.count(b"\n") == 1
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []
