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

from tests.readers.exports import CALLS, KERNELS, call, kernel
from viewer.readers import Cancelled, cache, cache_format, checksums, read
from viewer.trace import Kind
from viewer.trace.event_records import COLUMNS


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
    for name in COLUMNS:
        left, right = (getattr(trace.event_records, name) for trace in (one, other))
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    return all(getattr(one, f) == getattr(other, f) for f in facts) and dict(one.counts) == dict(other.counts)


@pytest.fixture
def file(small):
    return small()


def parse_of(file):
    [parse] = cache.CacheEntry.of(file).folder.glob("parse-*")
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
    assert same(cache.CacheEntry.of(file).load(file), whole)
    assert not whole.kernels.start_ns.flags.writeable


def test_a_table_that_is_stored_again_leaves_what_is_mapped_as_it_was(file, tmp_path):
    events = read(file, cache=False).kernels
    writer = cache_format.CacheWriter(tmp_path)
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
    assert cache.CacheEntry.of(file).load(file) is None


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


def test_another_file_of_the_same_size_and_time_is_read_anew(file, small, tmp_path):
    read(file)
    facts = file.stat()
    other = small({KERNELS: [kernel(start=1500)], CALLS: [call()]}, name="other.sqlite")
    assert other.stat().st_size == facts.st_size
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.rename(file)
    assert read(file).kernels.start_ns.tolist() == [1500]


def test_the_files_of_a_folder_count_by_name(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.parquet").write_text(name)
        os.utime(tmp_path / f"{name}.parquet", ns=(0, 0))
    before = cache.CacheEntry.of(tmp_path)
    assert cache.CacheEntry.of(tmp_path) == before
    (tmp_path / "b.parquet").rename(tmp_path / "c.parquet")
    assert cache.CacheEntry.of(tmp_path) != before


@pytest.mark.parametrize("stored_first", [False, True])
def test_a_file_that_changed_since_answers_nothing(file, stored_first):
    """Its rows may be others by now."""
    if stored_first:
        read(file)
    trace = read(file)
    row = int(trace.kernels.columns["file_row"][0])
    assert trace.source.row(Kind.KERNEL, row)["registersPerThread"] == 32
    with sqlite3.connect(file) as connection:
        connection.execute(f"UPDATE {KERNELS} SET registersPerThread = 77")
    assert trace.source.row(Kind.KERNEL, row) == {}
    assert trace.source.column(Kind.KERNEL, "registersPerThread", np.array([row])) is None
    assert read(file).source.row(Kind.KERNEL, row)["registersPerThread"] == 77


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
    assert cache.CacheEntry.of(file).load(file) is not None


def test_another_version_is_ignored(file, monkeypatch):
    read(file)
    monkeypatch.setattr(cache, "_PARSE", f"parse-{cache_format.VERSION + 1}")
    assert cache.CacheEntry.of(file).load(file) is None
    assert len(read(file).kernels) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("victim", [".", "kernel.arrow", "trace.json", "seal.json"])
def test_nobody_waits_at_a_pipe(file, victim):
    whole = read(file)
    target = parse_of(file) / victim
    checksums.remove(target)
    os.mkfifo(target)
    assert len(cache.entries()) == 1
    assert same(read(file), whole)
    assert cache.CacheEntry.of(file).load(file) is not None


def test_one_bit_that_was_flipped_is_noticed(file):
    whole = read(file)
    target = parse_of(file) / "kernel.arrow"
    content = bytearray(target.read_bytes())
    at = content.index((1000).to_bytes(8, "little"))
    content[at] ^= 1
    target.unlink()
    target.write_bytes(content)
    assert same(read(file), whole)


def test_a_store_of_another_trace_is_no_store_of_this_one(small):
    one, other = (small({KERNELS: [kernel(start=s)]}, name=f"{s}.sqlite") for s in (1000, 1500))
    read(one)
    read(other)
    shutil.rmtree(parse_of(one))
    shutil.copytree(parse_of(other), cache.CacheEntry.of(one).folder / parse_of(other).name)
    assert read(one).kernels.start_ns.tolist() == [1000]


def test_what_is_mapped_outlives_that_it_is_made_again(file):
    read(file)
    shown = read(file)
    target = parse_of(file) / "api.arrow"
    target.unlink()
    target.write_bytes(b"damaged")
    assert same(read(file), shown)


def test_checking_can_be_cancelled(file):
    read(file)
    with pytest.raises(Cancelled):
        read(file, cancelled=lambda: True)
    assert cache.CacheEntry.of(file).load(file) is not None


def test_what_is_stored_is_readable_by_its_user_alone(file):
    """What an older version left open to all is closed, too."""
    old = cache.cache_folder() / "traces" / "old" / "export"
    old.mkdir(parents=True)
    (old / "export.sqlite").write_text("")
    for path in (old.parent.parent, old.parent, old, old / "export.sqlite"):
        path.chmod(0o777)
    before = os.umask(0)
    try:
        read(file)
    finally:
        os.umask(before)
    every = [path for path in cache.cache_folder().rglob("*") if path.lstat().st_mode & 0o077]
    assert every == []


@pytest.mark.parametrize("tables", range(12))
def test_a_full_disk_is_no_obstacle(file, monkeypatch, tables):
    written = []

    def full(target, table):
        if len(written) == tables:
            target.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        written.append(target)
        write(target, table)

    write = cache_format._write
    monkeypatch.setattr(cache_format, "_write", full)
    assert same(read(file), read(file, cache=False))
    assert list(cache.CacheEntry.of(file).folder.iterdir()) == []


def test_a_disk_that_is_full_at_the_end_is_no_obstacle(file, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checksums, "seal", full)
    assert len(read(file).kernels) == 1
    assert list(cache.CacheEntry.of(file).folder.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_no_obstacle(file, tmp_path, monkeypatch):
    (tmp_path / "not-a-folder").write_text("")
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "not-a-folder" / "cache"))
    assert len(read(file).kernels) == 1


def test_a_disk_that_is_full_for_one_table_is_full_for_those_beside_it(file, monkeypatch):
    """Two tables are put at once; while one of them begins, the other one fails."""
    events = read(file, cache=False).kernels
    with cache.Storing(cache.CacheEntry.of(file)) as storing:

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
    assert same(cache.CacheEntry.of(file).load(file), whole)


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
        os.utime(cache.CacheEntry.of(one).folder, (used, used))
    folders = [cache.CacheEntry.of(one).folder for one in files]
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
    folder = cache.CacheEntry.of(file).folder
    for name, age_s in (("part-old", 100_000), ("part-new", 10), ("parse-0", 100_000)):
        (folder / name).mkdir()
        os.utime(folder / name, (time.time() - age_s,) * 2)
    cache.prune(keep=folder)
    assert sorted(p.name for p in folder.iterdir()) == [f"parse-{cache_format.VERSION}", "part-new"]


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
    entry = cache.CacheEntry.of(file)
    threads = [threading.Thread(target=entry.save, args=(trace,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(entry.load(file), trace)
    assert [p.name for p in entry.folder.iterdir()] == [f"parse-{cache_format.VERSION}"]


def test_a_writer_that_is_killed_leaves_no_trace_behind(file):
    """What it had written has another name until it is whole."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from viewer.readers import cache_format, read\n"
        "write = cache_format._write\n"
        "def die(file, table):\n"
        "    write(file, table)\n"
        "    os.kill(os.getpid(), 9)\n"
        "cache_format._write = die\n"
        "read(Path(sys.argv[1]))\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    entry = cache.CacheEntry.of(file)
    assert [p.name[:5] for p in entry.folder.iterdir()] == ["part-"]
    assert entry.load(file) is None
    assert len(read(file).kernels) == 1
    assert entry.load(file) is not None


def test_a_trace_that_is_shown_survives_the_clearing_of_the_store(file):
    read(file)
    shown = read(file)
    cache.clear()
    assert shown.kernels.start_ns.tolist() == [1000]
