"""What a file says is not trusted: views, sizes, rows without end; and what hangs is left behind."""

import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.conftest import PATIENCE_S, ROOT
from tests.readers import exports
from tests.readers.exports import CALLS, KERNELS
from viewer.readers import Cancelled, ReadError, file_thread, read, sqlite_copy, subprocess_run
from viewer.readers.arrow_columns import NotHeldError, as_texts_of
from viewer.readers.sqlite import SqliteTables

LOOP = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r)"
COPIES = ", ".join(f"kept k{number}" for number in range(12))


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A temporary folder of the test's own."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def viewed(path, table, select):
    """Put a view in a table's place; the table is called `kept` then."""
    with sqlite3.connect(path) as connection:
        connection.execute(f'ALTER TABLE "{table}" RENAME TO kept')
        connection.execute(f'CREATE VIEW "{table}" AS {select}')
    connection.close()
    return path


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (f"{LOOP} SELECT k.* FROM kept k, r", "recursive"),
        (f"SELECT k0.* FROM {COPIES}", "gives too much"),
        (f"SELECT k0.* FROM {COPIES} WHERE k0.start + k11.start < 0", "takes too long"),
        ("SELECT zeroblob(900000000) AS start FROM kept", "gives too much"),
        ("SELECT gone FROM kept", "no such column"),
        (f'SELECT * FROM "{KERNELS}"', "circularly"),
    ],
)
def test_a_view_that_is_no_table(small, scratch, monkeypatch, view, why):
    monkeypatch.setattr(sqlite_copy, "_LEAST_S", 0.5 if why == "takes too long" else 600)
    monkeypatch.setattr(sqlite_copy, "_LEAST_BYTES", 2**20)
    file = viewed(small({KERNELS: [exports.kernel()] * 30}), KERNELS, view)
    before = exports.listing(file.parent)
    with pytest.raises(ReadError, match=why) as refusal:
        read(file)
    assert KERNELS in str(refusal.value) or why == "circularly"
    assert "\n" not in str(refusal.value)
    assert exports.listing(file.parent) == before
    assert list(scratch.iterdir()) == []


def test_a_view_that_is_a_table_is_read_and_nothing_is_left(small, scratch):
    file = viewed(small(), KERNELS, "SELECT * FROM kept WHERE start > 0 ORDER BY start")
    trace = read(file)
    assert len(trace.kernels) == 1
    assert trace.source.row("kernel", 1)["registersPerThread"] == 32
    trace.source.close()
    assert list(scratch.iterdir()) == []


def test_copying_a_view_can_be_cancelled(small, scratch):
    file = viewed(small({KERNELS: [exports.kernel()] * 30}), KERNELS,
                  f"SELECT k0.* FROM {COPIES} WHERE k0.start + k11.start < 0")  # fmt: skip
    asked = []

    def cancelled():
        asked.append(time.monotonic())
        return len(asked) > 3

    with pytest.raises(Cancelled):
        read(file, cancelled=cancelled)
    assert list(scratch.iterdir()) == []


def test_a_virtual_table_is_not_read_and_named(small):
    file = small()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE VIRTUAL TABLE GPU_METRICS USING fts5(start)")
    connection.close()
    trace = read(file)
    assert len(trace.kernels) == 1
    assert any("GPU_METRICS" in note and "virtual" in note for note in trace.notes)


def test_a_table_that_goes_round_in_circles(small):
    """Pages that name others again give rows without end, of ids that come again."""
    file = small({KERNELS: [exports.kernel(start=i, end=i + 1) for i in range(2000)]})
    content = bytearray(file.read_bytes())
    with sqlite3.connect(file) as connection:
        [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (KERNELS,))
    connection.close()
    at = (root - 1) * 4096
    assert content[at] == 5  # an inner page
    cells = int.from_bytes(content[at + 3 : at + 5], "big")
    first = int.from_bytes(content[at + 12 : at + 14], "big")
    child = content[at + first : at + first + 4]
    for cell in range(cells):
        place = int.from_bytes(content[at + 12 + 2 * cell : at + 14 + 2 * cell], "big")
        content[at + place : at + place + 4] = child
    file.write_bytes(content)
    with pytest.raises(ReadError, match=r"damaged.*more rows than fit in"):
        read(file)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    place = tmp_path / "trace.sqlite"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as held:
            held.bind(str(place))
    else:
        place = Path("/dev/zero")
    with pytest.raises(ReadError, match="no regular file"):
        read(place)


def test_a_pipe_in_a_folder(tmp_path):
    os.mkfifo(tmp_path / "StringIds.parquet")
    with pytest.raises(ReadError, match="no regular file"):
        read(tmp_path)


def test_a_file_that_does_not_answer_can_be_cancelled(small, monkeypatch):
    monkeypatch.setattr(file_thread, "GRACE_S", 0.05)
    answer = threading.Event()
    monkeypatch.setattr(SqliteTables, "integers", lambda *_: answer.wait())
    with pytest.raises(Cancelled):
        read(small(), cancelled=lambda: True)
    answer.set()


HUNG = """
import sys, threading
from viewer.cli import main
from viewer.readers import sqlite
def hang(*_):
    print("hangs", file=sys.stderr, flush=True)
    threading.Event().wait()
sqlite.SqliteTables.integers = hang
sys.exit(main(["report", sys.argv[1]]))
"""


def test_ctrl_c_ends_a_command_whose_file_does_not_answer(small, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    file = viewed(small(), CALLS, "SELECT * FROM kept")
    command = [sys.executable, "-c", HUNG, file]
    environment = os.environ | {"TMPDIR": str(scratch)}
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr.readline() == "hangs\n"
        assert list(scratch.iterdir()) != []
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert (process.returncode, said) == (130, "")
    assert list(scratch.iterdir()) == []


def test_questions_to_a_file_that_does_not_answer_have_none(small, monkeypatch):
    trace = read(small())
    assert trace.source.row("kernel", 1)
    monkeypatch.setattr(file_thread, "GRACE_S", 0.05)
    monkeypatch.setattr("viewer.readers.source._PATIENCE_S", 0.05)
    answer = threading.Event()
    monkeypatch.setattr(SqliteTables, "row", lambda *_: answer.wait())
    assert trace.source.row("kernel", 1) == {}
    monkeypatch.undo()
    assert trace.source.row("kernel", 1) == {}
    answer.set()


def test_a_program_is_killed_with_all_that_it_started(tmp_path):
    child = tmp_path / "child"
    script = tmp_path / "nsys"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {child}\nwait\n")
    script.chmod(0o755)
    with pytest.raises(Cancelled):
        subprocess_run.talk(
            [str(script)], tmp_path, lambda _: None, lambda: child.exists() and child.read_text()
        )
    try:
        ended = os.pidfd_open(int(child.read_text()))
    except ProcessLookupError:
        return
    assert select.select([ended], [], [], PATIENCE_S)[0]
    os.close(ended)


def test_a_program_whose_child_holds_the_pipe_open_ends(tmp_path):
    script = tmp_path / "nsys"
    script.write_text("#!/bin/sh\necho done\nsleep 1000 &\nexit 3\n")
    script.chmod(0o755)
    heard = []
    assert subprocess_run.talk([str(script)], tmp_path, heard.append, None) == 3
    assert heard == [b"done\n"]


def test_a_text_repeated_without_end_is_refused():
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), pa.array([b"x" * 4000]))
    assert len(as_texts_of(texts, 4_000_000)) == 1000
    with pytest.raises(NotHeldError, match="too often"):
        as_texts_of(texts, 3_999_999)


def test_more_rows_than_a_file_can_hold(tmp_path):
    table = pa.table({"start": pa.nulls(10**9)})
    with pa.ipc.new_file(tmp_path / f"{KERNELS}.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ReadError, match="1,000,000,000 rows"):
        read(tmp_path)


def test_offsets_that_point_elsewhere_are_not_followed(tmp_path):
    table = pa.table({"id": [1, 2, 3], "value": ["abcd"] * 3})
    file = tmp_path / "StringIds.arrow"
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    offsets = b"".join(at.to_bytes(4, "little") for at in (0, 4, 8, 12))
    content = file.read_bytes()
    assert content.count(offsets) == 1
    file.write_bytes(content.replace(offsets, offsets[:8] + (1 << 30).to_bytes(4, "little") + offsets[12:]))
    with pytest.raises(ReadError, match=r"StringIds\.arrow is damaged.*[Oo]ffset"):
        read(tmp_path)


def test_bytes_that_are_no_text(tmp_path):
    """Names that a program gave may hold any bytes; what nsys says itself is text, or damaged."""
    broken = pa.array([b"caf\xe9"], pa.binary()).view(pa.string())
    for table, column in (("StringIds", "id"), ("META_DATA_CAPTURE", "name")):
        first = pa.array([1]) if column == "id" else pa.array(["x"])
        schema = pa.schema([(column, first.type), ("value", pa.string())])
        with pa.ipc.new_file(tmp_path / f"{table}.arrow", schema) as w:
            w.write_table(pa.table({column: first, "value": broken}))
        if table == "StringIds":
            read(tmp_path, cache=False)
    with pytest.raises(ReadError, match=r"META_DATA_CAPTURE.*UTF8"):
        read(tmp_path, cache=False)
