"""Files that cannot be read are refused in one line that says what to do, and are left alone."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readers import exports
from viewer.readers import Cancelled, ReadError, read, sniff
from viewer.readers.sniff import Container


@pytest.fixture
def data(tmp_path):
    """An empty folder."""
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    return folder


def refused(path, *words):
    """Read a file that must be refused in one line with these words; its folder stays as it is."""
    before = exports.listing(path.parent)
    with pytest.raises(ReadError) as refusal:
        read(path)
    message = str(refusal.value)
    assert "\n" not in message
    assert len(message) < 400
    for word in words:
        assert word in message
    assert exports.listing(path.parent) == before
    return message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"just some words\nand a second line\n", ("text file", "nsys export")),
        (b"", ("empty", "again")),
        (b"SQLite format 3\0", ("cut off", "again")),
        (b'{"traceEvents": []}', ("Chrome trace", "nsys profile")),
        (b"\x1f\x8b\x08\0\0\0", ("gzip", "unpack")),
        (b"\x89HDF\r\n\x1a\n\0\0", ("HDF5", "--type sqlite")),
        (b"U3w[END]NVIDIA Nsight Systems Stream 2022.4.2.1-df9881f", (".qdstrm", "QdstrmImporter")),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", ("LFS", "git lfs pull")),
        (bytes(range(256)) * 10, ("not an Nsight Systems trace", "nsys export")),
    ],
)
def test_a_file_that_is_no_trace(data, content, words):
    file = data / "job.nsys-rep"
    file.write_bytes(content)
    refused(file, "job.nsys-rep", *words)


def test_a_missing_file(data):
    refused(data / "absent.sqlite", "absent.sqlite", "does not exist")
    assert list(data.iterdir()) == []


def test_a_folder_without_an_export(data):
    (data / "folder").mkdir()
    (data / "folder" / "notes.txt").write_text("hello")
    refused(data / "folder", "folder", "without an export")


def test_a_folder_of_someone_elses_parquet(data):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (data / "folder").mkdir()
    pq.write_table(pa.table({"a": [1]}), data / "folder" / "part-0.parquet")
    refused(data / "folder", "no tables of Nsight Systems")


def test_someone_elses_database(data):
    file = exports.write(data / "cookies.sqlite", {"cookies": [{"host": 1}]})
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE StringIds")
    connection.close()
    refused(file, "cookies.sqlite", "no tables of Nsight Systems")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.95])
def test_a_truncated_export(shared_trace, data, kept):
    whole = shared_trace("power-iteration-t4").read_bytes()
    file = data / "cut.sqlite"
    file.write_bytes(whole[: int(len(whole) * kept)])
    refused(file, "cut.sqlite", "cut off", "again")


@pytest.mark.parametrize("page_size", [512, 4096, 32_768, 65_536])
def test_a_cut_file_is_recognised_by_its_pages_of_any_size(data, page_size):
    file = data / "trace.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    connection.close()
    content = file.read_bytes()
    assert sniff(file).container is Container.SQLITE
    file.write_bytes(content[:-1])
    refused(file, "cut off", f"{len(content) - 1:,} of {len(content):,} bytes")


def test_a_damaged_export(small):
    file = small()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    refused(file, "damaged", "export the report again")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(small):
    file = small()
    file.chmod(0)
    refused(file, "may not be read", "chmod")


def test_a_refusal_of_permission_says_what_to_do(small, monkeypatch):
    file = small()

    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ReadError, match=r"trace\.sqlite may not be read.*chmod"):
        read(file)


def test_a_locked_file(small):
    file = small()
    hold = "c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE'); print(1, flush=True)"
    command = [sys.executable, "-c", f"import sqlite3, sys; {hold}; sys.stdin.read()", file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"1\n"
        with pytest.raises(ReadError, match="locked by another program"):
            read(file)
        other.communicate(b"")
    assert len(read(file).kernels) == 1


ODD = [
    "two words",
    "a#b",
    "who?",
    "50%",
    "100%20",
    "漢字",
    "a&b;c",
    "quote'\"",
    "back\\slash",
    b"caf\xe9 \xff",
]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("of", ["folder", "file"])
def test_an_odd_path(tmp_path, name, of):
    odd = os.fsdecode(name)
    folder = tmp_path / odd if of == "folder" else tmp_path / "data"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    file = folder / (odd if of == "file" else "trace.sqlite")
    exports.write(tmp_path / "plain.sqlite", {exports.KERNELS: [exports.kernel()]})
    (tmp_path / "plain.sqlite").rename(file)
    before = exports.listing(folder)
    for _ in range(2):
        trace = read(file)
        assert len(trace.kernels) == 1
        assert trace.source.row("kernel", 1)["registersPerThread"] == 32
    assert exports.listing(folder) == before


def test_an_odd_path_that_is_refused_can_be_printed(data):
    file = data / os.fsdecode(b"caf\xe9.sqlite")
    file.write_text("words")
    refused(file, "caf").encode()


def wal_mode(path):
    """Put a file into WAL mode and close it cleanly, which leaves nothing beside it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return path


def test_a_wal_file_gets_nothing_beside_it(small):
    file = wal_mode(small())
    assert file.read_bytes()[18:20] == b"\x02\x02"
    before = exports.listing(file.parent)
    trace = read(file)
    assert len(trace.kernels) == 1
    assert trace.source.row("kernel", 1)["start"] == 1000
    assert exports.listing(file.parent) == before


def test_a_wal_beside_the_file_is_read_and_left_alone(small, data):
    file = wal_mode(small())
    writer = sqlite3.connect(file)
    row = exports.kernel(start=7000, end=8000)
    stream_gaps = ", ".join("?" * len(row))
    writer.execute(f"INSERT INTO {exports.KERNELS} VALUES ({stream_gaps})", list(row.values()))
    writer.commit()
    crashed = data.parent / "crashed"
    crashed.mkdir()
    for name in (file.name, file.name + "-wal"):
        (crashed / name).write_bytes((data / name).read_bytes())
    writer.close()
    before = exports.listing(crashed)
    assert read(crashed / file.name).kernels.start_ns.tolist() == [1000, 7000]
    assert exports.listing(crashed) == before


def test_a_read_only_folder_is_enough(small):
    file = small()
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        assert len(read(file).kernels) == 1
    finally:
        file.parent.chmod(0o755)


def test_cancelling_ends_the_work(small):
    with pytest.raises(Cancelled):
        read(small(), cancelled=lambda: True)


def test_progress_goes_forward(small):
    heard = []
    read(small(), progress=lambda what, done: heard.append((what, done)))
    fractions = [done for _, done in heard]
    assert fractions == sorted(fractions)
    assert all(0 <= done <= 1 for done in fractions)
    assert any("kernels" in what for what, _ in heard)


def test_what_a_file_is_comes_from_its_content(small):
    assert sniff(small(name="job.nsys-rep")).container is Container.SQLITE
    assert len(read(small(name="other.qdrep")).kernels) == 1
