"""Exports in SQLite: bytes of the file, its schema, its values; tables that are views."""

import random as randoms
import sqlite3
from contextlib import closing

from tests.fuzz import commands, damage
from tests.fuzz.originals import copy_originals
from tests.fuzz.trial import copied

ODD = (
    None, 0, 1, -1, 2**31, -(2**31), 2**32 - 1, 2**53 + 1, 2**61, 2**62, 2**63 - 1, -(2**63), 1.5, -1e300,
    float("inf"), "", "words", "12", "-9223372036854775809", "\0", "x" * 10_000, b"", b"\xff\xfe", b"12",
)  # fmt: skip
LOOP = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r)"


def prepare(originals):
    copy_originals(originals)


def attempt(seed, originals, folder):
    random = randoms.Random(f"sqlite {seed}")
    file = copied(random.choice(sorted(originals.iterdir())), folder)
    for _ in range(random.choice((1, 1, 2))):
        how = random.choice((damage.in_bytes, damage.in_bytes, values, values, schema, views))
        try:
            how(random, file)
        except (sqlite3.Error, UnicodeError, IndexError):
            continue
    return commands.read(random, file, folder)


def _tables(connection, kind="table"):
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = ? ORDER BY name", (kind,))
    return [name for (name,) in found if not name.startswith("sqlite_")]


def _columns(connection, table):
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def values(random, file):
    """Put odd values into columns, a few rows or all; change rowids, drop rows, double them."""
    with closing(sqlite3.connect(file)) as connection, connection:
        tables = [t for t in _tables(connection) if connection.execute(f'SELECT 1 FROM "{t}"').fetchone()]
        for _ in range(random.choice((1, 3, 10))):
            table = random.choice(tables)
            column = random.choice(_columns(connection, table))
            odd = random.choice(ODD)
            where = random.choice(
                ("1", f"rowid = {random.randrange(1, 200)}", f"rowid % {random.randrange(2, 9)} = 0")
            )
            connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', (odd,))
            if random.random() < 0.1:
                connection.execute(f'UPDATE "{table}" SET "{column}" = CAST(? AS TEXT)', (b"\xff\xc3(a",))
            if random.random() < 0.1:
                far = random.choice((2**62, -(2**62), 2**40))
                connection.execute(f'UPDATE "{table}" SET rowid = rowid + ? WHERE {where}', (far,))
            if random.random() < 0.1:
                connection.execute(f'DELETE FROM "{table}" WHERE {where}')
            if random.random() < 0.1:
                connection.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}"')


def schema(random, file):
    """Rename tables and columns, swap tables, change the text of the schema, add odd kinds of tables."""
    with closing(sqlite3.connect(file)) as connection, connection:
        tables = _tables(connection)
        one, other = random.choice(tables), random.choice(tables)
        column = random.choice(_columns(connection, one))
        connection.execute("PRAGMA writable_schema = ON")
        change = "UPDATE sqlite_master SET {} WHERE name = ?"
        root = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        [(elsewhere,)] = connection.execute(root, (other,))
        steps = (
            (change.format("rootpage = ?"), (elsewhere, one)),
            (change.format("rootpage = ?"), (random.choice((0, 1, 2, 3, 10**9)), one)),
            (change.format("sql = ?"), (random.choice((None, "", "CREATE", b"\xff\xfe\xdf", 7)), one)),
            (change.format("sql = CAST(replace(sql, 'INT', ?) AS TEXT)"), (b"\xdf", one)),
            (change.format("name = CAST(? AS TEXT), tbl_name = CAST(? AS TEXT)"), (b"\xdf", b"\xdf", one)),
            (change.format("sql = replace(sql, ?, 'rowid')"), (column, one)),
            (change.format("type = ?"), (random.choice(("view", "index", "", "virtual")), one)),
            (f'ALTER TABLE "{one}" RENAME TO "Other"', ()),
            (f'ALTER TABLE "{one}" RENAME COLUMN "{column}" TO "other {column}"', ()),
            (f'ALTER TABLE "{one}" RENAME COLUMN "{column}" TO "start"', ()),
            (f'ALTER TABLE "{one}" ADD COLUMN generated INT AS (zeroblob(900000000)) VIRTUAL', ()),
            (f'CREATE VIRTUAL TABLE "{random.choice(("MPI_X", "GPU_METRICS"))}" USING fts5(start, end)', ()),
            (f'DROP TABLE "{one}"', ()),
            (f"PRAGMA user_version = {random.randrange(2**31)}", ()),
        )  # fmt: skip
        for sql, arguments in random.sample(steps, random.choice((1, 1, 2))):
            connection.execute(sql, arguments)


def views(random, file):
    """Put a view in a table's place: harmless, endless, empty but endless, huge, of itself."""
    with closing(sqlite3.connect(file)) as connection, connection:
        table = random.choice(_tables(connection))
        columns = _columns(connection, table)
        connection.execute(f'ALTER TABLE "{table}" RENAME TO "kept"')
        every = ", ".join(f'"{column}"' for column in columns)
        huge = ", ".join(f'zeroblob(900000000) AS "{column}"' for column in columns)
        select = random.choice(
            (
                f"SELECT {every} FROM kept",
                f"{LOOP} SELECT {every} FROM kept, r",
                f"{LOOP} SELECT {every} FROM kept, r WHERE i < 0",
                f"SELECT {every} FROM kept, kept b, kept c, kept d, kept e",
                f"SELECT {', '.join(f'kept.{quoted}' for quoted in every.split(', '))} "
                "FROM kept, kept b, kept c, kept d WHERE b.rowid + c.rowid + d.rowid < 0",
                f"SELECT {huge} FROM kept",
                f'SELECT {every} FROM "{table}"',
                f"SELECT {every} FROM gone",
                f"SELECT {every} FROM kept ORDER BY random()",
                f"SELECT {every}, hex(randomblob(400000000)) AS more FROM kept",
            )
        )
        connection.execute(f'CREATE VIEW "{table}" AS {select}')
