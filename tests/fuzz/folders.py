"""Exports in folders, of Parquet and Arrow files: bytes, values, types, tables in each other's place."""

import random as randoms
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz import commands, damage
from tests.fuzz.originals import copy_originals
from tests.fuzz.trial import copied

TYPES = {"INTEGER": pa.int64(), "INT": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string()}
FORMS = ("parquet", "arrow", "stream", "packed", "zstd")
READ = ("CUPTI_", "NVTX_", "OSRT_", "SCHED_", "StringIds", "TARGET_INFO", "META_DATA", "ThreadNames", "PROC")


def prepare(originals):
    sqlite = originals.parent / "sqlite"
    sqlite.mkdir()
    copy_originals(sqlite)
    for file in sqlite.iterdir():
        for form in FORMS:
            export(file, originals / f"{file.stem} {form}", form)


def export(file, folder, form):
    """Write an SQLite export's tables as one file each."""
    folder.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in found:
            columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
            if rows or form == "parquet":
                lists = list(zip(*rows, strict=True)) or [[] for _ in columns]
                arrays = {
                    column[1]: pa.array(values, TYPES.get(column[2]))
                    for column, values in zip(columns, lists, strict=True)
                }
                write(pa.table(arrays), folder / name, form)


def write(table, file, form):
    """Write a table; "packed": dictionaries and LZ4, in the stream format too."""
    if form == "parquet":
        pq.write_table(table, f"{file}.parquet", row_group_size=500)
        return
    codec = {"packed": "lz4", "zstd": "zstd"}.get(form)
    if form == "packed":
        for at, field in enumerate(table.schema):
            if pa.types.is_string(field.type):
                table = table.set_column(at, field.name, table.column(at).dictionary_encode())
    make = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with open(f"{file}.arrow", "wb") as out, make(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=500)


def attempt(seed, originals, folder):
    random = randoms.Random(f"folders {seed}")
    path = copied(random.choice(sorted(originals.iterdir())), folder)
    files = sorted(path.iterdir())
    likely = [file for file in files if file.name.startswith(READ)]
    for _ in range(random.choice((1, 1, 2, 4))):
        file = random.choice(likely if random.random() < 0.9 else files)
        how = random.random()
        if how < 0.65:
            damage.in_bytes(random, file)
        elif how < 0.75:
            file.write_bytes(random.choice(files).read_bytes())
        else:
            try:
                retype(random, file)
            except (pa.ArrowException, OSError):
                continue
    return commands.read(random, path, folder)


def retype(random, file):
    """Give a column another type, or odd values, or bytes that are no text."""
    if file.suffix == ".parquet":
        table = pq.read_table(file)
    else:
        with pa.memory_map(str(file)) as mapped:
            try:
                table = pa.ipc.open_file(mapped).read_all()
            except pa.ArrowInvalid:
                table = pa.ipc.open_stream(mapped).read_all()
            table = pa.ipc.open_stream(pa.BufferReader(_stream(table))).read_all()
    at = random.randrange(table.num_columns)
    rows = table.num_rows
    odd = random.choice(
        (
            lambda: pa.array(["words"] * rows),
            lambda: pa.array([None] * rows, pa.null()),
            lambda: pa.array([[1, 2]] * rows, pa.list_(pa.int64())),
            lambda: pa.array([{"a": 1}] * rows, pa.struct([("a", pa.int8())])),
            lambda: pa.array([2**63 + 5] * rows, pa.uint64()),
            lambda: pa.array([2**63 - 1] * rows, pa.int64()),
            lambda: pa.array([-(2**63)] * rows, pa.int64()),
            lambda: pa.array([random.randrange(-(2**62), 2**62) for _ in range(rows)], pa.int64()),
            lambda: pa.array([float("nan")] * rows),
            lambda: pa.array([1e300] * rows),
            lambda: pa.array([True] * rows),
            lambda: pa.array([b"\xff\xfe"] * rows, pa.binary()),
            lambda: not_utf8(rows),
            lambda: pa.array([12345] * rows, pa.timestamp("ns")),
            lambda: pa.array([12345] * rows, pa.duration("us")),
            lambda: pa.array([3] * rows, pa.decimal128(30, 2)),
            lambda: pa.array(["a" * 9000] * rows).dictionary_encode(),
            lambda: pa.array(["x"] * rows, pa.string_view()),
            lambda: pa.array([b"12345678"] * rows, pa.binary(8)),
            lambda: pa.array([1.5] * rows, pa.float16()),
        )
    )()
    name = random.choice((table.schema.names[at], table.schema.names[at], "start", "other"))
    write(table.set_column(at, name, odd), file.with_suffix(""), file.suffix[1:])


def not_utf8(rows):
    """Return a text column whose bytes are no text."""
    return pa.array([b"a\xc3(\xff"] * rows, pa.binary()).view(pa.string())


def _stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
