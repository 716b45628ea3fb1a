"""What is stored of traces: whatever happens to it, the numbers are those of the file."""

import hashlib
import os
import random as randoms
import shutil
from pathlib import Path
from unittest import mock

from tests.fuzz import damage
from tests.readers import exports
from viewer.readers import cache, nsys, read
from viewer.trace import Kind

REPORT = b"NVIDIA Tegra Profiler Report 1.\n"
NSYS = """#!/bin/sh
case "$*" in
*--version*) echo "NVIDIA Nsight Systems version 2025.1.1.9" ;;
*parquetdir*) exit 1 ;;
*) /bin/cp {export} export.sqlite ;;
esac
"""


def prepare(originals):
    for name, rows in (("one", 400), ("other", 400), ("third", 90)):
        _export(originals / f"{name}.sqlite", rows, name)
    tool = originals / "bin" / "nsys"
    tool.parent.mkdir()
    tool.write_text(NSYS.format(export=originals / "one.sqlite"))
    tool.chmod(0o755)


def attempt(seed, originals, folder):
    random = randoms.Random(f"store {seed}")
    trace, other = folder / "trace.nsys-rep", folder / "other.sqlite"
    if random.random() < 0.5:
        trace = folder / "trace.sqlite"
        shutil.copyfile(originals / "one.sqlite", trace)
    else:
        trace.write_bytes(REPORT + random.randbytes(2000))
    shutil.copyfile(originals / random.choice(("other.sqlite", "third.sqlite")), other)
    tool = str(originals / "bin")
    with mock.patch.object(nsys, "_KNOWN_FOLDERS", ()), mock.patch.dict(os.environ, PATH=tool):
        fresh = _digest(read(trace, cache=False))
        read(other)
        read(trace)
        shown = read(trace)
        folders = [cache.CacheEntry.of(path).folder for path in (trace, other)]
        how = random.choice(ALL)
        how(random, *folders)
        for which in ("damaged", "made again"):
            if _digest(read(trace)) != fresh:
                return f"other numbers from what was {which}: {how.__name__}"
        if _digest(shown) != fresh:
            return f"what was shown has changed: {how.__name__}"
    return ""


def _export(file, rows, seed):
    random = randoms.Random(seed)
    starts = sorted(random.randrange(10**9) for _ in range(rows))
    texts = {i: f"void kernel_{i}<{seed}>(int)" for i in range(1, 30)}
    kernels = [
        exports.kernel(
            start=start,
            end=start + random.randrange(10**6),
            correlationId=i + 1,
            streamId=random.choice((7, 9)),
            demangledName=random.randrange(1, 30),
            registersPerThread=random.randrange(255),
        )
        for i, start in enumerate(starts)
    ]
    calls = [
        exports.call(start=start - 5000, end=start - 1, correlationId=i + 1, nameId=random.randrange(1, 30))
        for i, start in enumerate(starts)
    ]
    ranges = [exports.nvtx(start=10 * i, end=10 * i + 9, text=f"step {i}") for i in range(rows // 4)]
    tables = {exports.KERNELS: kernels, exports.CALLS: calls, exports.NVTX: ranges}
    exports.write(file, tables, texts)


def _digest(trace):
    """Return a digest of every number and text of a trace, and of what is fetched from its file."""
    found = hashlib.sha256()
    for kind in Kind:
        events = trace.events[kind]
        columns = {"start": events.start_ns, "end": events.end_ns, "name": events.name_id}
        columns |= {"offsets": events.offsets, **events.columns}
        for name in sorted(columns):
            found.update(f"{kind} {name} {columns[name].dtype} {len(columns[name])}".encode())
            found.update(columns[name].tobytes())
    for what in ("session", "processes", "gpus", "streams", "threads", "tracks", "notes", "path"):
        value = getattr(trace, what)
        found.update(repr((value, sorted(value.recorded)) if what == "session" else value).encode())
    found.update(repr((trace.names.array.to_pylist(), sorted(trace.counts.items()))).encode())
    found.update(trace.diagnostics.to_csv().encode())
    rows = trace.kernels.columns["file_row"]
    found.update(trace.source.column(Kind.KERNEL, "registersPerThread", rows).tobytes())
    for row in rows[:: max(len(rows) // 5, 1)].tolist():
        found.update(repr(sorted(trace.source.row(Kind.KERNEL, row).items())).encode())
    return found.hexdigest()


def _files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _replaced(file, content):
    """Put another file in a file's place, with its times: what has the old one mapped keeps it."""
    facts = file.stat()
    file.unlink()
    file.write_bytes(content)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def bytes_of_a_file(random, entry, other):
    """Flip, overwrite, move, cut: see `damage`."""
    file = random.choice(_files(entry))
    content = bytearray(file.read_bytes())
    for _ in range(random.choice((1, 1, 2))):
        random.choice(damage.ALL)(random, content)
        if not content:
            break
    _replaced(file, content)


def one_bit(random, entry, other):
    file = random.choice(_files(entry))
    content = bytearray(file.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    _replaced(file, content)


def longer(random, entry, other):
    file = random.choice(_files(entry))
    more = random.choice((1, 8, 4096))
    _replaced(file, file.read_bytes() + random.choice((bytes(more), random.randbytes(more))))


def empty(random, entry, other):
    _replaced(random.choice(_files(entry)), b"")


def hole(random, entry, other):
    """Zeros from somewhere to the end, as of a disk that lost its power."""
    file = random.choice(_files(entry))
    content = file.read_bytes()
    kept = random.randrange(len(content))
    _replaced(file, content[:kept] + bytes(len(content) - kept))


def pages_swapped(random, entry, other):
    file = random.choice(_files(entry))
    content = bytearray(file.read_bytes())
    size = random.choice((8, 64, 512))
    one, two = (random.randrange(max(len(content) // size, 1)) * size for _ in "ab")
    first, second = bytes(content[one : one + size]), bytes(content[two : two + size])
    if len(first) == len(second):
        content[one : one + size], content[two : two + size] = second, first
    _replaced(file, content)


def files_swapped(random, entry, other):
    one, two = random.sample(_files(entry), 2)
    first, second = one.read_bytes(), two.read_bytes()
    _replaced(one, second)
    _replaced(two, first)


def file_of_another(random, entry, other):
    file = random.choice(_files(other))
    target = entry / file.relative_to(other)
    if target.exists():
        _replaced(target, file.read_bytes())


def all_files_of_another(random, entry, other):
    """All but the list of a folder, or with it."""
    for file in _files(other):
        target = entry / file.relative_to(other)
        if target.exists() and (random.random() < 0.9):
            _replaced(target, file.read_bytes())


def folder_of_another(random, entry, other):
    target = random.choice(sorted(entry.iterdir()))
    source = random.choice([*other.iterdir(), *entry.iterdir()])
    if source != target:
        content = shutil.copytree(source, entry / "copy")
        shutil.rmtree(target)
        content.rename(target)


def entry_of_another(random, entry, other):
    shutil.rmtree(entry)
    shutil.copytree(other, entry)


def gone(random, entry, other):
    """A file, a folder, the entry, the whole store."""
    victim = random.choice([*_files(entry), *entry.iterdir(), entry, entry.parent])
    (shutil.rmtree if victim.is_dir() else os.unlink)(victim)


def something_else(random, entry, other):
    """A folder, a pipe, a link to nowhere or to another file in a file's or folder's place."""
    victim = random.choice([*_files(entry), *entry.iterdir()])
    (shutil.rmtree if victim.is_dir() else os.unlink)(victim)
    make = random.choice(
        (
            Path.mkdir,
            os.mkfifo,
            Path.touch,
            lambda path: path.symlink_to("nowhere"),
            lambda path: path.symlink_to(random.choice(_files(other))),
        )
    )
    make(victim)


def one_more(random, entry, other):
    """A file that nobody wrote: a table of an export, the log of a database."""
    source = random.choice([*_files(other), *_files(entry)])
    beside = random.choice(_files(entry))
    names = ("AAA.parquet", "a.sqlite", "x.arrow", f"{beside.name}-wal", f"{beside.name}-journal")
    shutil.copyfile(source, beside.with_name(random.choice(names)))


def unreadable(random, entry, other):
    victim = random.choice([*_files(entry), *entry.iterdir()])
    victim.chmod(random.choice((0o000, 0o200, 0o777)))


def half_written(random, entry, other):
    """What a program that was killed leaves."""
    parse = random.choice(sorted(entry.iterdir()))
    part = entry / "part-killed"
    parse.rename(part)
    for file in _files(part):
        if random.random() < 0.3:
            file.unlink()
    if random.random() < 0.5:
        part.rename(parse)


ALL = (
    bytes_of_a_file, bytes_of_a_file, bytes_of_a_file, one_bit, one_bit, longer, empty, hole, pages_swapped,
    files_swapped, file_of_another, all_files_of_another, folder_of_another, entry_of_another, gone,
    something_else, one_more, unreadable, half_written,
)  # fmt: skip
