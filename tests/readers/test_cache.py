"""The store of parsed traces: used, never trusted, never in the way."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.readers.exports import KERNELS, kernel
from viewer.readers import cache, read, stored
from viewer.trace import Kind


def same(one, other):
    """Say whether two traces hold the same."""
    for kind in Kind:
        a, b = one.events[kind], other.events[kind]
        arrays = [
            (a.start_ns, b.start_ns),
            (a.end_ns, b.end_ns),
            (a.name_id, b.name_id),
            (a.offsets, b.offsets),
        ]
        assert list(a.columns) == list(b.columns) or set(a.columns) == set(b.columns)
        arrays += [(column, b.columns[name]) for name, column in a.columns.items()]
        for left, right in arrays:
            assert left.dtype == right.dtype
            assert np.array_equal(left, right)
    assert one.diagnostics.equals(other.diagnostics)
    assert one.names.array.equals(other.names.array)
    facts = ("session", "processes", "gpus", "streams", "threads", "tracks", "notes", "path")
    return all(getattr(one, f) == getattr(other, f) for f in facts) and dict(one.counts) == dict(other.counts)


@pytest.fixture
def file(small):
    return small()


def parse_of(file):
    [parse] = cache.Entry.of(file).folder.glob("parse-*")
    return parse


@pytest.mark.parametrize("name", ["pytorch-a100-nvtx", "torchrun-2xh100-nccl", "nothing-recorded-2026"])
def test_the_second_opening_is_the_same_trace(shared_trace, name, monkeypatch):
    file = shared_trace(name)
    fresh = read(file, cache=False)
    read(file)

    def fail(*arguments):
        raise AssertionError("the file was read again")

    monkeypatch.setattr("viewer.readers.build", fail)
    again = read(file)
    assert same(fresh, again)
    if len(again.kernels):
        row = int(again.kernels.columns["file_row"][0])
        assert again.source.row(Kind.KERNEL, row) == fresh.source.row(Kind.KERNEL, row)


def test_what_is_read_first_lies_in_the_store_already(file):
    whole = read(file)
    assert same(cache.Entry.of(file).load(file), whole)
    assert not whole.kernels.start_ns.flags.writeable


def test_a_table_that_is_stored_again_leaves_what_is_mapped_as_it_was(file, tmp_path):
    events = read(file, cache=False).kernels
    writer = stored.Writer(tmp_path)
    first = writer.put(events)
    later = writer.put(replace(events, start_ns=events.start_ns + 7))
    assert first.start_ns.tolist() == events.start_ns.tolist()
    assert later.start_ns.tolist() == (events.start_ns + 7).tolist()


def test_a_changed_file_is_read_again(file, small):
    read(file)
    file.unlink()
    small({KERNELS: [kernel(), kernel(start=5000, end=6000)]})
    assert len(read(file).kernels) == 2
    os.utime(file, ns=(0, 0))
    assert cache.Entry.of(file).load(file) is None


def test_what_is_read_of_a_file_that_changes_meanwhile_is_not_kept_as_what_it_was(file):
    before, facts = file.read_bytes(), file.stat()

    def change(what, share):
        if what == "Reading kernels":
            with sqlite3.connect(file) as connection:
                connection.execute(f"UPDATE {KERNELS} SET start = 1500")

    assert read(file, change).kernels.start_ns.tolist() == [1500]
    file.write_bytes(before)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert read(file).kernels.start_ns.tolist() == [1000]


@pytest.mark.parametrize("victim", ["kernel.arrow", "names.arrow", "trace.json", "diagnostics.arrow"])
@pytest.mark.parametrize("how", ["cut", "empty", "gone", "junk"])
def test_a_damaged_store_is_made_again(file, victim, how):
    whole = read(file)
    target = parse_of(file) / victim
    content = target.read_bytes()
    target.unlink()
    if how != "gone":
        target.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "junk": b"\xff" * 100}[how])
    assert same(read(file), whole)
    assert cache.Entry.of(file).load(file) is not None


def test_another_version_is_ignored(file, monkeypatch):
    read(file)
    monkeypatch.setattr(cache, "_PARSE", f"parse-{stored.VERSION + 1}")
    assert cache.Entry.of(file).load(file) is None
    assert len(read(file).kernels) == 1


@pytest.mark.parametrize("tables", range(12))
def test_a_full_disk_is_no_obstacle(file, monkeypatch, tables):
    written = []

    def full(target, table):
        if len(written) == tables:
            target.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        written.append(target)
        write(target, table)

    write = stored._write
    monkeypatch.setattr(stored, "_write", full)
    assert same(read(file), read(file, cache=False))
    assert list(cache.Entry.of(file).folder.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_no_obstacle(file, tmp_path, monkeypatch):
    (tmp_path / "not-a-folder").write_text("")
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "not-a-folder" / "cache"))
    assert len(read(file).kernels) == 1


def test_a_disk_that_is_full_for_one_table_is_full_for_those_beside_it(file, monkeypatch):
    """Two tables are put at once; while one of them begins, the other one fails."""
    events = read(file, cache=False).kernels
    with cache.Storing(cache.Entry.of(file)) as storing:

        class Elsewhere:
            def __bool__(self):
                storing._writer = None
                return False

        monkeypatch.setattr(cache, "_MAPPED_FILES_STAY", Elsewhere())
        assert storing.keep(events).start_ns.tolist() == [1000]
        assert not storing.finish(read(file, cache=False))


def test_a_store_that_cannot_be_written_to_is_read_from(file, monkeypatch):
    whole = read(file)

    def refuse(*arguments, **more):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert same(cache.Entry.of(file).load(file), whole)


def test_what_cannot_be_removed_is_not_said_to_be(file, monkeypatch):
    read(file)
    monkeypatch.setattr(shutil, "rmtree", lambda *arguments, **more: None)
    assert cache.clear() == 0


def test_a_store_that_goes_away_while_it_is_looked_at_is_empty(file, monkeypatch):
    """Another program clears it between two steps of this one."""
    read(file)
    iterdir = Path.iterdir

    def gone(folder):
        shutil.rmtree(folder)
        return iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", gone)
    assert cache.entries() == []


def test_without_cache_nothing_is_stored(file):
    read(file, cache=False)
    assert cache.entries() == []


def test_entries_are_pruned_by_age_and_size(small):
    files = [small(name=f"{name}.sqlite") for name in "abc"]
    for age, one in enumerate(files):
        read(one)
        used = time.time() - age * 86_400
        os.utime(cache.Entry.of(one).folder, (used, used))
    folders = [cache.Entry.of(one).folder for one in files]
    assert [entry.folder for entry in cache.entries()] == folders
    size = cache.entries()[0].size_bytes
    cache.prune(keep=folders[2], largest_bytes=int(size * 1.5))
    assert [folder.exists() for folder in folders] == [True, False, True]
    old = time.time() - 31 * 86_400
    os.utime(folders[0], (old, old))
    cache.prune(keep=folders[2])
    assert [folder.exists() for folder in folders] == [False, False, True]


def test_leftovers_of_a_crash_go_after_a_day(file):
    read(file)
    folder = cache.Entry.of(file).folder
    for name, age_s in (("part-old", 100_000), ("part-new", 10), ("parse-0", 100_000)):
        (folder / name).mkdir()
        os.utime(folder / name, (time.time() - age_s,) * 2)
    cache.prune(keep=folder)
    assert sorted(p.name for p in folder.iterdir()) == [f"parse-{stored.VERSION}", "part-new"]


def test_clear_removes_everything(file):
    read(file)
    assert cache.clear() > 0
    assert cache.entries() == []


def test_a_trace_whose_file_went_away_still_shows(file):
    read(file)
    trace = read(file)
    shutil.rmtree(file.parent)
    assert trace.source.row(Kind.KERNEL, 1) == {}
    assert trace.source.column(Kind.KERNEL, "gridX", np.array([1])) is None
    assert trace.kernels.start_ns.tolist() == [1000]


def test_an_entry_tells_its_trace(file):
    read(file)
    [entry] = cache.entries()
    assert entry.trace == str(file)


def test_the_limit_is_kept_and_removes_what_is_too_much(small):
    for name in "ab":
        read(small(name=f"{name}.sqlite"))
    assert cache.limit() == 20 * 2**30
    cache.set_limit(cache.entries()[0].size_bytes + 10)
    assert len(cache.entries()) == 1
    assert len(read(small(name="c.sqlite")).kernels) == 1
    assert [entry.trace[-8:] for entry in cache.entries()] == ["c.sqlite"]


def test_two_programs_store_the_same_trace_at_once(file):
    """Each writes its own folder and renames it; whoever comes last finds the place taken, or takes it."""
    trace = read(file, cache=False)
    entry = cache.Entry.of(file)
    threads = [threading.Thread(target=entry.save, args=(trace,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(entry.load(file), trace)
    assert [p.name for p in entry.folder.iterdir()] == [f"parse-{stored.VERSION}"]


def test_a_writer_that_is_killed_leaves_no_trace_behind(file):
    """What it had written has another name until it is whole."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from viewer.readers import read, stored\n"
        "write = stored._write\n"
        "def die(file, table):\n"
        "    write(file, table)\n"
        "    os.kill(os.getpid(), 9)\n"
        "stored._write = die\n"
        "read(Path(sys.argv[1]))\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    entry = cache.Entry.of(file)
    assert [p.name[:5] for p in entry.folder.iterdir()] == ["part-"]
    assert entry.load(file) is None
    assert len(read(file).kernels) == 1
    assert entry.load(file) is not None


def test_a_trace_that_is_shown_survives_the_clearing_of_the_store(file):
    read(file)
    shown = read(file)
    cache.clear()
    assert shown.kernels.start_ns.tolist() == [1000]
